"""Figures of lesson 2: who sees whom in a verify pass, a greedy round, the two caches, what a pass costs."""

import numpy as np
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from specdec_lessons import _checks, cost
from specdec_lessons.figures import style

CONTEXT = "#C9D3DF"  # what an earlier pass has computed
LABEL = {"va": "center", "fontsize": 9.5}


@style.styled
def causal_mask(context, drafts):
    """Who sees whom when context and drafts go through a causal model together -> Figure.

    ``context`` (at least one) and ``drafts`` are words. Row i is position i; a filled cell is a position that
    it may look at. The last ``len(drafts) + 1`` rows are the verify pass, each with its question.

    >>> causal_mask(["every", "morning"], ["the"]).alt[:52]
    'A causal mask of 3 positions, 2 of context and 1 dra'
    """
    context, drafts = _words("context", context, at_least=1), _words("drafts", drafts)
    words, first = context + drafts, len(context) - 1
    n = len(words)
    fig, ax = style.new_figure(7.6, 7.6 * (n + 2) / (n + 9.1))
    for row in range(n):
        for column in range(n):
            ax.add_patch(_cell(row, column, first, len(context)))
        ax.text(-0.15, row + 0.5, f"{row + 1} · {words[row]}", ha="right", **LABEL)
        if row >= first:
            ax.text(n + 0.25, row + 0.5, _question(row - first, words[row], len(drafts)), ha="left", **LABEL)
    for column, word in enumerate(words):
        ax.text(column + 0.45, -0.15, word, rotation=45, ha="left", va="bottom", fontsize=9.5)
    ax.plot([-0.05, n + 0.05], [first, first], color=style.INK, linewidth=1.2, linestyle=":", clip_on=False)
    ax.text(n + 0.25, first / 2, "computed in earlier passes:\nkeys and values in the cache" if first else "",
            ha="left", color=style.MUTED, **LABEL)
    ax.set(xlim=(-2.2, n + 6.9), ylim=(n + 0.1, -1.9), aspect="equal")
    ax.axis("off")
    rows = "; ".join(f"row {row + 1}, {words[row]}, sees positions 1 to {row + 1}" for row in range(first, n))
    return style.describe(
        fig, f"A causal mask of {n} positions, {len(context)} of context and {len(drafts)} drafted: a filled"
             f" lower triangle. The verify pass is its last {len(drafts) + 1} rows: {rows}.")


def _cell(row, column, first, n_context):
    look = {"facecolor": "white", "edgecolor": style.GRID, "linewidth": 0.8}
    if column <= row:
        fill = style.TARGET if row >= first else CONTEXT
        look = {"facecolor": fill, "edgecolor": "white", "linewidth": 1.0}
        if row >= first and column >= n_context:
            look["facecolor"] = style.DRAFT
    return Rectangle((column, row), 1, 1, **look)


def _question(index, word, k):
    judges = f"judges draft {index + 1}" if index < k else "the bonus row" if k else "a plain step"
    return f"row {index}: what comes after “{word}”?  {judges}"


@style.styled
def greedy_round(drafted, choices, verdict=True):
    """One greedy round in columns: the drafts, the target's choices, and what becomes of them -> Figure.

    ``drafted``: k words; ``choices``: the k + 1 words that the target's rows prefer. With ``verdict=False``
    the verdicts and the emitted words are left for the reader to find.

    >>> greedy_round(["to", "the", "hut"], ["to", "a", "hut", "by"]).alt[-44:]
    'the target’s own “a” ends it. Emitted: to a.'
    """
    drafted, choices = _words("drafted", drafted), _words("choices", choices, at_least=1)
    if len(choices) != len(drafted) + 1:
        raise ValueError(f"choices must hold len(drafted) + 1 = {len(drafted) + 1} words, got {len(choices)}")
    accepted = _agreed(drafted, choices)
    k = len(drafted)
    fig, ax = style.new_figure(7.6, 2.6 if verdict else 1.55)
    rows = ["draft proposes", "target’s row prefers"] + ["verdict", "the text grows by"] * verdict
    for y, name in enumerate(rows):
        ax.text(-0.15, y, name, ha="right", **LABEL)
    for x in range(k + 1):
        if x < k:
            _chip(ax, x, 0, drafted[x], style.STATES["drafted"])
        reached = x <= accepted or not verdict
        ax.text(x + 0.5, 1, choices[x], ha="center", color=style.INK if reached else style.MUTED, **LABEL)
        if verdict:
            _verdict(ax, x, accepted, drafted, choices)
    for x in range(k + 1):
        ax.text(x + 0.5, -0.75, f"row {x}", ha="center", color=style.MUTED, fontsize=8.5, va="center")
    ax.set(xlim=(-1.75, k + 1.05), ylim=(len(rows) - 0.4, -1.1))
    ax.axis("off")
    return style.describe(fig, _told(drafted, choices, accepted, verdict))


