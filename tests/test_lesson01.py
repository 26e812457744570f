"""Lesson 1: what its cells print, against data sheets, papers and arithmetic done with fractions."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from specdec_lessons import publish
from specdec_lessons.exercises import lesson01
from tests.stored import printed

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "01_cost_of_decode.ipynb"
TERA, GIGA = 10**12, 10**9
A100 = Fraction(2039, 1000) * TERA, 312 * TERA  # bytes/s, FLOP/s
H200 = Fraction(48, 10) * TERA, Fraction(9894, 10) * TERA
LLAMA_3_8B = 8_030_261_248  # parameters


@pytest.fixture(scope="module")
def cells():
    return publish.code_cells(publish.read(NOTEBOOK))


def numbers(text):
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\.?\d*", text)]


def test_the_hook(cells):
    """7e9 weights of two bytes at 2.0 TB/s; 2 FLOP each at 312 TFLOP/s."""
    weights = 2 * 7 * GIGA
    reading, arithmetic = Fraction(weights, 2 * TERA), Fraction(weights, 312 * TERA)
    assert printed(cells, "bytes_per_weight = 2") == "14 GB of weights\n" and weights == 14 * GIGA
    assert printed(cells, "bandwidth = 2.0e12").startswith(f"{float(reading * 1000):.1f} ms")
    assert reading == Fraction(7, 1000)
    told = printed(cells, "arithmetic = operations / peak")
    assert "14 GFLOP" in told and f"it is {round(float(arithmetic * 1000), 3)} ms" in told
    assert "wait 99.4 % of the time" in told
    assert float(1 - arithmetic / reading) == pytest.approx(0.994, abs=5e-4)


def test_infinite_arithmetic_buys_nothing(cells):
    told = printed(cells, "no_arithmetic")
    assert numbers(told) == [143, 143, 22285]
    assert round(1000 / 7) == 143 and 22280 < 312 * TERA / (14 * GIGA) < 22290


def test_the_ridge(cells):
    assert "it is 156 positions" in printed(cells, "peak / bandwidth,")  # 312 / 2.0
    assert "153 FLOP" in printed(cells, "ridge of the A100") and round(A100[1] / A100[0]) == 153
    assert numbers(printed(cells, "attainable(intensity, a100)"))[1::2] == [2.0, 10.2, 312.0]
    assert numbers(printed(cells, "flops(n) / bytes_read(n):"))[1:6:2] == [1, 5, 50]
    assert f"{float(14 * GIGA / A100[0] * 1000):.2f} ms" in printed(cells, "figures.pass_times(")


def test_free_positions_on_the_a100(cells):
    """n positions: 2 x 7e9 n FLOP for the weights, 4 x 32 x 4096 x n (n + 1) / 2 for attention."""
    def seconds(n):
        return Fraction(14 * GIGA * n + 4 * 32 * 4096 * n * (n + 1) // 2) / A100[1]

    reading = Fraction(14 * GIGA) / A100[0]
    assert seconds(152) <= reading < seconds(153)
    assert printed(cells, "figures.pass_times(").startswith("positions for the price of one: 152\n")
    prompt = Fraction(14 * GIGA * 2048 + 4 * 32 * 4096 * 2048 * 2049 // 2, 14 * GIGA)
    assert f"{float(prompt):,.0f} FLOP per byte" in printed(cells, "figures.roofline(a100)")
    twice = next(n for n in range(1, 999) if seconds(n) >= 2 * reading)
    assert f"it is {twice} positions" in printed(cells, "twice = next")


def test_the_table_of_speeds(cells):
    told = {line.split("  ")[0]: line for line in printed(cells, '"does not fit" for name').splitlines()}
    for chip, bandwidth in (("RTX 4090", 1008), ("H100 SXM", 3350), ("L4", 300), ("TPU v4", 1200)):
        assert f" {bandwidth * GIGA / (2 * LLAMA_3_8B):.0f} " in told[chip], chip
        assert told[chip].endswith("does not fit")
    assert told["H200 SXM"].endswith("does not fit") and told["MI300X"].endswith(" 38")
    assert told["TPU v5e"].count("does not fit") == 2  # 16.06 of 16 GB
    assert "it is 63 tokens per second" in printed(cells, "compare_guess(guess_3")


def test_fewer_bits_let_the_large_model_fit(cells):
    sixteen, eight, four = printed(cells, "for bits in (16, 8, 4)").splitlines()
    assert "141 GB: MI300X 38" in sixteen
    assert "A100 80GB SXM 29" in eight and "A100 40GB" not in eight
    assert "A100 40GB SXM 44" in four and "RTX" not in four  # 35.3 GB: not into 24


def test_measured_times_of_chen_et_al(cells):
    told = numbers(printed(cells, "measured_ms"))
    for row, (size, chips, measured) in zip((told[:4], told[4:]), ((70, 16, 14.1), (7, 4, 5.0))):
        least = 2 * size * GIGA / (chips * 1.2 * TERA) * 1000
        times_as_long = pytest.approx(measured / least, abs=0.05)
        assert row == [size, pytest.approx(least, abs=0.05), measured, times_as_long]


def test_tokens_follow_the_bandwidth(cells):
    first, second = printed(cells, "for old, new in").splitlines()
    assert first.endswith("FLOP/s × 2.33, bandwidth × 1.08, tokens × 1.08")  # 165.2 / 71, 1008 / 936
    assert second.endswith("FLOP/s × 1.00, bandwidth × 1.43, tokens × 1.43")  # 4.8 / 3.35


def test_prefill_against_steps(cells):
    """Attention of 2,048 positions included on both sides, and the cache of 0.5 MiB a position."""
    pairs = 2048 * 2049 // 2
    at_once = Fraction(14 * GIGA * 2048 + 4 * 32 * 4096 * pairs) / A100[1]
    singly = sum(Fraction(14 * GIGA + 524288 * cached) / A100[0] for cached in range(2048))
    told = printed(cells, "singly = sum")
    assert f"{float(at_once):.3f} s, bound by compute" in told
    assert f"one by one: {float(singly):.1f} s" in told
    assert f"it is {round(singly / at_once)} times" in told


def test_no_batch_makes_one_answer_faster(cells):
    rows = [numbers(line) for line in printed(cells, "for batch in (1, 8, 64, 512)").splitlines()]
    assert [row[0] for row in rows] == [1, 8, 64, 512]
    assert [row[2] for row in rows] == [146, 146, 146, 44]  # 2039 / 14, then 312e12 / 14e9 / 512
    assert [row[1] for row in rows] == [146, 1165, 9321, 22285]
    free = [int(numbers(line)[1]) for line in printed(cells, "positions of each answer").splitlines()]
    assert free == [152, 19, 2]  # about 153 / batch


def test_the_cache(cells):
    told = printed(cells, "# 2: a key and a value")
    assert f"{2 * 32 * 32 * 128 * 2:,} bytes" in told and f"{2 * 32 * 8 * 128 * 2:,} bytes" in told
    told = printed(cells, "compare_guess(guess_5")
    for batch in (1, 8, 64):
        assert f"{2 * LLAMA_3_8B / (131072 * batch):,.0f}" in told


def test_long_contexts_open_the_gap_again(cells):
    def v(n, batch, context):
        pairs = n * context + n * (n + 1) // 2
        reading = Fraction(2 * LLAMA_3_8B + 131072 * context * batch) / H200[0]
        arithmetic = Fraction((2 * LLAMA_3_8B * n + 4 * 32 * 4096 * pairs) * batch) / H200[1]
        return max(reading, arithmetic)

    for line in printed(cells, "five_positions =").splitlines():
        context, cost = int(numbers(line)[0]), numbers(line)[1]
        assert cost == pytest.approx(float(v(5, 64, context) / v(1, 64, context)), abs=0.005)
    rows = printed(cells, "for batch, context in").splitlines()
    assert [numbers(row)[-1] for row in rows] == [205, 173, 80, 3, 13]
    for row in rows:
        batch, context, _, milliseconds, free = numbers(row)
        batch, context, free = int(batch), int(context), int(free)
        assert milliseconds == pytest.approx(float(v(1, batch, context) * 1000), abs=0.005)
        assert v(free, batch, context) == v(1, batch, context) < v(free + 1, batch, context)


def test_the_published_costs(cells):
    """llama.cpp pull request 17034: cost per token 1, 0.605, 0.473, ... at batch 1, 2, 3, ..."""
    costs = [numbers(line)[1] for line in printed(cells, "published.pass_costs()").splitlines()]
    per_token = ("1", "0.605", "0.473", "0.408", "0.374", "0.351", "0.334", "0.320")
    expected = [float(n * Fraction(one)) for n, one in enumerate(per_token, start=1)]
    assert costs == pytest.approx(expected, abs=0.006)


def test_measured_cells_are_tagged_and_nothing_else_depends_on_them(cells):
    measured = [cell for cell in cells if "measured" in publish.tags(cell)]
    assert len(measured) == 4
    for cell in cells:
        if re.search(r"\btimes\.|\bmemory\.|\bv\[|measure_", cell.source.replace("c.memory", "")):
            assert cell in measured, cell.source


def test_the_measurement_shows_both_routines(cells):
    told = printed(cells, "one column with gemv")
    assert numbers(told)[0] == 1.0 and "one column with gemm" in told and "two columns with gemm" in told
    assert "matrix-matrix routine" in printed(cells, "figures.column_times(times)")


def test_exercises_by_hand():
    """The references on numbers done in the head."""
    assert lesson01.step_seconds.reference(6, 16, 4) == 3
    assert lesson01.step_seconds.reference(70e9, 4, 3.5e12) == pytest.approx(0.010)
    assert lesson01.pass_intensity.reference(123, 5, 2) == 5
    assert lesson01.tokens_per_second.reference(1, 4, 4, 8) == 4  # arithmetic: 8 FLOP at 8 FLOP/s
    assert lesson01.tokens_per_second.reference(1, 2, 4, 16) == 4  # reading: 2 bytes at 4 bytes/s
    assert lesson01.kv_bytes.reference(32, 8, 128, 2) == 131072


def test_the_lab_has_its_static_twin(cells):
    told = printed(cells, "RooflineLab(")
    assert "6.87 ms" in told and "<img alt=" in told
