"""The counter reader of lesson 8: paste what an engine prints, get a, tokens per pass and what to do."""

import html

import numpy as np

from specdec_lessons import counters
from specdec_lessons.labs import kit
from specdec_lessons.labs.kit import Curves, Mark, Plot, Quantity, Reading

LONGEST = 16
OWN, ANY = "your own", "find out"
TOPS = (1.5, 2, 3, 5, 8, 12, 18)
NOTHING_READ = "Nothing read yet: paste a line of your engine's log above, or choose an example."

PLOTS = {
    "speedups": Plot(
        "Net speedup against k",
        "draft length k",
        "times plain decoding",
        (-0.3, LONGEST + 0.3),
        (0, 3),
        (
            Mark("even", "guide", "┄", "plain", style="dashed", width=1.5),
            Mark("curve", "curve", "━", "", dots=True),
            Mark("best", "best", "◆", "best k", "points", marker="diamond", size=190),
            Mark("now", "now", "●", "now", "points", size=150),
        ),
        x_ticks=(0, 2, 4, 6, 8, 10, 12, 14, 16),
    ),
    "positions": Plot(
        "Accepted by position",
        "position in the draft",
        "share",
        (0.7, LONGEST + 0.3),
        (0, 1.05),
        (
            Mark("survival", "curve", "━", "of all passes", dots=True),
            Mark("conditional", "best", "━", "of those judged", style="dashed", dots=True),
        ),
        x_ticks=(1, 2, 4, 6, 8, 10, 12, 14, 16),
        y_ticks=(0, 0.2, 0.4, 0.6, 0.8, 1),
    ),
}


# ---- views: pure functions of the state -----------------------------------------------------------------


def read(state):
    """The counters and the advice of one state; ValueError, in one line, where the text cannot be read."""
    engine = None if state["engine"] == ANY else state["engine"]
    found = counters.read_counters(state["text"], engine, state["k"] or None)
    return found, counters.advise(found, state["c"], state["v"], LONGEST)


def problem(state):
    """What is wrong with the text, in one line; nothing where it can be read."""
    try:
        read(state)
    except ValueError as error:
        return f"Not read: {error}"
    return ""


def reading(state):
    """The numbers of one state and what to do, in a sentence.

    >>> state = {"text": counters.EXAMPLES["llama.cpp, 2023"][0], "engine": ANY, "k": 0, "c": 0.1, "v": 1.0}
    >>> reading(state).sentence[:47]
    'llama.cpp, k = 5: 5.00 tokens per pass, a = 0.9'
    """
    try:
        found, advice = read(state)
    except ValueError:
        blank = (
            "tokens_per_pass",
            "a",
            "per_draft_rate",
            "best_draft_length",
            "speedup",
            "best_speedup",
            "decision",
        )
        return Reading(NOTHING_READ, tuple(Quantity(key, LABELS[key], "–") for key in blank))
    rate = found.per_draft_rate
    texts = {
        "tokens_per_pass": f"{found.tokens_per_pass:.2f}",
        "a": f"{found.a:.3f}",
        "per_draft_rate": "–" if rate is None else f"{rate:.1%}",
        "best_draft_length": f"{advice.best_k}",
        "speedup": f"{advice.speedup_now:.2f}×",
        "best_speedup": f"{advice.best_speedup:.2f}×",
        "decision": decision(found, advice),
    }
    notes = html.escape("; ".join(found.notes))
    return Reading(
        f"{found.engine}, k = {found.k}: {found.tokens_per_pass:.2f} tokens per pass, a = {found.a:.3f}. "
        f"{advice.sentence}",
        tuple(Quantity(key, LABELS[key], text) for key, text in texts.items()),
        f'<div class="sdl-caption"><b>Converted</b> {notes}.</div>',
    )


LABELS = {
    "tokens_per_pass": "tokens per pass",
    "a": "a",
    "per_draft_rate": "accepted / drafted",
    "best_draft_length": "best k",
    "speedup": "net speedup now",
    "best_speedup": "at the best k",
    "decision": "decision",
}


def decision(found, advice):
    """Off, on with another k, or on as it is: a word or two."""
    if advice.switch_off:
        return "switch off"
    if advice.best_speedup < 1.02 * advice.speedup_now:
        return "leave it on"
    return f"set k = {advice.best_k}"


