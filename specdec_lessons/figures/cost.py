"""Figures of lesson 1: the roofline, the time of a step, the KV cache, and what this machine measured."""

import numpy as np
from matplotlib.ticker import FuncFormatter, NullLocator

from specdec_lessons import _checks, cost
from specdec_lessons.figures import style

PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}


@style.styled
def roofline(hardware, points=None):
    """The roofline of a machine with named passes on it, both axes logarithmic -> Figure.

    ``points`` maps a label to a ``StepCost``; by default a decode step, a verify pass of five positions and
    a prefill of 2,048 of the round 7B model. Raises ``ValueError`` for anything else.

    >>> roofline(cost.HARDWARE["A100 80GB SXM"]).alt[:43]
    'Roofline of A100 80GB SXM on logarithmic ax'
    """
    corner = cost.ridge(hardware)
    points = _default_points(hardware) if points is None else _costs("points", points)
    intensities = [step.intensity for step in points.values()]
    left = min(0.3, *(x / 3 for x in intensities))
    right = max(corner * 12, *(x * 3 for x in intensities))
    fig, ax = style.new_figure(7.2, 4.3)
    for x, colour in (((left, corner), style.MEMORY), ((corner, right), style.COMPUTE)):
        ax.plot(x, cost.attainable_flops(x, hardware), color=colour, linewidth=3, solid_capstyle="round")
    floor = cost.attainable_flops(left, hardware)
    ax.plot([corner, corner], [floor, hardware.flops], color=style.MUTED, linewidth=1.2, linestyle=":")
    ax.set(xscale="log", yscale="log", xlim=(left, right), ylim=(floor, hardware.flops * 8),
           xlabel="arithmetic intensity (FLOP per byte read)", ylabel="attainable (TFLOP/s)",
           title=f"{hardware.name}: {_large(hardware.flops)}FLOP/s, {_large(hardware.bandwidth)}B/s")
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / 1e12:,g}"))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
    ax.grid(which="major")
    ax.text(corner * 1.12, floor * 1.25, f"ridge: {_short(corner)} FLOP/byte", va="bottom", color=style.MUTED)
    for x, across, limit, colour in ((0.02, "left", "memory", style.MEMORY),
                                     (0.99, "right", "arithmetic", style.COMPUTE)):
        ax.text(x, 0.98, f"bound by {limit}", ha=across, va="top", color=colour, transform=ax.transAxes)
    flipped, previous = False, None
    for label, step in sorted(points.items(), key=lambda item: item[1].intensity):
        near = previous and step.bound == previous.bound and step.intensity < 2.5 * previous.intensity
        below_ridge = step.bound == "memory" and step.intensity > corner / 3
        flipped = not flipped if near else below_ridge
        _mark(ax, label, step, flipped)
        previous = step
    told = "; ".join(f"{label} at {_short(step.intensity)} FLOP per byte, bound by {_limit(step)}"
                     for label, step in points.items())
    return style.describe(fig, (
        f"Roofline of {hardware.name} on logarithmic axes: rising with the memory bandwidth up to the ridge"
        f" at {_short(corner)} FLOP per byte, flat at the peak beyond. {told}."))


def _mark(ax, label, step, flipped):
    """A dot on the roof and its label: below the slope, above the flat, or on the other side."""
    memory = step.bound == "memory"
    where = (step.intensity, step.flops / step.seconds)
    colour = style.MEMORY if memory else style.COMPUTE
    ax.plot(*where, "o", markersize=9, color=colour, markeredgecolor="white", zorder=5)
    offset, across, upright = {
        (True, False): ((12, -2), "left", "top"), (True, True): ((-12, 2), "right", "bottom"),
        (False, False): ((0, 9), "center", "bottom"), (False, True): ((0, -9), "center", "top"),
    }[memory, flipped]
    ax.annotate(f"{label}\n{_short(step.intensity)} FLOP/byte", where, textcoords="offset points",
                xytext=offset, ha=across, va=upright, fontsize=9.5, linespacing=1.3, bbox=PAPER)


def _default_points(hardware):
    model = cost.MODELS["7B"]
    return {
        "decode": cost.decode_step(model, hardware),
        "verify 5 positions": cost.verify_pass(model, hardware, 5),
        "prefill 2,048": cost.prefill(model, hardware, 2048),
    }


