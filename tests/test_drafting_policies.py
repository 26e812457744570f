"""The policies: exact by enumeration and by chi-square, right by hand; those that peek are caught."""

import math
from itertools import product

import numpy as np
import pytest

from specdec_lessons import drafting, evidence
from specdec_lessons.decoding import Round, decode, speculative_decode
from specdec_lessons.drafting import (
    AdditiveSchedule,
    ConfidenceThreshold,
    Fixed,
    LearnedEstimate,
    Oracle,
    Past,
    SurvivalProduct,
    chance_of,
    draft_length_for,
    learn_estimate,
)
from specdec_lessons.formulas import best_draft_length, speedup
from specdec_lessons.models import TableModel
from specdec_lessons.wrong_rules import PEEKING

EXACT = 1e-12
TARGET = TableModel("xyz", [[0.25, 0.25, 0.5], [0.6, 0.1, 0.3], [0.25, 0.6, 0.15]])
DRAFT = TableModel("xyz", [[0.75, 0.125, 0.125], [0.2, 0.7, 0.1], [0.4, 0.3, 0.3]])
TWO = TableModel("xy", [[0.9, 0.1], [0.4, 0.6]]), TableModel("xy", [[0.8, 0.2], [0.55, 0.45]])


def policies(target, draft):
    return {
        "fixed": Fixed(2),
        "confidence": ConfidenceThreshold(0.6, most=3),
        "entropy": ConfidenceThreshold(1.2, by="entropy", most=3),
        "schedule": AdditiveSchedule(start=2, most=3),
        "survival": SurvivalProduct(0.3, typical=0.7, most=3),
        "learned": SurvivalProduct(0.3, 0.7, LearnedEstimate((0.6,), (0.35, 0.9)), most=3),
        "oracle": Oracle(chance_of(target, draft), price=0.35, most=3),
        "local oracle": Oracle(chance_of(target, draft), lambda context: 0.2 + 0.3 * context[-1], most=3),
    }


NAMES = list(policies(TARGET, DRAFT))


def right_law(model, prompt, n_tokens):
    """The chain rule, over every text."""
    return {text: math.prod(model.next_probs((*prompt, *text[:i]))[token] for i, token in enumerate(text))
            for text in product(range(len(model.vocabulary)), repeat=n_tokens)}


def distance(one, other):
    return max(abs(one.get(text, 0.0) - other.get(text, 0.0)) for text in one.keys() | other.keys())


# -- exactness --------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target, draft, n", [(*TWO, 5), (TARGET, DRAFT, 4)], ids=["2 words", "3 words"])
def test_every_path_adds_up_to_the_targets_law(target, draft, n, name):
    lengths = set()

    def decoder(rng):
        trace = speculative_decode(target, draft, [0], n, k=policies(target, draft)[name], rng=rng)
        lengths.update(len(r.drafted) for r in trace.rounds[:2])
        return trace

    law = evidence.sequence_law(decoder)
    assert distance(law, right_law(target, [0], n)) < EXACT
    assert distance(law, evidence.chain_rule_law(target, [0], n)) < EXACT
    assert len(lengths) > 1  # the policy did adapt (at the end of the text even a fixed length gives way)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "fixed"])
def test_control_each_policy_chooses_different_lengths_in_the_first_round(name):
    """So that the enumeration above puts adaptation to the test, not one more fixed length."""
    chosen = set()
    for seed in range(60):
        trace = speculative_decode(TARGET, DRAFT, [0], 12, k=policies(TARGET, DRAFT)[name],
                                   rng=np.random.default_rng(seed))
        chosen |= {len(r.drafted) for r in trace.rounds[:3]}
    assert len(chosen) > 1


@pytest.mark.parametrize("temperature", [0, 0.5, 2])
@pytest.mark.parametrize("name", ["confidence", "entropy", "schedule", "survival"])
def test_at_other_temperatures_and_with_an_end(name, temperature):
    target, draft = TWO
    policy = policies(target, draft)[name]
    law = evidence.sequence_law(speculative_decode, target, draft, [0], 4, k=policy, temperature=temperature)
    assert distance(law, evidence.chain_rule_law(target, [0], 4, temperature)) < EXACT
    ended = evidence.sequence_law(speculative_decode, target, draft, [0], 4, k=policy, eos=1)
    assert distance(ended, evidence.sequence_law(decode, target, [0], 4, eos=1)) < EXACT