def speedups(state):
    """S(k) from these counters; plain decoding alone where nothing can be read."""
    even = ((0, LONGEST), (1, 1))
    try:
        found, advice = read(state)
    except ValueError:
        return Curves({"curve": (0, 1), "even": even, "best": (0, 1), "now": (0, 1)}, top=TOPS[0])
    lengths = np.arange(LONGEST + 1)
    curve = counters.speedup_by_length(found, state["c"], state["v"], LONGEST)
    return Curves(
        {
            "curve": (lengths, curve[: LONGEST + 1]),
            "even": even,
            "best": (advice.best_k, advice.best_speedup),
            "now": (min(found.k, LONGEST), advice.speedup_now),
        },
        top=kit.nice_top(max(curve.max(), advice.speedup_now), TOPS),
    )


def positions(state):
    """Survival and conditional rate at each position; what the i.i.d. model says where the log has none."""
    try:
        found, _ = read(state)
    except ValueError:
        return Curves({"survival": (0, 0), "conditional": (0, 0)})
    where = np.arange(1, min(found.k, LONGEST) + 1)
    kept = np.array(found.survival or found.a**where)[: where.size]
    rates = np.array(found.conditional or found.a + 0.0 * where)[: where.size]
    there = np.isfinite(rates)
    return Curves(
        {"survival": (where[: kept.size], kept), "conditional": (where[: rates.size][there], rates[there])}
    )


VIEWS = {"speedups": speedups, "positions": positions}


def figure(state):
    """Both plots of a state as a static matplotlib figure."""
    return kit.static_plots(
        PLOTS, VIEWS, state,
        "Left, the net speedup against the draft length; right, what share of the drafts "
        f"is accepted at each position. {reading(state).sentence}",
    )


# ---- the lab --------------------------------------------------------------------------------------------


class CounterReaderLab(kit.Lab):
    """Paste a log, say which engine wrote it (or let it be found out), set c and v; read what to do.

    ``k`` = 0 takes the draft length from the log. An example never overwrites what was typed: "your own"
    brings it back. ValueError for an example that is not one of ``counters.EXAMPLES``.

    >>> lab = CounterReaderLab("llama.cpp")
    >>> lab.reading().quantities[0].text
    '2.92'
    >>> lab.close()
    """

    title = "the counter reader"

    def __init__(self, example="vLLM, 15 drafts", c=0.1, v=1.0):
        super().__init__()
        if example not in counters.EXAMPLES:
            raise ValueError(
                f"example must be one of {', '.join(map(repr, counters.EXAMPLES))}, got {example!r}"
            )
        self._own = ""
        self.text = kit.Text(
            "log",
            counters.EXAMPLES[example][0],
            "Paste one line or several of what vLLM, SGLang or llama.cpp prints.",
        )
        self.example = kit.Choice(
            "example", [*counters.EXAMPLES, OWN], example, "Logs that people have posted.", width="280px"
        )
        self.engine = kit.Choice(
            "engine", [ANY, *counters.ENGINES], ANY, "Which engine wrote the log.", width="190px"
        )
        self.k = kit.Number(
            "k set (0: see log)",
            0,
            0,
            LONGEST,
            1,
            "Draft length, for logs that do not say it.",
            width="250px",
        )
        self.c = kit.Number(
            "draft cost c", float(c), 0.0, 1.0, 0.01, "One draft step, in target steps.", width="240px"
        )
        self.v = kit.Number(
            "pass cost v", float(v), 1.0, 8.0, 0.05, "One verify pass, in plain steps.", width="240px"
        )
        self.controls = {name: getattr(self, name) for name in ("text", "example", "engine", "k", "c", "v")}
        self.views["numbers"] = kit.View.words("counters", reading, "150px")
        plots = self.add_plots(PLOTS, VIEWS)
        self.start(
            [
                self.text.widget,
                kit.row([control.widget for name, control in self.controls.items() if name != "text"]),
                self.views["numbers"].widget,
                plots,
            ]
        )

    def react(self, names):
        with self.quietly():
            if "text" in names:
                self._own, self.example.value = self.text.value, OWN
            elif "example" in names:
                self.text.value = counters.EXAMPLES.get(self.example.value, (self._own,))[0]
        self.update()

    def update(self):
        self.text.note = problem(self.state)
        super().update()

    def reading(self):
        return reading(self.state)

    def figure(self):
        return figure(self.state)
