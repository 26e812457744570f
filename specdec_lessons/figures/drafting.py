"""Figures of lesson 7: acceptance along a text, when to stop, one text under several policies, the race."""

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from specdec_lessons import _checks, drafting
from specdec_lessons.figures import style

GAIN, PRICE, FIRM = "#0072B2", "#D55E00", "#1F2328"
LOOKS = (("#0072B2", "o"), ("#CC79A7", "s"), ("#5F6670", "^"), ("#009E73", "D"))


@style.styled
def acceptance_along(words, chances):
    """The chance of acceptance at each word of a text, and its mean -> Figure.

    ``words``: the text; ``chances``: Σ min(p, q) at each of them, shape (n,).

    >>> acceptance_along(["once", "upon", "a", "time"], [0.1, 0.9, 1.0, 1.0]).alt[-41:]
    'mean 0.75. Highest at "a", lowest "once".'
    """
    words, chances = _words_and_chances(words, chances)
    n, mean = len(words), chances.mean()
    fig, ax = style.new_figure(max(7.2, 0.31 * n), 3.5)
    low = chances < 0.5
    parts = (~low, GAIN, None, "0.5 or more"), (low, "white", "////", "below 0.5")
    for part, fill, hatch, label in parts:
        ax.bar(np.flatnonzero(part), chances[part], width=0.74, facecolor=fill, edgecolor=GAIN, hatch=hatch,
               linewidth=1.2, label=label)
    ax.axhline(mean, color=PRICE, linewidth=1.6, linestyle="--", label=f"mean {mean:.2f}")
    ax.set(xlim=(-0.7, n - 0.3), ylim=(0, 1.02), ylabel="chance to be accepted",
           title="How easily each word is guessed, given all before it")
    ax.set_xticks(np.arange(n), words, rotation=55, ha="right", rotation_mode="anchor", fontsize=9.5)
    ax.tick_params(axis="x", length=0)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.30), ncols=3)
    told = ", ".join(f"{word} {chance:.2f}" for word, chance in zip(words, chances))
    return style.describe(
        fig, f"Bars over the words of a text: {told}; mean {mean:.2f}. Highest at"
        f' "{words[int(chances.argmax())]}", lowest "{words[int(chances.argmin())]}".')


def _words_and_chances(words, chances):
    chances = _checks.probability("chances", chances)
    words = [str(word) for word in words]
    if chances.shape != (len(words),) or not words:
        raise ValueError(f"chances must be one for each of the {len(words)} words, got shape {chances.shape}")
    return words, chances


@style.styled
def survival_and_price(cases, price):
    """For several stretches of text the chance that draft 1, 2, … is kept, and the price of one -> Figure.

    ``cases`` maps a label to the chances of acceptance along a stretch. A draft pays while its product lies
    above ``price``.

    >>> survival_and_price({"easy": [0.9] * 4, "hard": [0.3] * 4}, 0.25).alt
    'Survival products against a price of 0.25: easy pays for 4 drafts; hard pays for 1 draft.'
    """
    if not isinstance(cases, dict) or not cases:
        raise ValueError(f"cases must map labels to chances, got {_checks.short(cases)}")
    price = _checks.single("price", _checks.non_negative, price)
    fig, ax = style.new_figure(7.2, 3.8)
    told, longest = [], 1
    for number, (label, chances) in enumerate(cases.items()):
        chances = np.atleast_1d(_checks.probability("chances", chances))
        colour, marker = LOOKS[number % len(LOOKS)]
        product, n = np.cumprod(chances), drafting.draft_length_for(chances, price)
        k = np.arange(1, product.size + 1)
        ax.plot(k, product, color=colour, linewidth=1.6, label=f"{label}: draft {n}")
        ax.plot(k[:n], product[:n], marker, color=colour, markersize=7)
        ax.plot(k[n:], product[n:], marker, color=colour, markersize=7, markerfacecolor="white")
        told.append(f"{label} pays for {n} draft{'' if n == 1 else 's'}")
        longest = max(longest, product.size)
    ax.axhline(price, color=PRICE, linewidth=1.8, linestyle="--", label=f"price c·S = {price:.2f}")
    ax.set(xlim=(0.6, longest + 0.4), ylim=(0, 1.03), xlabel="draft number", ylabel="chance that it is kept",
           title="Draft while the product is above the price")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(loc="upper right")
    return style.describe(fig, f"Survival products against a price of {price:g}: {'; '.join(told)}.")


