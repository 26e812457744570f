"""Figures of lesson 5: what p and q share, the paths of one position, and what wrong rules put out."""

import numpy as np
from matplotlib.patches import Rectangle

from specdec_lessons import _checks, rejection
from specdec_lessons.figures import style

KEPT, THROWN, FILLED = (style.STATES[name] for name in ("accepted", "rejected", "correction"))
THROWN_AWAY = {"facecolor": "white", "edgecolor": THROWN.colour, "hatch": "////"}
FILLED_IN = {"facecolor": "white", "edgecolor": FILLED.colour, "hatch": "...."}
MISSING = {"facecolor": "white", "edgecolor": style.MUTED, "linestyle": (0, (2, 1))}
NOTICEABLE = 5e-4  # a difference below this would be printed as zero


@style.styled
def overlap_bars(p, q, tokens=None):
    """p and q side by side, and beside them min(p, q), the surplus of q and the deficit of p -> Figure.

    ``p``, ``q``: distributions of shape (V,) with V up to 6; ``tokens``: V labels (0, 1, ... by default).
    ValueError for anything else.

    >>> overlap_bars([0.6, 0.4], [0.8, 0.2], ["cat", "dog"]).alt.split(". ")[1]
    'cat: 0.6 kept, 0.2 of q thrown away; dog: 0.2 kept, 0.2 of p to fill in.'
    """
    p, q = _checks.pair(p, q)
    tokens = _labels(tokens, p.size, at_most=6)
    places, both = np.arange(p.size), np.minimum(p, q)
    top = 1.24 * max(p.max(), q.max())
    fig, (wants, happens) = style.new_figure(7.2, 3.9, columns=2, sharey=True, width_ratios=(1, 1.1))
    for shift, name, law, colour in ((-0.2, "p", p, style.TARGET), (0.2, "q", q, style.DRAFT)):
        bars = wants.bar(places + shift, law, width=0.38, color=colour)
        for bar, value in zip(bars, law):
            wants.text(bar.get_x() + bar.get_width() / 2, value + 0.01 * top, f"{name}\n{_number(value)}",
                       ha="center", va="bottom", fontsize=9.5 if p.size < 4 else 8)
    wants.set_title("What each model wants")
    wants.set_ylabel("probability")
    happens.set_title("What becomes of it")
    happens.bar(places, both, width=0.62, color=KEPT.colour)
    happens.bar(places, q - both, bottom=both, width=0.62, **THROWN_AWAY)
    happens.bar(places, p - both, bottom=both, width=0.62, **FILLED_IN)
    told = [_column(happens, *where, top, p.size) for where in zip(places, p, q, both)]
    for axis in (wants, happens):
        axis.set_xticks(places, tokens)
        axis.tick_params(axis="x", length=0)
        axis.set(ylim=(0, top), xlim=(-0.6, p.size - 0.4))
    fig.legend(handles=_key(), loc="outside lower center", ncols=3, handlelength=1.6, handleheight=1.0)
    told = "; ".join(f"{token}: {text}" for token, text in zip(tokens, told))
    return style.describe(fig, f"Bars of p and q beside each other, and columns split in what both share and"
                          f" what is left of either. {told}.")


def _column(axis, place, p, q, both, top, crowd):
    """Write the numbers into one column of the right panel; returns them in words."""
    words = [f"{_number(both)} kept"]
    size = 10.5 if crowd < 4 else 9
    if both > 0.07 * top:
        axis.text(place, both / 2, f"{KEPT.sign} {_number(both)}", ha="center", va="center", color=KEPT.ink,
                  fontsize=size)
    for rest, state, text in ((q - both, THROWN, "of q thrown away"), (p - both, FILLED, "of p to fill in")):
        if rest > NOTICEABLE:
            sign = "−" if state is THROWN else "+"
            axis.text(place, both + rest + 0.012 * top, f"{state.sign} {sign}{_number(rest)}", ha="center",
                      va="bottom", color=style.INK, weight="bold", fontsize=size)
            words.append(f"{_number(rest)} {text}")
    return ", ".join(words)


def _key():
    return [
        Rectangle((0, 0), 1, 1, color=KEPT.colour, label=f"{KEPT.sign} min(p, q): kept"),
        Rectangle((0, 0), 1, 1, label=f"{THROWN.sign} surplus of q: thrown away", **THROWN_AWAY),
        Rectangle((0, 0), 1, 1, label=f"{FILLED.sign} deficit of p: filled in", **FILLED_IN),
    ]


