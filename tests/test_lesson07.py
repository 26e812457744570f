"""Lesson 7: what the stored notebook says, against exact fractions, hand counts and the paper."""

import math
import re
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from specdec_lessons import figures, models, policy_race, publish
from specdec_lessons.exercises import lesson07

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "07_adaptive_drafts.ipynb"


def speedup(a, k, c):
    a, c = Fraction(str(a)), Fraction(str(c))
    return sum(a**i for i in range(k + 1)) / (1 + k * c)


@pytest.fixture(scope="module")
def cells():
    """Source and shown text of each code cell."""
    return [(cell.source, "\n".join(text for output in cell.outputs for text in publish.readable(output)))
            for cell in publish.code_cells(publish.read(NOTEBOOK))]


@pytest.fixture(scope="module")
def prose():
    return "\n".join(cell.source for cell in publish.read(NOTEBOOK).cells if cell.cell_type == "markdown")


def shown(cells, part):
    """The output of the one cell whose source contains ``part``."""
    found = [text for source, text in cells if part in source]
    assert len(found) == 1, f"{len(found)} cells contain {part!r}"
    return found[0]


def test_short_long_and_switching(cells, prose):
    text = shown(cells, "both = 2 / (1 / easy + 1 / hard)")
    easy, hard = ([speedup(a, k, 0.1) for k in range(17)] for a in (0.95, 0.3))
    both = [2 / (1 / e + 1 / h) for e, h in zip(easy, hard)]
    for values, k, best in ((easy, 15, "4.48"), (hard, 1, "1.18"), (both, 3, "1.58")):
        assert values.index(max(values)) == k and f"{float(max(values)):.2f}" == best
        assert f"best k = {k:2}: {best}" in text
    switching = 2 / (1 / max(easy) + 1 / max(hard))
    assert f"{float(switching):.2f}" == "1.87" and "switching k:   1.87" in text
    assert 1.18 < switching / max(both) < 1.19 and "nearly a fifth more" in prose


def story_rows():
    """Σ min(p, q) at each word of the story by counting, without the package's models."""
    words = models.split_words(models.story_text())
    vocabulary = sorted(set(words))
    after = Counter((tuple(words[i - n:i]), words[i]) for n in range(4) for i in range(n, len(words)))
    seen = Counter()
    for (context, _), count in after.items():
        seen[context] += count

    def q(context):
        if context is None:
            return {w: 1 / len(vocabulary) for w in vocabulary}
        shorter = q(context[1:] if context else None)
        if not seen[context]:
            return shorter
        return {w: (after[context, w] + shorter[w]) / (seen[context] + 1) for w in vocabulary}

    for i in range(301, 329):
        three, draft = tuple(words[i - 3:i]), q(tuple(words[i - 2:i]))
        yield words[i], sum(min(after[three, w] / seen[three], draft[w]) for w in vocabulary)


def test_the_chances_of_the_words_by_counting(cells):
    rows = list(story_rows())
    assert [word for word, _ in rows[:8]] == "the boy took the hand of the man".split()
    text = shown(cells, "figures.acceptance_along")
    assert ", ".join(f"{word} {chance:.2f}" for word, chance in rows) in text
    assert f"mean {sum(chance for _, chance in rows) / 28:.2f}" in text
    text = shown(cells, "hardest = words")
    assert min(rows, key=lambda row: row[1])[0] == "boy" and "the hardest word: boy" in text
    assert f"above 0.9: {sum(chance > 0.9 for _, chance in rows) / 28:.2f}" in text
    assert f"below 0.5: {sum(chance < 0.5 for _, chance in rows) / 28:.2f}" in text


def test_the_price_is_found_in_two_turns(cells):
    text, price = shown(cells, "for turn in range(3)"), Fraction("0.1")
    for k, value in ((10, "2.29"), (6, "2.47"), (6, "2.47")):
        assert max(i for i in range(40) if Fraction(4, 5) ** i > price) == k
        S = speedup(0.8, k, 0.1)
        assert f"{float(S):.2f}" == value and f"price {float(price):.3f}: k = {k}, speedup {value}" in text
        price = S / 10