@style.styled
def time_lanes(runs, c):
    """The same text under several policies: each lane is the time it took, draft steps and passes -> Figure.

    ``runs`` maps a label to a ``policy_race.Run`` over the same course; ``c`` is the cost of a draft step.

    >>> from specdec_lessons import policy_race
    >>> world = policy_race.iid_world()
    >>> runs = {f"k = {k}": policy_race.play(world, policy_race.drafting.Fixed(k), 20) for k in (0, 2)}
    >>> time_lanes(runs, 0.1).alt[:66]
    'The time for the same 20 tokens: k = 0 takes 20.0 plain steps in 2'
    """
    if not isinstance(runs, dict) or not runs:
        raise ValueError(f"runs must map labels to runs, got {_checks.short(runs)}")
    c = _checks.single("c", _checks.non_negative, c)
    fig, ax = style.new_figure(8.6, 1.5 + 0.62 * len(runs))
    told, longest = [], 0.0
    for lane, (label, run) in enumerate(runs.items()):
        now = 0.0
        for one in run.rounds:
            for i in range(len(one.drafted)):
                name = "accepted" if i < one.accepted else "rejected" if i == one.accepted else "discarded"
                _box(ax, lane, now, c, style.STATES[name])
                now += c
            state = style.STATES[one.last]
            _box(ax, lane, now, 1.0, state)
            ax.text(now + 0.5, lane, state.sign, ha="center", va="center", fontsize=9, color=state.ink)
            now += 1.0
        ax.text(now + 0.15, lane, f"{now:.1f}", va="center", fontweight="bold")
        told.append(f"{label} takes {now:.1f} plain steps in {len(run.rounds)} passes")
        longest = max(longest, now)
    tokens = next(iter(runs.values())).tokens
    ax.set(xlim=(0, 1.07 * longest), ylim=(len(runs) - 0.45, -0.55),
           xlabel="time, in plain steps of the target",
           title=f"The same {tokens} tokens, one lane a policy: the shortest wins (c = {c:g})")
    ax.set_yticks(range(len(runs)), list(runs))
    ax.tick_params(axis="y", length=0)
    drawn = ("accepted", "rejected", "discarded", "correction", "bonus")
    fills = [Patch(facecolor=s.colour if s.filled else "white", edgecolor=s.colour, hatch=s.hatch,
                   label=f"{s.sign} " + (s.label if name in drawn[:3] else f"pass, {s.label}"))
             for name, s in ((name, style.STATES[name]) for name in drawn)]
    ax.legend(handles=fills, loc="upper center", bbox_to_anchor=(0.45, -0.62 / (0.8 + 0.62 * len(runs))),
              ncols=5,              columnspacing=1.2, handlelength=1.2)
    return style.describe(fig, f"The time for the same {tokens} tokens: {'; '.join(told)}.")


def _box(ax, lane, start, width, state):
    ax.barh(lane, width, left=start, height=0.62, facecolor=state.colour if state.filled else "white",
            edgecolor="white" if state.filled else state.colour, hatch=state.hatch, linewidth=0.6)


@style.styled
def policy_race(results, oracle, ceiling=None, title="Net speedup of each policy"):
    """Net speedups with their intervals, the oracle as a line, the clairvoyant as another -> Figure.

    ``results``: ``policy_race.Result`` objects, one a bar; ``oracle`` the Result that the others are held
    against; ``ceiling`` that of the clairvoyant, or None.

    >>> from specdec_lessons import policy_race as races
    >>> results = races.race(races.iid_world(), {"k = 2": 2, "k = 6": 6}, 0.1, n_tokens=300)
    >>> policy_race(results, results[1]).alt[:37]
    'Net speedups: k = 2 2.04 times, 82 % '
    """
    results = list(results)
    if not results:
        raise ValueError("results must hold at least one result, got none")
    rows = np.arange(len(results))
    means = np.array([one.speedup.mean for one in results])
    spans = np.array([[m - one.speedup.low, one.speedup.high - m] for m, one in zip(means, results)]).T
    fig, ax = style.new_figure(8.4, 1.5 + 0.44 * len(results))
    ax.barh(rows, means, height=0.62, color=GAIN, alpha=0.9)
    ax.errorbar(means, rows, xerr=spans, fmt="none", ecolor=FIRM, elinewidth=1.6, capsize=3.5)
    best = oracle.speedup.mean
    lines = [(best, "-", f"oracle {best:.2f}×")]
    if ceiling is not None:
        lines.append((ceiling.speedup.mean, ":", f"clairvoyant {ceiling.speedup.mean:.2f}×"))
    for x, look, _ in lines:
        ax.axvline(x, color=PRICE, linewidth=1.8, linestyle=look)
    right = 1.02 * max([x for x, _, _ in lines] + [one.speedup.high for one in results])
    told = []
    for row, one in zip(rows, results):
        share = one.share_of(oracle).mean
        mean, per_pass = one.speedup.mean, f"{one.tokens_per_pass:7.2f} {one.wasted_per_pass:7.2f}"
        ax.annotate(f"{mean:6.2f}× {share:6.0%} {per_pass}", (right, row), xytext=(12, 0),
                    textcoords="offset points", va="center", family="monospace",
                    fontsize=9, annotation_clip=False)
        told.append(f"{one.name} {mean:.2f} times, {100 * share:.0f} % of the oracle")
    ax.annotate("speedup     of  tokens  wasted\n        oracle  a pass  a pass", (right, -0.62),
                xytext=(12, 4), textcoords="offset points", va="bottom", family="monospace", fontsize=9,
                color=style.MUTED, annotation_clip=False)
    ax.axvline(1, color=style.INK, linewidth=1.1, linestyle="--")
    ax.set(xlim=(0, right), ylim=(len(results) - 0.5, -0.6), xlabel="times plain decoding", title=title)
    ax.set_yticks(rows, [one.name for one in results])
    ax.tick_params(axis="y", length=0)
    handles = [Line2D([], [], color=PRICE, linestyle=look, label=label) for _, look, label in lines]
    handles.append(Line2D([], [], color=style.INK, linestyle="--", linewidth=1.1, label="plain decoding"))
    below = -0.62 / (0.9 + 0.44 * len(results))
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, below), ncols=3)
    more = f" The clairvoyant reaches {ceiling.speedup.mean:.2f}." if ceiling is not None else ""
    return style.describe(fig, f"Net speedups: {'; '.join(told)}. The oracle reaches {best:.2f}.{more}")
