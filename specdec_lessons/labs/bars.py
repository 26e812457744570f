"""The lab of lesson 5: one position, p against q, what is kept, thrown away and filled in."""

import html

import numpy as np

from specdec_lessons import _checks, decoding, figures, rejection
from specdec_lessons.figures.style import STATES
from specdec_lessons.labs import kit
from specdec_lessons.labs.kit import Quantity, Reading

WORDS = ("cat", "dog", "bird", "fish", "fox")
OWN = "my own"
PRESETS = {  # name -> (p of the target, q of the draft), over up to five words
    "five words": ((0.40, 0.25, 0.15, 0.12, 0.08), (0.25, 0.40, 0.05, 0.20, 0.10)),
    "cats: .6 wanted, .8 drafted": ((0.6, 0.4), (0.8, 0.2)),
    "three words": ((0.25, 0.25, 0.5), (0.75, 0.125, 0.125)),
    "equal": ((0.4, 0.3, 0.2, 0.1), (0.4, 0.3, 0.2, 0.1)),
    "nothing in common": ((0.0, 0.0, 0.5, 0.3, 0.2), (0.6, 0.4)),
    "greedy draft (one-hot)": ((0.5, 0.3, 0.2), (1.0,)),
}
DRAWS = 1000

# what each part of a bar is: the target keeps `agreed`, discards `surplus`, fills `deficit` from the residual
PARTS = {
    "agreed": ("accepted", "kept: min(p, q)"),
    "surplus": ("rejected", "thrown away: q above p"),
    "deficit": ("correction", "filled by the residual: p above q"),
}


# ---- views: pure functions of the state -----------------------------------------------------------------


def draft_law(state):
    """The draft's q: the weights as shares, sharpened or flattened by the temperature. Shape (V,)."""
    weights = np.asarray(state["weights"], dtype=float)
    if not weights.sum() > 0:
        raise ValueError("the draft's weights must not all be 0: give one word some weight")
    return decoding.with_temperature(weights / weights.sum(), state["temperature"])


def position(state):
    """Everything about the position: p, q, agreed, surplus, deficit, ratios, residual, acceptance. A dict."""
    p, q = np.asarray(state["p"], dtype=float), draft_law(state)
    agreed = np.minimum(p, q)
    return {
        "p": p,
        "q": q,
        "agreed": agreed,
        "surplus": q - agreed,
        "deficit": p - agreed,
        "ratios": rejection.accept_ratios(p, q),
        "residual": rejection.residual(p, q),
        "acceptance": rejection.acceptance_probability(p, q),
    }


def reading(state):
    """The numbers of one state and its summary sentence.

    >>> state = {"p": (0.6, 0.4), "weights": (80, 20), "temperature": 1.0, "words": ("cat", "dog")}
    >>> reading(state).sentence
    'The draft is accepted with probability 0.80 = 1 − 0.20; what leaves this position is distributed as p.'
    """
    here = position(state)
    counts, kept = state.get("counts"), state.get("kept", 0)
    drawn = int(np.sum(counts)) if counts is not None else 0
    a = here["acceptance"]
    quantities = (
        Quantity("acceptance_probability", "acceptance Σ min(p, q)", f"{a:.3f}"),
        Quantity("total_variation", "total variation", f"{1 - a:.3f}"),
        Quantity("tokens_drawn", "tokens drawn", f"{drawn:,}"),
        Quantity("acceptance_measured", "acceptance measured", f"{kept / drawn:.3f}" if drawn else "–"),
    )
    sentence = (
        f"The draft is accepted with probability {a:.2f} = 1 − {1 - a:.2f}; "
        "what leaves this position is distributed as p."
    )
    if drawn:
        gap = np.abs(np.asarray(counts) / drawn - here["p"])
        word = state["words"][int(gap.argmax())]
        sentence = (
            f"Accepted with probability {a:.2f}; after {drawn:,} draws the shares differ from p by "
            f"{gap.max():.3f} at most (at “{word}”)."
        )
    return Reading(sentence, quantities)


def bars_html(state):
    """The bars of p and q, split into kept, thrown away and filled in, as HTML."""
    here, words, counts = position(state), state["words"], state.get("counts")
    top = 1.0 if max(here["p"].max(), here["q"].max()) > 0.5 else 0.5
    total = 0 if counts is None else sum(counts)
    shares = [count / total for count in counts] if total else None
    columns = "".join(
        f'<div class="sdl-pair" role="img" aria-label="{html.escape(_spoken(here, words[i], i))}">'
        f"{_bar('p', here['agreed'][i], here['deficit'][i], 'deficit', top, shares and shares[i])}"
        f"{_bar('q', here['agreed'][i], here['surplus'][i], 'surplus', top)}"
        f'<span class="sdl-barword">{html.escape(words[i])}</span></div>'
        for i in range(len(words))
    )
    lines = "".join(
        f'<div class="sdl-gridline" style="bottom:{100 * share:.0f}%"><span>{share * top:g}</span></div>'
        for share in (0, 0.5, 1)
    )
    grid = f'<div class="sdl-grid" aria-hidden="true">{lines}</div>'
    return f'<div class="sdl-bars">{grid}{columns}</div>{_key(shares)}'


