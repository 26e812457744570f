"""What a pass costs: against data sheets, papers and arithmetic done by hand."""

import dataclasses

import numpy as np
import pytest

from specdec_lessons import cost
from specdec_lessons.cost import HARDWARE, MODELS, Hardware, ModelShape

SEVEN = MODELS["7B"]
A100 = HARDWARE["A100 80GB SXM"]
ROUND = Hardware("round figures", 2.0e12, 312e12, 80e9)
TINY = ModelShape("tiny", parameters=100, layers=2, width=8, heads=4, kv_heads=2, head_dim=2)
UNIT = Hardware("a byte and a FLOP a second", 1.0, 1.0, 1000)


def test_the_hook_of_lesson_1():
    step = cost.decode_step(SEVEN, ROUND)
    assert step.bytes_read == 14e9
    assert step.memory_seconds == pytest.approx(0.007)
    assert step.weight_flops == 14e9
    assert step.compute_seconds == pytest.approx(14e9 / 312e12, rel=1e-4)
    assert step.bound == "memory" and step.waiting_share > 0.99
    assert step.intensity == pytest.approx(1, rel=1e-4)


@pytest.mark.parametrize("name, expected", [
    ("A100 80GB SXM", 153.0), ("A100 40GB SXM", 200.6), ("H100 SXM", 295.3), ("H200 SXM", 206.1),
    ("L4", 403.3), ("RTX 3090", 75.9), ("RTX 4090", 163.9), ("MI300X", 246.7), ("TPU v4", 229.2),
    ("TPU v5e", 240.5), ("laptop CPU", 11.4),
])
def test_ridges_from_the_data_sheets(name, expected):
    assert cost.ridge(HARDWARE[name]) == pytest.approx(expected, abs=0.05)


def test_every_preset_names_its_source():
    assert all(preset.source for preset in [*HARDWARE.values(), *MODELS.values()])
    assert all(name == preset.name for table in (HARDWARE, MODELS) for name, preset in table.items())


@pytest.mark.parametrize("name, vocabulary, hidden, output_heads", [
    ("Llama-2-7B", 32000, 11008, 2), ("Llama-3.2-1B", 128256, 8192, 1), ("Llama-3.1-8B", 128256, 14336, 2),
    ("Llama-3.1-70B", 128256, 28672, 2), ("Mistral-7B", 32000, 14336, 2),
])
def test_parameters_follow_from_the_shape(name, vocabulary, hidden, output_heads):
    """Embedding (once where tied), then q, k, v, o, three matrices of the gated layer and two norms."""
    m = MODELS[name]
    attention = 2 * m.width * m.heads * m.head_dim + 2 * m.width * m.kv_heads * m.head_dim
    block = attention + 3 * m.width * hidden + 2 * m.width
    assert m.parameters == output_heads * vocabulary * m.width + m.layers * block + m.width


def test_kv_cache_by_hand():
    assert cost.kv_cache_bytes(MODELS["Llama-2-7B"], 4096) == 2 * 2**30  # 0.5 MiB a position
    assert cost.kv_cache_bytes(MODELS["Llama-3.1-70B"], 1) == 327680
    assert cost.kv_cache_bytes(TINY, 3, batch=5) == 2 * 2 * 2 * 2 * 2 * 3 * 5
    assert cost.kv_cache_bytes(TINY, 0) == 0
    assert cost.kv_cache_bytes(TINY, [1, 2]).tolist() == [32, 64]


def test_a_pass_by_hand():
    """3 positions, 2 sequences, 10 cached: pairs per sequence 3 x 10 + (1 + 2 + 3) = 36."""
    step = cost.verify_pass(TINY, UNIT, positions=3, batch=2, context=10)
    assert step.weight_bytes == 200
    assert step.kv_bytes == 32 * 10 * 2
    assert step.weight_flops == 2 * 100 * 3 * 2
    assert step.attention_flops == 4 * 2 * (4 * 2) * 36 * 2
    assert step.flops == 1200 + 4608 and step.seconds == 5808 and step.bound == "compute"
    assert step.waiting_share == 0
    assert step.intensity == pytest.approx(5808 / 840)


def test_attention_of_separate_steps_adds_up_to_that_of_one_pass():
    steps = [cost.decode_step(TINY, UNIT, context=10 + i).attention_flops for i in range(4)]
    assert sum(steps) == cost.verify_pass(TINY, UNIT, 4, context=10).attention_flops


