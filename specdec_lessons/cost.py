"""What a pass through a model costs: bytes, FLOPs and seconds on a roofline, and what this machine does.

The model of a pass over n new positions, for each of ``batch`` sequences with ``context`` cached positions:

- bytes read: every weight once, whatever n and the batch are, and each sequence's KV cache once;
- FLOPs: 2 per weight and position (one multiplication, one addition); for attention 4 per layer, query
  channel and pair of positions, 2 in the scores and 2 in the weighted sum (Hoffmann et al. 2022, appendix F);
- seconds: bytes / bandwidth or FLOPs / peak, whichever is longer (Williams, Waterman and Patterson 2009).

Left out, all small for a large model: activations, writing the n new cache entries, the embedding table
being looked up and not read, launch overheads, communication. Peaks are upper limits, so real passes are
slower; what matters here are the proportions. See ``presets`` for the machines and models, ``measure``
for the measurement; all their public names can be had from here too.
"""

from dataclasses import dataclass

import numpy as np

from specdec_lessons import _checks
from specdec_lessons.measure import (
    ColumnTimes,
    MemorySpeed,
    measure_columns,
    measure_copy,
    measured_verify_cost,
)
from specdec_lessons.presets import HARDWARE, MODELS, Hardware, ModelShape

__all__ = [
    "HARDWARE", "MODELS", "ColumnTimes", "Hardware", "MemorySpeed", "ModelShape", "StepCost",
    "attainable_flops", "decode_step", "even_context", "fits", "free_positions", "kv_cache_bytes",
    "measure_columns", "measure_copy", "measured_verify_cost", "prefill", "ridge", "tokens_per_second",
    "verify_cost", "verify_pass",
]


@dataclass(frozen=True)
class StepCost:
    """The cost of one pass: bytes, FLOPs, and the seconds that each of them takes (see ``verify_pass``)."""

    weight_bytes: float
    kv_bytes: float
    weight_flops: float
    attention_flops: float
    memory_seconds: float
    compute_seconds: float

    @property
    def bytes_read(self):
        """Weights and KV cache together, in bytes."""
        return self.weight_bytes + self.kv_bytes

    @property
    def flops(self):
        """Arithmetic of the weights and of attention together, in FLOP."""
        return self.weight_flops + self.attention_flops

    @property
    def intensity(self):
        """FLOP per byte read."""
        return self.flops / self.bytes_read

    @property
    def seconds(self):
        """The longer of memory and compute time: reading and computing overlap."""
        return max(self.memory_seconds, self.compute_seconds)

    @property
    def bound(self):
        """'memory' or 'compute', whichever takes longer ('memory' on a tie)."""
        return "memory" if self.memory_seconds >= self.compute_seconds else "compute"

    @property
    def waiting_share(self):
        """The part of the pass, from 0 to 1, in which the arithmetic units wait for memory."""
        return 1 - self.compute_seconds / self.seconds


def ridge(hardware):
    """The FLOPs that a machine can do in the time it takes to read one byte: the corner of its roofline.

    FLOP per byte. Below it a pass is bound by memory, above it by arithmetic.

    >>> round(ridge(HARDWARE["A100 80GB SXM"]))
    153
    """
    _kind("hardware", hardware, Hardware)
    return hardware.flops / hardware.bandwidth


def attainable_flops(intensity, hardware):
    """The roofline itself: the best FLOP/s at an arithmetic intensity (FLOP per byte; scalar or array).

    min(peak, intensity x bandwidth): Williams, Waterman and Patterson 2009, "Roofline", CACM 52(4).

    >>> attainable_flops(1.0, HARDWARE["A100 80GB SXM"]) / 1e12   # TFLOP/s, of 312
    2.039
    """
    _kind("hardware", hardware, Hardware)
    intensity = _checks.non_negative("intensity", intensity)
    return _checks.scalar_or_array(np.minimum(hardware.flops, intensity * hardware.bandwidth))