def _bar(name, agreed, rest, part, top, drawn=None):
    state = PARTS[part][0]
    mark = (
        ""
        if drawn is None
        else f'<div class="sdl-drawn" style="bottom:{min(100, 100 * drawn / top):.2f}%"></div>'
    )
    return (
        f'<div class="sdl-bar"><div class="sdl-part sdl-p-{part}" style="height:{100 * rest / top:.2f}%">'
        f"{_sign(state) if rest / top > 0.09 else ''}</div>"
        f'<div class="sdl-part sdl-p-agreed" style="height:{100 * agreed / top:.2f}%">'
        f"{_sign('accepted') if agreed / top > 0.09 else ''}</div>{mark}"
        f'<span class="sdl-barname">{name}</span></div>'
    )


def _sign(state):
    return f"<b>{STATES[state].sign}</b>"


def _spoken(here, word, i):
    return (
        f"{word}: target p {here['p'][i]:.2f}, draft q {here['q'][i]:.2f}, kept {here['agreed'][i]:.2f}, "
        f"thrown away {here['surplus'][i]:.2f}, filled in {here['deficit'][i]:.2f}"
    )


def _key(shares):
    entries = "".join(
        f'<li><i class="sdl-p-{part}" aria-hidden="true">{_sign(state)}</i>{words}</li>'
        for part, (state, words) in PARTS.items()
    )
    drawn = "" if shares is None else '<li><i class="sdl-drawnkey" aria-hidden="true">━</i>share drawn</li>'
    return f'<ul class="sdl-legend sdl-barkey">{entries}{drawn}</ul>'


def table_html(state):
    """p, q, the accept ratio, the residual and the drawn share of every word, as an HTML table."""
    here, counts = position(state), state.get("counts")
    drawn = int(np.sum(counts)) if counts is not None else 0
    never = here["acceptance"] > 1 - 1e-12
    rows = "".join(
        f'<tr><th scope="row">{html.escape(word)}</th><td>{here["p"][i]:.3f}</td><td>{here["q"][i]:.3f}</td>'
        f'<td data-quantity="accept_ratio_{i}">{_ratio(here["ratios"][i])}</td>'
        f'<td data-quantity="residual_{i}">{"–" if never else format(here["residual"][i], ".3f")}</td>'
        f'<td data-quantity="drawn_{i}">{format(counts[i] / drawn, ".3f") if drawn else "–"}</td></tr>'
        for i, word in enumerate(state["words"])
    )
    heads = "".join(
        f'<th scope="col">{head}</th>' for head in ("word", "p", "q", "min(1, p/q)", "residual", "drawn")
    )
    return f'<table class="sdl-tokens"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'


def _ratio(ratio):
    """min(1, p/q) in digits; a dash for a word that the draft never proposes."""
    return "–" if np.isnan(ratio) else f"{ratio:.3f}"


@figures.styled
def figure(state):
    """The bars of a state as a static matplotlib figure."""
    here, words = position(state), state["words"]
    fig, ax = figures.new_figure(9.4, 3.6)
    x = np.arange(len(words))
    for side, part in ((-0.21, "deficit"), (0.21, "surplus")):
        for name, bottom in (("agreed", 0), (part, here["agreed"])):
            look = STATES[PARTS[name][0]]
            first = name != "agreed" or side < 0
            ax.bar(
                x + side,
                here[name],
                0.38,
                bottom=bottom,
                color=look.colour,
                edgecolor="white",
                hatch="////" if name == "surplus" else None,
                label=f"{look.sign} {PARTS[name][1]}" if first else None,
            )
    ax.set_xticks(
        np.concatenate([x - 0.21, x + 0.21]), [f"p\n{word}" for word in words] + ["q\n"] * len(words)
    )
    ax.set_ylabel("probability")
    ax.legend(loc="upper right")
    spoken = "; ".join(_spoken(here, word, i) for i, word in enumerate(words))
    return figures.describe(fig, f"Bars of p and q for each word. {spoken}.")


# ---- the lab --------------------------------------------------------------------------------------------