FALSE_ALARM = 1e-9
N = 2500


def joint(seed, **settings):
    rng = np.random.default_rng(seed)
    texts = [speculative_decode(TARGET, DRAFT, [0], 3, rng=rng, **settings).tokens for _ in range(N)]
    return evidence.joint_chi_square(texts, right_law(TARGET, [0], 3))


@pytest.mark.parametrize("number, name", list(enumerate(NAMES)))
def test_the_joint_law_by_chi_square(number, name):
    result = joint(number, k=policies(TARGET, DRAFT)[name])
    assert result.p_value > FALSE_ALARM and result.dof >= 20


@pytest.mark.parametrize("rule", PEEKING)
def test_the_same_tests_catch_those_that_peek(rule):
    law = evidence.sequence_law(speculative_decode, TARGET, DRAFT, [0], 3, k=2, verify=PEEKING[rule])
    assert sum(law.values()) == pytest.approx(1, abs=EXACT)
    assert distance(law, right_law(TARGET, [0], 3)) > 1e-2
    assert joint(5, k=2, verify=PEEKING[rule]).p_value < FALSE_ALARM


P, Q = (0.6, 0.4), (0.8, 0.2)


@pytest.mark.parametrize("rule, law", [
    ("stop at the verdict", (0.6 + 0.2 * 0.6, 0.2 + 0.2 * 0.4)),  # min(p, q) + 1/5 p
    ("stop where p < q", (0.8 * 0.6, 0.2 + 0.8 * 0.4)),  # q where q ≤ p, and 4/5 p
    ("drop the unlikely", (0.6 + 0.2 * 0.6, 0.2 + 0.2 * 0.4)),  # .2 dropped, p instead
])
def test_the_bias_of_peeking_by_hand(rule, law):
    assert evidence.rule_law(P, Q, PEEKING[rule]) == pytest.approx(law, abs=EXACT)


def test_dropping_after_the_draw_is_wrong_where_stopping_behind_it_is_right():
    target, draft = TableModel("xy", P), TableModel("xy", Q)
    right = right_law(target, [], 3)
    behind = evidence.sequence_law(speculative_decode, target, draft, [], 3, k=ConfidenceThreshold(1.0))
    rule = PEEKING["drop the unlikely"]
    before = evidence.sequence_law(speculative_decode, target, draft, [], 3, k=2, verify=rule)
    assert distance(behind, right) < EXACT < 0.05 < distance(before, right)


# -- what each policy does --------------------------------------------------------------------------

def count(policy, past=(), rows=None, longest=40):
    """How many tokens the policy drafts when the rows are these (or absent)."""
    rows = [None] * longest if rows is None else rows
    k = 0
    while k < len(rows) and policy.draft_more(past, (0,) * k, tuple(rows[:k])):
        k += 1
    return k


def top(*values):
    return [np.array([x, 1 - x, 0.0]) for x in values]


@pytest.mark.parametrize("threshold, most, k", [
    (0.7, 16, 3), (0.95, 16, 1), (0, 16, 6), (0.7, 2, 2), (0.6, 16, 4)])
def test_confidence_stops_behind_the_first_unsure_token(threshold, most, k):
    assert count(ConfidenceThreshold(threshold, most=most), rows=top(0.9, 0.8, 0.6, 0.55, 0.9, 0.9)) == k