def kv_cache_bytes(model, context, batch=1, bytes_per_value=2):
    """Bytes of the KV cache for ``batch`` sequences of ``context`` positions (scalars or arrays).

    2 x layers x kv_heads x head_dim values for each position: a key and a value.

    >>> kv_cache_bytes(MODELS["Llama-2-7B"], 1)
    524288.0
    >>> kv_cache_bytes(MODELS["Llama-3.1-8B"], 1)    # a quarter of the key/value heads
    131072.0
    """
    _kind("model", model, ModelShape)
    context = _checks.count("context", context).astype(float)
    batch = _checks.count("batch", batch, at_least=1)
    per_value = _checks.positive("bytes_per_value", bytes_per_value)
    values = 2 * model.layers * model.kv_heads * model.head_dim
    return _checks.scalar_or_array(values * per_value * context * batch)


def even_context(model, batch=1):
    """The context length at which the KV cache of ``batch`` sequences is as large as the weights.

    A real number of positions (scalar or array); the bytes of a value cancel as long as both use the same.

    >>> round(even_context(MODELS["Llama-2-7B"], batch=8))
    3213
    """
    _kind("model", model, ModelShape)
    return _checks.scalar_or_array(2 * model.parameters / kv_cache_bytes(model, 1, batch))


def fits(model, hardware, batch=1, context=0, bytes_per_value=2):
    """Whether weights and KV cache fit into the memory of the machine (bool, or an array of bool).

    >>> fits(MODELS["Llama-3.1-70B"], HARDWARE["A100 80GB SXM"])   # 141 GB
    False
    """
    _kind("hardware", hardware, Hardware)
    cache = kv_cache_bytes(model, context, batch, bytes_per_value)
    weights = model.parameters * np.asarray(bytes_per_value)
    return _checks.scalar_or_array(weights + cache <= hardware.memory)


def verify_pass(model, hardware, positions, batch=1, context=0, bytes_per_value=2):
    """The cost of one pass over ``positions`` new positions for each of ``batch`` sequences.

    A verify pass over k drafts has k + 1 positions. ``context`` positions are in the cache already, for each
    sequence. ``bytes_per_value`` is 2 for 16-bit weights and cache, 1 for 8-bit, 0.5 for 4-bit; the
    arithmetic stays 16-bit. All scalars; raises ``ValueError`` for less than one position or sequence.

    >>> one, five = (verify_pass(MODELS["7B"], HARDWARE["A100 80GB SXM"], n) for n in (1, 5))
    >>> round(five.flops / one.flops, 3), five.seconds == one.seconds
    (5.0, True)
    """
    _kind("hardware", hardware, Hardware)
    _checks.single_count("positions", positions, at_least=1)
    _checks.single_count("batch", batch, at_least=1)
    _checks.single_count("context", context)
    _checks.single_positive("bytes_per_value", bytes_per_value)
    parts = (float(part) for part in _parts(model, positions, batch, context, bytes_per_value))
    weight_bytes, kv_bytes, weight_flops, attention_flops = parts
    return StepCost(
        weight_bytes, kv_bytes, weight_flops, attention_flops,
        memory_seconds=(weight_bytes + kv_bytes) / hardware.bandwidth,
        compute_seconds=(weight_flops + attention_flops) / hardware.flops,
    )


def decode_step(model, hardware, batch=1, context=0, bytes_per_value=2):
    """The cost of one plain decode step: one new position for each of ``batch`` sequences.

    >>> step = decode_step(MODELS["7B"], Hardware("round figures", 2.0e12, 312e12, 80e9))
    >>> step.bytes_read / 1e9, step.memory_seconds * 1e3          # GB, ms
    (14.0, 7.0)
    >>> round(step.flops / 1e9, 2), round(step.compute_seconds * 1e3, 3), step.bound
    (14.0, 0.045, 'memory')
    >>> round(step.waiting_share, 3)
    0.994
    """
    return verify_pass(model, hardware, 1, batch, context, bytes_per_value)