@style.styled
def roofline_in_steps(hardware):
    """How a roofline comes about: the slope of the memory, the ceiling of the arithmetic, the lower of both.

    >>> roofline_in_steps(cost.HARDWARE["A100 80GB SXM"]).alt[-59:]
    'the lower of the two, with its corner at 153 FLOP per byte.'
    """
    corner = cost.ridge(hardware)
    x = np.array([corner / 400, corner, corner * 20])
    slope, roof = x * hardware.bandwidth, cost.attainable_flops(x, hardware)
    ceiling = np.full(3, hardware.flops)
    fig, axes = style.new_figure(7.2, 2.9, columns=3, sharex=True, sharey=True)
    titles = ("1  what memory feeds", "2  what the units can do", "3  the lower of the two")
    for number, (ax, title) in enumerate(zip(axes, titles)):
        final = number == 2
        faint = {"color": style.GRID if final else style.MUTED, "linewidth": 1.4}
        for line, colour, shown in ((slope, style.MEMORY, 0), (ceiling, style.COMPUTE, 1)):
            if number == shown:
                ax.plot(x, line, color=colour, linewidth=3)
            elif number > shown:
                ax.plot(x, line, linestyle="--", **faint)
        if final:
            ax.plot(x[:2], roof[:2], color=style.MEMORY, linewidth=3)
            ax.plot(x[1:], roof[1:], color=style.COMPUTE, linewidth=3)
            _dot(ax, corner, hardware.flops)
            ax.annotate(f"ridge\n{_short(corner)}", (corner, hardware.flops), textcoords="offset points",
                        xytext=(6, -9), va="top", fontsize=9.5)
        ax.set(xscale="log", yscale="log", xlim=(x[0], x[-1]), ylim=(roof[0], hardware.flops * 30))
        ax.set_title(title, fontsize=10)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y / 1e12:,g}"))
        ax.minorticks_off()
        ax.grid(which="major")
    axes[0].set_ylabel("TFLOP/s")
    axes[1].set_xlabel("arithmetic intensity (FLOP per byte read)")
    return style.describe(fig, (
        f"Three small pictures of {hardware.name}, FLOP/s over FLOP per byte on logarithmic axes. First the"
        " rising line of the memory, intensity times bandwidth. Then the level line of the arithmetic's peak."
        f" Then the roofline: the lower of the two, with its corner at {_short(corner)} FLOP per byte."))


def _dot(ax, x, y):
    ax.plot(x, y, "o", markersize=8.5, color=style.INK, markeredgecolor="white", zorder=5)


@style.styled
def pass_times(model, hardware, longest=400):
    """The time of a pass over 1 to ``longest`` positions: reading, arithmetic, the longer of both -> Figure.

    >>> pass_times(cost.MODELS["7B"], cost.HARDWARE["A100 80GB SXM"]).alt.split("; ")[-1]
    '400 positions take 18.1 ms.'
    """
    longest = _checks.single_count("longest", longest, at_least=2)
    free = cost.free_positions(model, hardware)
    n = np.linspace(1, longest, 120).round().astype(int)
    n = np.unique([*n, *(m for m in (free, free + 1) if 1 <= m <= longest)])
    steps = [cost.verify_pass(model, hardware, int(m)) for m in n]
    reading, arithmetic, seconds = (
        np.array([getattr(step, part) for step in steps]) * 1e3
        for part in ("memory_seconds", "compute_seconds", "seconds"))
    fig, ax = style.new_figure(7.2, 3.9)
    for times, colour in ((reading, style.MEMORY), (arithmetic, style.COMPUTE)):
        ax.plot(n, times, color=colour, linewidth=1.6, linestyle="--")
    ax.plot(n[n <= free], seconds[n <= free], color=style.MEMORY, linewidth=3.5)
    ax.plot(n[n > free], seconds[n > free], color=style.COMPUTE, linewidth=3.5)
    top = seconds.max() * 1.12
    ax.annotate("reading the weights", (longest, reading[-1]), textcoords="offset points", xytext=(-2, 5),
                ha="right", va="bottom", color=style.MEMORY)
    low = max(1, min(free, longest) * 0.45)
    ax.annotate("arithmetic", (low, np.interp(low, n, arithmetic)), textcoords="offset points",
                xytext=(7, -5), ha="left", va="top", color=style.COMPUTE)
    if 1 <= free <= longest:
        _dot(ax, free, reading[0])
        ax.annotate(f"{free} positions\nfor the price of one", (free, reading[0]), va="top",
                    textcoords="offset points", xytext=(8, -9))
    ax.set(xlim=(0, longest), ylim=(0, top), xlabel="positions in one pass", ylabel="milliseconds",
           title=f"Time of a pass: {model.name} on {hardware.name}")
    ax.grid(which="major")
    return style.describe(fig, (
        f"Time of one pass of {model.name} on {hardware.name} over its positions: reading takes"
        f" {_short(reading[0])} ms however many there are, the arithmetic grows with them, and the longer one"
        f" counts; so up to {free} positions take the time of one; {longest} positions take"
        f" {_short(seconds[-1])} ms."))


