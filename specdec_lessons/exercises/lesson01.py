"""Exercises of lesson 1: the time of a step, the intensity of a pass, tokens per second, the KV cache."""

from specdec_lessons.exercises.kit import Exercise, Misconception


def _step_seconds(parameters, bits, bandwidth):
    return parameters * bits / 8 / bandwidth


step_seconds = Exercise(
    title="The time of a decode step",
    statement=(
        "Write step_seconds(parameters, bits, bandwidth): how long one decode step takes, in seconds, when it"
        " is bound by memory. Each weight is stored in `bits` bits, the bandwidth is in bytes a second."),
    stub="def step_seconds(parameters, bits, bandwidth):\n    ...  # your code",
    reference=_step_seconds,
    cases=((6, 16, 4), (10, 8, 4), (3, 4, 1), (10, 4, 1), (7e9, 16, 2.0e12), (7e9, 4, 2.0e12),
           (70e9, 8, 3.35e12)),
    hints=(
        "Every weight is read once. How many bytes are all of them together?",
        "8 bits are one byte, so 16 bits are 2 bytes and 4 bits are half a byte.",
        "parameters × bits / 8 are the bytes; divide them by the bandwidth.",
    ),
    solution_code=(
        "def step_seconds(parameters, bits, bandwidth):\n"
        "    return parameters * bits / 8 / bandwidth"),
    misconceptions=(
        Misconception(
            lambda parameters, bits, bandwidth: parameters * bits / bandwidth,
            "You counted bits, and the bandwidth counts bytes: 8 bits are one byte."),
        Misconception(
            lambda parameters, bits, bandwidth: parameters * bits / 8 / bandwidth * 1e3,
            "Those are milliseconds; asked are seconds."),
        Misconception(
            lambda parameters, bits, bandwidth: parameters * 2 / bandwidth,
            "You took 2 bytes for every weight; that is 16 bits. Other widths read less or more."),
        Misconception(
            lambda parameters, bits, bandwidth: parameters / bandwidth,
            "You took one byte for every weight; that is 8 bits."),
        Misconception(
            lambda parameters, bits, bandwidth: bandwidth / (parameters * bits / 8),
            "That is steps a second; asked are seconds a step."),
        Misconception(
            lambda parameters, bits, bandwidth: 2 * parameters * bits / 8 / bandwidth,
            "Twice too long: the 2 belongs to the arithmetic (multiply and add)."
            " A weight is read only once."),
    ),
)


def _pass_intensity(parameters, positions, bytes_per_value):
    return 2 * parameters * positions / (parameters * bytes_per_value)


pass_intensity = Exercise(
    title="The intensity of a pass",
    statement=(
        "Write pass_intensity(parameters, positions, bytes_per_value): the FLOPs of a pass over that many"
        " positions for each byte of weights it reads. Leave attention and the KV cache out."),
    stub="def pass_intensity(parameters, positions, bytes_per_value):\n    ...  # your code",
    reference=_pass_intensity,
    cases=((100, 1, 2), (100, 1, 1), (100, 5, 2), (7e9, 8, 0.5), (70e9, 153, 2)),
    hints=(
        "Two numbers: the FLOPs of the pass and the bytes it reads. Divide the first by the second.",
        "Each weight is multiplied and added once for each position: 2 FLOPs a weight and position.",
        "The weights are read once, however many positions ride along.",
    ),
    solution_code=(
        "def pass_intensity(parameters, positions, bytes_per_value):\n"
        "    flops = 2 * parameters * positions\n"
        "    return flops / (parameters * bytes_per_value)"),
    misconceptions=(
        Misconception(
            lambda parameters, positions, bytes_per_value: positions,
            "True for values of two bytes, as in the lesson. With fewer bytes to read the intensity"
            " is higher."),
        Misconception(
            lambda parameters, positions, bytes_per_value: positions / bytes_per_value,
            "Half of it: a weight costs two FLOPs for each position, a multiplication and an addition."),
        Misconception(
            lambda parameters, positions, bytes_per_value: 2 / bytes_per_value,
            "Yours does not depend on the positions: you read the weights once for each of them."
            " A pass reads them once for all, and that is the whole point."),
        Misconception(
            lambda parameters, positions, bytes_per_value: bytes_per_value / (2 * positions),
            "Upside down: that is bytes per FLOP."),
        Misconception(
            lambda parameters, positions, bytes_per_value: 2 * parameters * positions,
            "Those are the FLOPs. Divide them by the bytes that the pass reads."),
        Misconception(
            lambda parameters, positions, bytes_per_value: 2 * positions / (8 * bytes_per_value),
            "You turned bytes into bits; the roofline counts bytes."),
    ),
)


def _tokens_per_second(parameters, batch, bandwidth, flops):
    return batch / max(2 * parameters / bandwidth, 2 * parameters * batch / flops)


