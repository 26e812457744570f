"""Figures of lesson 3: survivors of a draft, ceilings, the law of tokens per pass, unlike rounds."""

import numpy as np

from specdec_lessons import _checks, formulas
from specdec_lessons.figures import style

FAMILY = ("#A3487F", style.MEMORY, style.TARGET, "#5B5B5B")  # colours of curves that differ in a
HERE = "#C2410C"  # the point in question


def _rate(name, value):
    array = _checks.probability(name, value)
    if array.ndim:
        raise ValueError(f"{name} must be a single number, got an array of shape {array.shape}")
    return float(array)


def _face(state):
    colours = (state.colour, "white") if state.filled else ("white", state.colour)
    return dict(zip(("facecolor", "edgecolor"), colours), hatch=state.hatch)


def _stack(ax, x, parts):
    """One bar of height 1 from named states and their shares; large shares carry their sign."""
    bottom = 0.0
    for name, share in parts:
        state = style.STATES[name]
        ax.bar(x, share, bottom=bottom, width=0.72, linewidth=1.0, **_face(state))
        if share >= 0.09:
            text = f"{state.sign} {share:.2f}"
            ax.text(x, bottom + share / 2, text, ha="center", va="center", color=state.ink, fontsize=10,
                    bbox=None if state.filled else {"facecolor": "white", "edgecolor": "none", "pad": 1.5})
        bottom += share


@style.styled
def survival_bars(a, k):
    """What becomes of draft 1, …, draft k and of the pass's own token: shares that add up to 1 -> Figure.

    ``a`` in [0, 1]; ``k`` from 1 to 8. The accepted parts have heights a, a², …, a^k; with the own token's
    1 they add up to E.

    >>> survival_bars(0.5, 2).alt[-61:]
    'token: correction 0.75, bonus 0.25. Kept in all: 1.75 tokens.'
    """
    a, k = _rate("a", a), _checks.single_count("k", k, at_least=1)
    if k > 8:
        raise ValueError(f"k must be at most 8 to fit the picture, got {k}")
    fig, ax = style.new_figure(7.2, 4.2)
    shares = []
    for i in range(1, k + 1):
        parts = {"accepted": a**i, "rejected": a ** (i - 1) * (1 - a), "discarded": 1 - a ** (i - 1)}
        shares.append((f"draft {i}", {name: share for name, share in parts.items() if share > 0}))
    own = {"correction": 1 - a**k, "bonus": a**k}
    shares.append(("token", {name: share for name, share in own.items() if share > 0}))
    for x, (_, parts) in enumerate(shares):
        _stack(ax, x + 0.35 * (x == k), parts.items())
    names = [f"draft {i}" for i in range(1, k + 1)]
    ax.set_xticks([*range(k), k + 0.35], [*names, "the target's\nown token"])
    ax.tick_params(axis="x", length=0)
    ax.set(ylim=(0, 1), ylabel="share of passes", title=f"What becomes of each token, a = {a:g}, k = {k}")
    handles = [ax.bar(0, 0, **_face(state), label=f"{state.sign} {state.label}")
               for name, state in style.STATES.items() if name != "drafted"]
    fig.legend(handles=handles, loc="outside lower center", ncols=5)
    told = "; ".join(f"{name}: " + ", ".join(f"{state} {share:.2f}" for state, share in parts.items())
                     for name, parts in shares)
    tokens = formulas.expected_tokens(a, k)
    return style.describe(fig, f"Stacked bars of height one. {told.replace('token:', 'the own token:')}."
                          f" Kept in all: {tokens:.2f} tokens.")