@style.styled
def batch_speeds(model, hardware, largest=1024):
    """Tokens per second of plain decoding over the batch: of all together, and of each answer -> Figure.

    Both axes logarithmic, contexts short.

    >>> batch_speeds(cost.MODELS["7B"], cost.HARDWARE["A100 80GB SXM"], largest=64).alt.split(". ")[-1]
    'Batch 64: 9,321 in all, 146 for each.'
    """
    largest = _checks.single_count("largest", largest, at_least=2)
    batches = np.geomspace(1, largest, 120).round().astype(int)
    batches = np.unique([*batches, min(largest, max(1, round(cost.ridge(hardware))))])
    together = cost.tokens_per_second(model, hardware, batches)
    each = together / batches
    fig, ax = style.new_figure(7.2, 3.9)
    for speeds, colour, text in ((together, style.INK, "all together"), (each, "#A3487F", "each answer")):
        ax.plot(batches, speeds, color=colour, linewidth=3)
        ax.annotate(text, (batches[-1], speeds[-1]), textcoords="offset points", xytext=(8, 0), va="center",
                    color=colour, annotation_clip=False)
    ax.set_xscale("log", base=2)
    ax.set(yscale="log", xlim=(1, largest), ylim=(each.min() / 1.6, together.max() * 1.6),
           xlabel="batch (answers written at the same time)", ylabel="tokens per second",
           title=f"Plain decoding: {model.name} on {hardware.name}")
    ax.set_xticks(2.0 ** np.arange(0, np.log2(largest) + 0.01))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.grid(which="major")
    return style.describe(fig, (
        f"Tokens per second of {model.name} on {hardware.name} over the batch, logarithmic axes. The sum"
        " grows up to the ridge and is level beyond; what each answer sees is level up to the ridge and falls"
        " beyond."
        f" Batch 1: {_short(together[0])} in all, {_short(each[0])} for each answer."
        f" Batch {largest}: {_short(together[-1])} in all, {_short(each[-1])} for each."))


@style.styled
def step_time_bars(costs, title="Where the time of a pass goes"):
    """Memory time against compute time, one pair of bars for each pass -> Figure.

    ``costs`` is one ``StepCost`` or maps labels to them. The longer bar of a pair is the time of the pass.

    >>> step = cost.decode_step(cost.MODELS["7B"], cost.Hardware("round figures", 2.0e12, 312e12, 80e9))
    >>> step_time_bars({"decode": step}).alt
    'Bars. decode: 7 ms reading memory, 0.045 ms of arithmetic, bound by memory.'
    """
    costs = _costs("costs", {"one pass": costs} if isinstance(costs, cost.StepCost) else costs)
    rows = np.arange(len(costs))
    fig, ax = style.new_figure(7.2, 1.35 + 0.85 * len(costs))
    for shift, name, colour, text in ((-0.19, "memory_seconds", style.MEMORY, "reading memory"),
                                      (0.19, "compute_seconds", style.COMPUTE, "arithmetic")):
        times = [getattr(step, name) * 1e3 for step in costs.values()]
        ax.barh(rows + shift, times, height=0.36, color=colour)
        for row, spent in zip(rows, times):
            ax.annotate(f"{_short(spent)} ms {text}", (spent, row + shift), textcoords="offset points",
                        xytext=(5, 0), va="center", fontsize=9.5)
    ax.set_yticks(rows, list(costs))
    longest = max(step.seconds for step in costs.values()) * 1e3
    ax.set(xlabel="milliseconds", title=title, xlim=(0, longest * 1.38), ylim=(len(costs) - 0.5, -0.5))
    ax.tick_params(axis="y", length=0)
    told = "; ".join(f"{label}: {_short(step.memory_seconds * 1e3)} ms reading memory,"
                     f" {_short(step.compute_seconds * 1e3)} ms of arithmetic, bound by {_limit(step)}"
                     for label, step in costs.items())
    return style.describe(fig, f"Bars. {told}.")


