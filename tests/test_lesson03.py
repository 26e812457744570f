"""Lesson 3: its stored numbers, its exercises, its figures and the rates, against exact fractions."""

import itertools
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from specdec_lessons import evidence, figures, publish
from specdec_lessons.exercises import lesson03

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "03_expected_tokens.ipynb"


def rounds(rates):
    """Every way the coins can fall: (its probability, drafts accepted, drafts judged), as fractions."""
    for coins in itertools.product((True, False), repeat=len(rates)):
        chance = Fraction(1)
        for coin, rate in zip(coins, rates):
            chance *= rate if coin else 1 - rate
        accepted = coins.index(False) if False in coins else len(coins)
        yield chance, accepted, min(accepted + 1, len(coins))


def tokens(rates):
    """Expected tokens per pass with these acceptance rates along the draft, an exact fraction."""
    return sum(chance * (accepted + 1) for chance, accepted, _ in rounds(rates))


def alike(a, k):
    return [Fraction(a)] * k


@pytest.fixture(scope="module")
def printed():
    """What the stored notebook prints, one text."""
    cells = publish.code_cells(publish.read(NOTEBOOK))
    outputs = [output for cell in cells for output in cell.outputs]
    return "\n".join(output.text for output in outputs if output.output_type == "stream")


def numbers(printed, pattern):
    """The numbers on the only line that begins as `pattern` says."""
    lines = [line.strip() for line in printed.splitlines()]
    rest = [line[found.end():] for line in lines if (found := re.match(pattern, line))]
    assert len(rest) == 1, (pattern, rest)
    return [float(x) for x in re.findall(r"(?<![\w^(])\d+(?:\.\d+)?(?:e[+-]\d+)?", rest[0])]


# -- the notebook ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("a, k", [("0.8", 4), ("0.9", 4), ("0.5", 4), ("0.8", 2)])
def test_table(printed, a, k):
    E = tokens(alike(a, k))
    power, speedup = float(a) ** (k + 1), float(E) / (1 + k * 0.1)
    assert numbers(printed, rf"{a}  {k} ") == [round(power, 3), round(float(E), 2), round(speedup, 2)]


def test_eight_rounds_keep_the_rule(printed):
    lines = re.findall(r"^(✓*)(✗?)(–*) ([↺★])   tokens: (\d)$", printed, re.MULTILINE)
    assert len(lines) == 8
    for accepted, rejected, discarded, own, count in lines:
        assert len(accepted + rejected + discarded) == 4
        assert (own == "★") == (len(accepted) == 4) == (rejected == "")
        assert int(count) == len(accepted) + 1


def test_simulated_and_counted(printed):
    E = float(tokens(alike("0.8", 4)))
    assert numbers(printed, "mean of a million: ")[0] == pytest.approx(E, abs=0.006)  # four standard errors
    assert numbers(printed, "a pass has ") == pytest.approx([3.2, E - 1], abs=0.011)
    assert numbers(printed, "together ") == pytest.approx([100 * E, E], abs=1e-9)
    assert numbers(printed, "endless ") == pytest.approx([5, 5 * 0.8**5, E], abs=1e-4)


def test_law(printed):
    law = {}
    for chance, accepted, _ in rounds(alike("0.8", 4)):
        law[accepted + 1] = law.get(accepted + 1, 0) + chance
    exact = [float(law[n]) for n in range(1, 6)]
    mean = sum(n * chance for n, chance in law.items())
    spread = float(sum((n - mean) ** 2 * chance for n, chance in law.items())) ** 0.5
    assert numbers(printed, "exact   ?\\[") == pytest.approx(exact, abs=6e-4)
    assert numbers(printed, "counted ") == pytest.approx(exact, abs=0.006)
    assert numbers(printed, "mean (?=3)") == pytest.approx([float(mean), spread], abs=0.006)
    assert lesson03.token_law.reference(0.8, 4).tolist() == pytest.approx(exact, rel=1e-14)


def test_near_one(printed):
    for gap in ("1e-03", "1e-09", "1e-12"):
        quotient, package = numbers(printed, gap)
        assert package == pytest.approx(10 * float(gap), rel=0.01)
        assert quotient == pytest.approx(package, rel=0.01) if gap == "1e-03" else quotient == 0
    assert "at a = 1: 5.0" in printed


def six_rates(a, k):
    """The rates of section 3.5 by enumeration."""
    accepted = sum(chance * n for chance, n, _ in rounds(alike(a, k)))
    judged = sum(chance * n for chance, _, n in rounds(alike(a, k)))
    return {"accepted / drafted": accepted / k, "accepted / judged": accepted / judged,
            "tokens per pass": accepted + 1, "accepted per pass": accepted,
            f"survival at position {k}": sum(chance for chance, n, _ in rounds(alike(a, k)) if n == k)}


