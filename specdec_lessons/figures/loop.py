"""Figures of lesson 6: a trace in words, agreement along a text, by place in the draft, and the race."""

import numpy as np
from scipy import stats

from specdec_lessons import _checks
from specdec_lessons.figures import style

COLOURS = (style.TARGET, "#A3487F", "#8A6500")  # of the drafts, in the order given
MARKERS = ("o", "s", "D")


@style.styled
def trace_in_words(rounds, vocabulary):
    """Rounds as rows of chips, each with its word and, where it was judged, the chance min(1, p/q) -> Figure.

    ``rounds``: ``decoding.Round`` objects, at most 12 with at most 8 drafts; ``vocabulary``: the words.

    >>> from specdec_lessons.decoding import Judged, Round
    >>> judged = (Judged(0, 0.5, 0.5, 0.3, True), Judged(1, 0.1, 0.4, 0.8, False))
    >>> trace_in_words([Round((0, 1, 1), 1, (0, 2), "correction", judged)], ["the", "cat", "dog"]).alt
    'Rounds, one row each. Round 1: ✓ the 1.00, ✗ cat 0.25, – cat, ↺ dog.'
    """
    rounds = list(rounds)
    if not 1 <= len(rounds) <= 12 or max(len(one.drafted) for one in rounds) > 8:
        raise ValueError(f"rounds must hold 1 to 12 rounds of at most 8 drafts, got {len(rounds)} rounds")
    widest = max(len(one.drafted) for one in rounds) + 1
    fig, ax = style.new_figure(7.6, 0.62 * len(rounds) + 0.75)
    told = []
    for y, one in enumerate(rounds):
        cells = _cells(one, vocabulary)
        for x, (state, word, chance) in enumerate(cells):
            _chip(ax, x, y, style.STATES[state], word, chance)
        words = (f"{style.STATES[state].sign} {word} {chance}".strip() for state, word, chance in cells)
        told.append(f"Round {y + 1}: {', '.join(words)}.")
    ax.set(xlim=(0, widest), ylim=(len(rounds) - 0.45, -0.5), xticks=[])
    ax.set_yticks(range(len(rounds)), [f"round {n + 1}" for n in range(len(rounds))])
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    shown = [one for name, one in style.STATES.items() if name != "drafted"]
    ax.set_xlabel("   ".join(f"{one.sign} {one.label}" for one in shown))
    return style.describe(fig, f"Rounds, one row each. {' '.join(told)}")


def _cells(one, vocabulary):
    """(state, word, chance as text) of every draft of a round and of the token after them."""
    cells = []
    for i, token in enumerate(one.drafted):
        state = "accepted" if i < one.accepted else "rejected" if i < len(one.judged) else "discarded"
        chance = f"{min(1.0, one.judged[i].p / one.judged[i].q):.2f}" if i < len(one.judged) else ""
        cells.append((state, vocabulary[token], chance))
    if one.last in ("correction", "bonus"):
        cells.append((one.last, vocabulary[one.emitted[-1]], ""))
    return cells


def _chip(ax, x, y, look, word, chance):
    ax.barh(y, 0.95, left=x, height=0.86, color=look.colour if look.filled else "white",
            hatch=look.hatch, edgecolor=look.colour, linewidth=1.2)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1} if look.hatch else None
    ax.text(x + 0.475, y - 0.12 * bool(chance), f"{look.sign} {word}", ha="center", va="center",
            color=look.ink, fontsize=10, bbox=box)
    if chance:
        ax.text(x + 0.475, y + 0.25, chance, ha="center", va="center", color=look.ink, fontsize=8.5)


