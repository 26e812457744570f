"""What traces, counters and enumerations say, against counting by hand, exact fractions and substitution."""

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from specdec_lessons import evidence, formulas, rejection
from specdec_lessons.decoding import Round, Trace, decode, speculative_decode
from specdec_lessons.models import AgreeingDraft, TableModel, story_model

COIN = TableModel("ht", [0.25, 0.75])


# -- acceptance_estimate ----------------------------------------------------------------------------

def hand_trace(*rounds):
    return Trace(tuple(Round(tuple(range(drafted)), accepted, (), last)
                       for drafted, accepted, last in rounds))


@pytest.mark.parametrize("rounds, accepted, judged", [
    ([(4, 4, "bonus")], 4, 4),
    ([(4, 1, "correction")], 1, 2),
    ([(4, 0, "correction")], 0, 1),
    ([(4, 2, "stopped")], 2, 2),  # an accepted end of sequence was judged, what followed it was not
    ([(4, 4, "bonus"), (4, 1, "correction"), (0, 0, "bonus")], 5, 6),
])
def test_accepted_and_judged_by_hand(rounds, accepted, judged):
    estimate = evidence.acceptance_estimate(hand_trace(*rounds))
    assert (estimate.accepted, estimate.judged) == (accepted, judged)
    assert estimate.a == accepted / judged
    assert all(type(x) is float for x in estimate[:3])


