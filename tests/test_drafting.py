"""Draft lengths and policies."""

import numpy as np
import pytest

from specdec_lessons import drafting
from specdec_lessons.decoding import speculative_decode
from specdec_lessons.models import TableModel

PAIR = TableModel("xy", [0.5, 0.5])


@pytest.mark.parametrize("k", [0, 1, 5, np.int64(3), 2.0])
def test_a_number_is_a_fixed_policy(k):
    policy = drafting.as_policy(k)
    assert policy == drafting.Fixed(int(k)) and type(policy.k) is int
    for n in range(7):
        assert policy.draft_more((), (0,) * n, ()) == (n < k)


def test_a_policy_is_taken_as_it_is():
    policy = drafting.Fixed(3)
    assert drafting.as_policy(policy) is policy


class Recorder:
    """Drafts as many tokens as there were rounds before, and remembers what it was shown."""

    def __init__(self):
        self.seen = []

    def draft_more(self, past, drafted, draft_rows):
        self.seen.append((len(past), drafted, len(draft_rows)))
        return len(drafted) < len(past)


def test_a_policy_sees_the_past_and_the_drafts_of_this_round():
    policy = Recorder()
    trace = speculative_decode(PAIR, PAIR, [0], 10, k=policy, rng=np.random.default_rng(0))
    assert [len(r.drafted) for r in trace.rounds] == [0, 1, 2, 3]  # p = q: all accepted, 1 + 2 + 3 + 4 = 10
    for past, drafted, rows in policy.seen:
        assert len(drafted) == rows and trace.rounds[past].drafted[:len(drafted)] == drafted


@pytest.mark.parametrize("k, shown", [
    (-1, "-1"), (2.5, "2.5"), ("4", "'4'"), (None, "None"), (float("nan"), "nan"), (np.inf, "inf"),
    (drafting.Fixed, "class"), ([4], "shape (1,)"), (True, "True"), (1e17, "1e+17")])
def test_bad_draft_lengths(k, shown):
    for call in (drafting.as_policy, drafting.Fixed, lambda k: speculative_decode(PAIR, PAIR, [0], 3, k=k)):
        with pytest.raises(ValueError, match="^k must be a .*whole number") as error:
            call(k)
        assert shown in str(error.value)
