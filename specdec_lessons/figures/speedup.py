"""Figures of lesson 4: tokens and their cost, the next draft, the map of speedups, waste, published ones."""

import numpy as np
from matplotlib.colors import TwoSlopeNorm
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from specdec_lessons import _checks, formulas
from specdec_lessons.figures import style

GAIN, PRICE, BEST = "#0072B2", "#D55E00", "#1F2328"
PAPER = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}


@style.styled
def tokens_and_cost(a, c, k_max=16):
    """E(k) and the cost line 1 + k c, and the same line stretched until it only just touches E -> Figure.

    The stretch is the best speedup, and it touches at the best k. ``k_max`` at least 1.

    >>> tokens_and_cost(0.8, 0.1).alt[-64:]
    'Stretched 2.47 times, the cost line touches the tokens at k = 6.'
    """
    k_max = _checks.single_count("k_max", k_max, at_least=1)
    k = np.arange(k_max + 1)
    tokens, cost = formulas.expected_tokens(a, k), 1 + k * c
    best = formulas.best_draft_length(a, c, k_max)
    stretch = formulas.speedup(a, best, c)
    fig, ax = style.new_figure(7.2, 4.2)
    ax.plot(k, stretch * cost, color=PRICE, linewidth=1.6, linestyle="--")
    ax.plot(k, cost, color=PRICE)
    ax.plot(k, tokens, "o-", color=GAIN, markersize=5.5)
    ax.plot(best, tokens[best], "D", color=BEST, markersize=10, markeredgecolor="white", zorder=5)
    ax.plot([best, best], [cost[best], tokens[best]], color=style.MUTED, linewidth=1.2, linestyle=":")
    top = 1.12 * max(tokens[-1], cost[-1])
    ax.set(xlim=(-0.4, k_max + 0.4), ylim=(0, top), xlabel="draft length k", ylabel="tokens, or plain steps",
           title=f"What a pass yields and what it costs (a = {a:g}, c = {c:g})")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.annotate("tokens per pass, E", (k_max, tokens[-1]), textcoords="offset points", xytext=(0, -13),
                ha="right", va="top", color=GAIN)
    ax.annotate("cost of the pass, 1 + k c", (0.6 * k_max, 1 + 0.6 * k_max * c), textcoords="offset points",
                xytext=(8, -10), va="top", color=PRICE)
    ax.annotate(f"cost × {stretch:.2f}", (best, tokens[best]), textcoords="offset points", xytext=(-10, 14),
                ha="right", color=PRICE)
    ax.annotate(f"k = {best}: {tokens[best]:.2f} / {cost[best]:.2f}", (best, tokens[best]),
                textcoords="offset points", xytext=(8, -18), va="top", bbox=PAPER)
    return style.describe(
        fig, f"Tokens per pass rise from 1 to {tokens[-1]:.2f} and flatten; the cost line rises from 1 to"
        f" {cost[-1]:.2f}. Stretched {stretch:.2f} times, the cost line touches the tokens at k = {best}.")


@style.styled
def next_draft(a, c, k_max=12):
    """The chance a^(k+1) that one more draft is kept, against its price c·S(k) in tokens -> Figure.

    >>> next_draft(0.8, 0.1).alt[:64]
    'The chance of the next draft falls from 0.80 below its price, wh'
    """
    k_max = _checks.single_count("k_max", k_max, at_least=1)
    k = np.arange(k_max + 1)
    chance, price = np.asarray(a, float) ** (k + 1), c * formulas.speedup(a, k, c)
    best = formulas.best_draft_length(a, c, k_max)
    fig, ax = style.new_figure(7.2, 3.7)
    pays = chance > price
    ax.bar(k[pays], chance[pays], width=0.62, color=GAIN, label="chance $a^{k+1}$ that it is kept: worth it")
    ax.bar(k[~pays], chance[~pays], width=0.62, facecolor="white", edgecolor=GAIN, hatch="////",
           linewidth=1.2, label="the same: not worth it")
    ax.plot(k, price, "o-", color=PRICE, markersize=5, label="its price: c·S(k) tokens not made meanwhile")
    ax.set(xlim=(-0.5, k_max + 0.5), ylim=(0, 1.08 * max(chance[0], price.max(), 0.1)), ylabel="tokens",
           xlabel="drafts there are already, k", title=f"Does one more draft pay? (a = {a:g}, c = {c:g})")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(loc="upper right")
    return style.describe(
        fig, f"The chance of the next draft falls from {chance[0]:.2f} below its price, which stays between"
        f" {price.min():.2f} and {price.max():.2f} tokens: with {best} drafts there are enough.")


