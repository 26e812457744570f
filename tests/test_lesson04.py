"""Lesson 4: what the stored notebook says, against values from papers and from exact fractions."""

import random
from fractions import Fraction
from math import prod
from pathlib import Path

import pytest

from specdec_lessons import figures, formulas, publish, published
from specdec_lessons.exercises import lesson04

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "04_speedup_and_draft_length.ipynb"
COST_PER_TOKEN = (1, .605, .473, .408, .374, .351, .334, .32, .313)  # llama.cpp pull request 17034


def tokens(a, k):
    return sum(Fraction(str(a)) ** i for i in range(k + 1))


def speedup(a, k, c, v=1):
    return tokens(a, k) / (Fraction(str(v)) + k * Fraction(str(c)))


def measured_v(k):
    return (k + 1) * Fraction(str(COST_PER_TOKEN[k]))


@pytest.fixture(scope="module")
def cells():
    """Source and shown text of each code cell, but for the measured ones."""
    return [(cell.source, "\n".join(text for output in cell.outputs for text in publish.readable(output)))
            for cell in publish.code_cells(publish.read(NOTEBOOK)) if "measured" not in publish.tags(cell)]


def shown(cells, part):
    """The output of the one cell whose source contains ``part``."""
    found = [text for source, text in cells if part in source]
    assert len(found) == 1, f"{len(found)} cells contain {part!r}"
    return found[0]


def test_the_bill(cells):
    assert f"= {float(speedup(.8, 4, .1)):.2f}" == "= 2.40"
    text = shown(cells, "price = 1 + k * c")
    assert "3.36 tokens / 1.40 steps = 2.40" in text
    assert f"{float(tokens(.8, 4) / Fraction('0.4')):.2f}" == "8.40" and "8.40" in text


@pytest.mark.parametrize("a, k, row", [
    (.8, 4, "0.328  E = 3.36  S = 2.40"), (.9, 4, "0.590  E = 4.10  S = 2.93"),
    (.5, 4, "0.031  E = 1.94  S = 1.38"), (.8, 2, "0.512  E = 2.44  S = 2.03"),
])
def test_the_table_of_the_course(cells, a, k, row):
    values = float(Fraction(str(a)) ** (k + 1)), float(tokens(a, k)), float(speedup(a, k, .1))
    assert row == "{:.3f}  E = {:.2f}  S = {:.2f}".format(*values)
    assert f"a = {a}, k = {k}:  a^(k+1) = {row}" in shown(cells, "for a, k in [(0.8, 4)")


@pytest.mark.parametrize("a, c, best, value", [
    (.8, .1, 6, "2.47"), (.5, .5, 0, "1.00"), (.9, .05, 13, "4.67"), (.7, .5, 1, "1.13"),
])
def test_four_best_lengths_by_exact_search(cells, a, c, best, value):
    exact = [speedup(a, k, c) for k in range(41)]
    assert exact.index(max(exact)) == best and f"{float(exact[best]):.2f}" == value
    line = f"a = {a}, c = {c}: No guess yet; it is {best}. Speedup {value}"
    assert line in shown(cells, "for guess, (a, c) in zip(guess_2")


def test_marginal_condition_is_exactly_a_better_speedup():
    for a in ("0.3", "0.5", "0.8", "0.95"):
        for c in ("0.05", "0.3", "0.5", "0.8"):
            for k in range(20):
                pays = Fraction(a) ** (k + 1) > Fraction(c) * speedup(a, k, c)
                assert pays == (speedup(a, k + 1, c) > speedup(a, k, c))


def test_once_a_draft_stops_paying_none_pays_again():
    a, c = Fraction(4, 5), Fraction(1, 10)
    g = [a ** (k + 1) * (1 + k * c) - c * tokens(a, k) for k in range(30)]
    for k in range(29):
        assert g[k + 1] - g[k] == -(1 - a) * a ** (k + 1) * (1 + (k + 1) * c) < 0


