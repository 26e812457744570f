"""How long to draft: a policy says, before each draft step, whether to draft one more token.

A policy is a pure function of what the draft may know: the rounds so far, the tokens drafted in this
round and the draft's own distributions. It never sees this round's coins or the target's verdicts;
that keeps the output exact. For whether a position is judged is then settled before its token is drawn,
and judged or not, a token distributed as p comes out of it.

No policy needs the distribution of the token to come: to have it, the draft step must be paid, and a
token that is paid for should be sent to the target.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from specdec_lessons import _checks
from specdec_lessons.models import require_same_vocabulary

LONGEST = 16  # drafts a round at which the adaptive policies stop in any case


class Policy(Protocol):
    """What ``speculative_decode`` takes for ``k`` besides a number."""

    def draft_more(self, past, drafted, draft_rows) -> bool:
        """Whether to draft another token.

        ``past``: the finished ``Round``s; ``drafted``: token ids of this round so far;
        ``draft_rows``: the draft's distribution for each of them, each of shape (V,).
        """


class Past(Sequence):
    """The finished rounds, read only and without a copy, and ``context``: prompt and tokens so far.

    >>> past = Past(["round 1", "round 2"], (4, 7))
    >>> past[-1], len(past), past[:1], past.context
    ('round 2', 2, ('round 1',), (4, 7))
    """

    __slots__ = ("_rounds", "context")

    def __init__(self, rounds, context):
        self._rounds, self.context = rounds, context

    def __len__(self):
        return len(self._rounds)

    def __getitem__(self, place):
        return tuple(self._rounds[place]) if isinstance(place, slice) else self._rounds[place]


@dataclass(frozen=True)
class Fixed:
    """Always draft ``k`` tokens.

    >>> Fixed(2).draft_more(past=(), drafted=(7,), draft_rows=())
    True
    """

    k: int

    def __post_init__(self):
        _checks.single_count("k", self.k)

    def draft_more(self, past, drafted, draft_rows):
        return len(drafted) < self.k


@dataclass(frozen=True)
class ConfidenceThreshold:
    """Draft until the draft was unsure of a token: its top probability fell below ``threshold``.

    The unsure token is still sent to the target. With ``by="entropy"`` it stops once the entropy of the
    draft's distribution, in bits, rose above ``threshold``. At most ``most`` tokens, at least one.

    Source: the rule of transformers' assisted generation (``assistant_confidence_threshold``, 0.4 unless
    set), there with the probability of the drafted token.

    >>> sure, unsure = np.array([0.9, 0.1]), np.array([0.5, 0.5])
    >>> policy = ConfidenceThreshold(0.6)
    >>> policy.draft_more((), (0,), (sure,)), policy.draft_more((), (0, 1), (sure, unsure))
    (True, False)
    """

    threshold: float
    by: str = "top probability"
    most: int = LONGEST

    def __post_init__(self):
        if self.by not in ("top probability", "entropy"):
            raise ValueError(f"by must be 'top probability' or 'entropy', got {_checks.short(self.by)}")
        _checks.single("threshold", _checks.non_negative if self.by == "entropy" else _checks.probability,
                       self.threshold)
        _checks.single_count("most", self.most, at_least=1)

    def draft_more(self, past, drafted, draft_rows):
        if not drafted:
            return True
        if len(drafted) >= self.most:
            return False
        if self.by == "entropy":
            return entropy(draft_rows[-1]) <= self.threshold
        return top_probability(draft_rows[-1]) >= self.threshold


@dataclass(frozen=True)
class AdditiveSchedule:
    """Two more drafts after a round in which all were accepted, one fewer after a miss.

    Starts with ``start`` drafts and stays between 1 and ``most``. The length of the last round is all the
    memory that this needs, so a long run costs no more per round than a short one.

    Source: transformers' assisted generation, ``num_assistant_tokens_schedule="heuristic"``.

    >>> from specdec_lessons.decoding import Round
    >>> AdditiveSchedule().next_length([Round((1, 2, 3), 3, (1, 2, 3, 4), "bonus")])
    5
    """

    start: int = 4
    most: int = LONGEST
    up: int = 2
    down: int = 1

    def __post_init__(self):
        for name, at_least in (("start", 1), ("most", 1), ("up", 0), ("down", 0)):
            _checks.single_count(name, getattr(self, name), at_least)

    def next_length(self, past):
        """How many tokens to draft after these rounds."""
        if not past:
            return min(self.start, self.most)
        last = past[-1]
        step = self.up if last.accepted == len(last.drafted) else -self.down
        return min(max(1, len(last.drafted) + step), self.most)

    def draft_more(self, past, drafted, draft_rows):
        return len(drafted) < self.next_length(past)


@dataclass(frozen=True)
class SurvivalProduct:
    """Draft on while (chance to be reached) × (chance to be accepted) is above ``price``.

    The chance to be reached is the product of ``estimate(row)`` over the drafts there are; ``typical`` stands
    for the acceptance of the token to come, whose row is not known yet. The right price of a draft step that
    costs c is c × S, with S the speedup that the whole run attains: that many tokens are made in
    its time anyway. ``estimate`` is a function of one row of the draft, by default its top probability;
    :func:`learn_estimate` makes a better one. At most ``most`` tokens.

    >>> policy = SurvivalProduct(price=0.1 * 2.47, typical=0.8, estimate=lambda row: 0.8)
    >>> sum(policy.draft_more((), (0,) * k, (None,) * k) for k in range(16))  # the best k of a = .8, c = .1
    6
    """

    price: float
    typical: float = 0.8
    estimate: Callable = field(default_factory=lambda: top_probability)
    most: int = LONGEST

    def __post_init__(self):
        _checks.single("price", _checks.non_negative, self.price)
        _checks.single("typical", _checks.probability, self.typical)
        _checks.single_count("most", self.most)
        _require_function("estimate", self.estimate)

    def draft_more(self, past, drafted, draft_rows):
        reached = math.prod(map(self.estimate, draft_rows))
        return len(drafted) < self.most and reached * self.typical > self.price


@dataclass(frozen=True)
class Oracle:
    """The same rule with the true chances: ``chance(context)`` is Σ min(p, q) after these tokens.

    ``price`` is a number, or a function of the context where the pace differs from place to place.

    Not for use: knowing the chance takes the target's row, which is what drafting is to save. It shows what
    better estimates could bring. It is exact all the same, because each chance is known before the token is
    drawn, and no coin is. :func:`chance_of` makes ``chance`` from two models. The policy needs the context,
    which ``speculative_decode`` hands over with ``past``.

    >>> from specdec_lessons.models import TableModel
    >>> target, draft = TableModel("xy", [0.6, 0.4]), TableModel("xy", [0.8, 0.2])
    >>> oracle = Oracle(chance_of(target, draft), price=0.1 * 2.47)
    >>> sum(oracle.draft_more(Past([], ()), (0,) * k, ()) for k in range(16))
    6
    """

    chance: Callable
    price: float | Callable
    most: int = LONGEST

    def __post_init__(self):
        _require_function("chance", self.chance)
        if not callable(self.price):
            _checks.single("price", _checks.non_negative, self.price)
        _checks.single_count("most", self.most)

    def draft_more(self, past, drafted, draft_rows):
        if len(drafted) >= self.most:
            return False
        try:
            context = past.context
        except AttributeError:
            got = _checks.short(past)
            raise ValueError(f"past must carry the context for an oracle, got {got}") from None
        here = (*context, *drafted)
        kept = math.prod(self.chance((*context, *drafted[:i])) for i in range(len(drafted) + 1))
        return kept > (self.price(here) if callable(self.price) else self.price)


def chance_of(target, draft):
    """A function from a context to the chance Σ min(p, q) that a draft made there is accepted.

    >>> from specdec_lessons.models import TableModel
    >>> chance_of(TableModel("xy", [0.6, 0.4]), TableModel("xy", [0.8, 0.2]))((0, 1, 0))
    0.8
    """
    require_same_vocabulary(target, draft)
    return lambda context: float(np.minimum(target.next_probs(context), draft.next_probs(context)).sum())


def top_probability(row):
    """The largest entry of a distribution: how sure the draft is.

    >>> top_probability(np.array([0.2, 0.7, 0.1]))
    0.7
    """
    return float(row.max())


def entropy(row):
    """The entropy of a distribution in bits: 0 when it is sure, log2 V when it is not at all.

    >>> entropy(np.array([0.5, 0.5, 0.0]))
    1.0
    """
    row = row[row > 0]
    return abs(float(-(row * np.log2(row)).sum()))


@dataclass(frozen=True)
class LearnedEstimate:
    """How often drafts of this top probability were accepted: ``chances[i]`` in band i of the ``edges``.

    >>> LearnedEstimate(edges=(0.5,), chances=(0.3, 0.9))(np.array([0.2, 0.8]))
    0.9
    """

    edges: tuple
    chances: tuple

    def __call__(self, row):
        return self.chances[bisect_right(self.edges, row.max())]


def learn_estimate(confidences, accepted, bins=8):
    """An estimate from verdicts of earlier rounds: the share accepted in each band of confidence.

    ``confidences``: the draft's top probability at each judged draft; ``accepted``: its verdict. Bands hold
    about equally many drafts; each starts from one accepted and one rejected (Laplace), so that none claims
    0 or 1. Returns a :class:`LearnedEstimate`. ValueError for nothing to learn from.

    >>> learn_estimate([0.9] * 8 + [0.2] * 8, [True] * 8 + [False] * 8, bins=2)
    LearnedEstimate(edges=(0.9,), chances=(0.1, 0.9))
    """
    confidences = _checks.probability("confidences", confidences)
    accepted = np.asarray(accepted, dtype=bool)
    if confidences.ndim != 1 or confidences.shape != accepted.shape or not confidences.size:
        raise ValueError("confidences and accepted must be two lists of one length of at least 1, "
                         f"got shapes {confidences.shape} and {accepted.shape}")
    bins = _checks.single_count("bins", bins, at_least=1)
    inner = np.quantile(confidences, np.arange(1, bins) / bins, method="higher")
    edges = np.unique(inner[inner > confidences.min()])
    band = np.searchsorted(edges, confidences, side="right")
    kept = np.bincount(band, weights=accepted, minlength=edges.size + 1)
    seen = np.bincount(band, minlength=edges.size + 1)
    return LearnedEstimate(tuple(edges.tolist()), tuple(((kept + 1) / (seen + 2)).tolist()))


def draft_length_for(chances, price):
    """How many tokens to draft when the chance of each is known: as long as their product is above ``price``.

    ``chances``: acceptance of the first, second … draft, given that those before it were accepted. The
    product never grows, so the first that does not pay ends it.

    >>> draft_length_for([0.9, 0.9, 0.3, 1.0], price=0.25)  # 0.9, 0.81, 0.243
    2
    """
    chances = np.atleast_1d(_checks.probability("chances", chances))
    price = _checks.single("price", _checks.non_negative, price)
    return int((np.cumprod(chances) > price).sum())


def as_policy(k):
    """A policy from a draft length, or the policy itself.

    >>> as_policy(4)
    Fixed(k=4)
    """
    is_policy = callable(getattr(k, "draft_more", None)) and not isinstance(k, type)
    return k if is_policy else Fixed(_checks.single_count("k", k))


def _require_function(name, value):
    if not callable(value):
        raise ValueError(f"{name} must be a function, got {_checks.short(value)}")