def test_prefill_is_a_pass_over_an_empty_cache():
    assert cost.prefill(SEVEN, A100, 512) == cost.verify_pass(SEVEN, A100, 512, context=0)
    assert cost.prefill(SEVEN, A100, 512).bound == "compute"
    assert cost.prefill(SEVEN, A100, 512).seconds < 512 * cost.decode_step(SEVEN, A100).seconds / 100


def test_roofline_corner_and_both_sides():
    assert cost.attainable_flops(cost.ridge(A100), A100) == pytest.approx(312e12)
    assert cost.attainable_flops([0, 1, 1e6], A100).tolist() == [0, 2.039e12, 312e12]


def test_free_positions_is_the_last_memory_bound_pass():
    for batch, context in ((1, 0), (8, 0), (64, 0), (8, 4096), (256, 0)):
        n = cost.free_positions(SEVEN, A100, batch, context)
        assert n == 0 or cost.verify_pass(SEVEN, A100, n, batch, context).bound == "memory"
        assert cost.verify_pass(SEVEN, A100, n + 1, batch, context).bound == "compute"
    assert cost.free_positions(SEVEN, A100, batch=256) == 0
    assert 145 <= cost.free_positions(SEVEN, A100) <= 153


def test_verify_cost_starts_at_one_and_climbs_past_the_ridge():
    v = cost.verify_cost(SEVEN, A100, np.arange(1, 400))
    assert v[0] == 1 and np.all(np.diff(v) >= 0)
    assert v[151] == 1 and v[153] > 1
    assert v[305] == pytest.approx(2, rel=0.02)  # twice the ridge
    assert cost.verify_cost(SEVEN, A100, 9, batch=64) == pytest.approx(9 * 64 / cost.ridge(A100), rel=0.01)
    grid = cost.verify_cost(SEVEN, A100, np.array([[1], [5]]), batch=np.array([1, 64, 512]))
    assert grid.shape == (2, 3) and grid[1].tolist() == sorted(grid[1].tolist())


def test_a_long_cache_makes_positions_free_again():
    args = MODELS["Llama-3.1-8B"], HARDWARE["H100 SXM"], 5
    assert cost.verify_cost(*args, batch=256, context=16384) < cost.verify_cost(*args, batch=256, context=0)


def test_tokens_per_second_by_hand():
    assert cost.tokens_per_second(SEVEN, ROUND) == pytest.approx(1 / 0.007)
    assert cost.tokens_per_second(SEVEN, ROUND, batch=8) == pytest.approx(8 / 0.007)
    assert cost.tokens_per_second(SEVEN, ROUND, bytes_per_value=0.5) == pytest.approx(4 / 0.007)
    assert cost.tokens_per_second(SEVEN, ROUND, batch=[1, 2]).shape == (2,)


def test_twice_the_flops_are_not_twice_the_tokens():
    faster = dataclasses.replace(A100, flops=2 * A100.flops)
    assert cost.tokens_per_second(SEVEN, faster) == cost.tokens_per_second(SEVEN, A100)


def test_what_fits():
    assert cost.fits(MODELS["Llama-3.1-8B"], HARDWARE["L4"])
    assert not cost.fits(MODELS["Llama-3.1-70B"], HARDWARE["H200 SXM"])  # 141.1 of 141 GB
    assert cost.fits(MODELS["Llama-3.1-70B"], HARDWARE["MI300X"])
    assert cost.fits(MODELS["Llama-2-7B"], A100, batch=[1, 64], context=4096).tolist() == [True, False]


def test_even_context_is_where_cache_and_weights_are_equal():
    n = cost.even_context(MODELS["Llama-2-7B"], batch=8)
    assert cost.kv_cache_bytes(MODELS["Llama-2-7B"], 1, batch=8) * n == pytest.approx(2 * 6_738_415_616)


def test_scalars_stay_python_floats():
    step = cost.verify_pass(SEVEN, A100, 5, 2, 100)
    numbers = [getattr(step, field.name) for field in dataclasses.fields(step)]
    numbers += [step.bytes_read, step.flops, step.intensity, step.seconds, step.waiting_share]
    numbers += [cost.ridge(A100), cost.attainable_flops(1, A100), cost.verify_cost(SEVEN, A100, 5)]
    numbers += [cost.kv_cache_bytes(SEVEN, 1), cost.tokens_per_second(SEVEN, A100), cost.even_context(SEVEN)]
    assert {type(number) for number in numbers} == {float}
    assert type(cost.fits(SEVEN, A100)) is bool and type(cost.free_positions(SEVEN, A100)) is int


