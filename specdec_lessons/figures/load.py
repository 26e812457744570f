"""Figures of lesson 8: dear passes, speedup under load, counters by position, rules beyond one chain."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from specdec_lessons import _checks
from specdec_lessons.figures import style

COLOURS = ("#5F6670", "#0072B2", "#009E73", "#D55E00")
LOOKS = tuple(zip(COLOURS, ("o", "s", "^", "D"), ("-", "--", "-.", ":")))
GAIN, LOSS = "#0072B2", "#D55E00"


@style.styled
def pass_cost_by_batch(costs, title="What a pass over n positions costs"):
    """v(n) for several batches -> Figure. ``costs`` maps a batch to v(1), v(2), …

    >>> pass_cost_by_batch({1: [1, 1], 64: [1, 2]}).alt
    'Cost of a pass over 1 to 2 positions in plain steps. Batch 1: up to 1.00; batch 64: up to 2.00.'
    """
    costs = {batch: np.asarray(v, float) for batch, v in costs.items()}
    if not costs:
        raise ValueError("costs must hold at least one batch, got none")
    fig, ax = style.new_figure(7.2, 3.8)
    longest = max(v.size for v in costs.values())
    ax.plot((1, longest), (1, longest), color=style.GRID, linewidth=1.4)
    ax.annotate(
        "every position paid in full",
        (0.72 * longest, 0.72 * longest),
        textcoords="offset points",
        xytext=(-6, 4),
        ha="right",
        color=style.MUTED,
        fontsize=9.5,
    )
    for (batch, v), (colour, marker, line) in zip(costs.items(), LOOKS * 9):
        ax.plot(
            np.arange(1, v.size + 1),
            v,
            line,
            color=colour,
            marker=marker,
            markersize=5,
            label=f"batch {batch}",
        )
    ax.set(
        xlabel="positions n in the pass, drafts and one",
        ylabel="plain steps at the same batch",
        ylim=(0, 1.08 * max(v.max() for v in costs.values())),
        title=title,
    )
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(loc="upper left")
    told = "; ".join(f"batch {batch}: up to {v.max():.2f}" for batch, v in costs.items())
    return style.describe(
        fig, f"Cost of a pass over 1 to {longest} positions in plain steps. {told[0].upper()}{told[1:]}."
    )


@style.styled
def speedup_by_batch(batches, best_k, tuned, fixed, fixed_k):
    """Speedup against batch, with the best k at each and with one k for all -> Figure.

    ``batches``, ``best_k``, ``tuned`` and ``fixed`` are sequences of one length.

    >>> speedup_by_batch([1, 64, 192], [3, 2, 0], [1.73, 1.51, 1], [1.72, 1.1, .53], 4).alt[:61]
    'Speedup against batch. The best k falls from 3 at batch 1 to '
    """
    batches, best_k, tuned, fixed = (np.asarray(values, float) for values in (batches, best_k, tuned, fixed))
    fig, ax = style.new_figure(7.2, 4.2)
    ax.axhspan(0, 1, color="#FBEDE4", zorder=0)
    ax.text(batches[0], 0.06, " slower than plain decoding", color=LOSS, fontsize=9.5, va="bottom")
    ax.plot(batches, tuned, "-", color=GAIN, label="the best k at each batch")
    ax.plot(batches, fixed, "--", color=LOSS, label=f"k = {fixed_k} at every batch")
    for i in np.flatnonzero(np.diff(best_k, prepend=-1)):
        ax.plot(batches[i], tuned[i], "o", color=GAIN, markersize=6)
        ax.annotate(
            f"k = {best_k[i]:.0f}",
            (batches[i], tuned[i]),
            textcoords="offset points",
            xytext=(4, 8),
            color=GAIN,
            fontsize=9.5,
        )
    ax.set_xscale("log", base=2)
    ticks = [tick for tick in 2 ** np.arange(0, 14) if batches[0] <= tick <= batches[-1]]
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    ax.set(
        ylim=(0, 1.25 * max(tuned.max(), fixed.max())),
        xlabel="sequences decoded together",
        ylabel="times plain decoding",
        title="The gain under load",
    )
    ax.legend(loc="upper right")
    ends = (
        f"From batch {batches[fixed < 1][0]:.0f} on k = {fixed_k} is slower than plain decoding"
        if (fixed < 1).any()
        else f"k = {fixed_k} is never slower than plain decoding"
    )
    return style.describe(
        fig,
        f"Speedup against batch. The best k falls from {best_k[0]:.0f} at batch {batches[0]:.0f} to"
        f" {best_k[-1]:.0f} at batch {batches[-1]:.0f}, its speedup from {tuned[0]:.2f} to"
        f" {tuned[-1]:.2f}. {ends}.",
    )


@style.styled
def speedup_by_context(contexts, speedups, fits):
    """The best speedup against the context length at several batches -> Figure.

    ``speedups`` and ``fits`` map a batch to one number and one truth value for each context; what does not
    fit into memory is drawn thin.

    >>> speedup_by_context([128, 4096], {64: [1.4, 1.7]}, {64: [True, False]}).alt
    'The best speedup against the context. Batch 64: from 1.40 at 128 to 1.70 at 4096.'
    """
    contexts = np.asarray(contexts)
    fig, ax = style.new_figure(7.2, 3.8)
    told, top = [], 1
    for (batch, values), (colour, marker, line) in zip(speedups.items(), LOOKS * 9):
        values, inside = np.asarray(values, float), np.asarray(fits[batch])
        last = int(inside.sum())
        ax.plot(
            contexts[:last],
            values[:last],
            line,
            color=colour,
            marker=marker,
            markersize=5,
            label=f"batch {batch}",
        )
        ax.plot(contexts[max(last - 1, 0) :], values[max(last - 1, 0) :], ":", color=colour, linewidth=1.1)
        told.append(
            f"batch {batch}: from {values[0]:.2f} at {contexts[0]} to {values[-1]:.2f} at {contexts[-1]}"
        )
        top = max(top, values.max())
    ax.axhline(1, color=style.INK, linewidth=1.1, linestyle=":")
    ax.set_xscale("log", base=2)
    ax.set_xticks(contexts, [f"{c:,}" for c in contexts])
    ax.minorticks_off()
    ax.set(
        ylim=(0.8, 1.12 * top),
        xlabel="tokens in each sequence's cache (thin: does not fit into memory)",
        ylabel="times plain decoding",
        title="Long contexts turn it round",
    )
    ax.legend(loc="lower right")
    told = "; ".join(told)
    return style.describe(fig, f"The best speedup against the context. {told[0].upper()}{told[1:]}.")


@style.styled
def by_position(survival, conditional):
    """Survival and conditional acceptance at each position, side by side -> Figure.

    >>> by_position([0.805, 0.632], [0.805, 0.785]).alt
    'Accepted at each position. 1: survival 0.805, conditional 0.805; 2: survival 0.632, conditional 0.785.'
    """
    survival, conditional = np.asarray(survival, float), np.asarray(conditional, float)
    where = np.arange(1, survival.size + 1)
    fig, ax = style.new_figure(7.2, 3.4)
    accepted = style.STATES["accepted"]
    for offset, values, look, label in (
        (-0.19, survival, {"color": accepted.colour}, "of all passes (survival): what logs print"),
        (
            0.19,
            conditional,
            {"facecolor": "white", "edgecolor": accepted.colour, "hatch": "////"},
            "of those judged there: the rate of this position",
        ),
    ):
        ax.bar(where + offset, values, 0.34, label=label, linewidth=1.2, **look)
        for x, y in zip(where + offset, values):
            if np.isfinite(y):
                ax.annotate(
                    f"{y:.2f}", (x, y), textcoords="offset points", xytext=(0, 3), ha="center", fontsize=9
                )
    ax.set(
        ylim=(0, 1.3),
        xlabel="position in the draft",
        ylabel="share accepted",
        xticks=where,
        title="One log, two readings of 'per position'",
    )
    ax.set_yticks((0, 0.25, 0.5, 0.75, 1))
    ax.legend(loc="upper right", ncols=1)
    told = "; ".join(
        f"{n}: survival {s:.3f}, conditional {c:.3f}" for n, s, c in zip(where, survival, conditional)
    )
    return style.describe(fig, f"Accepted at each position. {told}.")


@style.styled
def acceptance_of_rules(rates, limit=None):
    """How often each rule accepts, as bars; ``limit`` draws what no exact rule can beat -> Figure.

    >>> acceptance_of_rules({"one": 0.8, "two": 0.84}, 0.96).alt
    'Acceptance: one 0.80, two 0.84. No exact rule with two independent candidates exceeds 0.96.'
    """
    if not rates:
        raise ValueError("rates must hold at least one rule, got none")
    values = np.array([float(rate) for rate in rates.values()])
    rows = np.arange(values.size)
    fig, ax = style.new_figure(7.2, 1.2 + 0.45 * values.size)
    ax.barh(rows, values, height=0.62, color=style.STATES["accepted"].colour)
    for row, value in zip(rows, values):
        ax.annotate(
            f"{value:.2f}",
            (value, row),
            textcoords="offset points",
            xytext=(-6, 0),
            ha="right",
            va="center",
            color="white",
            fontweight="bold",
        )
    if limit is not None:
        ax.axvline(float(limit), color=style.INK, linestyle="--", linewidth=1.4)
        ax.annotate(
            "limit for two\nindependent ones",
            (float(limit), -0.5),
            textcoords="offset points",
            xytext=(-4, 0),
            ha="right",
            va="bottom",
            fontsize=9,
            color=style.MUTED,
            annotation_clip=False,
        )
    ax.set_yticks(rows, list(rates))
    ax.set(
        xlim=(0, 1.02),
        ylim=(values.size - 0.5, -0.6 if limit is None else -1.3),
        xlabel="chance that a candidate is accepted",
        title="Which rule makes the most of its candidates?",
    )
    ax.tick_params(axis="y", length=0)
    told = ", ".join(f"{name} {value:.2f}" for name, value in zip(rates, values))
    beyond = (
        "" if limit is None else f" No exact rule with two independent candidates exceeds {float(limit):.2f}."
    )
    return style.describe(fig, f"Acceptance: {told}.{beyond}")


@style.styled
def leniency(lenience, acceptance, shifts):
    """What lenience buys and what it costs: acceptance and shift against l -> Figure.

    >>> leniency([1, 0.75], [0.8, 1.0], [0, 0.2]).alt
    'From l = 1 to l = 0.75 acceptance goes from 0.80 to 1.00 and the shift of the output from 0.00 to 0.20.'
    """
    lenience, acceptance, shifts = (np.asarray(values, float) for values in (lenience, acceptance, shifts))
    _checks.broadcast(lenience=lenience, acceptance=acceptance, shifts=shifts)
    fig, ax = style.new_figure(7.2, 3.4)
    ax.plot(lenience, acceptance, "-", color=style.STATES["accepted"].colour)
    ax.plot(lenience, shifts, "--", color=LOSS)
    middle = lenience.size // 2
    ax.annotate(
        "drafts accepted",
        (lenience[middle], acceptance[middle]),
        textcoords="offset points",
        xytext=(0, -16),
        va="top",
        color=style.STATES["accepted"].colour,
    )
    ax.annotate(
        "shift of the output (total variation)",
        (lenience[middle], shifts[middle]),
        textcoords="offset points",
        xytext=(0, 14),
        color=LOSS,
    )
    ax.set(
        xlim=(lenience.max(), lenience.min()),
        ylim=(0, 1.05),
        xlabel="lenience l (1: exact; smaller: more lenient)",
        ylabel="probability",
        title="What lenience buys, and what it costs",
    )
    return style.describe(
        fig,
        f"From l = {lenience[0]:g} to l = {lenience[-1]:g} acceptance goes from {acceptance[0]:.2f} to"
        f" {acceptance[-1]:.2f} and the shift of the output from {shifts[0]:.2f} to {shifts[-1]:.2f}.",
    )