def test_six_rates(printed):
    exact = six_rates("0.8", 5)
    published = [0.537856, 0.8, 3.68928, 2.68928, 0.32768]
    assert [float(x) for x in exact.values()] == pytest.approx(published, rel=1e-12)
    table = printed.split("exact   in the run\n")[1]
    for line, value in zip(table.splitlines(), [Fraction("0.8"), *exact.values()]):
        assert [float(x) for x in re.findall(r"\d\.\d{3}", line)] == pytest.approx(
            [float(value)] * (1 if "cannot" in line else 2), abs=0.008)
    assert re.match("the coin's own a +0.800 +cannot be seen", table)
    for k in (1, 2, 5, 10):
        assert numbers(printed, f"k = +{k}: accepted / drafted")[0] == pytest.approx(
            float(six_rates("0.8", k)["accepted / drafted"]), abs=6e-4)


def test_real_log(printed):
    a = numbers(printed, "a with which E is that")[0]
    assert sum(a**i for i in range(6)) == pytest.approx(5, abs=0.01)
    assert "tokens per pass                5.00" in printed and (208 + 52) / 52 == 5
    assert numbers(printed, "the formula with a = 0.8 says") == [3.69]


def test_coins_that_are_not_alike(printed):
    easy, hard, middle = (tokens(alike(a, 4)) for a in ("0.9", "0.3", "0.6"))
    rounds_truth, text_truth = (easy + hard) / 2, 2 / (1 / easy + 1 / hard)
    assert text_truth < middle < rounds_truth
    assert numbers(printed, "easy rounds") == pytest.approx([float(easy), float(hard), 2.7601], abs=1e-4)
    assert numbers(printed, "formula at the mean rate 0.6:") == [2.3056]
    assert numbers(printed, "simulated:")[0] == pytest.approx(float(rounds_truth), abs=0.011)
    assert numbers(printed, "in long stretches:")[0] == pytest.approx(float(text_truth), abs=0.03)
    assert numbers(printed, "shuffled:")[0] == pytest.approx(float(middle), abs=0.03)
    assert numbers(printed, r"2 / \(1/easy \+ 1/hard\) =") == [round(float(text_truth), 2)]


@pytest.mark.parametrize("name, easy_share", [("rounds", 0.5), ("text", None)])
def test_accepted_over_judged_misleads_where_coins_are_unlike(printed, name, easy_share):
    easy, hard = six_rates("0.9", 4), six_rates("0.3", 4)
    if easy_share is None:
        passes_per_token = [1 / x["tokens per pass"] for x in (easy, hard)]
        easy_share = passes_per_token[0] / sum(passes_per_token)
    accepted = [float(x["accepted per pass"]) for x in (easy, hard)]
    judged = [float(x["accepted per pass"] / x["accepted / judged"]) for x in (easy, hard)]
    weights = [float(easy_share), 1 - float(easy_share)]
    a = np.dot(weights, accepted) / np.dot(weights, judged)
    truth = 1 + np.dot(weights, accepted)
    formula = sum(a**i for i in range(5))
    assert formula > truth
    found = re.search(rf"half of the {name}: (\d+)% of the passes are easy, accepted / judged = (\S+)\n"
                      r" +formula there (\S+), truth (\S+)", printed)
    assert [float(x) for x in found.groups()] == pytest.approx(
        [100 * weights[0], a, formula, truth], abs=0.5) and float(found[2]) == pytest.approx(a, abs=6e-4)
    assert [float(found[3]), float(found[4])] == pytest.approx([formula, truth], abs=6e-3)


def test_rates_along_the_draft(printed):
    for rates in (["0.95", "0.85", "0.75", "0.65"], ["0.65", "0.75", "0.85", "0.95"]):
        assert numbers(printed, re.escape(f"[{', '.join(rates)}] E =")) == [
            round(float(tokens([Fraction(x) for x in rates])), 2)]
    assert "1 + survivors = 2.92\n" in printed  # the mean length that the pull request states
    assert numbers(printed, "formula at 0.788:") == [2.90]


def test_lab_numbers(printed):
    for a, k, E, S in (("0.8", 4, 3.36, 2.40), ("0.9", 4, 4.10, 2.93), ("0.8", 8, 4.33, 2.40)):
        exact = tokens(alike(a, k))
        assert [round(float(exact), 2), round(float(exact / (1 + k * Fraction("0.1"))), 2)] == [E, S]
        assert numbers(printed, f"a = {a}, k = {k}:") == [E, S]
    assert sum(numbers(printed, "1. a =")[0] ** i for i in range(5)) == pytest.approx(3, abs=0.03)
    best = max(range(12), key=lambda k: tokens(alike("0.4", k)) / (1 + k * Fraction("0.1")))
    speedup = float(tokens(alike("0.4", best))) / (1 + best * 0.1)
    assert numbers(printed, "2. k =") == [best, round(speedup, 2)]
    assert sum(numbers(printed, "3. a =")[0] ** i for i in range(1, 5)) == pytest.approx(0.4, abs=0.02)