@style.styled
def token_ceilings(rates=(0.5, 0.8, 0.9), k_max=24, point=(0.8, 4)):
    """Tokens per pass over the draft length for each acceptance rate, with its ceiling 1/(1 − a) -> Figure.

    ``rates``: one to four numbers in [0, 1), ``point``: an (a, k) to mark, or None.

    >>> token_ceilings((0.5,), point=None).alt
    'E against k. For a = 0.5 it rises from 1 towards the ceiling 2.'
    """
    rates = _checks.probability("rates", rates)
    if rates.ndim != 1 or not 1 <= rates.size <= 4 or rates.max() >= 1:
        raise ValueError(f"rates must be one to four numbers below 1, got {rates.tolist()}")
    k_max = _checks.single_count("k_max", k_max, at_least=2)
    lengths = np.arange(k_max + 1)
    fig, ax = style.new_figure(7.2, 4.2)
    for a, colour in zip(sorted(rates.tolist()), FAMILY):
        ceiling = 1 / (1 - a)
        ax.plot([0, k_max], [ceiling, ceiling], color=colour, linewidth=1.3, linestyle="--")
        ax.plot(lengths, formulas.expected_tokens(a, lengths), "o-", color=colour, markersize=3.5)
        ax.annotate(f"a = {a:g}\nceiling {ceiling:.3g}", (k_max, ceiling), textcoords="offset points",
                    xytext=(8, 0), va="center", color=colour, fontsize=9.5, annotation_clip=False)
    if point is not None:
        a, k = _rate("point's a", point[0]), _checks.single_count("point's k", point[1])
        tokens = formulas.expected_tokens(a, k)
        ax.plot(k, tokens, "o", markersize=10, color=HERE, markeredgecolor="white", zorder=5)
        ax.annotate(f"k = {k}: {tokens:.2f}", (k, tokens), textcoords="offset points", xytext=(10, -12),
                    fontsize=9.5, color=HERE)
    ax.set(xlabel="draft length k", ylabel="tokens per pass, E", xlim=(0, k_max), ylim=(0, None),
           title="More drafts, and the ceiling they cannot pass")
    ax.grid(axis="y")
    told = " ".join(f"For a = {a:g} it rises from 1 towards the ceiling {1 / (1 - a):.3g}."
                    for a in sorted(rates.tolist()))
    return style.describe(fig, f"E against k. {told}")


@style.styled
def tokens_distribution(a, k, tokens=None):
    """Probability of 1, 2, …, k + 1 tokens from one pass, their mean, and what a run counted -> Figure.

    ``tokens``: tokens per pass of simulated rounds (as ``evidence.simulate_rounds`` gives them), or None.

    >>> tokens_distribution(0.5, 2).alt
    'Bars. 1 token: 0.500; 2 tokens: 0.250; 3 tokens: 0.250. Their mean is 1.75.'
    """
    a, k = _rate("a", a), _checks.single_count("k", k)
    law, counts = formulas.tokens_per_pass_pmf(a, k), np.arange(1, k + 2)
    fig, ax = style.new_figure(7.2, 3.9)
    for n, chance in zip(counts, law):
        state = style.STATES["bonus" if n == k + 1 else "correction"]
        ax.bar(n, chance, width=0.66, color=state.colour)
        ax.annotate(f"{state.sign} {chance:.3f}", (n, chance), textcoords="offset points", xytext=(0, 10),
                    ha="center", fontsize=10)
    seen = ""
    if tokens is not None:
        tokens = _checks.count("tokens", tokens, at_least=1)
        if tokens.ndim != 1 or not tokens.size or tokens.max() > k + 1:
            raise ValueError(f"tokens must hold numbers from 1 to k + 1 = {k + 1}, one a round")
        shares = np.bincount(tokens, minlength=k + 2)[1:] / tokens.size
        ax.plot(counts, shares, "D", markersize=7, markerfacecolor="white", markeredgecolor=style.INK,
                markeredgewidth=1.5, label=f"counted in {tokens.size:,} simulated passes", zorder=5)
        seen = f" A simulation counted {', '.join(f'{share:.3f}' for share in shares)}."
    mean = formulas.expected_tokens(a, k)
    ax.axvline(mean, color=style.INK, linewidth=1.3, linestyle="--", label=f"mean {mean:.2f}")
    for state, words in (("correction", "ends with a correction"), ("bonus", "ends with the bonus")):
        ax.bar(0, 0, color=style.STATES[state].colour, label=f"{style.STATES[state].sign} {words}")
    ax.set_xticks(counts)
    ax.set(xlim=(0.4, k + 1.6), ylim=(0, law.max() * 1.22), xlabel="tokens from one pass",
           ylabel="probability", title=f"How many tokens one pass yields, a = {a:g}, k = {k}")
    ax.legend(loc="upper left", bbox_to_anchor=(0.02, 1.0))
    told = "; ".join(f"{n} token{'s' if n > 1 else ''}: {chance:.3f}" for n, chance in zip(counts, law))
    return style.describe(fig, f"Bars. {told}. Their mean is {mean:.3g}.{seen}")