def test_walk_stops_at_six(cells):
    text = shown(cells, "while a ** (k + 1) > c")
    assert text.count(">") == 6 and "k = 6: next draft 0.210, price 0.247: stop" in text
    assert (f"{.8 ** 7:.3f}", f"{float(speedup(.8, 6, .1)) / 10:.3f}") == ("0.210", "0.247")


def test_myopic_rule(cells):
    k = max(k for k in range(40) if Fraction(4, 5) ** k > Fraction(1, 10))
    assert k == 10 and f"{float(speedup(.8, 10, .1)):.2f}" == "2.29"
    assert "k = 10, speedup 2.29" in shown(cells, "greedy =")


def test_wrong_side_of_the_map(cells):
    assert f"{float(speedup(.3, 8, .1)):.2f}" == "0.79" and f"{float(speedup(.9, 8, .1)):.2f}" == "3.40"
    text = shown(cells, "guess_3, formulas")
    assert "code: 3.40" in text and "it is 0.79 times" in text and "chat: 1, with 1.18" in text
    assert f"{float(speedup(.3, 1, .1)):.2f}" == "1.18" and speedup(.3, 1, .1) > speedup(.3, 2, .1)


@pytest.mark.parametrize("k, a", [(1, "0.100"), (2, "0.171"), (4, "0.287"), (8, "0.445"), (16, "0.615")])
def test_break_even_acceptance(cells, k, a):
    low, high = Fraction(a) - Fraction(1, 2000), Fraction(a) + Fraction(1, 2000)
    assert tokens(low, k) < 1 + Fraction(k, 10) < tokens(high, k)
    assert f"k = {k:2}: break even at a = {a}" in shown(cells, "break_even_acceptance(k, 0.1)")


def test_waste_and_arithmetic(cells):
    assert f"{float(5 - tokens(.8, 4)):.2f}" == "1.64"
    text = shown(cells, "guess_4, wasted")
    rejected = 1 - Fraction(4, 5) ** 4
    assert f"{float(rejected):.2f}, {float(5 - tokens(.8, 4) - rejected):.2f}" == "0.59, 1.05"
    assert "it is 1.64 drafts" in text and "rejected 0.59, dragged along 1.05" in text
    text = shown(cells, "operations_factor")
    assert f"{float(6 / tokens(.8, 5)):.2f}" == "1.63" and text.count("1.63") == 2  # Leviathan, Table 1
    assert f"{float((6 + Fraction(1, 2)) / tokens(.8, 5)):.2f}" == "1.76" and "1.76" in text


def test_dear_pass(cells):
    text = shown(cells, "for v in (1, 2, 3.44)")
    assert [f"{float(speedup(.8, 5, .05, v)):.2f}" for v in (1, 2)] == ["2.95", "1.64"]
    assert "v = 1: speedup 2.95" in text and "v = 2: speedup 1.64" in text
    assert tokens(.8, 5) - Fraction(1, 4) == Fraction("3.43928") and "break even at v = 3.44" in text


def test_measured_pass_of_the_pull_request(cells):
    assert published.pass_costs()[:9] == pytest.approx([float(measured_v(k)) for k in range(9)])
    real = [speedup(.8, k, .05, measured_v(k)) for k in range(9)]
    assert real.index(max(real)) == 3
    promised = [speedup(.8, k, .05) for k in range(30)]
    assert promised.index(max(promised)) == 8
    text = shown(cells, "guess_5, best")
    assert f"{float(real[3]):.2f}" == "1.66" and "k = 3: promised 2.57, with the measured v 1.66" in text
    assert f"{float(real[8]):.2f}" == "1.35" and "k = 8: promised 3.09, with the measured v 1.35" in text


@pytest.mark.parametrize("v, best", [(1, 8), (2, 10), (3, 12)])
def test_a_fee_per_round_wants_longer_drafts(cells, v, best):
    exact = [speedup(.8, k, .05, v if k else 1) for k in range(17)]
    assert exact.index(max(exact)) == best
    assert "[8, 10, 12]" in shown(cells, "1. below 2 from")