@pytest.mark.parametrize("accepted, rejected", [(0, 7), (7, 0), (3, 4), (80, 20)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_interval_is_that_of_clopper_and_pearson(accepted, rejected, confidence):
    trace = hand_trace(*[(1, 1, "bonus")] * accepted, *[(1, 0, "correction")] * rejected)
    got = evidence.acceptance_estimate(trace, confidence)
    n, tail = accepted + rejected, (1 - confidence) / 2
    low = stats.beta.ppf(tail, accepted, rejected + 1) if accepted else 0.0
    high = stats.beta.ppf(1 - tail, accepted + 1, rejected) if rejected else 1.0
    assert got.low == pytest.approx(low, abs=1e-9) and got.high == pytest.approx(high, abs=1e-9)
    assert got.low <= accepted / n <= got.high


def test_several_traces_are_counted_together():
    one, two = hand_trace((2, 2, "bonus")), hand_trace((2, 0, "correction"))
    assert evidence.acceptance_estimate([one, two])[3:] == (2, 3)


@pytest.mark.parametrize("a", [0.3, 0.8, 0.95])
def test_the_estimate_finds_the_agreement_that_was_set(a):
    target = story_model()
    trace = speculative_decode(target, AgreeingDraft(target, a), [0], 4000, k=5, rng=np.random.default_rng(8))
    estimate = evidence.acceptance_estimate(trace, confidence=1 - 1e-9)
    assert estimate.low < a < estimate.high
    assert estimate.high - estimate.low < 0.2
    assert estimate.judged == sum(len(r.judged) for r in trace.rounds)
    if a == 0.8:  # negative control: what is drafted is not what is judged
        assert estimate.accepted / trace.draft_steps < estimate.low


# -- counters ---------------------------------------------------------------------------------------

@given(passes=st.integers(1, 10**6), k=st.integers(1, 30), data=st.data())
def test_counters_by_substitution(passes, k, data):
    drafted = data.draw(st.integers(1, passes * k))
    accepted = data.draw(st.integers(0, drafted))
    read = evidence.from_counters(drafted, accepted, passes, k)
    assert read.tokens_per_pass == pytest.approx(1 + accepted / passes, rel=1e-14)
    assert read.per_draft_rate == accepted / drafted
    assert 0 <= read.a <= 1
    assert formulas.expected_tokens(read.a, k) == pytest.approx(read.tokens_per_pass, rel=1e-9)
    if drafted == passes * k:
        assert read.a >= read.per_draft_rate - 1e-9  # discarded drafts count as failures


# -- simulate_rounds --------------------------------------------------------------------------------

@pytest.mark.parametrize("a, k", [(0.8, 4), (0.5, 1), (0.95, 10), (0.3, 3)])
def test_simulated_rounds_follow_the_law_and_no_other(a, k):
    n = 100_000
    seen = np.bincount(evidence.simulate_rounds(a, k, n, np.random.default_rng(0)), minlength=k + 2)[1:]
    assert seen.size == k + 1
    law = {(i,): p for i, p in enumerate(formulas.tokens_per_pass_pmf(a, k))}
    counts = Counter({(i,): int(c) for i, c in enumerate(seen)})
    assert evidence.joint_chi_square(counts, law).p_value > 1e-9
    wrong = {(i,): p for i, p in enumerate(formulas.tokens_per_pass_pmf(a - 0.02, k))}
    assert evidence.joint_chi_square(counts, wrong).p_value < 1e-9


def test_rounds_at_the_ends():
    rng = np.random.default_rng(0)
    assert evidence.simulate_rounds(1, 4, 3, rng).tolist() == [5, 5, 5]
    assert evidence.simulate_rounds(0, 4, 3, rng).tolist() == [1, 1, 1]
    assert evidence.simulate_rounds(0.5, 0, 3, rng).tolist() == [1, 1, 1]
    assert evidence.simulate_rounds([1, 0], 4, 2, rng).tolist() == [5, 1]
    assert evidence.simulate_rounds(0.5, 4, 0, rng).tolist() == []


# -- enumeration ------------------------------------------------------------------------------------

def test_plain_decoding_has_the_law_of_the_chain_rule():
    law = evidence.sequence_law(decode, COIN, [], 3)
    for text in product((0, 1), repeat=3):
        right = Fraction(1, 4) ** text.count(0) * Fraction(3, 4) ** text.count(1)
        assert law[text] == pytest.approx(float(right), abs=1e-15)
    assert law == pytest.approx(evidence.chain_rule_law(COIN, [], 3), abs=1e-15)


def test_the_enumeration_is_told_apart_from_a_decoder_that_is_slightly_off():
    """Negative control: a decoder with a coin of 1/2 + 1e-9."""
    fair = {(0,): 0.5, (1,): 0.5}
    law = evidence.sequence_law(lambda rng: (int(rng.random() >= 0.5 + 1e-9),))
    assert abs(law[0,] - fair[0,]) == pytest.approx(1e-9, rel=1e-6)


@pytest.mark.parametrize("below", [
    lambda u, edge: u < edge, lambda u, edge: edge > u, lambda u, edge: not u >= edge,
    lambda u, edge: not edge <= u,
    lambda u, edge: u < np.float64(edge), lambda u, edge: bool(np.float64(edge) > u),
    lambda u, edge: u <= edge, lambda u, edge: not u > edge, lambda u, edge: 0 <= u < edge < 1])
def test_every_way_to_compare_gives_the_same_law(below):
    law = evidence.sequence_law(lambda rng: (int(below(rng.random(), 0.25)),))
    assert law == {(1,): 0.25, (0,): 0.75}


def test_one_number_compared_twice_keeps_what_is_known_of_it():
    def decoder(rng):
        u = rng.random()
        return int(u < 0.5), int(u < 0.25), int(u < 0.75)

    assert evidence.sequence_law(decoder) == dict.fromkeys(
        [(1, 1, 1), (1, 0, 1), (0, 0, 1), (0, 0, 0)], 0.25)


def test_vectorised_draws_cannot_be_enumerated():
    with pytest.raises(ValueError, match="one number at a time"):
        evidence.sequence_law(rejection.draw, [0.6, 0.4], [0.8, 0.2], size=2)


@pytest.mark.parametrize("temperature, p", [(1, 0.25), (0.5, 0.1), (0, 0.0)])
def test_the_chain_rule_with_a_temperature(temperature, p):
    law = evidence.chain_rule_law(COIN, [0, 1], 2, temperature)
    right = {(0, 0): p * p, (0, 1): p * (1 - p), (1, 0): (1 - p) * p, (1, 1): (1 - p)**2}
    assert law == pytest.approx({text: chance for text, chance in right.items() if chance > 0}, abs=1e-15)


def test_the_chain_rule_uses_the_context():
    flip = TableModel("ht", [[0, 1], [1, 0]], [0.5, 0.5])
    assert evidence.chain_rule_law(flip, [], 3) == {(0, 1, 0): 0.5, (1, 0, 1): 0.5}
    assert evidence.chain_rule_law(flip, [1], 3) == {(0, 1, 0): 1.0}
    assert evidence.chain_rule_law(flip, [1], 0) == {(): 1.0}


# -- chi-square -------------------------------------------------------------------------------------

def test_chi_square_is_the_one_of_scipy_where_nothing_is_pooled():
    counts, law = Counter({(0, 0): 30, (0, 1): 25, (1, 0): 45}), {(0, 0): 0.3, (0, 1): 0.3, (1, 0): 0.4}
    right = stats.chisquare([30, 25, 45], [30, 30, 40])
    got = evidence.joint_chi_square(counts, law)
    assert got.statistic == pytest.approx(right.statistic) and got.p_value == pytest.approx(right.pvalue)
    assert (got.dof, got.n) == (2, 100)


def test_rare_cells_are_pooled_into_one():
    law = {(0,): 0.5, (1,): 0.4, (2,): 0.06, (3,): 0.04}
    got = evidence.joint_chi_square(Counter({(0,): 50, (1,): 38, (3,): 12}), law)
    right = stats.chisquare([50, 38, 12], [50, 40, 10])
    assert got.dof == 2 and got.p_value == pytest.approx(right.pvalue)


def test_what_the_law_rules_out_is_rejected_at_once():
    assert evidence.joint_chi_square([(0,), (1,)], {(0,): 1.0}).p_value == 0
    assert evidence.joint_chi_square([(0,), (1,)], {(0,): 1.0, (1,): 0.0}).p_value == 0


def test_false_alarms_come_as_often_as_they_should():
    rng, law = np.random.default_rng(0), {(0,): 0.2, (1,): 0.3, (2,): 0.5}
    p_values = [evidence.joint_chi_square(Counter({(i,): int(c) for i, c in enumerate(counts)}), law).p_value
                for counts in rng.multinomial(1000, list(law.values()), size=2000)]
    assert stats.kstest(p_values, "uniform").pvalue > 1e-9
    assert 0.07 < np.mean(np.less(p_values, 0.1)) < 0.13


# -- the rates called acceptance --------------------------------------------------------------------

def test_rates_called_acceptance_by_hand():
    """k = 3; passes of 4, 1, 2 tokens: 3, 0, 1 accepted; 3, 1, 2 judged; 9 drafted."""
    rates = evidence.rates_called_acceptance([4, 1, 2], k=3)
    assert rates == {
        "accepted / judged": pytest.approx(4 / 6), "accepted / drafted": pytest.approx(4 / 9),
        "accepted per pass": pytest.approx(4 / 3), "tokens per pass": pytest.approx(7 / 3),
        "survival at position 3": pytest.approx(1 / 3)}
    assert all(type(rate) is float for rate in rates.values())


# -- bad input --------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
NOTHING = Trace((Round((), 0, (1,), "bonus"),))
SOME = hand_trace((2, 1, "correction"))


@pytest.mark.parametrize("call, says", [
    (lambda: evidence.acceptance_estimate(NOTHING), "trace must hold at least one judged draft, got none"),
    (lambda: evidence.acceptance_estimate([]), "trace must hold at least one judged draft, got none"),
    (lambda: evidence.acceptance_estimate(5), "trace must be a Trace or several of them, got 5"),
    (lambda: evidence.acceptance_estimate([1, 2]), "trace must be a Trace or several of them, got [1, 2]"),
    (lambda: evidence.acceptance_estimate("trace"), "trace must be a Trace or several of them, got 'trace'"),
    (lambda: evidence.acceptance_estimate(SOME, 1), "confidence must lie strictly between 0 and 1, got 1"),
    (lambda: evidence.acceptance_estimate(SOME, 95), "confidence must lie in [0, 1], got 95"),
    (lambda: evidence.acceptance_estimate(SOME, [0.9]), "confidence must be a single number"),
    (lambda: evidence.from_counters(0, 0, 5, 4), "drafted must lie between 1 and passes * k = 20, got 0"),
    (lambda: evidence.from_counters(21, 0, 5, 4), "drafted must lie between 1 and passes * k = 20, got 21"),
    (lambda: evidence.from_counters(10, 11, 5, 4), "accepted must be at most drafted = 10, got 11"),
    (lambda: evidence.from_counters(10, -1, 5, 4), "accepted must be a whole number of at least 0, got -1"),
    (lambda: evidence.from_counters(10, 1, 0, 4), "passes must be a whole number of at least 1, got 0"),
    (lambda: evidence.from_counters(10, 1, 5, 0), "k must be a whole number of at least 1, got 0"),
    (lambda: evidence.from_counters("260", 208, 52, 5), "drafted must be a whole number"),
    (lambda: evidence.from_counters([260], 208, 52, 5), "drafted must be a single whole number"),
    (lambda: evidence.simulate_rounds(1.1, 4, 10, RNG), "a must lie in [0, 1], got 1.1"),
    (lambda: evidence.simulate_rounds([0.5] * 3, 4, 10, RNG),
     "a must be one rate or n_rounds = 10 of them, got shape (3,)"),
    (lambda: evidence.simulate_rounds(0.5, [4], 10, RNG), "k must be a single whole number"),
    (lambda: evidence.simulate_rounds(0.5, 4, -1, RNG),
     "n_rounds must be a whole number of at least 0, got -1"),
    (lambda: evidence.simulate_rounds(0.5, 4, 1e6 + 0.5, RNG), "n_rounds must be a whole number"),
    (lambda: evidence.simulate_rounds(0.5, 4, 10, 42), "rng must be a numpy.random.Generator, got 42"),
    (lambda: evidence.simulate_rounds(0.5, 4, 10, None), "rng must be a numpy.random.Generator, got None"),
    (lambda: evidence.rates_called_acceptance([1, 7], 4),
     "numbers from 1 to k + 1 = 5, one a round, got [1, 7]"),
    (lambda: evidence.rates_called_acceptance([], 4), "one a round, got []"),
    (lambda: evidence.rates_called_acceptance([0, 1], 4),
     "tokens_per_round must be a whole number of at least 1, got 0"),
    (lambda: evidence.rates_called_acceptance([1], 0), "k must be a whole number of at least 1, got 0"),
    (lambda: evidence.rates_called_acceptance(3, 4), "one a round, got 3"),
    (lambda: evidence.sequence_law(3), "decoder must be a function"),
    (lambda: evidence.sequence_law(decode, COIN, "h", 2), "prompt must be a sequence of token ids"),
    (lambda: evidence.chain_rule_law("model", [], 2), "model must be a language model"),
    (lambda: evidence.chain_rule_law(COIN, "h", 2), "prompt must be a sequence of token ids"),
    (lambda: evidence.chain_rule_law(COIN, [2], 2), "prompt must be a sequence of token ids"),
    (lambda: evidence.chain_rule_law(COIN, [], 1.5), "n_tokens must be a whole number"),
    (lambda: evidence.chain_rule_law(COIN, [], 2, -1), "temperature must be finite and at least 0, got -1"),
    (lambda: evidence.rule_law([0.5, 0.6], [0.5, 0.5]), "p must sum to 1, got a sum of 1.1"),
    (lambda: evidence.rule_law([0.5, 0.5], [0.5, 0.5], "no residual"),
     "rule must be decoding.verify or one of wrong_rules"),
    (lambda: evidence.joint_chi_square([], {(0,): 1.0}),
     "observed must hold at least one observation, got none"),
    (lambda: evidence.joint_chi_square([0, 1], {(0,): 1.0}),
     "observed must hold tuples of tokens, got [0, 1]"),
    (lambda: evidence.joint_chi_square(None, {(0,): 1.0}), "observed must hold tuples of tokens, got None"),
    (lambda: evidence.joint_chi_square([(0,)], {(0,): 0.9}), "law must sum to 1, got a sum of 0.9"),
    (lambda: evidence.joint_chi_square([(0,)], {(0,): float("nan")}), "law must sum to 1, got a sum of nan"),
    (lambda: evidence.joint_chi_square([(0,)], [0.5, 0.5]),
     "law must be a dict from tuples to probabilities"),
    (lambda: evidence.joint_chi_square([(0,)], {(0,): 1.0}, -1),
     "least_expected must be finite and at least 0, got -1"),
])
def test_bad_input_is_named_and_shown(call, says):
    with pytest.raises(ValueError) as error:
        call()
    assert says in str(error.value)


# -- rounds in constant memory -----------------------------------------------------------------------


def test_totals_follow_the_exact_law_of_tokens_per_pass():
    n, a = 400_000, 0.7
    totals = evidence.simulate_totals(a, 3, n, np.random.default_rng(3))
    assert totals.rounds == n
    law = [(1 - a), a * (1 - a), a**2 * (1 - a), a**3]
    statistic = sum((seen - n * p) ** 2 / (n * p) for seen, p in zip(totals.counts, law))
    assert stats.chi2.sf(statistic, 3) > 1e-4
    assert abs(totals.mean - 2.533) < 4 * totals.standard_error
    assert totals.standard_error == pytest.approx(
        (sum(x**2 * p for x, p in zip((1, 2, 3, 4), law)) - 2.533**2) ** 0.5 / n**0.5, rel=0.01)


def test_control_totals_of_another_rate_are_told_apart():
    totals = evidence.simulate_totals(0.7, 3, 400_000, np.random.default_rng(3))
    assert abs(totals.mean - sum(0.71**i for i in range(4))) > 4 * totals.standard_error


def test_totals_at_the_ends_and_by_position():
    assert evidence.simulate_totals(1, 4, 1000, np.random.default_rng(0)).counts == (0, 0, 0, 0, 1000)
    assert evidence.simulate_totals(0, 4, 1000, np.random.default_rng(0)).counts == (1000, 0, 0, 0, 0)
    assert evidence.simulate_totals(0.5, 0, 7, np.random.default_rng(0)).counts == (7,)
    assert evidence.simulate_totals([1, 0], 2, 1000, np.random.default_rng(0)).counts == (0, 1000, 0)


def test_totals_need_no_memory_for_more_rounds():
    class Counting:
        largest = 0

        def random(self, size):
            Counting.largest = max(Counting.largest, size)
            return np.full(size, 0.5)

    assert evidence.simulate_totals(0.6, 2, 100_003, Counting(), chunk=1000).counts == (0, 0, 100_003)
    assert Counting.largest == 1000


def test_totals_show_a_bar_only_when_asked(capsys):
    evidence.simulate_totals(0.5, 2, 1000, np.random.default_rng(0))
    assert capsys.readouterr() == ("", "")
    evidence.simulate_totals(0.5, 2, 1000, np.random.default_rng(0), progress=True)
    shown = capsys.readouterr()
    assert "100%" in shown.out and shown.err == ""


@pytest.mark.parametrize("arguments, words", [
    ((1.2, 4, 10), "a must lie"), ((0.5, 4, 0), "n_rounds must be"),
    (([0.5, 0.5], 3, 10), "a must be one rate or k = 3"),
])
def test_totals_bad_input(arguments, words):
    with pytest.raises(ValueError, match=words):
        evidence.simulate_totals(*arguments, np.random.default_rng(0))