def prefill(model, hardware, positions, batch=1, bytes_per_value=2):
    """The cost of reading a prompt of ``positions`` tokens in one pass, the cache empty at its start.

    >>> prefill(MODELS["7B"], HARDWARE["A100 80GB SXM"], 2048).bound
    'compute'
    """
    return verify_pass(model, hardware, positions, batch, 0, bytes_per_value)


def verify_cost(model, hardware, positions, batch=1, context=0, bytes_per_value=2):
    """v(n): what a pass over n ``positions`` costs, in passes over one position. Scalars or arrays.

    1 while the pass is bound by memory, then growing with n.

    >>> verify_cost(MODELS["7B"], HARDWARE["A100 80GB SXM"], [1, 5, 100, 200]).round(2).tolist()
    [1.0, 1.0, 1.0, 1.31]
    """
    one, several = (_seconds(model, hardware, n, batch, context, bytes_per_value) for n in (1, positions))
    return _checks.scalar_or_array(several / one)


def free_positions(model, hardware, batch=1, context=0, bytes_per_value=2):
    """The largest number of positions (for each sequence) whose pass is still bound by memory; 0 if none is.

    All of them ride for the price of one. Scalars only. About the ridge divided by the batch, less what
    attention takes and more what a long cache costs to read.

    >>> free_positions(MODELS["7B"], HARDWARE["A100 80GB SXM"])
    152
    >>> free_positions(MODELS["7B"], HARDWARE["A100 80GB SXM"], batch=64)
    2
    """
    def is_free(n):
        cost = verify_pass(model, hardware, n, batch, context, bytes_per_value)
        return cost.bound == "memory"

    low, high = 0, 1  # low is free (or 0), high may not be
    while is_free(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_free(middle) else (low, middle)
    return low


def tokens_per_second(model, hardware, batch=1, context=0, bytes_per_value=2):
    """Tokens that plain decoding yields in a second, all ``batch`` sequences together. Scalars or arrays.

    Divide by ``batch`` for what one of them sees: a bigger batch serves more people, none of them faster.
    An upper limit, as the peaks are. It does not ask whether the model ``fits``.

    >>> round(tokens_per_second(MODELS["7B"], HARDWARE["A100 80GB SXM"]))
    146
    """
    return _checks.scalar_or_array(
        _checks.count("batch", batch, at_least=1)
        / _seconds(model, hardware, 1, batch, context, bytes_per_value)
    )


def _parts(model, positions, batch, context, bytes_per_value):
    """Bytes of weights and cache, FLOPs of weights and attention, as floats or arrays."""
    kv_bytes = np.asarray(kv_cache_bytes(model, context, batch, bytes_per_value))
    positions = _checks.count("positions", positions, at_least=1).astype(float)
    sequences, context = np.asarray(batch, float), np.asarray(context, float)
    pairs = positions * context + positions * (positions + 1) / 2  # each sees the cache, itself, those before
    return (
        model.parameters * np.asarray(bytes_per_value, float),
        kv_bytes,
        2.0 * model.parameters * positions * sequences,
        4.0 * model.layers * model.heads * model.head_dim * pairs * sequences,
    )


def _seconds(model, hardware, positions, batch, context, bytes_per_value):
    _kind("hardware", hardware, Hardware)
    weights, kv, weight_flops, attention = _parts(model, positions, batch, context, bytes_per_value)
    return np.maximum((weights + kv) / hardware.bandwidth, (weight_flops + attention) / hardware.flops)


def _kind(name, value, kind):
    if not isinstance(value, kind):
        table = "HARDWARE" if kind is Hardware else "MODELS"
        raise ValueError(f"{name} must be a {kind.__name__}, such as one of {table}, got {value!r}")