@style.styled
def kv_against_weights(model, batches=(1, 8, 64), max_context=131072, hardware=None):
    """Size of the 16-bit KV cache over the context length for several batches, against the weights -> Figure.

    ``batches`` are one to five batch sizes; with ``hardware`` its memory is drawn too.

    >>> kv_against_weights(cost.MODELS["Llama-2-7B"], batches=(8,)).alt[-61:]
    'they pass the weights (13.5 GB) at 3,213 positions (batch 8).'
    """
    batches = _checks.count("batches", batches, at_least=1)
    if batches.ndim != 1 or not 1 <= batches.size <= 5:
        raise ValueError(f"batches must be one to five batch sizes, got {batches.tolist()}")
    batches = sorted(set(batches.tolist()))
    max_context = _checks.single_count("max_context", max_context, at_least=1024)
    contexts = np.unique(np.geomspace(128, max_context, 200).round())
    weights = cost.kv_cache_bytes(model, 0) + 2.0 * model.parameters
    fig, ax = style.new_figure(7.2, 4.3)
    shades = np.linspace(0.45, 1.0, len(batches)) if len(batches) > 1 else [1.0]
    for batch, shade in zip(batches, shades):
        sizes = cost.kv_cache_bytes(model, contexts, batch) / 1e9
        ax.plot(contexts, sizes, color=style.MEMORY, alpha=shade)
        ax.annotate(f"batch {batch}", (contexts[-1], sizes[-1]), textcoords="offset points", xytext=(6, 0),
                    va="center", fontsize=9.5, color=style.MEMORY, annotation_clip=False)
        even = cost.even_context(model, batch)
        if contexts[0] <= even <= max_context:
            ax.plot(even, weights / 1e9, "o", markersize=8, color=style.INK, markeredgecolor="white",
                    zorder=5, clip_on=False)
            ax.annotate(f"{even:,.0f}", (even, weights / 1e9), textcoords="offset points", xytext=(7, -7),
                        va="top", fontsize=9.5, annotation_clip=False, bbox=PAPER | {"pad": 0})
    _level(ax, weights / 1e9, f"weights of {model.name}: {weights / 1e9:.3g} GB", style.INK)
    if hardware is not None:
        cost.ridge(hardware)
        room = hardware.memory / 1e9
        _level(ax, room, f"memory of {hardware.name}: {room:.3g} GB", style.COMPUTE)
    ax.set_xscale("log", base=2)
    ax.set(yscale="log", xlim=(contexts[0], max_context), ylabel="gigabytes",
           xlabel="context (positions in the cache of each sequence)",
           title=f"KV cache of {model.name}, 16-bit")
    ax.legend(loc="lower right", facecolor="white", framealpha=1.0, frameon=True, edgecolor="none")
    ax.set_xticks(2.0 ** np.arange(7, np.log2(max_context) + 0.01, 2))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,g}"))
    ax.grid(which="major")
    even = ", ".join(f"{cost.even_context(model, batch):,.0f} positions (batch {batch})" for batch in batches)
    return style.describe(fig, (
        f"The KV caches of {model.name} grow in proportion to context and batch;"
        f" they pass the weights ({weights / 1e9:.3g} GB) at {even}."))


def _level(ax, height, text, colour):
    ax.axhline(height, color=colour, linewidth=1.6, linestyle="--", label=text)