@pytest.mark.parametrize("name, chances, k", [
    ("easy", [0.95] * 16, 16), ("easy, then hard", [0.95] * 4 + [0.3] * 4, 5), ("hard", [0.3] * 6, 1)])
def test_three_stretches(cells, name, chances, k):
    products = [math.prod(chances[:i + 1]) for i in range(len(chances))]
    assert sum(x > 0.19 for x in products) == k
    assert f"{name:16} No guess yet; it is {k}." in shown(cells, 'stretches = {"easy"')


def test_policies_are_exact_and_peeking_is_not(cells):
    text = shown(cells, "k=policy)")
    assert text.count("below 1e-12") == 4
    off = [float(x) for x in re.findall(r"law: (0\.\d+)", shown(cells, "k=2, verify=rule)"))]
    assert len(off) == 3 and min(off) >= 0.02


def test_the_bias_of_peeking(cells):
    p, q = (Fraction(3, 5), Fraction(2, 5)), (Fraction(4, 5), Fraction(1, 5))
    kept = p[0]  # q(0) times p/q: the first word drafted and accepted
    verdict = kept + (q[0] - kept) * p[0]
    below = q[0] * p[0]
    drop = kept + q[1] * p[0]
    assert (verdict, below, drop) == (Fraction(18, 25), Fraction(12, 25), Fraction(18, 25))
    text = shown(cells, "guess_5, laws")
    laws = {"stop at the verdict": verdict, "stop where p < q": below, "drop the unlikely": drop}
    for name, first in laws.items():
        assert f"{name:29} [{float(first):g}, {float(1 - first):g}]" in text


def test_one_text_three_lanes(cells):
    text = shown(cells, "figures.time_lanes")
    for name, passes, drafts, steps in (("k = 2", 21, 41, "25.1"), ("k = 12", 15, 175, "32.5"),
                                        ("stop when unsure", 16, 40, "20.0")):
        assert f"{name:17} {passes} passes, {drafts} drafts, {drafts - (40 - passes)} of them wasted" in text
        assert f"{passes + drafts / 10:.1f}" == steps
        assert f"{name} takes {steps} plain steps in {passes} passes" in text
    places = policy_race.course_of(policy_race.two_state_world(), 40, 2).places
    assert [round(place.chance, 2) for place in places] == [.95] * 9 + [.3] * 18 + [.95] * 12 + [.3]


def speeds(text):
    found = re.findall(r"(?:speedups: |oracle; )(.+?) (\d\.\d\d) times", text)
    return {name: float(value) for name, value in found}


def test_where_all_is_alike_nothing_beats_the_best_k(cells):
    text = shown(cells, "World 1")
    found = speeds(text)
    assert "it is 0 per cent" in text
    for name, k in (("short: k = 2", 2), ("long: k = 12", 12), ("best fixed k", 6), ("oracle", 6)):
        assert found[name] == pytest.approx(float(speedup(0.8, k, 0.1)), rel=0.035)
    assert found["confidence"] == pytest.approx(float(speedup(0.8, 16, 0.1)), rel=0.035)
    assert found["survival, raw"] == found["short: k = 2"] and found["survival, learned"] == found["oracle"]


def test_on_stretches_adapting_pays(cells):
    text = shown(cells, "World 2")
    found = speeds(text)
    assert found["confidence"] / found["best fixed k"] == pytest.approx(1.18, abs=0.01)
    assert "best fixed k: 1.18 [" in text and found["oracle"] == max(found.values())
    assert found["best fixed k"] < found["+2 / −1"] < found["confidence"]


def test_on_the_story_there_is_little_to_gain(cells, prose):
    text = shown(cells, "World 3")
    found = speeds(text)
    gain = float(re.search(r"it is ([\d.]+) per cent", text)[1])
    assert 1 < gain < 2.2 and "ne and a half per cent" in prose
    assert gain == pytest.approx(100 * (found["survival, learned"] / found["best fixed k"] - 1), abs=0.6)
    assert found["confidence"] < found["best fixed k"] and found["+2 / −1"] < found["best fixed k"]
    assert found["oracle"] / found["best fixed k"] == pytest.approx(1.05, abs=0.01)


