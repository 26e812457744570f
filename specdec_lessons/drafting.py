"""How long to draft: a policy says, before each draft step, whether to draft one more token.

A policy is a pure function of what the draft may know: the rounds so far, the tokens drafted in this
round and the draft's own distributions. It never sees this round's coins or the target's rows;
that keeps the output exact.
"""

from dataclasses import dataclass
from typing import Protocol

from specdec_lessons import _checks


class Policy(Protocol):
    """What ``speculative_decode`` takes for ``k`` besides a number."""

    def draft_more(self, past, drafted, draft_rows) -> bool:
        """Whether to draft another token.

        ``past``: the finished ``Round``s; ``drafted``: token ids of this round so far;
        ``draft_rows``: the draft's distribution for each of them, each of shape (V,).
        """


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


def as_policy(k):
    """A policy from a draft length, or the policy itself.

    >>> as_policy(4)
    Fixed(k=4)
    """
    is_policy = callable(getattr(k, "draft_more", None)) and not isinstance(k, type)
    return k if is_policy else Fixed(_checks.single_count("k", k))