@style.styled
def column_times(times):
    """The measured cost of a matrix times n columns against two ideals, both axes logarithmic -> Figure.

    ``times`` is what ``cost.measure_columns`` returns. The ideals: free (1, whatever n) and proportional (n).

    >>> times = cost.ColumnTimes((1, 2, 4), (0.010, 0.025, 0.030), 0.024, 8192, 4096, "float32", 1, 5, "BLAS")
    >>> column_times(times).alt.split(": ")[1]
    'v(1) = 1.00, v(2) = 2.50, v(4) = 3.00. One column through the matrix-matrix routine'
    """
    if not isinstance(times, cost.ColumnTimes):
        raise ValueError(f"times must be what cost.measure_columns returns, got {times!r}")
    columns, ratios = np.array(times.columns), np.array(times.ratios)
    last = columns[-1]
    fig, ax = style.new_figure(7.2, 4.3)
    for ideal, text in ((columns, "one by one: n"), (np.ones_like(columns), "free: 1")):
        ax.plot(columns, ideal, color=style.MUTED, linewidth=1.4, linestyle="--")
        ax.annotate(text, (last, ideal[-1]), textcoords="offset points", xytext=(7, 0), va="center",
                    fontsize=9.5, color=style.MUTED, annotation_clip=False)
    ax.plot(columns, ratios, "o-", color=style.MEMORY, markersize=7, markeredgecolor="white")
    ax.annotate("measured", (last, ratios[-1]), textcoords="offset points", xytext=(7, 0), va="center",
                fontsize=9.5, color=style.MEMORY, weight="bold", annotation_clip=False)
    for n, ratio in zip(columns[1:], ratios[1:]):
        below = 0.7 * n < ratio <= n  # clear of the diagonal
        ax.annotate(f"{ratio:.1f}", (n, ratio), textcoords="offset points", xytext=(0, -8 if below else 8),
                    ha="center", va="top" if below else "bottom", fontsize=9.5)
    packed = times.gemm_one_column / times.seconds[0]
    if packed > 1.3:
        _mark_packed(ax, packed, max(packed, *ratios[:2]))
    top = max(last, ratios.max(), packed)
    ax.set(xscale="log", yscale="log", xlim=(0.93, last * 1.04),
           ylim=(0.8 * min(1, ratios.min()), top * 1.25), xlabel="columns n",
           ylabel="time, in times of one column", title=f"v(n) on this machine, {_threads(times)}")
    ax.set_xticks(columns, [str(n) for n in columns])
    steps = 2 ** np.arange(0, np.log2(top) + 0.2)
    ax.set_yticks(steps, [f"{step:.0f}" for step in steps])
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
    ax.grid(which="major")
    told = ", ".join(f"v({n}) = {ratio:.2f}" for n, ratio in zip(columns.tolist(), ratios.tolist()))
    return style.describe(fig, (
        f"Measured time of a matrix ({times.rows} by {times.depth}) times n columns, in times of one column,"
        f" beside the ideals 1 and n: {told}. One column through the matrix-matrix routine: {packed:.2f}."))


def _mark_packed(ax, packed, above):
    """One column through the matrix-matrix routine: what the step from 1 to 2 columns is made of."""
    ax.plot(1, packed, "D", markersize=8, markerfacecolor="white", markeredgecolor=style.COMPUTE,
            markeredgewidth=1.8, clip_on=False, zorder=5)
    ax.annotate(f"{packed:.1f}: one column\nthrough the matrix-\nmatrix routine", (1, above), va="bottom",
                textcoords="offset points", xytext=(0, 22), fontsize=9.5, color=style.COMPUTE)


def _threads(times):
    return {None: times.blas, 1: "one thread"}.get(times.threads, f"{times.threads} threads")


def _short(value):
    """Two or three digits that mean something: 0.045, 6.87, 153, 2,133."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if value < 1 else f"{value:.3g}"


def _large(value):
    for unit, letter in ((1e15, "P"), (1e12, "T"), (1e9, "G")):
        if value >= unit:
            return f"{value / unit:.4g} {letter}"
    return f"{value:.3g} "


def _limit(step):
    return "memory" if step.bound == "memory" else "arithmetic"


def _costs(name, costs):
    good = isinstance(costs, dict) and costs and all(isinstance(c, cost.StepCost) for c in costs.values())
    if not good:
        raise ValueError(f"{name} must map labels to StepCost, got {costs!r}")
    return costs
