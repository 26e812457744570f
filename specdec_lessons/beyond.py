"""Beyond one chain of drafts: each idea as a toy that is small enough to be computed exactly.

Prompt lookup drafts, several candidates for one position, block verification, and two rules that are faster
because they are not exact. Functions of distributions take lists of numbers and compute with whatever these
are: give ``Fraction`` and the answer is a fraction.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, log, prod

import numpy as np

from specdec_lessons import _checks
from specdec_lessons.decoding import Judged, token_at
from specdec_lessons.models import ToyModel, as_tokens, require_model


# -- prompt lookup ----------------------------------------------------------------------------------


class PromptLookupDraft(ToyModel):
    """A draft without weights: find the last few tokens earlier in the text, and copy what followed them.

    The longest match of at most ``longest`` tokens counts, the latest of several. Its distribution is sure of
    that one token; where nothing matches it is uniform, and the policy ``while_it_matches`` does not ask.

    Source: Saxena 2023, "Prompt Lookup Decoding"; vLLM calls it n-gram speculation.

    >>> from specdec_lessons.models import TableModel
    >>> draft = PromptLookupDraft(TableModel("abc", [1/3, 1/3, 1/3]))
    >>> draft.lookup([0, 1, 2, 0, 1]), draft.lookup([0, 1, 2])
    (2, None)
    """

    def __init__(self, model, longest=3):
        super().__init__(require_model("model", model, "vocabulary").vocabulary)
        self.longest = _checks.single_count("longest", longest, at_least=1)

    def lookup(self, context):
        """The token that followed the latest earlier occurrence of the longest matching end, or None."""
        context = as_tokens(self, "context", context)
        for length in range(min(self.longest, len(context) - 1), 0, -1):
            end = context[-length:]
            for start in range(len(context) - length - 1, -1, -1):
                if context[start : start + length] == end:
                    return context[start + length]
        return None

    def next_probs(self, context):
        token, size = self.lookup(context), len(self.vocabulary)
        return np.full(size, 1 / size) if token is None else np.eye(size)[token]

    def while_it_matches(self, prompt, k):
        """A policy for ``speculative_decode``: up to k drafts, none where the text so far has no match."""
        return _WhileItMatches(self, as_tokens(self, "prompt", prompt), _checks.single_count("k", k))


@dataclass(frozen=True)
class _WhileItMatches:
    draft: PromptLookupDraft
    prompt: tuple
    k: int

    def draft_more(self, past, drafted, draft_rows):
        written = tuple(token for one in past for token in one.emitted)
        return len(drafted) < self.k and self.draft.lookup((*self.prompt, *written, *drafted)) is not None


# -- several candidates for one position ------------------------------------------------------------


def recursive_acceptance(p, q, candidates=2, replacement=True):
    """Chance that one of several candidates is accepted by recursive rejection; the output law stays p.

    Judge the first candidate by min(1, p/q). If it is refused, what is still owed is the residual: judge the
    second against that, and so on; refuse all and draw from the last residual. Candidates are drawn from q
    independently, or each without those before it (``replacement=False``; then at most as many as q has
    tokens).

    Sources: Miao et al. 2023 (SpecInfer, arXiv 2305.09781); Jeon et al. 2024 (arXiv 2402.14160) for drawing
    without replacement.

    >>> p, q = [Fraction(3, 5), Fraction(2, 5)], [Fraction(4, 5), Fraction(1, 5)]
    >>> recursive_acceptance(p, q), recursive_acceptance(p, q, 1)
    (Fraction(21, 25), Fraction(4, 5))
    >>> recursive_acceptance(p, q, replacement=False)
    1
    """
    return 1 - sum(
        chance for _, accepted, chance in _recursive(p, q, candidates, replacement) if not accepted
    )


def recursive_output(p, q, candidates=2, replacement=True):
    """The exact output law of recursive rejection, a list: p itself.

    >>> recursive_output([Fraction(3, 5), Fraction(2, 5)], [Fraction(4, 5), Fraction(1, 5)])
    [Fraction(3, 5), Fraction(2, 5)]
    """
    out = [0] * len(p)
    for token, _, chance in _recursive(p, q, candidates, replacement):
        out[token] += chance
    return out


def _recursive(p, q, candidates, replacement):
    """(token, whether a candidate was accepted, probability) of every way the rule can end."""
    p, q = _law("p", p), _law("q", q)
    if len(p) != len(q):
        raise ValueError(f"p and q must have the same length, got {len(p)} and {len(q)}")
    left = _checks.single_count("candidates", candidates, at_least=1)
    if not replacement and left > sum(x > 0 for x in q):
        raise ValueError(
            f"candidates must be at most {sum(x > 0 for x in q)} without replacement, got {left}"
        )
    return _try_candidates(p, q, left, replacement, 1)


def _try_candidates(owed, q, left, replacement, chance):
    if left == 0:
        return [(token, False, chance * share) for token, share in enumerate(owed) if share > 0]
    ends, after = [], _residual(owed, q)
    for token, drawn in enumerate(q):
        if drawn == 0:
            continue
        ratio = min(1, owed[token] / drawn)
        if ratio > 0:
            ends.append((token, True, chance * drawn * ratio))
        if ratio < 1:
            rest = q if replacement or left == 1 else _without(q, token)
            ends += _try_candidates(after, rest, left - 1, replacement, chance * drawn * (1 - ratio))
    return ends


def _residual(p, q):
    surplus = [max(0, a - b) for a, b in zip(p, q)]
    total = sum(surplus)
    return [x / total for x in surplus] if total > 0 else p


def _without(q, token):
    return [0 if i == token else x / (1 - q[token]) for i, x in enumerate(q)]


def membership_acceptance(p, q, candidates=2):
    """Draw the answer from p and see whether it is among the candidates: also exact, but it accepts less.

    >>> p, q = [Fraction(3, 5), Fraction(2, 5)], [Fraction(4, 5), Fraction(1, 5)]
    >>> membership_acceptance(p, q), membership_acceptance(p, q, 1)
    (Fraction(18, 25), Fraction(14, 25))
    """
    p, q = _law("p", p), _law("q", q)
    n = _checks.single_count("candidates", candidates, at_least=1)
    return sum(a * (1 - (1 - b) ** n) for a, b in zip(p, q))


def best_acceptance(p, q, candidates=2):
    """The most that any exact rule can accept with several independent candidates.

    For each set S of tokens: an accepted output in S needs a candidate in S. Source: Sun et al. 2023
    (SpecTr, arXiv 2310.15141), which finds the rule by optimal transport. Tries all 2^V sets: V at most 16.

    >>> best_acceptance([Fraction(3, 5), Fraction(2, 5)], [Fraction(4, 5), Fraction(1, 5)])
    Fraction(24, 25)
    """
    p, q = _law("p", p), _law("q", q)
    n = _checks.single_count("candidates", candidates, at_least=1)
    if len(p) > 16:
        raise ValueError(f"p must have at most 16 entries, got {len(p)}")
    sets = product((False, True), repeat=len(p))
    return min(
        sum(a for a, inside in zip(p, one) if not inside)
        + 1
        - (1 - sum(b for b, inside in zip(q, one) if inside)) ** n
        for one in sets
    )


# -- block verification -----------------------------------------------------------------------------


def block_chances(p, q, drafted):
    """h_1, …, h_k: for each position, the chance that the block is cut no earlier, given nothing longer was.

    One p and one q for all positions. The weight w_i = min(1, w_(i−1) p/q) of the drafts so far decides:
    h_k = w_k, and before that h_i = R / (R + 1 − w_i) with R = Σ max(0, w_i p − q). All coins are tossed;
    the *last* that says yes tells how many drafts are kept.

    Source: Sun et al. 2024, "Block Verification Accelerates Speculative Decoding", arXiv 2403.10444,
    Algorithm 2.

    >>> p, q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
    >>> block_chances(p, q, [0, 1])
    [Fraction(0, 1), 1]
    """
    p, q = _law("p", p), _law("q", q)
    return [h for h, _ in _block(drafted, [q] * len(drafted), [p] * (len(drafted) + 1))]


def _block(drafted, draft_rows, target_rows):
    """(h_i, w_i) for i = 1, …, k."""
    weight, steps = 1, []
    for i, (token, q, p) in enumerate(zip(drafted, draft_rows, target_rows), start=1):
        weight = min(1, weight * p[token] / q[token])
        if i == len(drafted):
            steps.append((weight, weight))
        else:
            owed = sum(max(0, weight * a - b) for a, b in zip(target_rows[i], draft_rows[i]))
            steps.append((owed / (owed + 1 - weight) if owed + 1 - weight > 0 else 1, weight))
    return steps


def expected_accepted(p, q, k, rule="token"):
    """Expected number of accepted drafts of k, by going through all drafts; ``rule`` is 'token' or 'block'.

    One p and one q for all positions, V^k drafts: keep both small.

    >>> p, q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
    >>> expected_accepted(p, q, 2), expected_accepted(p, q, 2, "block")
    (Fraction(10, 9), Fraction(11, 9))
    """
    if rule not in ("token", "block"):
        raise ValueError(f"rule must be 'token' or 'block', got {_checks.short(rule)}")
    p, q, k = _law("p", p), _law("q", q), _checks.single_count("k", k)
    total = 0
    for drafted in product([token for token, chance in enumerate(q) if chance > 0], repeat=k):
        if rule == "token":
            ratios = [min(1, p[token] / q[token]) for token in drafted]
            kept = sum(prod(ratios[:i]) for i in range(1, k + 1))
        else:
            kept, none_later = 0, 1
            for i, h in reversed(list(enumerate(block_chances(p, q, drafted), start=1))):
                kept, none_later = kept + i * h * none_later, none_later * (1 - h)
        total += prod(q[token] for token in drafted) * kept
    return total


def block_verify(drafted, draft_rows, target_rows, rng):
    """Block verification with the signature of ``decoding.verify``: give it to ``speculative_decode``.

    >>> sure = np.array([0.0, 1.0])
    >>> block_verify([1], [sure], [sure, sure], np.random.default_rng(0))[1]
    (1, 1)
    """
    steps = _block(drafted, draft_rows, target_rows)
    coins = [rng.random() for _ in drafted]
    kept = max((i for i, (coin, (h, _)) in enumerate(zip(coins, steps), start=1) if coin < h), default=0)
    judged = tuple(
        Judged(token, float(p[token]), float(q[token]), coin, i < kept)
        for i, (token, q, p, coin) in enumerate(zip(drafted, draft_rows, target_rows, coins))
        if i <= kept
    )
    if kept == len(drafted):
        law = target_rows[kept]
    else:
        weight = steps[kept - 1][1] if kept else 1
        surplus = np.maximum(0, weight * np.asarray(target_rows[kept]) - np.asarray(draft_rows[kept]))
        law = surplus / surplus.sum() if surplus.sum() > 0 else target_rows[kept]
    return judged, (*drafted[:kept], token_at(rng.random(), law))


# -- faster because not exact -----------------------------------------------------------------------


def lenient_output(p, q, lenience):
    """(acceptance, output law) when a draft is accepted with min(1, p / (l q)); l = 1 is exact.

    No token gets more than p(x) / l. Source: Leviathan et al. 2023, appendix A.5.

    >>> p, q = [Fraction(3, 5), Fraction(2, 5)], [Fraction(4, 5), Fraction(1, 5)]
    >>> lenient_output(p, q, Fraction(9, 10))
    (Fraction(13, 15), [Fraction(2, 3), Fraction(1, 3)])
    """
    p, q = _law("p", p), _law("q", q)
    if not 0 < lenience <= 1:
        raise ValueError(f"lenience must lie in (0, 1], got {lenience}")
    kept = [min(b, a / lenience) for a, b in zip(p, q)]
    accepted = sum(kept)
    return accepted, [x + (1 - accepted) * r for x, r in zip(kept, _residual(p, q))]


def typical_output(p, q, epsilon=Fraction(9, 100), delta=Fraction(3, 10)):
    """(acceptance, output law) of typical acceptance: keep a draft if p(x) > min(ε, δ e^(−entropy of p)).

    Here the draft is drawn from q, and a refused one is replaced by a draw from p. Nothing compares p with q,
    so among the tokens above the threshold the draft chooses.

    Source: Cai et al. 2024 (Medusa, arXiv 2401.10774), section 2.3; the defaults are those of its code.

    >>> typical_output([Fraction(3, 5), Fraction(2, 5)], [Fraction(4, 5), Fraction(1, 5)])
    (Fraction(1, 1), [Fraction(4, 5), Fraction(1, 5)])
    """
    p, q = _law("p", p), _law("q", q)
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} must lie in [0, 1], got {value}")
    threshold = min(epsilon, delta * exp(sum(float(x) * log(x) for x in p if x > 0)))
    kept = [b if a > threshold else 0 for a, b in zip(p, q)]
    accepted = sum(kept)
    return accepted, [x + (1 - accepted) * a for x, a in zip(kept, p)]


def shift(p, output):
    """The total variation between what the target wants and what comes out: 0 where nothing is lost.

    >>> shift([Fraction(3, 5), Fraction(2, 5)], [Fraction(4, 5), Fraction(1, 5)])
    Fraction(1, 5)
    """
    p, output = _law("p", p), _law("output", output)
    return sum(max(0, a - b) for a, b in zip(p, output))


def _law(name, values):
    """A distribution as a list that keeps its kind of number."""
    _checks.distribution(name, [float(x) for x in values] if isinstance(values, (list, tuple)) else values)
    return [float(x) for x in values] if isinstance(values, np.ndarray) else list(values)
