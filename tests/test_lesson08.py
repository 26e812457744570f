"""Lesson 8: what the stored notebook says, against data sheets, posted logs and exact fractions."""

import re
from fractions import Fraction as F
from pathlib import Path

import pytest

from specdec_lessons import publish, published

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "08_when_speculation_pays.ipynb"


def seconds(positions, batch, context, weights=8_030_261_248, cache=131_072, channels=32 * 32 * 128):
    """One pass on an A100, from the data sheet: 2.039 TB/s and 312 TFLOP/s."""
    pairs = positions * context + positions * (positions + 1) / 2
    read = (2 * weights + cache * context * batch) / 2.039e12
    return max(read, batch * (2 * weights * positions + 4 * channels * pairs) / 312e12)


def price(k, batch, context):
    """(c, v) of the lesson's pair of models at this load."""
    plain = seconds(1, batch, context)
    draft = seconds(1, batch, context, weights=1_235_814_400, cache=32_768, channels=16 * 32 * 64)
    return draft / plain, seconds(k + 1, batch, context) / plain


def speedup(k, batch, context, a=0.7):
    c, v = price(k, batch, context)
    return sum(a**i for i in range(k + 1)) / (v + k * c)


@pytest.fixture(scope="module")
def notebook():
    return publish.read(NOTEBOOK)


@pytest.fixture(scope="module")
def cells(notebook):
    """Source and shown text of each code cell, but for the measured ones."""
    return [
        (cell.source, "\n".join(text for output in cell.outputs for text in publish.readable(output)))
        for cell in publish.code_cells(notebook)
        if "measured" not in publish.tags(cell)
    ]


def shown(cells, part):
    """The output of the one cell whose source contains ``part``."""
    found = [text for source, text in cells if part in source]
    assert len(found) == 1, f"{len(found)} cells contain {part!r}"
    return found[0]


def prose(notebook):
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_a_pass_in_a_crowd(cells):
    text = shown(cells, "guess_1, cost")
    for batch in (1, 8, 64, 192):
        assert f"batch {batch:3}: v(5) = {price(4, batch, 256)[1]:.2f}" in text
    assert f"{price(4, 64, 256)[1]:.2f}" == "1.86" and "it is 1.86 plain steps" in text


def test_one_k_for_all_hours(cells):
    text = shown(cells, "S = formulas.speedup(0.7, 4, c, v)\n")
    for batch, value in ((1, "1.72"), (64, "1.10"), (192, "0.53")):
        assert f"{speedup(4, batch, 256):.2f}" == value and f"speedup {value}" in text


def test_the_best_k_falls(cells):
    text = shown(cells, "zip(guess_2")
    for batch, best in ((1, 3), (64, 2), (128, 1), (192, 0)):
        values = [speedup(k, batch, 256) for k in range(17)]
        assert values.index(max(values)) == best
        assert f"batch {batch:3}: No guess yet; it is {best}. Speedup {max(values):.2f}" in text
    last = max(b for b in range(1, 400) if max(speedup(k, b, 256) for k in range(1, 17)) > 1)
    fixed = max(b for b in range(1, 400) if speedup(4, b, 256) > 1)
    assert f"up to batch {last}, with k = 4 up to batch {fixed}" in text


def test_published_slowdowns(cells):
    text = shown(cells, '"vLLM, n-gram", 2.8')
    assert [f"{x:.1f}" for x in (1.5 * 1.4, 2.8 * 1.8, 2.73 / 1.31)] == ["2.1", "5.0", "2.1"]
    assert text.count("2.1 times as dear") == 2 and "5.0 times as dear" in text
    (c1, v1), (c2, v2) = price(4, 1, 256), price(4, 128, 256)
    assert f"batch 1 → 128: {(v2 + 4 * c2) / (v1 + 4 * c1):.1f} times" in text


def test_long_contexts(cells):
    best = {context: max(speedup(k, 128, context) for k in range(17)) for context in (256, 2048)}
    text = shown(cells, "contexts = [")
    assert f"batch 128: {best[256]:.2f} at 256 tokens, {best[2048]:.2f} at 2,048" in text
    assert (f"{best[256]:.2f}", f"{best[2048]:.2f}") == ("1.13", "1.52")
    assert 4 * 32 * 32 * 128 / 131_072 == 4  # FLOP per byte of cache: the answer's "4 FLOP"


def test_another_card(cells):
    text = shown(cells, 'for name in ("A100 80GB SXM", "L4")')
    assert "ridge 153 FLOP per byte: best k = 2, speedup 1.55" in text
    assert f"ridge {121e12 / 300e9:.0f} FLOP per byte: best k = 3, speedup 1.75" in text


def test_answers_of_the_load_lab(cells):
    def fixed(batch, context, a=0.7):
        return sum(a**i for i in range(5)) / (price(4, batch, context)[1] + 0.6)

    text = shown(cells, "1. beyond batch")
    assert fixed(76, 256) > 1 > fixed(77, 256) and "1. beyond batch 76 " in text
    assert fixed(128, 256, 0.885) > 1 > fixed(128, 256, 0.875) and "2. a = 0.88 " in text
    assert fixed(128, 1024) > 1 > fixed(128, 768) and "3. from 1024 tokens" in text