tokens_per_second = Exercise(
    title="Tokens per second",
    statement=(
        "Write tokens_per_second(parameters, batch, bandwidth, flops): what plain decoding of `batch`"
        " sequences yields in a second, all of them together, with 16-bit weights and short contexts."),
    stub="def tokens_per_second(parameters, batch, bandwidth, flops):\n    ...  # your code",
    reference=_tokens_per_second,
    cases=((1, 1, 2, 4), (1, 1, 8, 4), (1, 2, 4, 16), (1, 4, 4, 8), (7e9, 1, 2.039e12, 312e12),
           (7e9, 64, 2.039e12, 312e12), (7e9, 512, 2.039e12, 312e12)),
    hints=(
        "One step gives one token to each sequence. So: batch divided by the seconds of a step.",
        "Reading takes 2 × parameters / bandwidth; the arithmetic takes 2 × parameters × batch / flops.",
        "Both run at the same time, so the step takes as long as the longer of the two: max.",
    ),
    solution_code=(
        "def tokens_per_second(parameters, batch, bandwidth, flops):\n"
        "    reading = 2 * parameters / bandwidth\n"
        "    arithmetic = 2 * parameters * batch / flops\n"
        "    return batch / max(reading, arithmetic)"),
    misconceptions=(
        Misconception(
            lambda parameters, batch, bandwidth, flops:
                batch / (2 * parameters / bandwidth + 2 * parameters * batch / flops),
            "You added reading and arithmetic. They run at the same time, so the longer one decides."),
        Misconception(
            lambda parameters, batch, bandwidth, flops:
                1 / max(2 * parameters / bandwidth, 2 * parameters * batch / flops),
            "That is what one sequence sees. A step gives a token to each of the batch."),
        Misconception(
            lambda parameters, batch, bandwidth, flops: bandwidth / (2 * parameters),
            "Bandwidth over bytes is what one sequence gets while a step is bound by memory."
            " Count the tokens of the whole batch, and the time that the arithmetic takes."),
        Misconception(
            lambda parameters, batch, bandwidth, flops: batch * bandwidth / (2 * parameters),
            "You left the arithmetic out, so your throughput grows with the batch for ever."),
        Misconception(
            lambda parameters, batch, bandwidth, flops: flops / (2 * parameters),
            "You left the reading out: that is what the arithmetic units alone could do."),
        Misconception(
            lambda parameters, batch, bandwidth, flops:
                batch / min(2 * parameters / bandwidth, 2 * parameters * batch / flops),
            "You took the shorter of the two times. The step is over only when both are done."),
        Misconception(
            lambda parameters, batch, bandwidth, flops:
                batch / max(2 * parameters / bandwidth, parameters * batch / flops),
            "Half the arithmetic is missing: a weight costs two FLOPs, a multiplication and an addition."),
        Misconception(
            lambda parameters, batch, bandwidth, flops:
                batch / max(2 * parameters * batch / bandwidth, 2 * parameters * batch / flops),
            "You read the weights once for each sequence. A step reads them once for the whole batch."),
    ),
)


def _kv_bytes(layers, kv_heads, head_dim, bytes_per_value):
    return 2 * layers * kv_heads * head_dim * bytes_per_value


kv_bytes = Exercise(
    title="The cache of one token",
    statement=(
        "Write kv_bytes(layers, kv_heads, head_dim, bytes_per_value): the bytes that one position of context"
        " takes in the KV cache."),
    stub="def kv_bytes(layers, kv_heads, head_dim, bytes_per_value):\n    ...  # your code",
    reference=_kv_bytes,
    cases=((1, 1, 3, 1), (3, 2, 5, 1), (32, 32, 128, 2), (32, 8, 128, 2), (80, 8, 128, 1)),
    hints=(
        "What does attention keep of a position, in one head of one layer?",
        "A key and a value: two vectors of head_dim numbers each.",
        "Two vectors, in each key/value head of each layer, each number of bytes_per_value bytes.",
    ),
    solution_code=(
        "def kv_bytes(layers, kv_heads, head_dim, bytes_per_value):\n"
        "    return 2 * layers * kv_heads * head_dim * bytes_per_value"),
    misconceptions=(
        Misconception(
            lambda layers, kv_heads, head_dim, bytes_per_value:
                layers * kv_heads * head_dim * bytes_per_value,
            "That is the keys alone. The values are kept as well: K and V, hence the name."),
        Misconception(
            lambda layers, kv_heads, head_dim, bytes_per_value: 2 * kv_heads * head_dim * bytes_per_value,
            "That is one layer. Every layer keeps its own keys and values."),
        Misconception(
            lambda layers, kv_heads, head_dim, bytes_per_value: 2 * layers * head_dim * bytes_per_value,
            "That is one head. Every key/value head keeps its own."),
        Misconception(
            lambda layers, kv_heads, head_dim, bytes_per_value: 2 * layers * kv_heads * head_dim,
            "Those are numbers, not bytes: each takes bytes_per_value of them."),
        Misconception(
            lambda layers, kv_heads, head_dim, bytes_per_value:
                3 * layers * kv_heads * head_dim * bytes_per_value,
            "You kept the queries too. A query is used once, at its own position, and never again."),
    ),
)