def _verdict(ax, x, accepted, drafted, choices):
    k = len(drafted)
    if x < k:
        name = "accepted" if x < accepted else "rejected" if x == accepted else "discarded"
        state = style.STATES[name]
        _chip(ax, x, 2, state.sign, state)
    if x < accepted:
        _chip(ax, x, 3, f"✓ {drafted[x]}", style.STATES["accepted"])
    elif x == accepted:
        state = style.STATES["correction" if accepted < k else "bonus"]
        _chip(ax, x, 3, f"{state.sign} {choices[x]}", state)


def _told(drafted, choices, accepted, verdict):
    lists = f"The draft proposes {', '.join(drafted)}. The target’s rows prefer {', '.join(choices)}."
    if not verdict:
        return lists
    k = len(drafted)
    own = f"the target’s own “{choices[accepted]}”"
    end = (f"all {k} drafts are accepted, and {own} is the bonus" if accepted == k
           else f"{accepted} accepted, “{drafted[accepted]}” rejected, {k - accepted - 1} discarded; "
                f"{own} ends it")
    return f"{lists} Verdict: {end}. Emitted: {' '.join([*drafted[:accepted], choices[accepted]])}."


@style.styled
def caches(context, drafted, choices):
    """What the two KV caches hold after one greedy round, and where they are cut -> Figure.

    ``context`` (at least one), ``drafted`` and ``choices`` are words as in ``greedy_round``; the last word of
    the context has been through neither model when the round begins.

    >>> caches(["every", "morning"], ["the"], ["the", "man"]).alt[-57:]
    'Draft cache: 2 entries after drafting, kept 2, lacking 1.'
    """
    context, drafted = _words("context", context, at_least=1), _words("drafted", drafted)
    choices = _words("choices", choices, at_least=1)
    accepted, n, k = _agreed(drafted, choices), len(context), len(drafted)
    text, cut, held = [*context, *drafted[:accepted], choices[accepted]], n + accepted, n - 1 + k
    fig, ax = style.new_figure(7.6, 2.25)
    for x, word in enumerate(text):
        _entry(ax, x, 0, word, n, cut, "correction" if accepted < k else "bonus")
    for y, entries in ((1, n + k), (2, held)):
        for x, word in enumerate([*context, *drafted][:entries]):
            _entry(ax, x, y, word, n, cut, "rejected" if x == cut else "discarded")
    for x in range(held, cut):
        ax.add_patch(_box(x, 2, facecolor="white", linestyle="--", edgecolor=style.INK))
        ax.text(x + 0.5, 2, "lacking", ha="center", fontsize=8.5, va="center", style="italic")
    ax.plot([cut, cut], [0.55, 2.45], color=style.INK, linewidth=1.6)
    ax.text(cut, 2.52, "cut" if accepted < k else "nothing to cut", ha="center", va="top", fontsize=9.5)
    for y, name in enumerate(("text after the round", "target’s cache", "draft’s cache")):
        ax.text(-0.15, y, name, ha="right", **LABEL)
    ax.set(xlim=(-2.5, n + k + 1.05), ylim=(2.95, -0.5))
    ax.axis("off")
    kept = min(cut, held)
    return style.describe(
        fig, f"The text after the round has {len(text)} words: {' '.join(text)}. Target cache: {n + k}"
             f" entries after the pass, kept {cut}. Draft cache: {held} entries after drafting, kept {kept},"
             f" lacking {cut - kept}.")


