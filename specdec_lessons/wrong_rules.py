"""A museum of look-alike rules that are wrong, to be held against :func:`decoding.verify`.

Each has the arguments and the results of ``decoding.verify`` and differs from it in one place. None
of them may be used for anything but showing what goes wrong.
"""

import numpy as np

from specdec_lessons.decoding import Judged, accept_ratio, token_at
from specdec_lessons.rejection import residual


def _judge(token, p, q, coin, accepted):
    return Judged(token, float(p[token]), float(q[token]), coin, accepted)


def _round(drafted, draft_rows, target_rows, rng, accepts, replace, throw=None):
    """``decoding.verify`` with holes: when to accept, what replaces a rejected draft, how to throw a coin."""
    judged = []
    for token, q, p in zip(drafted, draft_rows, target_rows):
        coin = (throw or rng.random)()
        judged.append(_judge(token, p, q, coin, accepts(coin, token, p, q)))
        if not judged[-1].accepted:
            return tuple(judged), (*drafted[:len(judged) - 1], replace(coin, p, q))
    return tuple(judged), (*drafted, token_at(rng.random(), target_rows[len(drafted)]))


def _by_ratio(coin, token, p, q):
    return coin < accept_ratio(token, p, q)


def resample_from_p(drafted, draft_rows, target_rows, rng):
    """Replaces a rejected draft by a draw from p itself instead of the residual."""
    return _round(drafted, draft_rows, target_rows, rng, _by_ratio, lambda coin, p, q: token_at(rng.random(), p))


def accept_only_if_target_likes_it_more(drafted, draft_rows, target_rows, rng):
    """Accepts a draft exactly when q ≤ p, without a coin."""
    return _round(drafted, draft_rows, target_rows, rng,
                  lambda coin, token, p, q: bool(q[token] <= p[token]),
                  lambda coin, p, q: token_at(rng.random(), residual(p, q)))


def reuse_the_coin(drafted, draft_rows, target_rows, rng):
    """Draws the replacement with the very number that rejected the draft."""
    return _round(drafted, draft_rows, target_rows, rng, _by_ratio,
                  lambda coin, p, q: token_at(coin, residual(p, q)))


def one_coin_for_all(drafted, draft_rows, target_rows, rng):
    """Throws one coin a round and judges every position with it."""
    coin = rng.random()
    return _round(drafted, draft_rows, target_rows, rng, _by_ratio,
                  lambda coin, p, q: token_at(rng.random(), residual(p, q)), throw=lambda: coin)


def accept_after_rejection(drafted, draft_rows, target_rows, rng):
    """Replaces a rejected draft but keeps judging those behind it, whose context is gone."""
    judged, emitted = [], []
    for token, q, p in zip(drafted, draft_rows, target_rows):
        coin = rng.random()
        judged.append(_judge(token, p, q, coin, _by_ratio(coin, token, p, q)))
        emitted.append(token if judged[-1].accepted else token_at(rng.random(), residual(p, q)))
    return tuple(judged), (*emitted, token_at(rng.random(), target_rows[len(drafted)]))


def no_residual(drafted, draft_rows, target_rows, rng):
    """Drafts again until a draft is accepted, which amounts to a draw from normalize(min(p, q))."""
    def try_again(coin, p, q):
        overlap = np.minimum(p, q)
        total = overlap.sum()
        return token_at(rng.random(), overlap / total if total > 0 else p)
    return _round(drafted, draft_rows, target_rows, rng, _by_ratio, try_again)


def _cut_before(stop, drafted, draft_rows, target_rows, rng):
    """Forget the draft at which ``stop`` says so, and all behind it; the target's own row fills its place."""
    judged = []
    for i, (token, q, p) in enumerate(zip(drafted, draft_rows, target_rows)):
        coin = rng.random()
        if stop(coin, token, p, q):
            return tuple(judged), (*drafted[:i], token_at(rng.random(), p))
        judged.append(_judge(token, p, q, coin, _by_ratio(coin, token, p, q)))
        if not judged[-1].accepted:
            return tuple(judged), (*drafted[:i], token_at(rng.random(), residual(p, q)))
    return tuple(judged), (*drafted, token_at(rng.random(), target_rows[len(drafted)]))


def stop_at_the_verdict(drafted, draft_rows, target_rows, rng):
    """Ends the draft just before the token that its coin rejects: a policy that saw this round's coins."""
    return _cut_before(lambda *one: not _by_ratio(*one), drafted, draft_rows, target_rows, rng)


def stop_where_p_is_below_q(drafted, draft_rows, target_rows, rng):
    """Ends the draft just before the first token with q > p: a policy that saw the target's rows."""
    return _cut_before(lambda coin, token, p, q: bool(q[token] > p[token]),
                       drafted, draft_rows, target_rows, rng)


def drop_the_unlikely(drafted, draft_rows, target_rows, rng, threshold=0.5):
    """Ends the draft just before the first token whose own q is below ``threshold``, not just after it."""
    return _cut_before(lambda coin, token, p, q: bool(q[token] < threshold),
                       drafted, draft_rows, target_rows, rng)


PEEKING = {  # these decide how many drafts count after they have seen how those came out
    "stop at the verdict": stop_at_the_verdict,
    "stop where p < q": stop_where_p_is_below_q,
    "drop the unlikely": drop_the_unlikely,
}

WRONG_RULES = {
    "resample from p": resample_from_p,
    "accept only if q ≤ p": accept_only_if_target_likes_it_more,
    "reuse the coin": reuse_the_coin,
    "one coin for all positions": one_coin_for_all,
    "accept after a rejection": accept_after_rejection,
    "no residual": no_residual,
}
