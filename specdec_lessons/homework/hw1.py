"""The numbers of the first assignment, the cost of decode: a model, a chip, workloads and two logs.

The chips are made up, with figures like those of the accelerators in ``presets``; so are the models.
"""

from dataclasses import dataclass, fields

from specdec_lessons.cost import ModelShape, kv_cache_bytes
from specdec_lessons.homework import personal

SHAPES = (  # layers, heads, kv_heads, head_dim, smallest and largest number of parameters in tenths of 1e9
    (32, 32, 8, 128, 66, 90),
    (36, 32, 4, 128, 80, 104),
    (36, 40, 8, 128, 96, 120),
    (40, 40, 8, 128, 122, 150),
)
OFFICES = ("north", "east", "south", "west")


@dataclass(frozen=True)
class Numbers:
    """One student's numbers for the first assignment.

    ``model``: ``parameters``, ``layers``, ``heads`` (query heads), ``kv_heads``, ``head_dim``, and
    ``weight_bits`` and ``cache_bits`` of one number. ``chip``: ``bandwidth`` in bytes/s, ``flops`` in FLOP/s.
    ``workloads``: office -> (batch, context). ``log``: five lines of plain decoding, ``tokens_per_second`` of
    all answers together. ``measured``: two measurements with one answer. ``tokens_per_pass``: what a verify
    pass over five positions yields for each answer.
    """

    model: dict
    chip: dict
    workloads: dict
    log: tuple
    measured: dict
    tokens_per_pass: float

    def __repr__(self):
        lines = [_entry(field.name, getattr(self, field.name)) for field in fields(self)]
        return "\n".join(["Numbers", *lines])


def numbers(student_id):
    """The :class:`Numbers` of a student; those of ``practice`` where there is no usable id.

    >>> numbers("ada") == numbers(" Ada ")
    True
    >>> numbers("ada").model["weight_bits"], numbers("ada").model["cache_bits"]
    (8, 16)
    """
    rng = personal.generator("hw1_cost_of_decode", student_id)

    def pick(*choices):
        return choices[rng.integers(len(choices))]

    layers, heads, kv_heads, head_dim, smallest, largest = pick(*SHAPES)
    parameters = int(rng.integers(smallest, largest + 1)) * 10**8
    shape = ModelShape("mine", parameters, layers, heads * head_dim, heads, kv_heads, head_dim)
    model = {"parameters": parameters, "layers": layers, "heads": heads, "kv_heads": kv_heads,
             "head_dim": head_dim, "weight_bits": 8, "cache_bits": 16}
    bandwidth = int(rng.integers(12, 37)) * 1e11
    chip = {"bandwidth": bandwidth, "flops": round(int(rng.integers(150, 261)) * bandwidth / 1e13) * 1e13}
    weights = float(parameters)  # 8 bits each

    def context_of(ratio, batch, unit):
        """Whole units of context that make the caches about ``ratio`` times as large as the weights."""
        return max(unit, round(ratio * weights / kv_cache_bytes(shape, unit, batch)) * unit)

    desk, archive = pick(6, 8, 10, 12), pick(8, 10, 12)
    loads = [
        (1, 256 * int(rng.integers(1, 9))),
        (desk, context_of(rng.uniform(0.92, 1.08), desk, 128)),
        (pick(448, 512, 576, 640), pick(32, 48, 64)),
        (archive, context_of(rng.uniform(6.2, 7.4), archive, 1024)),
    ]

    speed = rng.uniform(0.86, 0.95) * bandwidth
    fixed = round(rng.uniform(0.18, 0.30) * weights / speed, 5)

    def rate(batch, context):
        return batch / (fixed + (weights + kv_cache_bytes(shape, context, batch)) / speed)

    settings = [(1, 512 * int(rng.integers(1, 5))), (1, 8192 * pick(2, 3, 4)),
                (pick(16, 20, 24), 256 * pick(2, 3, 4)), (4, context_of(rng.uniform(0.5, 1.0), 4, 256))]
    rates = [rate(*setting) for setting in settings]
    batch = pick(6, 8, 10, 12)
    settings.append((batch, context_of(rng.uniform(0.8, 1.4), batch, 256)))
    share, unit = pick((0, 1), (1 / batch, 1), (1 / 2, 1), (1, 2**30 / 1e9))
    rates.append(batch * bandwidth * unit / (weights + share * kv_cache_bytes(shape, settings[-1][1], batch)))
    log = tuple({"line": letter, "batch": settings[i][0], "context": settings[i][1],
                 "tokens_per_second": round(rates[i], 1)}
                for letter, i in zip("ABCDE", rng.permutation(len(settings)).tolist()))

    contexts = [256 * int(rng.integers(1, 5)), 8192 * pick(3, 4, 5)]
    measured = {"contexts": contexts,
                "tokens_per_second": [round(rate(1, context), 2) for context in contexts]}
    tokens_per_pass = pick(1.5, 1.52, 1.54, 1.56, 1.58, 1.6)
    workloads = {office: loads[i] for office, i in zip(OFFICES, rng.permutation(len(loads)).tolist())}
    return Numbers(model, chip, workloads, log, measured, tokens_per_pass)


def _entry(name, value):
    """One field, with one item of a dict or of a tuple on each line."""
    start = f"  {name} = "
    if isinstance(value, dict):
        items, around = [f"{key!r}: {_shown(one)}" for key, one in value.items()], "{}"
    elif isinstance(value, tuple):
        items, around = [_shown(one) for one in value], "()"
    else:
        return start + _shown(value)
    return start + around[0] + (",\n" + " " * (len(start) + 1)).join(items) + around[1]


def _shown(value):
    if isinstance(value, (int, float)) and value >= 1e9:
        return f"{value:.5g}".replace("e+0", "e").replace("e+", "e")
    return repr(value)