def test_entropy_stops_behind_the_first_unsure_token():
    rows = [np.array(x) for x in ([1.0, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4, [1.0, 0, 0, 0])]
    assert [drafting.entropy(row) for row in rows] == [0, 1, 2, 0]
    for bits, k in ((0, 2), (1, 3), (1.9, 3), (2, 4)):
        assert count(ConfidenceThreshold(bits, by="entropy"), rows=rows) == k


def finished(drafted, accepted):
    last = "bonus" if accepted == drafted else "correction"
    return Round((0,) * drafted, accepted, (0,) * (accepted + 1), last)


@pytest.mark.parametrize("drafted, accepted, k", [
    (4, 4, 6), (4, 3, 3), (4, 0, 3), (1, 0, 1), (15, 15, 16), (16, 16, 16)])
def test_schedule_adds_two_and_takes_one(drafted, accepted, k):
    assert count(AdditiveSchedule(), [finished(drafted, accepted)]) == k
    assert count(AdditiveSchedule(), [finished(3, 3), finished(drafted, accepted)]) == k


def test_schedule_is_that_of_a_counter_kept_all_along():
    """Written as engines do, with a number changed after each round, also where the end cuts rounds short."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        trace = speculative_decode(TARGET, DRAFT, [0], 60, k=AdditiveSchedule(start=3), rng=rng)
        wanted, remaining = 3, 60
        for r in trace.rounds:
            assert len(r.drafted) == min(wanted, remaining - 1)
            wanted = min(wanted + 2, 16) if r.accepted == len(r.drafted) else max(1, wanted - 1)
            remaining -= len(r.emitted)


@pytest.mark.parametrize("a", [0.2, 0.5, 0.8, 0.9, 0.95])
@pytest.mark.parametrize("c", [0.02, 0.1, 0.3])
def test_survival_at_the_price_of_its_own_pace_is_the_best_k(a, c):
    best = best_draft_length(a, c, 60)
    price = c * speedup(a, best, c)
    policy = SurvivalProduct(price, typical=a, estimate=lambda row: a, most=60)
    assert count(policy, longest=80) == best == draft_length_for([a] * 60, price)


def test_survival_at_the_price_c_drafts_too_long():
    chance = SurvivalProduct(0.1, typical=0.8, estimate=lambda row: 0.8)
    assert count(chance) == 10
    assert [f"{speedup(0.8, k, 0.1):.2f}" for k in (10, 6)] == ["2.29", "2.47"]


def test_survival_multiplies_what_the_draft_says():
    rows = top(0.9, 0.9, 0.5, 0.9, 0.9)  # products 1, .9, .81, .405, .3645
    for price, k in ((0.5, 3), (0.39, 4), (0.95, 1), (1.0, 0)):
        assert count(SurvivalProduct(price, typical=1.0), rows=rows) == k


def test_oracle_uses_the_true_chances_along_the_draft():
    policy = Oracle(chance_of(*TWO), price=0.5)  # after x .9, after y .85
    past = Past([], (0,))
    chances = [0.9, 0.85, 0.85, 0.9, 0.9]  # after the drafts y, y, x, x
    drafted = (1, 1, 0, 0)
    for k in range(5):
        assert policy.draft_more(past, drafted[:k], ()) == (math.prod(chances[:k + 1]) > 0.5)
    with pytest.raises(ValueError, match="past must carry the context"):
        policy.draft_more((), (), ())


def test_the_rule_is_the_best_of_all_stopping_rules_when_chances_are_known():
    """Over every length, for rounds with chances of their own: E[N] − λ E[T] at λ = S, round by round."""
    rng = np.random.default_rng(7)
    rounds, c = rng.random((40, 6)), 0.08

    def pace(lengths):
        tokens = sum(1 + np.cumprod(row)[:k].sum() for row, k in zip(rounds, lengths))
        return tokens / (len(rounds) + c * sum(lengths))

    best = 1.0
    for _ in range(10):
        best = pace([draft_length_for(row, c * best) for row in rounds])
    lengths = [draft_length_for(row, c * best) for row in rounds]
    for i in range(len(rounds)):  # no change of one round helps, nor of all together at random
        for k in range(7):
            assert pace(lengths[:i] + [k] + lengths[i + 1:]) <= best + EXACT
    for _ in range(300):
        assert pace(np.minimum(6, np.maximum(0, lengths + rng.integers(-2, 3, len(rounds))))) <= best + EXACT


def test_learning_counts_bands():
    confidences = [0.1] * 10 + [0.5] * 10 + [0.9] * 10
    accepted = [1] * 2 + [0] * 8 + [1] * 5 + [0] * 5 + [1] * 10
    learned = learn_estimate(confidences, accepted, bins=3)
    assert learned.edges == (0.5, 0.9)
    chances = [learned(np.array([x])) for x in (0.05, 0.3, 0.6, 0.95)]
    assert chances == pytest.approx([3 / 12, 3 / 12, 6 / 12, 11 / 12])


def test_learning_from_a_draft_that_is_always_equally_sure_gives_its_rate():
    learned = learn_estimate([0.4] * 98, [True] * 79 + [False] * 19)
    assert learned.edges == () and learned.chances == (0.8,)


# -- the past ---------------------------------------------------------------------------------------

class Watcher:
    """Remembers what it was shown of the past."""

    def __init__(self):
        self.contexts, self.seen = [], []

    def draft_more(self, past, drafted, draft_rows):
        if not drafted:
            self.contexts.append(past.context)
            self.seen.append(tuple(past))
        return len(drafted) < 2


def test_the_past_is_the_finished_rounds_and_the_context():
    watcher = Watcher()
    trace = speculative_decode(TARGET, DRAFT, [0, 1], 20, k=watcher, rng=np.random.default_rng(0))
    for i, (context, seen) in enumerate(zip(watcher.contexts, watcher.seen)):
        assert seen == trace.rounds[:i]
        assert context == (0, 1, *(token for r in trace.rounds[:i] for token in r.emitted))


def test_the_past_is_read_only_and_not_copied():
    rounds = [finished(2, 1)]
    past = Past(rounds, (0,))
    assert past[0] is past[-1] is rounds[0] and past[:1] == tuple(rounds) and list(reversed(past)) == rounds
    with pytest.raises(TypeError):
        past[0] = None
    assert not hasattr(past, "append")


class Counting(Past):
    """Counts how often a policy looks at a round."""

    looks = 0

    def __getitem__(self, place):
        Counting.looks += 1
        return super().__getitem__(place)

    def __iter__(self):
        raise AssertionError("a policy went through the whole past")


def test_a_long_past_costs_no_more_than_a_short_one():
    for n in (10, 10_000):
        past, Counting.looks = Counting([finished(2, 1)] * n, (0,)), 0
        for policy in policies(*TWO).values():
            policy.draft_more(past, (), ())
        assert Counting.looks == 1  # the schedule's, at the last round


# -- bad input --------------------------------------------------------------------------------------

@pytest.mark.parametrize("make, message", [
    (lambda: ConfidenceThreshold(1.2), r"threshold must lie in \[0, 1\], got 1.2"),
    (lambda: ConfidenceThreshold(-1, by="entropy"), "threshold must be finite and at least 0, got -1"),
    (lambda: ConfidenceThreshold(0.5, by="mood"), "by must be 'top probability' or 'entropy', got 'mood'"),
    (lambda: ConfidenceThreshold(0.5, most=0), "most must be a whole number of at least 1, got 0"),
    (lambda: AdditiveSchedule(start=0), "start must be a whole number of at least 1, got 0"),
    (lambda: AdditiveSchedule(up=1.5), "up must be a whole number of at least 0, got 1.5"),
    (lambda: SurvivalProduct(-0.1), "price must be finite and at least 0, got -0.1"),
    (lambda: SurvivalProduct(0.1, typical=2), r"typical must lie in \[0, 1\], got 2"),
    (lambda: SurvivalProduct(0.1, estimate=0.8), "estimate must be a function, got 0.8"),
    (lambda: Oracle(0.8, 0.1), "chance must be a function, got 0.8"),
    (lambda: Oracle(abs, math.nan), "price must be finite"),
    (lambda: learn_estimate([], []), "confidences and accepted must be two lists"),
    (lambda: learn_estimate([0.5], [True, False]), "confidences and accepted must be two lists"),
    (lambda: draft_length_for([1.2], 0.1), r"chances must lie in \[0, 1\], got 1.2"),
    (lambda: chance_of(TARGET, TWO[0]), "target and draft must share one vocabulary"),
])
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_policies_are_small_frozen_objects_that_compare_by_value():
    assert ConfidenceThreshold(0.4) == ConfidenceThreshold(0.4) and hash(Fixed(2)) == hash(Fixed(2))
    assert SurvivalProduct(0.2) == SurvivalProduct(0.2)
    with pytest.raises(AttributeError):
        Fixed(2).k = 3
    for policy in policies(*TWO).values():
        assert drafting.as_policy(policy) is policy
