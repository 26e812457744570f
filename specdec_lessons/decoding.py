"""Plain decoding and the speculative loop, on any pair of language models.

One round of the loop: the draft proposes up to k tokens one by one; the target scores all of them in
one pass; the accepted prefix is kept, and one token of the target's own is added to it.

Sources: Leviathan et al., arXiv 2211.17192, Algorithm 1; Chen et al., arXiv 2302.01318, Algorithm 2.
"""

from bisect import bisect_right
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from specdec_lessons import _checks
from specdec_lessons.drafting import Past, as_policy
from specdec_lessons.models import as_tokens, require_model, require_same_vocabulary
from specdec_lessons.rejection import cumulative, residual


class Judged(NamedTuple):
    """One draft that the target reached: the token, p and q of it, the coin and the verdict."""

    token: int
    p: float
    q: float
    coin: float
    accepted: bool


@dataclass(frozen=True)
class Round:
    """One round: what was drafted, how much of it was accepted, what was emitted.

    ``drafted`` all drafted token ids; ``accepted`` how many of them were kept (end of sequence
    included); ``emitted`` the accepted drafts and one token more; ``last`` says what that one is:
    'correction' (from the residual), 'bonus' (all drafts were accepted) or 'stopped' (an accepted
    draft ended the sequence, and nothing was added). ``judged`` holds the drafts that the target
    reached. Those after the first rejection are discarded: drafted, never judged.
    """

    drafted: tuple
    accepted: int
    emitted: tuple
    last: str
    judged: tuple = ()


@dataclass(frozen=True)
class Trace:
    """What a decoding run did: its rounds, from which everything else follows."""

    rounds: tuple

    @property
    def tokens(self):
        """The emitted token ids, without the prompt."""
        return tuple(token for r in self.rounds for token in r.emitted)

    @property
    def target_passes(self):
        """How often the target ran; a pass over k + 1 positions is one."""
        return len(self.rounds)

    @property
    def draft_steps(self):
        """How often the draft ran, one token each."""
        return sum(len(r.drafted) for r in self.rounds)


def with_temperature(probs, temperature):
    """The distribution proportional to probs^(1/temperature), shape (V,).

    At temperature 0 all mass is on the largest entry, and on the first of them where several are
    equally large: that is the tie rule of greedy decoding here, on both paths.

    >>> with_temperature([0.2, 0.4, 0.4], 0)
    array([0., 1., 0.])
    >>> with_temperature([0.2, 0.8], 0.5).round(3)
    array([0.059, 0.941])
    """
    probs = _checks.distribution("probs", probs)
    return _warp(probs, _checks.single("temperature", _checks.non_negative, temperature))


def _warp(probs, temperature):
    if temperature == 1:
        return probs
    if temperature == 0:
        return np.where(np.arange(probs.size) == probs.argmax(), 1.0, 0.0)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        logits = np.log(probs)
        weights = np.exp((logits - logits.max()) / temperature)
    return weights / weights.sum()


def token_at(uniform, probs):
    """The token at which one uniform number lands when [0, 1) is split in pieces of length probs.

    >>> token_at(0.4, [0.3, 0.0, 0.7])
    2
    """
    try:
        if 0 <= uniform < 1:
            return bisect_right(cumulative(probs), uniform)
    except TypeError:  # no number at all
        pass
    raise ValueError(f"uniform must be a number in [0, 1), got {_checks.short(uniform)}")


def verify(drafted, draft_rows, target_rows, rng):
    """Judge the drafts from left to right and add one token: the heart of the method.

    ``drafted``: n token ids; ``draft_rows``: the n distributions that they were drawn from;
    ``target_rows``: the n + 1 distributions of the target's one pass. Every coin and every draw
    takes a fresh uniform number of ``rng``. Returns the judged drafts and the emitted tokens.

    >>> sure = np.array([0.0, 1.0])
    >>> judged, emitted = verify([1], [sure], [sure, sure], np.random.default_rng(0))
    >>> judged[0].accepted, emitted
    (True, (1, 1))
    """
    n = len(drafted)
    if (len(draft_rows), len(target_rows)) != (n, n + 1):
        raise ValueError(f"draft_rows and target_rows must hold {n} and {n + 1} distributions, "
                         f"got {len(draft_rows)} and {len(target_rows)}")
    judged = []
    for token, q, p in zip(drafted, draft_rows, target_rows):
        coin = rng.random()
        accepted = coin < accept_ratio(token, p, q)
        judged.append(Judged(token, float(p[token]), float(q[token]), coin, accepted))
        if not accepted:
            correction = token_at(rng.random(), residual(p, q))
            return tuple(judged), (*drafted[:len(judged) - 1], correction)
    bonus = token_at(rng.random(), target_rows[n])
    return tuple(judged), (*drafted, bonus)


def accept_ratio(token, p, q):
    """min(1, p/q) of one drafted token, a float; the coin must be strictly below it.

    >>> accept_ratio(0, [0.5, 0.5], [0.8, 0.2])
    0.625
    """
    try:
        return min(1.0, float(p[token]) / float(q[token]))
    except ZeroDivisionError:
        raise ValueError(f"q must be above 0 at the drafted token {token}, got 0") from None
    except (TypeError, IndexError):
        raise ValueError(f"token must be a token id of p and q, got {_checks.short(token)}") from None