@style.styled
def uniform_paths(p, q, tokens=None):
    """Every way the three random numbers of one position can fall, each as wide as it is probable -> Figure.

    The rows are the three numbers (draft, coin, replacement) and what comes out. ``p``, ``q``:
    distributions of shape (V,) with V up to 6; ``tokens``: V labels.

    >>> uniform_paths([0.6, 0.4], [0.8, 0.2], ["cat", "dog"]).alt.split(". ")[1]
    'cat accepted (0.6) gives cat; cat rejected (0.2), dog drawn, gives dog; dog accepted (0.2) gives dog.'
    """
    p, q = _checks.pair(p, q)
    tokens = _labels(tokens, p.size, at_most=6)
    fig, axis = style.new_figure(7.2, 3.3)
    told, left = [], 0.0
    for draft, chance in enumerate(q):
        if chance > 0:
            _cell(axis, 0, left, chance, f"{tokens[draft]}  {_number(chance)}", style.DRAFT)
            told += _fates(axis, tokens, p, q, draft, left)
            left += chance
    steps = ["1st number:\nthe draft", "2nd number:\nthe coin", "3rd number:\nthe replacement", "out"]
    axis.set_yticks(range(4), steps)
    axis.tick_params(axis="y", length=0)
    axis.set(xlim=(0, 1), ylim=(3.5, -0.5), xlabel="probability")
    axis.spines["left"].set_visible(False)
    return style.describe(fig, f"A bar of width 1, split row by row into paths. {'; '.join(told)}.")


def _fates(axis, tokens, p, q, draft, left):
    """The paths of one drafted token: kept, or replaced by each token of the residual."""
    kept = min(p[draft], q[draft])
    told, rejected = [], q[draft] - kept
    if kept > 0:
        _cell(axis, 1, left, kept, f"{KEPT.sign} accept\n{_number(kept)}", KEPT.colour)
        _cell(axis, 2, left, kept, "not needed" if kept > 0.15 else "–", "white")
        _cell(axis, 3, left, kept, f"{tokens[draft]}  {_number(kept)}", style.TARGET)
        told.append(f"{tokens[draft]} accepted ({_number(kept)}) gives {tokens[draft]}")
    left += kept
    if rejected > 1e-12:
        _cell(axis, 1, left, rejected, f"{THROWN.sign} reject\n{_number(rejected)}", THROWN.colour)
        for token, share in enumerate(rejection.residual(p, q) * rejected):
            if share > 0:
                _cell(axis, 2, left, share, f"{FILLED.sign} {tokens[token]}", FILLED.colour)
                _cell(axis, 3, left, share, f"{tokens[token]}  {_number(share)}", style.TARGET)
                told.append(f"{tokens[draft]} rejected ({_number(share)}), {tokens[token]} drawn,"
                            f" gives {tokens[token]}")
                left += share
    return told


def _cell(axis, row, left, width, text, colour):
    edge = style.MUTED if colour == "white" else "white"
    axis.barh(row, width, left=left, height=0.86, color=colour, edgecolor=edge)
    ink = {"white": style.MUTED, style.TARGET: "white", style.DRAFT: "black", KEPT.colour: KEPT.ink,
           THROWN.colour: THROWN.ink, FILLED.colour: FILLED.ink}[colour]
    if width > 0.045:
        size = 9.5 if width > 0.12 else 8
        axis.text(left + width / 2, row, text, ha="center", va="center", color=ink, fontsize=size)