@style.styled
def fate_of_drafts(a, k):
    """For each position of the draft: its chance to be accepted, the first rejected, or discarded -> Figure.

    >>> fate_of_drafts(0.8, 4).alt[-40:]
    'In all 1.64 of 4 drafts are thrown away.'
    """
    k = _checks.single_count("k", k, at_least=1)
    position = np.arange(1, k + 1)
    kept, reached = np.asarray(a, float) ** position, np.asarray(a, float) ** (position - 1)
    fig, ax = style.new_figure(7.2, 1.5 + 0.5 * k)
    left = np.zeros(k)
    for name, part in (("accepted", kept), ("rejected", reached - kept), ("discarded", 1 - reached)):
        state = style.STATES[name]
        fill = state.colour if state.filled else "white"
        ax.barh(position, part, left=left, height=0.66, label=f"{state.sign} {state.label}", linewidth=1.2,
                facecolor=fill, edgecolor=state.colour, hatch=state.hatch)
        for row, start, width in zip(position, left, part):
            if width > 0.06:
                ax.text(start + width / 2, row, f"{width:.2f}", ha="center", va="center", fontsize=9.5,
                        color=state.ink, bbox=None if state.filled else PAPER)
        left = left + part
    wasted = formulas.expected_wasted_drafts(a, k)
    ax.set(xlim=(0, 1), ylim=(k + 0.6, 0.4), xlabel="probability", ylabel="draft number",
           title=f"{k - wasted:.2f} of {k} drafts are kept, {wasted:.2f} thrown away (a = {a:g})")
    ax.set_yticks(position)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.9 / (1.5 + 0.5 * k)), ncols=3)
    told = "; ".join(f"draft {i}: kept {p:.2f}" for i, p in zip(position, kept))
    return style.describe(fig, f"Stacked bars, {told}. In all {wasted:.2f} of {k} drafts are thrown away.")


@style.styled
def speedup_map(c, k_max=16, points=()):
    """Speedup over acceptance rate and draft length at one draft cost, its zone below 1, best k -> Figure.

    ``points``: (a, k) pairs to be marked with their speedup. ``k_max`` at least 4.

    >>> speedup_map(0.1).alt[:55]
    'Map of the speedup at c = 0.1 over acceptance rate and '
    """
    k_max = _checks.single_count("k_max", k_max, at_least=4)
    a, k = np.linspace(0, 0.98, 99), np.arange(k_max + 1)
    speedups = formulas.speedup(a[:, None], k, c).T
    top = speedups.max()
    fig, ax = style.new_figure(7.2, 4.6)
    mesh = ax.pcolormesh(a, k, speedups, cmap="PuOr_r", shading="nearest", rasterized=True,
                         norm=TwoSlopeNorm(1.0, vmin=min(speedups.min(), 0.5), vmax=max(top, 1.5)))
    halo = [withStroke(linewidth=3, foreground="white")]
    levels = [level for level in (1.5, 2, 3, 4, 6, 8) if level < 0.92 * top]
    drawn = k[1:]  # at k = 0 the speedup is 1 for every a
    for values, size, look in ((levels, 9, {"colors": style.MUTED, "linewidths": 0.9}),
                               ([1.0], 10, {"colors": style.INK, "linewidths": 2.4, "linestyles": "--"})):
        values = [level for level in values if speedups[1:].min() < level < speedups[1:].max()]
        if values:
            lines = ax.contour(a, drawn, speedups[1:], levels=values, **look)
            where = [_on_level(level, c, k_max) for level in values]
            for text in ax.clabel(lines, fmt=lambda level: f"{level:g}×", fontsize=size, inline=True,
                                  colors=[style.INK], manual=where):
                text.set_path_effects(halo)
    ridge = formulas.best_draft_length(a, c, k_max)
    ax.step(a, ridge, where="mid", color=style.INK, linewidth=2.6,
            path_effects=[withStroke(linewidth=5, foreground="white")])
    row = np.searchsorted(ridge, max(1, round(0.55 * k_max)))
    if row < a.size:
        ax.annotate("best k", (a[row], ridge[row]), textcoords="offset points", xytext=(-8, 6), ha="right",
                    fontweight="bold", path_effects=halo)
    if speedups.min() < 0.9:
        ax.text(0.04, 0.80 * k_max, "slower than\nplain decoding", path_effects=halo, va="center")
    for one, length in points:
        ax.plot(one, length, "o", color="white", markersize=9, markeredgecolor=style.INK, markeredgewidth=1.8)
        ax.annotate(f"{formulas.speedup(one, length, c):.2f}×", (one, length), textcoords="offset points",
                    xytext=(9, 0), va="center", fontsize=10, path_effects=halo)
    ax.set(xlabel="acceptance rate a", ylabel="draft length k", title=f"Speedup at draft cost c = {c:g}")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    bar = fig.colorbar(mesh, ax=ax, label="times plain decoding", ticks=[0.5, 0.75, 1, *levels])
    bar.ax.set_yticks([0.5, 0.75, 1, *levels], [f"{tick:g}" for tick in (0.5, 0.75, 1, *levels)])
    first = a[np.argmax(ridge > 0)] if (ridge > 0).any() else None
    starts = "No draft ever pays." if first is None else f"The best k is 0 up to a = {first - 0.01:.2f}"
    rises = "" if first is None else f" and rises to {ridge[-1]} at a = {a[-1]:.2f}."
    return style.describe(
        fig, f"Map of the speedup at c = {c:g} over acceptance rate and draft length up to {k_max}, from"
        f" {speedups.min():.2f} to {top:.2f}. {starts}{rises} Long drafts at low acceptance are slower than"
        " plain decoding.")