def test_real_pair_by_place_adds_up(printed):
    places = [(int(x), int(n)) for x, n in re.findall(r"^draft \d: (\d+) of (\d+) judged = ", printed, re.M)]
    assert len(places) == 4
    assert [n for _, n in places[1:]] == [x for x, _ in places[:-1]]  # judged only if all before were kept
    passes, accepted, judged = places[0][1], sum(x for x, _ in places), sum(n for _, n in places)
    a, E = numbers(printed, "accepted / judged = (?=.*formula there)")
    counted, uncertain = numbers(printed, "tokens per pass counted: ")
    assert a == pytest.approx(accepted / judged, abs=6e-4)
    assert E == pytest.approx(sum((accepted / judged) ** i for i in range(5)), abs=6e-3)
    assert counted == pytest.approx(1 + accepted / passes, abs=6e-3)  # the sum of survivors
    assert counted > E and 0.05 < uncertain < 0.2
    other, new, returns = (
        numbers(printed, kind)[-1] for kind in ("other words", "chosen, new", "chosen, returns"))
    assert returns < 0.3 < 0.8 < min(other, new)


@pytest.mark.parametrize("name, sign", [("aligned", 1), ("weak", -1)])
def test_real_pair_errs_both_ways(printed, name, sign):
    in_order, shuffled, formula, rate, behind = numbers(printed, f"{name} +in order")
    assert formula == pytest.approx(sum(rate**i for i in range(5)), abs=0.01)
    assert shuffled == pytest.approx(formula, abs=0.015)  # likeness of neighbours is gone
    assert sign * (in_order - formula) > 0.01
    assert sign * (behind - rate) > 0.01
    assert abs(in_order / formula - 1) < 0.02


# -- what the package does for it --------------------------------------------------------------------------

def test_rates_called_acceptance_by_enumeration():
    for k in (1, 2, 5):
        run = [accepted + 1 for _, accepted, _ in rounds(alike("1/2", k))]  # equally likely, so each once
        exact = {name: float(value) for name, value in six_rates("1/2", k).items()}
        assert evidence.rates_called_acceptance(run, k) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("bad, k", [([], 4), ([0, 1], 4), ([6], 4), ([[1, 2]], 4), ([1.5], 4), ([1], 0)])
def test_rates_called_acceptance_refuses(bad, k):
    with pytest.raises(ValueError, match="^(tokens_per_round|k) must "):
        evidence.rates_called_acceptance(bad, k)


def test_exercise_references_by_enumeration():
    for a, k in (("1/2", 1), ("4/5", 4), ("3/10", 3), ("1", 2), ("0", 2)):
        survivals = [float(sum(c for c, n, _ in rounds(alike(a, k)) if n >= i)) for i in range(1, k + 1)]
        E, a = float(tokens(alike(a, k))), float(Fraction(a))
        assert lesson03.survival.reference(a, k) == pytest.approx(survivals)
        assert lesson03.expected_tokens.reference(a, k) == pytest.approx(E)
    assert lesson03.acceptance_from_rounds.reference([3, 1, 2, 3], 2) == 5 / 7


@pytest.mark.parametrize("draw", [
    lambda: figures.survival_bars(0.8, 9), lambda: figures.survival_bars(1.2, 4),
    lambda: figures.survival_bars([0.8, 0.9], 4), lambda: figures.token_ceilings((0.5, 1.0)),
    lambda: figures.tokens_distribution(0.8, 4, [6]), lambda: figures.two_kinds(0.3, 0.9, 4),
    lambda: figures.two_kinds(0.9, 0.3, 4, half_of="tokens"),
])
def test_figures_refuse(draw):
    with pytest.raises(ValueError, match="must .*got|must hold"):
        draw()


def test_survival_bars_are_drawn_to_scale():
    axes = figures.survival_bars(0.5, 3).axes[0]
    green = [bar.get_height() for bar in axes.patches
             if bar.get_height() and bar.get_facecolor()[:3] == pytest.approx((0, 158 / 255, 115 / 255))]
    assert green == [0.5, 0.25, 0.125]
    columns = {}
    for bar in axes.patches:
        columns[bar.get_x()] = columns.get(bar.get_x(), 0) + bar.get_height()
    assert [total for total in columns.values() if total] == pytest.approx([1, 1, 1, 1])


@pytest.mark.parametrize("half_of, truth, formula", [
    ("rounds", Fraction("2.7601"), Fraction("2.3056")),
    ("text", (1 / Fraction("4.0951") + 1 / Fraction("1.4251")) / 2, 1 / Fraction("2.3056")),
])
def test_two_kinds_marks_chord_and_curve(half_of, truth, formula):
    lines = figures.two_kinds(0.9, 0.3, 4, half_of).axes[0].lines
    marked = [line.get_ydata()[0] for line in lines if list(line.get_xdata()) == [0.6]]
    assert marked == pytest.approx([float(truth), float(formula)], rel=1e-12)