class BarsLab(kit.Lab):
    """Shape the draft with sliders and see what rejection sampling keeps, throws away and fills in.

    ``preset`` names one of ``PRESETS``; or give ``p``, ``q`` and ``words`` of your own (up to six words).
    The button draws 1,000 tokens by the real rule, again and again, seeded. ValueError for bad laws.

    >>> lab = BarsLab("cats: .6 wanted, .8 drafted")
    >>> [q.text for q in lab.reading().quantities[:2]]
    ['0.800', '0.200']
    >>> lab.close()
    """

    title = "one position: p, q and the residual"

    def __init__(self, preset="five words", p=None, q=None, words=WORDS, seed=0):
        super().__init__()
        self.words, self.seed = tuple(words), seed
        self._counts = self._kept = self._rng = None
        own = p is not None or q is not None
        if not own and preset not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
        if not own:
            p, q = PRESETS[preset]
        self.p, q = self._law("p", p), self._law("q", q)
        choices = [*PRESETS, OWN] if len(self.words) >= len(WORDS) else [OWN]
        self.preset = kit.Choice(
            "example", choices, OWN if own else preset, "Laws to start from.", width="330px"
        )
        self.temperature = kit.Number(
            "draft temperature",
            1.0,
            0.0,
            3.0,
            0.05,
            "Below 1 sharpens the draft, above 1 flattens it, 0 is greedy.",
            width="330px",
        )
        self.weights = [
            kit.Number(
                word,
                round(100 * share, 4),
                0.0,
                100.0,
                1.0,
                f"Weight of “{word}” in the draft, before normalising.",
                width="200px",
            )
            for word, share in zip(self.words, q.tolist())
        ]
        self.controls = {
            "preset": self.preset,
            "temperature": self.temperature,
            **{f"weight {word}": control for word, control in zip(self.words, self.weights)},
        }
        self.views["numbers"] = kit.View.words("bars", reading, "76px")
        chart, table = kit.html_box(height="236px"), kit.html_box(height="150px")
        self.views["bars"] = kit.View(bars_html, lambda shown: setattr(chart, "value", shown), chart)
        self.views["table"] = kit.View(table_html, lambda shown: setattr(table, "value", shown), table)
        self.forget()
        draw = kit.button(
            f"Draw {DRAWS:,} tokens",
            "Draw tokens by the rule and compare their shares with p",
            self.draw,
            icon="random",
        )
        again = kit.button("Forget draws", "Start the counting anew", self.forget_and_show)
        self.start(
            [
                kit.row([self.preset.widget, self.temperature.widget, draw, again]),
                kit.html_box('<div class="sdl-caption"><b>The draft’s weights</b></div>'),
                kit.row([control.widget for control in self.weights], gap="2px 18px"),
                self.views["numbers"].widget,
                kit.beside([self.views["bars"].widget, self.views["table"].widget], basis="340px"),
            ]
        )

    def _law(self, name, law):
        if law is None:
            raise ValueError(f"{name} must be given when the other law is")
        if not 1 <= len(law) <= len(self.words):
            raise ValueError(
                f"{name} must have at most {len(self.words)} entries, one a word, got {len(law)}"
            )
        padded = np.zeros(len(self.words))
        padded[: len(law)] = law
        return _checks.distribution(name, padded)

    @property
    def state(self):
        return {
            "p": tuple(self.p.tolist()),
            "weights": tuple(control.value for control in self.weights),
            "temperature": self.temperature.value,
            "words": self.words,
            "counts": self._counts,
            "kept": self._kept,
        }

    def react(self, names):
        if "preset" in names and self.preset.value != OWN:
            p, q = PRESETS[self.preset.value]
            self.p = self._law("p", p)
            with self.quietly():
                self.temperature.value = 1.0
                for control, share in zip(self.weights, self._law("q", q).tolist()):
                    control.value = round(100 * share, 4)
        elif any(name.startswith("weight") for name in names):
            with self.quietly():
                self.preset.value = OWN
        self.forget()
        self.update()

    def draw(self, size=DRAWS):
        """Draw ``size`` more tokens at the present p and q and show their shares."""
        state = self.state
        try:
            tokens, accepted = rejection.draw(np.asarray(state["p"]), draft_law(state), self._rng, size)
        except ValueError:
            return  # the views say already what is wrong with the laws
        self._counts = tuple(
            (np.asarray(self._counts) + np.bincount(tokens, minlength=len(self.words))).tolist()
        )
        self._kept += int(accepted.sum())
        self.update()

    def forget(self):
        """Drop the drawn tokens, and start the seeded draws from the beginning."""
        self._counts, self._kept = (0,) * len(self.words), 0
        self._rng = np.random.default_rng(self.seed)

    def forget_and_show(self):
        self.forget()
        self.update()

    def reading(self):
        return reading(self.state)

    def figure(self):
        return figure(self.state)