@pytest.mark.parametrize("call, message", [
    (lambda: cost.verify_pass(SEVEN, A100, 0), "positions must be a whole number of at least 1, got 0"),
    (lambda: cost.verify_pass(SEVEN, A100, 2.5), "positions must be a whole number"),
    (lambda: cost.decode_step(SEVEN, A100, batch=0), "batch must be a whole number of at least 1, got 0"),
    (lambda: cost.decode_step(SEVEN, A100, context=-1), "context must be a whole number of at least 0"),
    (lambda: cost.decode_step(SEVEN, A100, bytes_per_value=0), "bytes_per_value must be finite and above 0"),
    (lambda: cost.decode_step(SEVEN, A100, bytes_per_value=[1, 2]), "bytes_per_value must be a single"),
    (lambda: cost.decode_step("7B", A100), "model must be a ModelShape, such as one of MODELS, got '7B'"),
    (lambda: cost.decode_step(SEVEN, "A100"), "must be a Hardware, such as one of HARDWARE, got 'A100'"),
    (lambda: cost.decode_step(A100, SEVEN), "hardware must be a Hardware"),
    (lambda: cost.verify_cost(SEVEN, A100, [1, 0]), "positions must be a whole number of at least 1, got 0"),
    (lambda: cost.free_positions(SEVEN, A100, batch=[1, 2]), "batch must be a single whole number"),
    (lambda: cost.attainable_flops(-1, A100), "intensity must be finite and at least 0, got -1"),
    (lambda: Hardware("x", 0, 1, 1), "bandwidth must be finite and above 0, got 0"),
    (lambda: ModelShape("x", 1, 1, 1, 4, 3, 1), r"heads must be a multiple of kv_heads \(3\), got 4"),
    (lambda: cost.measure_columns(columns=(2, 4)), "columns must be whole numbers that start at 1 and grow"),
    (lambda: cost.measure_columns(columns=(1, 4, 4)), "columns must be whole numbers that start at 1"),
    (lambda: cost.measure_columns(dtype="int8"), "dtype must be 'float32' or 'float64', got 'int8'"),
    (lambda: cost.measure_columns(threads=0), "threads must be a whole number of at least 1, got 0"),
    (lambda: cost.measure_columns(budget=-1), "budget must be finite and above 0, got -1"),
    (lambda: cost.measured_verify_cost([1, 2]), "times must be what measure_columns returns"),
])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("dtype", ["float32", "float64", np.float32])
def test_the_measurement_is_of_the_right_form(dtype):
    times = cost.measure_columns(columns=(1, 2, 5), rows=200, depth=300, dtype=dtype, budget=0.02)
    assert times.columns == (1, 2, 5) and len(times.seconds) == 3 and times.rounds >= 3
    assert times.ratios[0] == 1 and all(t > 0 for t in (*times.seconds, times.gemm_one_column))
    assert times.matrix_bytes == 200 * 300 * np.dtype(dtype).itemsize
    assert times.read_speeds[0] == pytest.approx(times.matrix_bytes / times.seconds[0])
    assert times.flops[2] == pytest.approx(2 * 200 * 300 * 5 / times.seconds[2])
    assert times.blas


def test_the_measurement_leaves_the_threads_as_they_were():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    before = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
    cost.measure_columns(columns=(1, 2), rows=64, depth=64, budget=0.01)
    assert [pool["num_threads"] for pool in threadpoolctl.threadpool_info()] == before


def test_memory_speed_is_of_the_right_form():
    speed = cost.measure_copy(megabytes=2, budget=0.02)
    assert speed.read > 0 and speed.copy > 0 and speed.megabytes == 2


def test_measured_verify_cost_interpolates_and_never_extrapolates():
    times = cost.ColumnTimes((1, 2, 4, 8), (1.0, 2.0, 2.5, 3.5), 2.0, 8, 8, "float32", 1, 3, "BLAS")
    v = cost.measured_verify_cost(times, 8)
    assert v == pytest.approx([1, 2, 2.25, 2.5, 2.75, 3, 3.25, 3.5])
    assert cost.measured_verify_cost(times).tolist() == v.tolist()
    assert cost.measured_verify_cost(times, 1).tolist() == [1]
    with pytest.raises(ValueError, match="positions must be at most 8, the most columns measured, got 9"):
        cost.measured_verify_cost(times, 9)