def test_the_two_prophets(cells, prose):
    text = shown(cells, "seer / best - 1")
    for a, c, k in ((0.8, 0.1, 6), (0.9, 0.1, 10), (0.95, 0.05, 21), (0.6, 0.1, 3), (0.8, 0.02, 11)):
        exact = [speedup(a, i, c) for i in range(40)]
        best = max(exact)
        seer = 1 / (1 - Fraction(str(a)) * (1 - Fraction(str(c))))
        assert exact.index(best) == k
        assert (f"a = {a}, c = {c}: best fixed {float(best):.2f}, clairvoyant {float(seer):.2f}, "
                f"{float(seer / best - 1):.0%} more") in text
    assert "it is 3.57 times" in text and "up to about 60 %" in prose  # Leviathan et al., section 3.5
    text = shown(cells, "hard_price, easy_price =")
    paces = [float(speedup(a, k, 0.1)) / 10 for a, k in ((0.3, 1), (0.95, 15))]
    assert [f"{pace:.2f}" for pace in paces] == ["0.12", "0.45"]
    assert "0.12 and 0.45" in text and "hard stretches 0.13, in easy ones 0.41" in text
    text = shown(cells, "policy_race.clairvoyant(place, 0.1)")
    assert "alike everywhere  oracle 2.49, clairvoyant 3.62, 45% more" in text


def test_answers_of_the_lab(cells, prose):
    text = shown(cells, '"best threshold": policy_race')
    assert re.search(r"c = 0.02: .*'threshold 0.5': '95%'", text) and "'threshold 0.5': '100%'" in text
    assert "falls to 95 % of the oracle" in prose
    text = shown(cells, "story_lengths = ")
    best = max(float(x) for x in re.findall(r"'0\.\d\d': ([\d.]+)", text))
    assert best == 1.95 and "'4': 2.01, '5': 2.01" in text
    drafted, kept = (eval(x) for x in re.findall(r"\[[\d, ]+\]", text))
    assert drafted[2:10] == [8, 7, 6, 5, 4, 3, 2, 1] and kept[3:9] == [0] * 6
    for now, done, then in zip(drafted, kept, drafted[1:]):
        assert then == (now + 2 if done == now else max(1, now - 1))
    assert Fraction(4, 5) ** 7 < Fraction("0.247") < Fraction(4, 5) ** 6


def test_the_second_question_at_the_end():
    products = [Fraction(9, 10), Fraction(72, 100), Fraction(36, 100), Fraction(324, 1000)]
    assert all(x > Fraction(3, 10) for x in products)
    assert lesson07.draft_length.reference([0.9, 0.8, 0.5, 0.9], 0.3) == 4


@pytest.mark.parametrize("name, arguments, expected", [
    ("draft_length", ([0.9, 0.9, 0.3, 1.0], 0.25), 2), ("next_length", (1, 0), 1), ("next_length", (4, 4), 6),
    ("clairvoyant", (0.8, 0.1), 1 / 0.28)])
def test_exercises_know_the_right_values(name, arguments, expected):
    assert getattr(lesson07, name).reference(*arguments) == pytest.approx(expected)


@pytest.mark.parametrize("draw, message", [
    (lambda: figures.acceptance_along(["a"], [0.1, 0.2]), "chances must be one for each of the 1 words"),
    (lambda: figures.acceptance_along(["a"], [1.1]), r"chances must lie in \[0, 1\]"),
    (lambda: figures.survival_and_price({}, 0.1), "cases must map"),
    (lambda: figures.survival_and_price({"x": [0.5]}, -1), "price must be"),
    (lambda: figures.time_lanes({}, 0.1), "runs must map"),
    (lambda: figures.policy_race([], None), "results must hold"),
])
def test_figures_refuse_bad_input(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