def _on_level(level, c, k_max):
    """A point (a, k) on the line of one speedup: high up for small ones, low down for large ones."""
    k = round((0.8 if level <= 3 else 0.55) * k_max)
    a = np.linspace(0, 1, 1001)
    return float(np.interp(level, formulas.speedup(a, k, c), a)), float(k)


@style.styled
def speedup_with_pass_cost(a, c, verify_costs, title="The same draft, two prices for the pass"):
    """S(k) for one or more prices of the verify pass, each with its best k -> Figure.

    ``verify_costs`` maps a label to v: one number (a pass with drafts costs v, plain decoding costs 1), or a
    sequence v[0], ..., v[k_max]. Numbers are drawn as far as the longest sequence, or to k = 16 without one.

    >>> speedup_with_pass_cost(0.8, 0.05, {"free": 1.0}).alt
    'Speedup over draft length. free: best at k = 8 with 3.09.'
    """
    if not isinstance(verify_costs, dict) or not verify_costs:
        raise ValueError(f"verify_costs must map labels to pass costs, got {verify_costs!r}")
    fig, ax = style.new_figure(7.2, 4.0)
    told, tops, longest = [], [], 1
    looks = ((style.MUTED, "o", "--"), (GAIN, "s", "-"), (PRICE, "^", "-"))
    lengths = [np.size(v) - 1 for v in verify_costs.values() if np.ndim(v)]
    for number, (label, v) in enumerate(verify_costs.items()):
        colour, marker, line = looks[number % len(looks)]
        k = np.arange((np.size(v) if np.ndim(v) else max(lengths, default=16) + 1))
        v = np.asarray(v, float) if np.ndim(v) else np.where(k == 0, 1.0, v)
        speedups = formulas.speedup(a, k, c, v)
        best = formulas.best_draft_length(a, c, int(k[-1]), v)
        ax.plot(k, speedups, line, color=colour, marker=marker, markersize=5, label=label)
        ax.plot(best, speedups[best], "D", color=colour, markersize=10, markeredgecolor="white", zorder=5)
        ax.annotate(f"k = {best}: {speedups[best]:.2f}×", (best, speedups[best]), textcoords="offset points",
                    xytext=(2, 10), ha="left" if best == 0 else "center", color=colour, bbox=PAPER)
        told.append(f"{label}: best at k = {best} with {speedups[best]:.2f}")
        tops.append(speedups.max())
        longest = max(longest, int(k[-1]))
    ax.axhline(1, color=style.INK, linewidth=1.1, linestyle=":", label="plain decoding")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    ax.set(xlim=(-0.4, longest + 0.4), ylim=(0, 1.2 * max(tops)), xlabel="draft length k",
           ylabel="times plain decoding", title=title)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return style.describe(fig, f"Speedup over draft length. {'; '.join(told)}.")


@style.styled
def published_against_formula(results):
    """Published speedups against the formula, and what c = 0 would allow -> Figure.

    ``results``: ``published.Result`` objects that have a, k and c.

    >>> from specdec_lessons import published
    >>> published_against_formula(published.load("predicted")).alt
    'Published speedups: 0 of 5 lie above what the formula allows at c = 0.'
    """
    results = [one for one in results if None not in (one.a, one.k, one.c)]
    if not results:
        raise ValueError("results must hold at least one result with a, k and c, got none")
    rows = np.arange(len(results))
    formula = np.array([formulas.speedup(one.a, one.k, one.c) for one in results])
    ceiling = np.array([formulas.expected_tokens(one.a, one.k) for one in results])
    value = np.array([one.value for one in results])
    above = value > ceiling + 0.006  # printed with two digits
    fig, ax = style.new_figure(7.6, 1.3 + 0.4 * len(results))
    ax.hlines(rows, formula, ceiling, color=style.GRID, linewidth=7)
    ax.plot(formula, rows, "|", color=style.INK, markersize=15, markeredgewidth=2.4, label="formula")
    ax.plot(ceiling, rows, "|", color=style.MUTED, markersize=15, markeredgewidth=1.4,
            label="ceiling: draft for free")
    ax.plot(value[~above], rows[~above], "o", color=GAIN, markersize=8, label="published")
    ax.plot(value[above], rows[above], "^", color=PRICE, markersize=10, label="published, above the ceiling")
    labels = [f"{one.what}, {one.kind}\na = {one.a:g}, k = {one.k}, c = {one.c:g}" for one in results]
    ax.set_yticks(rows, labels, fontsize=8.5)
    ax.set(ylim=(len(results) - 0.5, -0.5), xlim=(1, 1.1 * max(value.max(), ceiling.max())),
           xlabel="times plain decoding", title="Published speedups against S = E / (1 + k c)")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")
    ax.legend(loc="lower right", frameon=True, framealpha=1, edgecolor="none", facecolor="white")
    return style.describe(fig, f"Published speedups: {int(above.sum())} of {len(results)} lie above what the"
                          " formula allows at c = 0.")