def decode(model, prompt, n_tokens, rng=None, temperature=1.0, eos=None):
    """Plain decoding: one pass of the model for each token. Returns a :class:`Trace`.

    ``prompt``: token ids (``models.encode`` makes them from text), possibly none. Emits ``n_tokens``
    tokens, or fewer if the token ``eos`` comes (it is emitted too). ``temperature`` 0 is greedy, ties
    to the smallest token id. ``rng`` is a numpy ``Generator``; None takes an unseeded one. ValueError
    for tokens outside the vocabulary, negative counts or temperatures.

    >>> from specdec_lessons.models import TableModel
    >>> flip = TableModel(["a", "b"], [[0, 1], [1, 0]])
    >>> decode(flip, [0], 3).tokens
    (1, 0, 1)
    """
    require_model("model", model)
    context, n_tokens, temperature, rng, eos = _settings(model, prompt, n_tokens, temperature, rng, eos)
    rounds = []
    while len(rounds) < n_tokens and (not rounds or rounds[-1].emitted[0] != eos):
        row = _row(model.next_probs(context), "the model's next_probs", model, temperature)
        token = token_at(rng.random(), row)
        rounds.append(Round(drafted=(), accepted=0, emitted=(token,), last="bonus"))
        context += (token,)
    return Trace(tuple(rounds))


def speculative_decode(target, draft, prompt, n_tokens, k=4, rng=None, temperature=1.0, eos=None, verify=verify):
    """Speculative decoding: the same law of texts as ``decode(target, …)``, in fewer target passes.

    ``k`` is a draft length or a policy of ``drafting``; a round drafts at most one token fewer than
    are still wanted, since every round adds one of its own. ``temperature`` applies to both models.
    At temperature 0 the tokens are those of ``decode``, always. ``verify`` is there for the museum of
    wrong rules. The other arguments and the errors are as in :func:`decode`; target and draft must
    share one vocabulary.

    >>> from specdec_lessons.models import TableModel
    >>> flip = TableModel(["a", "b"], [[0, 1], [1, 0]])
    >>> trace = speculative_decode(flip, flip, [0], 6, k=2)
    >>> trace.tokens, trace.target_passes, trace.draft_steps
    ((1, 0, 1, 0, 1, 0), 2, 4)
    """
    require_same_vocabulary(target, draft)
    require_model("target", target, "score")
    context, n_tokens, temperature, rng, eos = _settings(target, prompt, n_tokens, temperature, rng, eos)
    policy = as_policy(k)
    rounds, remaining = [], n_tokens
    while remaining > 0 and (not rounds or rounds[-1].emitted[-1] != eos):
        drafted, draft_rows = propose(draft, context, remaining - 1, policy, rounds, temperature, rng)
        rounds.append(check(target, context, drafted, draft_rows, temperature, rng, eos, verify))
        context += rounds[-1].emitted
        remaining -= len(rounds[-1].emitted)
    return Trace(tuple(rounds))


def _settings(model, prompt, n_tokens, temperature, rng, eos):
    return (
        as_tokens(model, "prompt", prompt),
        _checks.single_count("n_tokens", n_tokens),
        _checks.single("temperature", _checks.non_negative, temperature),
        np.random.default_rng() if rng is None else _checks.generator(rng),
        None if eos is None else as_tokens(model, "eos", [eos])[0],
    )


def propose(draft, context, at_most, policy, past, temperature, rng):
    """The first half of a round: the draft goes ahead, token by token. Returns the drafts and their rows.

    The arguments are those of :func:`speculative_decode`, checked already: ``policy`` a policy object,
    ``past`` the finished rounds. At most ``at_most`` tokens are drafted.
    """
    drafted, rows, past = (), (), Past(past, context)
    while len(drafted) < at_most and policy.draft_more(past, drafted, rows):
        row = _row(draft.next_probs(context + drafted), "the draft's next_probs", draft, temperature)
        drafted, rows = (*drafted, token_at(rng.random(), row)), (*rows, row)
    return drafted, rows


def check(target, context, drafted, draft_rows, temperature, rng, eos=None, verify=verify):
    """The second half of a round: the target's one pass over the drafts, and its verdicts. Returns a Round.

    The arguments are those of :func:`speculative_decode` and what :func:`propose` returned.
    """
    target_rows = _score(target, context, drafted, temperature)
    n = drafted.index(eos) + 1 if eos in drafted else len(drafted)  # nothing counts after the end
    judged, emitted = verify(drafted[:n], draft_rows[:n], target_rows[:n + 1], rng)
    return _finished(drafted, judged, emitted, n, eos)


def _score(target, context, drafted, temperature):
    rows = target.score(context, drafted)
    if len(rows) != len(drafted) + 1:
        raise ValueError(f"the target's score must have {len(drafted) + 1} rows, got {len(rows)}")
    return [_row(row, "the target's score", target, temperature) for row in rows]


def _row(row, name, model, temperature):
    row = _checks.distribution(name, row)
    if row.size != len(model.vocabulary):
        raise ValueError(f"{name} must give {len(model.vocabulary)} probabilities, got {row.size}")
    return _warp(row, temperature)


def _finished(drafted, judged, emitted, n, eos):
    accepted = next((i for i, one in enumerate(judged) if not one.accepted), len(judged))
    last = "correction" if accepted < n else "bonus"
    if eos in emitted:
        end = emitted.index(eos) + 1
        last = "stopped" if end <= accepted else last
        emitted = emitted[:end]
    return Round(drafted, accepted, emitted, last, judged)