def test_answers_of_the_lab(cells):
    text = shown(cells, "1. below 2 from")
    assert speedup(.8, 4, ".17") > 2 > speedup(.8, 4, ".171")
    assert speedup(.8, 4, ".59") > 1 > speedup(.8, 4, ".591")
    assert "below 2 from c = 0.17, below 1 from c = 0.59" in text
    assert f"{float(speedup(.5, 2, .1)):.2f}" == "1.46" and f"{float(speedup(.5, 8, .1)):.2f}" == "1.11"
    assert "k = 2: 1.46, k = 8: 1.11" in text


def test_predictions_of_the_paper_agree_with_the_formula(cells):
    text = shown(cells, 'published.load("tokens")[:2]')
    rows = published.load("tokens")[:2] + published.load("predicted")
    assert len(rows) == 7
    for one in rows:
        exact = float(speedup(one.a, one.k, one.c))
        digits = 2 if one.c == 0 else 1
        assert round(exact, digits) == one.value
        assert f"{exact:.2f}" in text


@pytest.mark.parametrize("a, k, value, ceiling", [
    (.62, 7, 2.6, "2.574"), (.65, 5, 3.1, "2.642"), (.53, 5, 2.3, "2.081")])
def test_three_measurements_above_the_ceiling(cells, a, k, value, ceiling):
    assert f"{float(tokens(a, k)):.3f}" == ceiling and value > tokens(a, k)
    lines = shown(cells, "above = ").splitlines()
    above = [line for line in lines if "above the ceiling" in line]
    assert len(above) == 3 and [ceiling in line for line in above if f"{a:.2f}  {k}" in line] == [True]


def test_clusters_of_acceptance_by_summing_over_runs(cells):
    text = shown(cells, "0.62 * b**i")
    for b, row in (("0.5", "b = 0.50: E = 2.23, speedup at c = 0.02: 1.96"),
                   ("0.72", "b = 0.72: E = 2.99, speedup at c = 0.02: 2.62")):
        chances = [Fraction("0.62")] + 6 * [Fraction(b)]
        exact = 1 + sum(prod(chances[:i]) for i in range(1, 8))
        assert f"E = {float(exact):.2f}" in row and f"{float(exact / Fraction('1.14')):.2f}" == row[-4:]
        assert row in text


@pytest.mark.parametrize("share, stay", [(.62, .3), (.62, .62), (.62, .9), (.53, .8)])
def test_no_text_yields_more_than_the_firm_limit(share, stay):
    rng, right, before = random.Random(4), [], True
    for _ in range(50_000):  # positions at which the draft is right; ``stay``: chance of a right one behind a right one
        before = rng.random() < (stay if before else share * (1 - stay) / (1 - share))
        right.append(before)
    passes = start = 0
    while start < len(right):
        run = right[start:start + 7]
        start += (run.index(False) if False in run else len(run)) + 1
        passes += 1
    assert passes >= right.count(False)
    assert len(right) / passes <= 1 / (1 - sum(right) / len(right))


@pytest.mark.parametrize("a, k, value, limit", [
    (.75, 7, 3.4, "3.51"), (.62, 7, 2.6, "2.31"), (.65, 5, 3.1, "2.60"), (.53, 5, 2.3, "1.93")])
def test_three_measurements_above_the_firm_limit(cells, a, k, value, limit):
    exact = 1 / (1 - Fraction(str(a))) / (1 + k * Fraction("0.02"))
    assert f"{float(exact):.2f}" == limit and (value > exact) == (a != .75)
    assert f"at most {limit}, measured {value}" in shown(cells, "limit = 1 / (1 - one.a)")


def test_chen_et_al(cells):
    text = shown(cells, "XSum nucleus")
    assert f"sizes: {4 / 70:.3f}   times: {1.8 / 14.1:.3f}" in text and "0.128" in text
    assert f"{14.1 / 7.52:.3f} (printed 1.92)" == "1.875 (printed 1.92)" and "1.875 (printed 1.92)" in text
    for ms, a in ((7.00, .75), (5.73, .85), (7.52, .71)):
        needed = 14.1 / ms * (1 + 4 * 1.8 / 14.1)
        assert float(tokens(a - .005, 4)) < needed < float(tokens(a + .005, 4))
        assert f"E = {needed:.2f}, a = {a:.2f}" in text