@style.styled
def rule_laws(p, laws, tokens=None):
    """What several rules put out at one position against p, one small panel a rule -> Figure.

    ``p`` of shape (V,); ``laws``: one to eight names, each with the distribution of shape (V,) that its rule
    puts out. What is too much stands on p hatched with a +, what is missing is outlined with a −.

    >>> rule_laws([0.6, 0.4], {"resample from p": [0.72, 0.28]}, ["cat", "dog"]).alt
    'One panel a rule. resample from p: cat +0.12, dog −0.12.'
    """
    p = _checks.distribution("p", p)
    tokens = _labels(tokens, p.size, at_most=6)
    laws = _laws(laws, p.size, at_most=8)
    columns = min(3, len(laws))
    rows = -(-len(laws) // columns)
    height = 0.7 + 2.1 * rows
    fig, axes = style.new_figure(7.2, height, rows, columns, sharex=True, sharey=True, squeeze=False)
    top, told = 1.3 * max(p.max(), *(law.max() for law in laws.values())), []
    for axis, (name, law) in zip(axes.flat, laws.items()):
        differences = _against(axis, p, law, top)
        axis.set_title(name, fontsize=10)
        axis.set_xticks(range(p.size), tokens)
        axis.tick_params(axis="x", length=0, labelbottom=True)
        axis.set(ylim=(0, top), xlim=(-0.6, p.size - 0.4))
        changes = (f"{token} {text}" for token, text in zip(tokens, differences) if text)
        told.append(f"{name}: {', '.join(changes) or 'no difference'}")
    for axis in axes.flat[len(laws):]:
        axis.set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("probability")
    fig.legend(handles=_difference_key("p, and right"), loc="outside lower center", ncols=3)
    return style.describe(fig, f"One panel a rule. {'; '.join(told)}.")


def _against(axis, p, law, top, width=0.7, size=9.5, numbers=True):
    """One column a token: what agrees with p, what is too much (+), missing (−). Returns the differences."""
    places, both, said = np.arange(p.size), np.minimum(p, law), []
    axis.bar(places, both, width=width, color=style.TARGET)
    axis.bar(places, law - both, bottom=both, width=width, **THROWN_AWAY)
    axis.bar(places, p - both, bottom=both, width=width, **MISSING)
    for place, height, difference in zip(places, np.maximum(p, law), law - p):
        large = abs(difference) > NOTICEABLE
        said.append(_signed(difference) if large else "")
        text = (said[-1] if numbers else said[-1][:1]) if large else "✓" if numbers else ""
        axis.text(place, height + 0.015 * top, text, ha="center", va="bottom", fontsize=size, color=style.INK)
    return said


def _difference_key(agrees):
    return [
        Rectangle((0, 0), 1, 1, color=style.TARGET, label=agrees),
        Rectangle((0, 0), 1, 1, label="+ too much", **THROWN_AWAY),
        Rectangle((0, 0), 1, 1, label="− missing", **MISSING),
    ]


@style.styled
def joint_laws(right, wrong, letters, title="The law of whole texts"):
    """Probability of every text under a rule against the right law -> Figure.

    ``right``, ``wrong``: dicts from token tuples to probabilities, as ``evidence.sequence_law`` gives,
    over at most 32 texts; ``letters``: one short label for each token, which spell the texts under the columns.

    >>> joint_laws({(0,): 0.5, (1,): 0.5}, {(0,): 0.75, (1,): 0.25}, "HT").alt
    'A column for each text. Too probable: H (+0.25). Not probable enough: T (−0.25). Right: none.'
    """
    texts = sorted(set(right) | set(wrong))
    if not 2 <= len(texts) <= 32:
        raise ValueError(f"right and wrong must hold 2 to 32 texts together, got {len(texts)}")
    p, law = (_checks.distribution(name, [one.get(text, 0.0) for text in texts])
              for name, one in (("right", right), ("wrong", wrong)))
    spelt = ["".join(letters[token] for token in text) for text in texts]
    top = 1.15 * max(p.max(), law.max())
    fig, axis = style.new_figure(7.2, 3.5)
    differences = _against(axis, p, law, top, width=0.78, size=11, numbers=False)
    axis.set_xticks(range(len(texts)), spelt, rotation=90 if len(spelt[0]) > 2 else 0)
    axis.tick_params(axis="x", length=0)
    axis.set(ylim=(0, top), xlim=(-0.6, len(texts) - 0.4), ylabel="probability", title=title)
    fig.legend(handles=_difference_key("right"), loc="outside lower center", ncols=3)
    named = [f"{text} ({difference})" if difference else text for text, difference in zip(spelt, differences)]
    groups = {sign: ", ".join(name for name, difference in zip(named, differences) if difference[:1] == sign)
              or "none" for sign in ("+", "−", "")}
    return style.describe(fig, f"A column for each text. Too probable: {groups['+']}. Not probable enough:"
                          f" {groups['−']}. Right: {groups['']}.")


def _number(value):
    """A probability as one would write it: 0.6, 0.0625, 0.333."""
    places = 4 if abs(value - round(value, 4)) < 1e-9 else 3
    return f"{float(value):.{places}f}".rstrip("0").rstrip(".") or "0"


def _signed(difference):
    return ("+" if difference > 0 else "−") + _number(abs(difference))


def _labels(tokens, size, at_most):
    if size > at_most:
        raise ValueError(f"p must have at most {at_most} entries to be drawn, got {size}")
    labels = [str(i) for i in range(size)] if tokens is None else [str(token) for token in tokens]
    if len(labels) != size:
        raise ValueError(f"tokens must hold {size} labels, one for each entry of p, got {len(labels)}")
    return labels


def _laws(laws, size, at_most):
    if not isinstance(laws, dict) or not 1 <= len(laws) <= at_most:
        raise ValueError(f"laws must map one to {at_most} names to distributions, got {laws!r}")
    checked = {str(name): _checks.distribution(f"law of {name!r}", law) for name, law in laws.items()}
    for name, law in checked.items():
        if law.size != size:
            raise ValueError(f"law of {name!r} must have the length of p, {size}, got {law.size}")
    return checked
