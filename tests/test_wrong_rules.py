"""The museum: each rule is wrong in the way that its label says, and only in that way."""

import numpy as np
import pytest

from specdec_lessons import decoding, evidence
from specdec_lessons.wrong_rules import WRONG_RULES

P, Q = np.array([0.25, 0.25, 0.5]), np.array([0.75, 0.125, 0.125])  # acceptance 1/2, residual (0, 1/4, 3/4)


def test_there_are_six():
    assert list(WRONG_RULES) == ["resample from p", "accept only if q ≤ p", "reuse the coin",
                                 "one coin for all positions", "accept after a rejection", "no residual"]
    assert all(rule.__doc__ for rule in WRONG_RULES.values())


@pytest.mark.parametrize("name, law", [
    ("resample from p", (0.25 + 0.125, 0.125 + 0.125, 0.125 + 0.25)),  # min(p, q) + 1/2 p
    ("accept only if q ≤ p", (0, 0.125 + 0.75 / 4, 0.125 + 0.75 * 3 / 4)),
    ("reuse the coin", (0.25, 0.125, 0.625)),  # the coin is above 1/3, past the residual's 1/4
    ("one coin for all positions", P),  # one position alone is right
    ("accept after a rejection", P),  # and so here
    ("no residual", (0.5, 0.25, 0.25)),  # min(p, q) / Σ min(p, q)
])
def test_the_law_of_one_position_by_hand(name, law):
    assert sum(law) == 1
    assert np.allclose(evidence.rule_law(P, Q, WRONG_RULES[name]), law, rtol=0, atol=1e-15)


@pytest.mark.parametrize("p, q, name, law", [
    ([0.6, 0.4], [0.8, 0.2], "resample from p", [0.72, 0.28]),
    ([0.6, 0.4], [0.8, 0.2], "accept only if q ≤ p", [0, 1]),
    ([0.6, 0.4], [0.8, 0.2], "no residual", [0.75, 0.25]),
    ([0, 1], [1, 0], "no residual", [0, 1]),  # no overlap: nothing is ever accepted, so p itself
])
def test_the_examples_of_the_lessons(p, q, name, law):
    assert np.allclose(evidence.rule_law(p, q, WRONG_RULES[name]), law, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", WRONG_RULES)
def test_no_rule_is_wrong_where_the_draft_equals_the_target(name):
    """Then nothing is rejected, and every coin is lost: a test with p = q sees none of the faults."""
    assert np.allclose(evidence.rule_law(P, P, WRONG_RULES[name]), P, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", WRONG_RULES)
def test_every_rule_speaks_the_language_of_verify(name):
    rng = np.random.default_rng(0)
    for _ in range(200):
        drafted = tuple(rng.choice(3, 3, p=Q).tolist())
        judged, emitted = WRONG_RULES[name](drafted, (Q,) * 3, (P,) * 4, rng)
        assert all(isinstance(one, decoding.Judged) and type(one.accepted) is bool for one in judged)
        assert [one.token for one in judged] == list(drafted[:len(judged)])
        assert all(type(token) is int and 0 <= token < 3 for token in emitted)
        if name == "accept after a rejection":
            assert len(judged) == 3 and len(emitted) == 4
        else:
            assert all(one.accepted for one in judged[:-1])
            assert len(emitted) == sum(one.accepted for one in judged) + 1
        if name == "one coin for all positions":
            assert len({one.coin for one in judged}) == 1
        if name == "accept only if q ≤ p":
            assert all(one.accepted == (one.q <= one.p) for one in judged)
        else:
            assert all(one.accepted == (one.coin < min(1, one.p / one.q)) for one in judged)