def test_every_published_row_is_accounted_for(cells, notebook):
    text, words = shown(cells, "for source in dict.fromkeys"), prose(notebook)
    for one in published.load():
        line = next(line for line in text.splitlines() if line.startswith(one.source))
        assert f"{one.value:g}" in line
    table = words[words.index("| rows | what the formula says") : words.index("Leave aside what no formula")]
    for row in (
        "Table 1, section 3.6, Table 4, appendix A.5",
        "Table 2",
        "section 3.5",
        "Chen",
        "DeepSeek-V3",
        "Spec-Bench",
        "vLLM blog",
        "2310.18813",
        "3649",
        "24536",
        "33518",
    ):
        assert row in table


def test_the_opening_is_explained(cells):
    """The posted survivals, a block draft for a tenth of a step, and the data sheet's pass."""
    text = shown(cells, "desk, monday")
    for k, kept in ((15, F("2.37")), (3, F("2.2"))):
        desk, monday = (
            float(kept) / (seconds(k + 1, batch, 256) / seconds(1, batch, 256) + 0.1) for batch in (1, 32)
        )
        assert (
            f"k = {k:2}: {float(kept):.2f} tokens a pass, desk {desk:.2f}×, Monday {monday:.2f}×" in text
        )
    assert "desk 2.15×, Monday 0.73×" in text and "desk 2.00×, Monday 2.00×" in text


def test_five_reasons(cells):
    text = shown(cells, "rounds unlike")
    easy, hard = (sum(a**i for i in range(5)) for a in (F(9, 10), F(3, 10)))
    assert (
        f"promised 2.31, true {float((easy + hard) / 2):.2f}" in text and float((easy + hard) / 2) == 2.7601
    )
    assert f"true {float(2 / (1 / easy + 1 / hard)):.2f}: +9%" in text
    assert f"promised {3.04 / (1 + 16 / 70):.2f}, true 2.01" in text
    nine = sum(F(4, 5) ** i for i in range(9))
    assert (
        f"promised {float(nine / F('1.4')):.2f}, true {float(nine / (9 * F('.313') + F('.4'))):.2f}: +130%"
        in text
    )
    assert "promised 3.69, true 5.00: -26%" in text


def test_the_clinic(cells):
    assert "it is 5 tokens" in shown(cells, "guess_5, log") and 1 + 208 / 52 == 5
    text = shown(cells, "guess_6, log")
    assert "it is 0.764" in text and f"{0.483 / 0.632:.3f}" == "0.764" and "= 2.92" in text
    text = shown(cells, "'accept rate' in 2025 builds")
    assert f"{106 / 43:.3f}" == "2.465" and "2.465 tokens per pass" in text
    assert f"later builds: {63 / 215:.3f}" in text and f"2025 builds:  {(63 + 43) / (43 * 6):.3f}" in text
    text = shown(cells, "with_three")
    assert "65 passes of 15: 2.37 tokens a pass, a = 0.58" in text and f"{89 / 975:.3f}" == "0.091"
    assert "accepted / drafted 0.091, / judged 0.578" in text and "k = 3: 0.37" in text
    assert abs(sum(0.578**i for i in range(16)) - 2.37) < 0.005
    assert abs(sum(0.578**i for i in range(1, 4)) / 3 - 0.37) < 0.005
    assert "best k is 3" in text
    assert "Switch it off" in shown(cells, 'EXAMPLES["vLLM, a draft that does not fit"]')


def test_candidates_blocks_and_shifts(cells):
    text = shown(cells, 'print("recursive: "')
    assert F(4, 5) + F(1, 5) * F(1, 5) == F(21, 25) and "recursive:  21/25" in text
    assert F(3, 5) * (1 - F(1, 25)) + F(2, 5) * (1 - F(16, 25)) == F(18, 25) and "membership: 18/25" in text
    assert "output of recursive rejection: 3/5 2/5" in text
    assert "together: 10/9 → 11/9" in shown(cells, "together:")
    text = shown(cells, "beyond.typical_output")
    assert "output 3/5, 2/5, shift 0" in text and text.count("output 4/5, 1/5, shift 1/5") == 2
    assert text.count("lenience") == 3
    exact = [text for source, text in cells if "largest < 1e-12" in source]
    assert len(exact) == 2 and all("16 texts, largest difference below 1e-12: True" in text for text in exact)


def test_lookup_brings_more_where_there_is_more_to_copy(cells):
    rates = [float(x) for x in re.findall(r"([\d.]+) tokens per pass", shown(cells, "whole[:200]"))]
    assert len(rates) == 3 and 1 < rates[0] < rates[1] < rates[2]


def test_rounds_at_scale(cells):
    lines = re.findall(r"rounds: ([\d.]+) ± ([\d.]+)", shown(cells, "evidence.simulate_totals(0.8, 4, n"))
    assert len(lines) == 4
    for mean, error in lines:
        assert abs(float(mean) - 3.3616) < 3 * float(error)
    for (_, former), (_, later) in zip(lines, lines[1:]):
        assert float(former) / float(later) == pytest.approx(10**0.5, rel=0.03)


def test_checklist_cell(cells):
    text = shown(cells, "tokens_per_pass, k, c, v =")
    assert f"now {2.37 / 2.5:.2f}×" in text and "best k = 3" in text