def _entry(ax, x, y, word, n_context, cut, beyond):
    """One word of a text or a cache: context, accepted draft, or what lies beyond the cut."""
    if x < n_context:
        ax.add_patch(_box(x, y, facecolor=CONTEXT, edgecolor=CONTEXT))
        ax.text(x + 0.5, y, word, ha="center", va="center", fontsize=_size(word))
    else:
        state = style.STATES["accepted" if x < cut else beyond]
        _chip(ax, x, y, f"{state.sign} {word}", state)


def _chip(ax, x, y, text, state):
    ax.add_patch(_box(x, y, facecolor=state.colour if state.filled else "white", edgecolor=state.colour,
                      hatch=state.hatch, linewidth=1.4))
    label = ax.text(x + 0.5, y, text, ha="center", va="center", fontsize=_size(text), color=state.ink)
    if state.hatch:
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.8})


def _box(x, y, **look):
    return Rectangle((x + 0.04, y - 0.36), 0.92, 0.72, **look)


def _size(text):
    if not any(letter.isalnum() for letter in text):
        return 12
    return 9.5 if len(text) <= 7 else 8 if len(text) <= 9 else 7


@style.styled
def pass_cost(times, model, hardware):
    """v(n): what a pass over n positions costs, measured here and predicted for an accelerator -> Figure.

    ``times`` is what ``cost.measure_columns`` returns; ``model`` and ``hardware`` are presets for the
    prediction. Both in times of a pass over one position, with n single passes as the other extreme.

    >>> times = cost.ColumnTimes((1, 2, 5), (0.010, 0.025, 0.030), 0.024, 8192, 4096, "float32", 1, 5, "BLAS")
    >>> pass_cost(times, cost.MODELS["7B"], cost.HARDWARE["A100 80GB SXM"]).alt[-74:]
    'here v(1) = 1.00, v(2) = 2.50, v(5) = 3.00; predicted 1.00 at 5 positions.'
    """
    if not isinstance(times, cost.ColumnTimes):
        raise ValueError(f"times must be what cost.measure_columns returns, got {times!r}")
    n, ratios = np.array(times.columns), np.array(times.ratios)
    predicted = np.atleast_1d(cost.verify_cost(model, hardware, n))
    fig, ax = style.new_figure(7.2, 3.9)
    top = max(1.25 * ratios.max(), 1.25 * predicted.max(), 5)
    ax.plot([1, n[-1]], [1, n[-1]], "--", color=style.MUTED, linewidth=1.4)
    ax.annotate("n single passes", (0.9 * top, 0.9 * top), textcoords="offset points", xytext=(8, 0),
                va="center", fontsize=9.5, color=style.MUTED)
    for values, label, colour, marker in (
            (ratios, "this machine, measured", style.COMPUTE, "o"),
            (predicted, f"{model.name} on {hardware.name}, roofline", style.MEMORY, "s")):
        ax.plot(n, values, color=colour, marker=marker, markersize=6, markeredgecolor="white", clip_on=False)
        ax.annotate(label, (n[-1], values[-1]), textcoords="offset points", xytext=(0, 9), ha="right",
                    va="bottom", fontsize=9.5, color=colour, weight="bold")
    ax.set(xlabel="positions in the pass, n", ylabel="cost v(n), in passes over one",
           title="One pass over n positions", ylim=(0, top), xlim=(0.6, n[-1] * 1.02))
    ax.set_xticks(n, [str(x) for x in n.tolist()])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.grid(axis="y")
    told = ", ".join(f"v({x}) = {ratio:.2f}" for x, ratio in zip(n.tolist(), ratios.tolist()))
    return style.describe(fig, f"Cost of one pass over n positions in passes over one: here {told}; predicted"
                          f" {predicted[-1]:.2f} at {n[-1]} positions.")


def _agreed(drafted, choices):
    return next((i for i, (d, c) in enumerate(zip(drafted, choices)) if d != c), len(drafted))


def _words(name, words, at_least=0):
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"{name} must be a list of words, got {words!r}")
    _checks.single_count(f"the number of words in {name}", len(words), at_least)
    return list(words)
