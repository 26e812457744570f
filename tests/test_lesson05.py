"""The numbers that lesson 5 prints, against fractions worked out here by hand."""

import itertools
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from specdec_lessons import evidence, figures, publish, wrong_rules
from specdec_lessons.exercises import lesson05

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "05_exact_rejection_sampling.ipynb"
CAT_DOG = ((Fraction(3, 5), Fraction(2, 5)), (Fraction(4, 5), Fraction(1, 5)))
THREE = ((Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)), (Fraction(3, 4), Fraction(1, 8), Fraction(1, 8)))


@pytest.fixture(scope="module")
def printed():
    """What the one cell whose source holds a given text has printed."""
    cells = [cell for cell in publish.read(NOTEBOOK).cells if cell.cell_type == "code"]

    def find(source):
        found = [cell for cell in cells if source in cell.source]
        assert len(found) == 1, f"{len(found)} cells hold {source!r}"
        return "".join(output.get("text", "") for output in found[0].outputs)

    return find


def numbers(text):
    return [float(Fraction(number)) for number in re.findall(r"\d+/\d+|\d+\.\d*|\d+", text)]


def overlap(p, q):
    return [min(pair) for pair in zip(p, q)]


def law_with(p, q, replacement):
    """Keep by min(1, p/q) and draw what was rejected from `replacement`."""
    kept = overlap(p, q)
    return [k + (1 - sum(kept)) * r for k, r in zip(kept, replacement)]


def test_by_hand(printed):
    assert printed("accept = [").splitlines()[:2] == [
        "keep, once drafted: 3/4 1", "drafted and kept:   3/5 1/5   together: 4/5"]
    assert printed("missing = [").splitlines() == ["missing:  0 1/5", "residual: 0 1", "out:      3/5 2/5"]


def test_share_of_cats_within_five_standard_errors(printed):
    share = numbers(printed("drawn.count"))[-1]
    assert abs(share - 0.6) < 5 * (0.6 * 0.4 / 5000) ** 0.5
    assert abs(share - 0.8) > 5 * (0.8 * 0.2 / 5000) ** 0.5  # what keeping every draft would give


def test_surplus_is_deficit_and_overlap_is_one_minus_total_variation(printed):
    p, q = CAT_DOG
    surplus = sum(max(q_x - p_x, Fraction(0)) for p_x, q_x in zip(p, q))
    assert numbers(printed('"surplus:"')) == [float(surplus)] * 2
    assert numbers(printed("total_variation ="))[-1] == pytest.approx(float(1 - surplus))
    assert sum(overlap(p, q)) == 1 - surplus


def test_no_table_has_a_larger_diagonal(printed):
    p, q = CAT_DOG
    # Two words: the table is fixed by one number, the chance t of (cat drafted, cat out).
    tables = [(t, q[0] - t, p[0] - t, q[1] - p[0] + t) for t in (Fraction(n, 100) for n in range(101))]
    best = max((table for table in tables if min(table) >= 0), key=lambda table: table[0] + table[3])
    shown = numbers(printed("linprog("))
    assert shown == pytest.approx([float(best[0] + best[3]), *map(float, best)])


def test_classic_rejection_keeps_one_over_m(printed):
    p, q = CAT_DOG
    largest = max(p_x / q_x for p_x, q_x in zip(p, q))
    assert largest == 2
    shown = printed("M = (p / q).max()").splitlines()
    assert numbers(shown[0]) == [2.0, 0.3, 0.2]
    assert shown[1].endswith("it is 0.5.")


def test_museum(printed):
    p, q = CAT_DOG
    kept = overlap(p, q)
    assert numbers(printed("law = evidence.rule_law(p, q, wrong_rules.resample"))[:2] == pytest.approx(
        [float(x) for x in law_with(p, q, p)]) == [0.72, 0.28]
    assert numbers(printed("accept_only_if_target_likes_it_more")) == [0, 1]
    assert numbers(printed("wrong_rules.no_residual)")) == pytest.approx([float(k / sum(kept)) for k in kept])


def test_coin_used_twice(printed):
    p, q = THREE
    # A cat is rejected by a coin in [1/3, 1); in the residual the dog owns [0, 1/4), the owl the rest.
    rejected = q[0] - p[0]
    expected = [p[0], q[1], q[2] + rejected]
    shown = {line[:16].strip(): numbers(line[16:]) for line in printed("reuse_the_coin)").splitlines()[:3]}
    assert shown["same coin twice"] == [float(x) for x in expected]
    assert shown["right rule"] == [float(x) for x in p]
    assert printed("reuse_the_coin)").endswith(f"r = {p[0] / q[0]} on\n")


def test_judging_after_a_rejection_writes_what_the_target_never_would(printed):
    right, wrong = (eval(line) for line in printed("never_changes = ").splitlines())
    assert right == {"cat cat cat": 0.6, "dog dog dog": 0.4}
    assert wrong == {"cat cat cat": 0.6, "dog cat cat": 0.2, "dog dog dog": 0.2}


def test_one_coin_for_all(printed):
    half = Fraction(1, 2)
    fresh, one = sum(half**i for i in range(5)), half * 5 + half * 1
    lines = printed("def tokens_per_pass").splitlines()
    assert lines[0].split()[-1] == str(fresh) == "31/16"
    assert lines[1].split()[-1] == str(one) == "3"
    assert re.findall(r"[\d.]+$", printed("for place in range(4)"), flags=re.MULTILINE) == ["0.500"] * 4