@style.styled
def agreement_along(words, overlaps, per_line=22):
    """The overlap Σ min(p, q) at every position of a text, over the word that stands there -> Figure.

    ``words``: up to 88 of them; ``overlaps``: as many numbers in [0, 1]; ``per_line``: words in a line.

    >>> agreement_along(["the", "kite"], [1.0, 0.25]).alt
    'Bars of agreement over the words of a text: the 1.00, kite 0.25.'
    """
    words, overlaps = list(words), _checks.probability("overlaps", overlaps)
    if overlaps.shape != (len(words),) or not 1 <= len(words) <= 88:
        raise ValueError(f"overlaps must be one number for each of 1 to 88 words, got {overlaps.shape}")
    lines = -(-len(words) // per_line)
    fig, axes = style.new_figure(7.6, 1.45 * lines + 0.2, rows=lines, squeeze=False)
    for line, ax in enumerate(axes[:, 0]):
        part = slice(line * per_line, (line + 1) * per_line)
        heights = overlaps[part]
        for x, height in enumerate(heights):
            low = height < 0.5
            look = style.STATES["rejected" if low else "accepted"]
            ax.bar(x, 1, width=0.8, color="none", edgecolor=style.GRID, linewidth=0.8)
            ax.bar(x, height, width=0.8, color=look.colour)
            if low:
                ax.text(x, height + 0.06, f"{height:.2f}", ha="center", fontsize=8, color=style.INK)
        ax.set(xlim=(-0.6, per_line - 0.4), ylim=(0, 1.02), yticks=[0, 1])
        ax.set_xticks(range(len(heights)), words[part], rotation=55, ha="right", rotation_mode="anchor",
                      fontsize=9.5)
        ax.tick_params(axis="x", length=0, pad=3)
        ax.spines[["left", "bottom"]].set_visible(False)
    told = ", ".join(f"{word} {height:.2f}" for word, height in zip(words, overlaps))
    return style.describe(fig, f"Bars of agreement over the words of a text: {told}.")


@style.styled
def acceptance_by_place(counts, k):
    """Accepted / judged at place 1, …, k of the draft, with intervals, and a line at each mean a -> Figure.

    ``counts``: dict from a draft's name to a list of k pairs (accepted, judged), up to three drafts.

    >>> acceptance_by_place({"aligned": [(9, 10), (6, 8)]}, 2).alt
    'Accepted / judged by place. aligned: 0.90, 0.75; mean 0.83.'
    """
    k = _checks.single_count("k", k, at_least=1)
    if not isinstance(counts, dict) or not 1 <= len(counts) <= 3 or any(len(v) != k for v in counts.values()):
        raise ValueError(f"counts must hold a list of k = {k} pairs for each of one to three drafts")
    fig, ax = style.new_figure(7.2, 3.7)
    told = []
    for n, ((name, pairs), colour, marker) in enumerate(zip(counts.items(), COLOURS, MARKERS)):
        accepted, judged = np.array(pairs, dtype=float).T
        rates, mean = accepted / judged, accepted.sum() / judged.sum()
        ends = np.array([stats.binomtest(int(s), int(m)).proportion_ci() for s, m in pairs]).T
        x = np.arange(1, k + 1) + 0.07 * (n - (len(counts) - 1) / 2)
        ax.errorbar(x, rates, yerr=np.maximum(0, [rates - ends[0], ends[1] - rates]), fmt=marker,
                    color=colour, markersize=6.5, elinewidth=1.3, capsize=3)
        ax.axhline(mean, color=colour, linestyle="--", linewidth=1.3)
        ax.annotate(f"{name}\na = {mean:.2f}", (k + 0.45, mean), textcoords="offset points", xytext=(6, 0),
                    va="center", fontsize=9.5, color=colour, annotation_clip=False)
        told.append(f"{name}: {', '.join(f'{rate:.2f}' for rate in rates)}; mean {mean:.2f}.")
    ax.set(xlim=(0.55, k + 0.45), ylim=(0, 1), xlabel="place in the draft", ylabel="accepted / judged",
           title="Is every draft accepted with the same chance?")
    ax.set_xticks(range(1, k + 1))
    ax.grid(axis="y")
    return style.describe(fig, f"Accepted / judged by place. {' '.join(told)}")


@style.styled
def predicted_and_measured(races):
    """Speedup over the draft length: what the formula predicts (lines) and what the clock says -> Figure.

    ``races``: dict from a draft's name to a list of ``race.Race``, up to three drafts.

    >>> from specdec_lessons.race import Race
    >>> predicted_and_measured({"aligned": [Race(2, 100, 1.0, 0.5, 40, 0.8, 0.1, 1.2)]}).alt
    'Net speedup over k. aligned: k = 2 predicted 1.74, measured 2.00.'
    """
    if not isinstance(races, dict) or not 1 <= len(races) <= 3 or not all(races.values()):
        raise ValueError("races must hold at least one race for each of one to three drafts")
    fig, ax = style.new_figure(7.2, 4.0)
    told = []
    for (name, runs), colour, marker in zip(races.items(), COLOURS, MARKERS):
        lengths = [one.k for one in runs]
        ax.plot(lengths, [one.predicted for one in runs], color=colour, linewidth=1.6, linestyle="--")
        ax.plot(lengths, [one.measured for one in runs], marker, color=colour, markersize=8, label=name)
        told.append(f"{name}: " + ", ".join(
            f"k = {one.k} predicted {one.predicted:.2f}, measured {one.measured:.2f}" for one in runs) + ".")
    ax.axhline(1, color=style.INK, linewidth=1.2)
    ax.annotate("plain\ndecoding", (1, 1), xycoords=("axes fraction", "data"), textcoords="offset points",
                xytext=(6, 0), va="center", fontsize=9.5, annotation_clip=False)
    ax.plot([], [], color=style.MUTED, linewidth=1.6, linestyle="--", label="predicted")
    ax.set(ylim=(0, None), xlabel="draft length k", ylabel="net speedup",
           title="The formula (lines) and the clock (marks)")
    ax.set_xticks(sorted({one.k for runs in races.values() for one in runs}))
    ax.legend(loc="best", ncols=2)
    ax.grid(axis="y")
    return style.describe(fig, f"Net speedup over k. {' '.join(told)}")
