"""Speculation under load: the roofline by hand, and the batches where the gain ends."""

import pytest

from specdec_lessons import cost, load

A100 = cost.HARDWARE["A100 80GB SXM"]
TARGET, DRAFT = cost.MODELS["Llama-3.1-8B"], cost.MODELS["Llama-3.2-1B"]


def seconds(positions, batch, context, weights=8_030_261_248, cache=131_072, channels=32 * 32 * 128):
    """One pass on an A100, from the data sheet: 2.039 TB/s and 312 TFLOP/s."""
    pairs = positions * context + positions * (positions + 1) / 2
    read = (2 * weights + cache * context * batch) / 2.039e12
    return max(read, batch * (2 * weights * positions + 4 * channels * pairs) / 312e12)


def draft_seconds(batch, context):
    return seconds(1, batch, context, weights=1_235_814_400, cache=32_768, channels=16 * 32 * 64)


def speedup(a, k, batch, context):
    plain = seconds(1, batch, context)
    tokens = sum(a**i for i in range(k + 1))
    return tokens * plain / (seconds(k + 1, batch, context) + k * draft_seconds(batch, context))


@pytest.mark.parametrize("batch, best", [(1, 3), (64, 2), (128, 1), (192, 0)])
def test_best_k_falls(batch, best):
    speedups = [speedup(0.7, k, batch, 256) for k in range(17)]
    assert speedups.index(max(speedups)) == best
    point = load.at_load(0.7, TARGET, A100, batch, 256, DRAFT)
    assert point.best_k == best and point.speedup == pytest.approx(max(speedups))
    assert point.c == pytest.approx(draft_seconds(batch, 256) / seconds(1, batch, 256))
    assert point.v[4] == pytest.approx(seconds(5, batch, 256) / seconds(1, batch, 256))


def test_the_batch_where_the_gain_is_gone():
    def gains(batch, ks):
        return max(speedup(0.7, k, batch, 256) for k in ks) > 1 + 1e-9

    last = load.last_batch_that_pays(0.7, TARGET, A100, 256, DRAFT)
    assert gains(last, range(1, 17)) and not gains(last + 1, range(1, 17))
    fixed = load.last_batch_that_pays(0.7, TARGET, A100, 256, DRAFT, k=4)
    assert gains(fixed, [4]) and not gains(fixed + 1, [4])
    assert fixed < last
    assert (last, fixed) == (152, 73)


def test_ends_of_the_search():
    assert load.last_batch_that_pays(0.1, TARGET, A100, 256, c=0.5) == 0
    assert load.last_batch_that_pays(0.9, TARGET, A100, 4096, DRAFT, at_most=300) == 300


def test_long_contexts_bring_the_gain_back():
    short, long = (load.at_load(0.7, TARGET, A100, 128, context, DRAFT).speedup for context in (256, 2048))
    assert long > short
    alone = [load.at_load(0.7, TARGET, A100, 1, context, DRAFT).speedup for context in (256, 8192)]
    assert alone[1] < alone[0]


def test_draft_and_c():
    with pytest.raises(ValueError, match="draft and c must not both"):
        load.at_load(0.7, TARGET, A100)
    with pytest.raises(ValueError, match="draft and c must not both"):
        load.at_load(0.7, TARGET, A100, draft=DRAFT, c=0.1)
    assert load.at_load(0.8, TARGET, A100, c=0.1).best_k == 6  # lesson 4