def test_rounds_read_backwards(cells):
    text = shown(cells, "one round costs")
    for name, E, S in (("a = 0.85", "1.85", "1.8"), ("a = 0.90", "1.9", "1.8"),
                       ("draft model, RTX 3090", "2.28", "1.79"),
                       ("the same on an A100", "2.28", "1.52"), ("EAGLE-2", "4.35", "2.19")):
        line = next(line for line in text.splitlines() if name in line)
        assert line.endswith(f"one round costs {float(Fraction(E) / Fraction(S)):.2f} steps")


def test_decision(cells):
    c = Fraction(24, 300)
    for a, best in ((.62, 2), (.72, 2), (.82, 3)):
        real = [speedup(a, k, c, measured_v(k)) for k in range(9)]
        assert real.index(max(real)) == best
        assert f"a = {a}: best k = {best};" in shown(cells, "c, v = 2.4 / 30")
    promised = [speedup(.72, k, c) for k in range(20)]
    assert promised.index(max(promised)) == 5
    assert f"promised {float(promised[5]):.2f}, real {float(speedup(.72, 5, c, measured_v(5))):.2f}" \
        in shown(cells, "promised, real =")


def test_published_table_is_complete_and_says_where():
    rows = published.load()
    assert {one.kind for one in rows} == set(published.KINDS)
    assert all(one.source and one.what and one.value > 0 for one in rows)
    assert sum(one.source.startswith("Chen") for one in rows) == 3
    with pytest.raises(ValueError, match="kind must be one of 'tokens', .*, got 'speed'"):
        published.load("speed")


def test_figures_say_in_words_what_they_show():
    assert "touches the tokens at k = 6" in figures.tokens_and_cost(.8, .1).alt
    assert "with 6 drafts there are enough" in figures.next_draft(.8, .1).alt
    assert "with 0 drafts there are enough" in figures.next_draft(.4, .5).alt
    assert "No draft ever pays" in figures.speedup_map(1.0).alt
    alt = figures.speedup_with_pass_cost(.8, .05, {"one": 1.0, "measured": published.pass_costs()}).alt
    assert "one: best at k = 8 with 3.09" in alt and "measured: best at k = 3 with 1.66" in alt
    assert "3 of 4 lie above" in figures.published_against_formula(
        [one for one in published.load("measured") if one.a]).alt


@pytest.mark.parametrize("draw, message", [
    (lambda: figures.tokens_and_cost(.8, .1, 0), "k_max must be"),
    (lambda: figures.tokens_and_cost(1.2, .1), r"a must lie in \[0, 1\], got 1.2"),
    (lambda: figures.fate_of_drafts(.8, 0), "k must be"),
    (lambda: figures.speedup_map(-1), "c must be"),
    (lambda: figures.speedup_with_pass_cost(.8, .1, {}), "verify_costs must map"),
    (lambda: figures.published_against_formula([]), "results must hold"),
])
def test_figures_refuse_bad_input(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


@pytest.mark.parametrize("name, arguments, expected", [
    ("speedup", (.8, 4, .1), "2.401142857142857"),
    ("best_k", (.9, .05, 32), "13"), ("best_k", (.5, .5, 8), "0"),
    ("break_even_verify_cost", (.8, 5, .05), "3.43928"), ("wasted_time", (.8, 4, .1), "0.16384"),
])
def test_exercises_know_the_right_values(name, arguments, expected):
    assert getattr(lesson04, name).reference(*arguments) == pytest.approx(float(expected))


def test_exercises_answer_misconceptions_by_name():
    wrong = lesson04.speedup.check(lambda a, k, c: formulas.expected_tokens(a, k) / (k * c))
    assert wrong.passed is False and "The target's own pass costs 1" in wrong.message
    off_by_one = lesson04.best_k.check(lambda a, c, k_max: formulas.best_draft_length(a, c, k_max) + 1)
    assert off_by_one.passed is False and "The draft length is k" in off_by_one.message
