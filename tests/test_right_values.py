"""Every value of right_values.json: small inputs whose results were found by hand and by exact fractions."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from specdec_lessons import decoding, evidence, formulas, models, rejection, wrong_rules
from specdec_lessons.decoding import Trace, speculative_decode

VALUES = json.loads(Path(__file__).with_name("right_values.json").read_text(encoding="utf-8"))


def number(value):
    return float(Fraction(value)) if isinstance(value, str) else value


def numbers(values):
    return [number(value) for value in values]


def near(got, printed):
    """Equal to as many digits as the value is given with."""
    text = repr(printed)
    places = len(text.partition(".")[2]) if "." in text else 12
    return got == pytest.approx(printed, abs=max(0.5 * 10.0**-places, 1e-12))


def entries(chapter):
    return {entry["name"]: entry for entry in VALUES[chapter]}


def test_all_chapters_and_entries_are_known_here():
    """A value added to the file must be added to a test."""
    assert {chapter: list(entries(chapter)) for chapter in VALUES if chapter != "about"} == {
        "formulas": ["seed table", "ends of the range", "published, c = 0",
                     "best draft length [k, speedup], ties to the smaller k", "verify pass not free"],
        "rejection": ["zero residual", "float32 sum just under one", "why not resample from p",
                      "coin reused for the residual draw", "disjoint", "same coin at every position"],
        "decoding": ["end of sequence inside a draft that all matches", "never past n_tokens",
                     "accepted never counts past the first rejection"],
        "counters": ["per-draft rate is not a", "an engine log read wrongly"],
        "independence": ["half the rounds at a = 0.9, half at 0.3, k = 4"],
    }


# -- formulas ---------------------------------------------------------------------------------------

FORMULAS = {
    "E": lambda case: formulas.expected_tokens(case["a"], case["k"]),
    "speedup": lambda case: formulas.speedup(case["a"], case["k"], case["c"], case.get("verify_cost", 1.0)),
    "operations_factor_c_hat_0": lambda case: formulas.operations_factor(case["a"], case["k"], 0),
}


@pytest.mark.parametrize("case", [
    case for entry in VALUES["formulas"] for case in entry["cases"]], ids=lambda case: str(case)[1:50])
def test_formulas(case):
    results = {key: value for key, value in case.items() if key not in ("a", "k", "c", "verify_cost")}
    assert results
    for key, right in results.items():
        if key == "best":
            k = formulas.best_draft_length(case["a"], case["c"])
            assert k == right[0]
            assert near(formulas.speedup(case["a"], k, case["c"]), right[1])
        elif key == "break_even_verify_cost":
            assert near(formulas.speedup(case["a"], case["k"], case["c"], verify_cost=right), 1.0)
            assert near(formulas.expected_tokens(case["a"], case["k"]) - case["k"] * case["c"], right)
        else:
            assert near(FORMULAS[key](case), right), key


# -- rejection --------------------------------------------------------------------------------------

REJECTION = entries("rejection")
ONE_POSITION = {name: entry for name, entry in REJECTION.items() if "p" in entry}


@pytest.mark.parametrize("name", ONE_POSITION)
def test_rejection(name):
    entry = ONE_POSITION[name]
    p, q = numbers(entry["p"]), numbers(entry["q"])
    if "acceptance" in entry:
        assert rejection.acceptance_probability(p, q) == pytest.approx(number(entry["acceptance"]), abs=1e-15)
    if "residual" in entry:
        assert np.allclose(rejection.residual(p, q), numbers(entry["residual"]), rtol=0, atol=1e-15)
    if "output" in entry:
        assert np.allclose(rejection.output_distribution(p, q), numbers(entry["output"]), rtol=0, atol=1e-15)
        assert np.allclose(evidence.rule_law(p, q), numbers(entry["output"]), rtol=0, atol=1e-15)
    if "residual_is_finite_and_sums_to_one" in entry:
        for got in (rejection.residual(p, q), rejection.residual(np.float32(p), np.float32(q)),
                    rejection.residual(q, p)):
            assert np.all(np.isfinite(got)) and got.sum() == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("name, key, rule", [
    ("why not resample from p", "wrong_rule_resample_from_p_gives", wrong_rules.resample_from_p),
    ("coin reused for the residual draw", "wrong_rule_gives", wrong_rules.reuse_the_coin),
])
def test_what_the_wrong_rules_give(name, key, rule):
    entry = REJECTION[name]
    law = evidence.rule_law(numbers(entry["p"]), numbers(entry["q"]), rule)
    assert np.allclose(law, numbers(entry[key]), rtol=0, atol=1e-15)


def test_the_same_coin_at_every_position():
    """Disjoint halves of q: each draft is accepted with probability 1/2, whichever token it is."""
    entry = REJECTION["same coin at every position"]
    a, k = number(entry["a"]), entry["k"]
    assert formulas.expected_tokens(a, k) == number(entry["E"])
    p, q = np.array([a, 1 - a]), np.array([1.0, 0.0])  # the draft says token 0, the target wants it with a

    def mean_tokens(rule):
        law = evidence.sequence_law(lambda rng: rule((0,) * k, (q,) * k, (p,) * (k + 1), rng)[1])
        return sum(len(text) * chance for text, chance in law.items())

    assert mean_tokens(decoding.verify) == pytest.approx(number(entry["E"]), abs=1e-15)
    assert mean_tokens(wrong_rules.one_coin_for_all) == pytest.approx(entry["wrong_rule_gives"], abs=1e-15)


# -- decoding ---------------------------------------------------------------------------------------

DECODING = entries("decoding")
EOS = 2


def cycle(*tokens):
    """A model over four tokens that surely says the given ones, one after another."""
    table = np.eye(4)
    start = np.eye(4)[tokens[0]]
    for one, following in zip(tokens, tokens[1:]):
        table[one] = np.eye(4)[following]
    return models.TableModel("abcd", table, start)


@pytest.mark.parametrize("temperature", [0, 1])
def test_the_end_of_sequence_inside_a_draft(temperature):
    entry = DECODING["end of sequence inside a draft that all matches"]
    drafted = tuple(EOS if token == "EOS" else token for token in entry["drafted"])
    model = cycle(*drafted)
    trace = speculative_decode(model, model, [], 10, k=len(drafted), eos=EOS, temperature=temperature)
    (only,) = trace.rounds
    assert only.drafted == drafted
    emitted = tuple(EOS if token == "EOS" else token for token in entry["emitted"])
    assert trace.tokens == only.emitted == emitted
    assert only.accepted == entry["accepted"]
    assert (only.last == "bonus") is entry["bonus"] and only.last == "stopped"


def test_never_past_n_tokens():
    entry = DECODING["never past n_tokens"]
    model = models.TableModel("abcd", np.full(4, 0.25))
    for remaining, may_draft in zip(entry["remaining"], entry["may_draft"], strict=True):
        trace = speculative_decode(model, model, [], remaining, k=entry["k"])
        assert len(trace.rounds[0].drafted) == may_draft
        assert len(trace.tokens) == remaining


def test_accepted_never_counts_past_the_first_rejection():
    entry = DECODING["accepted never counts past the first rejection"]
    equal = entry["judged_equal"]
    # the draft says 0 throughout; the target says 0 where the drafts are equal, and 1 where they are not
    rows = [np.eye(4)[0 if same else 1] for same in equal] + [np.eye(4)[0]]

    class Target(models.ToyModel):
        def next_probs(self, context):
            return rows[len(context)]

    draft = models.TableModel("abcd", np.eye(4)[0])
    trace = speculative_decode(Target("abcd"), draft, [], len(equal) + 1, k=len(equal))
    first = trace.rounds[0]
    assert first.drafted == (0,) * len(equal)
    assert first.accepted == entry["accepted"]
    assert len(first.judged) == entry["judged"]
    assert len(first.drafted) - len(first.judged) == entry["discarded"]
    estimate = evidence.acceptance_estimate(Trace((first,)))
    assert (estimate.accepted, estimate.judged) == (entry["accepted"], entry["judged"])


# -- counters ---------------------------------------------------------------------------------------

COUNTERS = entries("counters")


def test_the_per_draft_rate_is_not_a():
    entry = COUNTERS["per-draft rate is not a"]
    a, k = entry["a"], entry["k"]
    assert near(formulas.expected_tokens(a, k), entry["tokens_per_pass"])
    law = formulas.tokens_per_pass_pmf(a, k)
    accepted = law @ np.arange(k + 1)
    judged = law @ np.minimum(np.arange(k + 1) + 1, k)
    assert near(accepted, entry["accepted_per_pass"])
    assert near(accepted / k, entry["accepted_over_drafted"])
    assert near(accepted / judged, entry["accepted_over_judged"])
    assert near(law[k], entry["survival_at_position_5"])
    # a million passes with exactly these frequencies, read from counters and from the tokens of each pass
    passes = 10**6
    read = evidence.from_counters(drafted=passes * k, accepted=round(passes * accepted), passes=passes, k=k)
    assert near(read.per_draft_rate, entry["accepted_over_drafted"])
    assert near(read.tokens_per_pass, entry["tokens_per_pass"])
    assert read.a == pytest.approx(entry["accepted_over_judged"], abs=1e-9)


def test_the_rates_that_are_all_called_acceptance():
    entry = COUNTERS["per-draft rate is not a"]
    a, k = Fraction(4, 5), entry["k"]
    passes = 5**k  # then every frequency of the law is a whole number
    counts = [int(passes * a**i * (1 - a)) for i in range(k)] + [int(passes * a**k)]
    rates = evidence.rates_called_acceptance(np.repeat(np.arange(1, k + 2), counts), k)
    for name, key in (("accepted / drafted", "accepted_over_drafted"),
                      ("accepted / judged", "accepted_over_judged"),
                      ("tokens per pass", "tokens_per_pass"), ("accepted per pass", "accepted_per_pass"),
                      ("survival at position 5", "survival_at_position_5")):
        assert near(rates[name], entry[key]), name


def test_an_engine_log_read_wrongly():
    entry = COUNTERS["an engine log read wrongly"]
    read = evidence.from_counters(entry["drafted"], entry["accepted"], entry["passes"], entry["k"])
    assert read.tokens_per_pass == entry["tokens_per_pass"]
    assert near(read.a, entry["a_that_gives_it"])
    assert read.per_draft_rate == 0.8
    misread = formulas.expected_tokens(read.per_draft_rate, entry["k"])
    assert near(misread, entry["E_if_80_percent_is_taken_for_a"])


# -- independence -----------------------------------------------------------------------------------

def test_coins_that_are_not_alike():
    (entry,) = VALUES["independence"]
    rates, k = [0.9, 0.3], 4
    assert near(float(np.mean(formulas.expected_tokens(rates, k))), entry["true_E"])
    assert near(formulas.expected_tokens(float(np.mean(rates)), k), entry["E_at_the_mean_a"])
    n = 200_000
    tokens = evidence.simulate_rounds(np.resize(rates, n), k, n, np.random.default_rng(0))
    error = tokens.std() / n**0.5
    assert abs(tokens.mean() - entry["true_E"]) < 6.2 * error  # false alarm about 1e-9
    assert abs(tokens.mean() - entry["E_at_the_mean_a"]) > 20 * error