@style.styled
def two_kinds(easy, hard, k, half_of="rounds"):
    """Two acceptance rates in equal parts, against the formula at their mean: chord and curve -> Figure.

    ``half_of='rounds'``: half of the passes are easy, so tokens per pass are averaged: E against a.
    ``half_of='text'``: half of the text is easy, in long stretches, so passes per token are averaged: 1/E.

    >>> two_kinds(0.9, 0.3, 4).alt[-66:]
    'halfway along the chord it is 2.76; on the curve at a = 0.6, 2.31.'
    """
    easy, hard, k = _rate("easy", easy), _rate("hard", hard), _checks.single_count("k", k, at_least=1)
    if half_of not in ("rounds", "text"):
        raise ValueError(f"half_of must be 'rounds' or 'text', got {half_of!r}")
    if hard >= easy:
        raise ValueError(f"easy must be above hard = {hard:g}, got {easy:g}")
    power, digits = (1, 2) if half_of == "rounds" else (-1, 3)
    what = "tokens per pass, E" if half_of == "rounds" else "passes per token, 1/E"
    grid = np.linspace(0, 1, 201)
    mean = (easy + hard) / 2
    ends = np.array([formulas.expected_tokens(a, k) ** power for a in (hard, easy)])
    chord, curve = ends.mean(), formulas.expected_tokens(mean, k) ** power
    fig, ax = style.new_figure(7.2, 4.2)
    ax.plot(grid, formulas.expected_tokens(grid, k) ** power, color=style.TARGET,
            label=f"the formula, k = {k}")
    ax.plot([hard, easy], ends, "o--", color=HERE, linewidth=1.6, markersize=7, label="the chord: a mixture")
    ax.plot([mean, mean], [curve, chord], color=style.MUTED, linewidth=1.2, linestyle=":")
    for y, colour, words, up in ((chord, HERE, "the truth", 1),
                                 (curve, style.TARGET, "formula at the mean a", -1)):
        ax.plot(mean, y, "o", markersize=10, color=colour, markeredgecolor="white", zorder=5)
        ax.annotate(f"{words}: {y:.{digits}f}" + ("" if power == 1 else f"  (E = {1 / y:.2f})"), (mean, y),
                    textcoords="offset points", color=colour, fontsize=9.5,
                    xytext=(-10 * up * power, 8 * up), ha="right" if up * power == 1 else "left",
                    va="bottom" if up == 1 else "top")
    for a, y, name in ((hard, ends[0], "hard"), (easy, ends[1], "easy")):
        ax.annotate(f"{name}: {y:.{digits}f}", (a, y), textcoords="offset points", xytext=(5, -7 * power),
                    fontsize=9.5, ha="left", va="top" if power == 1 else "bottom", color=HERE)
    ax.set(xlim=(0, 1), ylim=(0, None), xlabel="acceptance rate a", ylabel=what,
           title=f"Half of the {half_of} easy (a = {easy:g}), half hard (a = {hard:g})")
    ax.legend(loc="upper left" if power == 1 else "lower left")
    bend = f"{what[0].upper()}{what[1:]} against a: a curve that bends upwards."
    return style.describe(fig, f"{bend} The chord joins a = {hard:g} and a = {easy:g}; halfway along the"
                          f" chord it is {chord:.{digits}f}; on the curve at a = {mean:g},"
                          f" {curve:.{digits}f}.")