def test_the_loop_is_exact_and_only_the_joint_test_has_all_the_teeth(printed):
    assert printed("loop = evidence.sequence_law").strip().endswith("less than 1e-12: True")
    verdicts = {line[:28].strip(): re.findall(r"WRONG|p-value", line)
                for line in printed("THE RIGHT RULE").splitlines()}
    assert verdicts.pop("THE RIGHT RULE") == ["p-value", "p-value"]
    unseen = {"one coin for all positions", "accept after a rejection"}
    assert verdicts == {name: ["p-value" if name in unseen else "WRONG", "WRONG"]
                        for name in wrong_rules.WRONG_RULES}


def test_corners(printed):
    assert "the same text: True" in printed("greedy_plain = ")
    assert numbers(printed("p_x, q_x = ")) == [0.3, round(5 / 7, 3), 0, round(2 / 7, 3), 0.5, 0.3, 0.2]
    p, q = CAT_DOG
    sharp = [q_x**2 / (q[0] ** 2 + q[1] ** 2) for q_x in q]
    thinned = [s_x * min(1, p_x / q_x) for s_x, p_x, q_x in zip(sharp, p, q)]
    wrong = [thinned[0], thinned[1] + 1 - sum(thinned)]  # whatever is rejected becomes a dog
    told, old = printed("def law_of_output").splitlines()[1:]
    assert numbers(told) == [0.6, 0.4]
    assert numbers(old) == pytest.approx([float(x) for x in wrong], abs=6e-4)
    assert "<=: True   kept with <: False" in printed("r, ratio = ")


def test_same_seed_gives_two_different_texts(printed):
    plain, fast = (line.split(": ", 1)[1] for line in printed("\nplain = decoding.decode").splitlines())
    assert plain != fast


# -- the figures say what their numbers are ---------------------------------------------------------

def test_overlap_bars_tell_kept_surplus_and_deficit():
    alt = figures.overlap_bars([0.5, 0.3, 0.2], [0.2, 0.3, 0.5], ["x", "y", "z"]).alt
    assert "x: 0.2 kept, 0.3 of p to fill in; y: 0.3 kept; z: 0.2 kept, 0.3 of q thrown away" in alt


def test_uniform_paths_add_up_to_p():
    p, q = [0.25, 0.25, 0.5], [0.75, 0.125, 0.125]
    fig = figures.uniform_paths(p, q, "abc")
    out = {letter: 0.0 for letter in "abc"}
    for text in (text.get_text() for text in fig.axes[0].texts):
        if found := re.fullmatch(r"([abc])  ([\d.]+)", text):
            out[found[1]] += float(found[2])
    # The draft's row shows q and the last row the paths out: together p + q.
    assert list(out.values()) == pytest.approx(np.add(p, q))


def test_joint_laws_tell_too_much_from_missing():
    right = {text: 0.25 for text in itertools.product((0, 1), repeat=2)}
    alt = figures.joint_laws(right, {(0, 0): 0.5, (0, 1): 0.25, (1, 1): 0.25}, "HT").alt
    assert "Too probable: HH (+0.25). Not probable enough: TH (−0.25). Right: HT, TT." in alt


@pytest.mark.parametrize("call, message", [
    (lambda: figures.overlap_bars([0.5, 0.5], [1.0]), "p and q must have the same length, got 2 and 1"),
    (lambda: figures.overlap_bars([0.5, 0.5], [0.5, 0.5], ["x"]), "tokens must hold 2 labels"),
    (lambda: figures.overlap_bars([0.1] * 10, [0.1] * 10), "p must have at most 6 entries"),
    (lambda: figures.rule_laws([0.5, 0.5], {}), "laws must map one to 8 names to distributions"),
    (lambda: figures.rule_laws([0.5, 0.5], {"r": [1.0]}), "law of 'r' must have the length of p, 2, got 1"),
    (lambda: figures.joint_laws({(0,): 1.0}, {(0,): 1.0}, "H"), "right and wrong must hold 2 to 32 texts"),
])
def test_bad_input_is_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -- the exercises' right answers, from outside -----------------------------------------------------

def test_references_are_right():
    assert lesson05.accept_probability.reference(0.6, 0.8) == pytest.approx(0.75)
    p, q = (np.array([float(x) for x in law]) for law in THREE)
    assert lesson05.residual.reference(p, q).tolist() == [0, 0.25, 0.75]
    assert lesson05.acceptance_rate.reference([0.6, 0.4], [0.8, 0.2]) == pytest.approx(0.8)


def test_one_position_puts_out_p():
    p, q = (np.array([float(x) for x in law]) for law in THREE)
    grid = (np.arange(48) + 0.5) / 48
    out = np.zeros(3)
    for x, coin, u in itertools.product(range(3), grid, grid):
        out[lesson05.one_position.reference(p, q, x, coin, u)] += q[x] / 48**2
    assert out == pytest.approx(p)


def test_rule_law_of_the_right_rule_is_p():
    p, q = ([float(x) for x in law] for law in THREE)
    assert evidence.rule_law(p, q).tolist() == pytest.approx(p)
