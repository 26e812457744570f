"""The lab of lesson 8: what batch, context and accelerator do to the pass, the best k and the speedup."""

import numpy as np

from specdec_lessons import cost, formulas, load
from specdec_lessons.labs import kit
from specdec_lessons.labs.kit import Curves, Mark, Plot, Quantity, Reading

MOST_SEQUENCES, LONGEST_CONTEXT = 512, 131072
LENGTHS = np.arange(load.K_MAX + 1)
BATCHES = np.unique(np.round(np.geomspace(1, MOST_SEQUENCES, 70)).astype(int))
TOPS = (1.5, 2, 3, 5, 8, 12, 18)

_NOW = Mark("now", "now", "●", "now", "points", size=150)
_EVEN = Mark("even", "guide", "┄", "plain", style="dashed", width=1.5)
PLOTS = {
    "by_length": Plot(
        "Speedup against k",
        "draft length k",
        "times plain decoding",
        (-0.3, load.K_MAX + 0.3),
        (0, 3),
        (
            _EVEN,
            Mark("curve", "curve", "━", "", dots=True),
            Mark("best", "best", "◆", "best k", "points", marker="diamond", size=190),
            _NOW,
        ),
        x_ticks=(0, 2, 4, 6, 8, 10, 12, 14, 16),
    ),
    "by_batch": Plot(
        "Against batch",
        "sequences decoded together",
        "times plain decoding",
        (0.93, 560),
        (0, 3),
        (
            _EVEN,
            Mark("tuned", "best", "━", "best k", style="dashed"),
            Mark("fixed", "curve", "━", "k as set"),
            _NOW,
        ),
        x_ticks=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
        log="x",
    ),
}


# ---- views: pure functions of the state -----------------------------------------------------------------


def _chosen(state):
    return cost.MODELS[state["model"]], cost.HARDWARE[state["hardware"]]


def _speedups(state, batches, lengths):
    """Speedups, shape (len(batches), len(lengths)), and the pass costs behind them."""
    v = cost.verify_cost(*_chosen(state), lengths + 1, np.asarray(batches)[:, None], state["context"])
    return formulas.speedup(state["a"], lengths, state["c"], v), v


def by_length(state):
    """S(k) at this batch, its best k, and the k that is set."""
    speedups = _speedups(state, [state["batch"]], LENGTHS)[0][0]
    best = load.at_load(state["a"], *_chosen(state), state["batch"], state["context"], c=state["c"]).best_k
    return Curves(
        {
            "curve": (LENGTHS, speedups),
            "even": ((0, load.K_MAX), (1, 1)),
            "best": (best, speedups[best]),
            "now": (state["k"], speedups[state["k"]]),
        },
        top=kit.nice_top(speedups.max(), TOPS),
    )


def by_batch(state):
    """The speedup from batch 1 to 512: with the k that is set, and with the best k at each batch."""
    speedups = _speedups(state, BATCHES, LENGTHS)[0]
    tuned, fixed = speedups.max(axis=1), speedups[:, state["k"]]
    here = _speedups(state, [state["batch"]], LENGTHS)[0][0, state["k"]]
    return Curves(
        {
            "tuned": (BATCHES, tuned),
            "fixed": (BATCHES, fixed),
            "even": ((1, MOST_SEQUENCES), (1, 1)),
            "now": (state["batch"], here),
        },
        top=kit.nice_top(max(tuned.max(), fixed.max()), TOPS),
    )


def reading(state):
    """The numbers of one state and its summary sentence.

    >>> state = {"hardware": "A100 80GB SXM", "model": "Llama-3.1-8B", "batch": 128, "context": 256,
    ...          "a": 0.7, "c": 0.15, "k": 4}
    >>> print(reading(state).sentence.replace(": ", ":\\n").replace(". ", ".\\n"))
    With a batch of 128 a pass over 5 positions costs 3.33 plain steps:
    0.71× at k = 4, slower than plain decoding.
    The best k is 1, with 1.15×.
    """
    model, hardware = _chosen(state)
    a, c, k, batch, context = (state[name] for name in ("a", "c", "k", "batch", "context"))
    point = load.at_load(a, model, hardware, batch, context, c=c)
    now = formulas.speedup(a, k, c, point.v[k])
    ends = (
        load.last_batch_that_pays(a, model, hardware, context, c=c, k=k, at_most=MOST_SEQUENCES) if k else 0
    )
    quantities = (
        Quantity("verify_cost", f"v({k + 1})", f"{point.v[k]:.2f}", "plain steps"),
        Quantity(
            "free_positions",
            "positions for the price of one",
            f"{cost.free_positions(model, hardware, batch, context):,}",
        ),
        Quantity("speedup", f"net speedup at k = {k}", f"{now:.2f}", "×"),
        Quantity("best_draft_length", "best k", f"{point.best_k}"),
        Quantity("best_speedup", "speedup there", f"{point.speedup:.2f}", "×"),
        Quantity("last_batch", f"k = {k} pays up to batch", _batch(ends)),
    )
    slower = ", slower than plain decoding" if now < 1 - formulas.TIE else ""
    advice = (
        f"The best k is {point.best_k}, with {point.speedup:.2f}×."
        if point.best_k
        else "No draft pays here: switch speculation off."
    )
    room = (
        ""
        if cost.fits(model, hardware, batch, context)
        else f" Weights and cache do not fit into its {hardware.memory / 1e9:.0f} GB."
    )
    return Reading(
        f"With a batch of {batch} a pass over {k + 1} {'position' if k == 0 else 'positions'} costs "
        f"{point.v[k]:.2f} plain steps: {now:.2f}× at k = {k}{slower}. {advice}{room}",
        quantities,
    )


def _batch(ends):
    return "none" if ends == 0 else f"{MOST_SEQUENCES} or more" if ends == MOST_SEQUENCES else f"{ends}"


VIEWS = {"by_length": by_length, "by_batch": by_batch}


def figure(state):
    """Both plots of a state as a static matplotlib figure."""
    return kit.static_plots(
        PLOTS, VIEWS, state,
        f"Left, the net speedup against the draft length at this batch; right, against the batch. "
        f"{reading(state).sentence}",
    )


# ---- the lab --------------------------------------------------------------------------------------------


class LoadLab(kit.Lab):
    """Set a load, an accelerator, a model, a, c and k; see what a pass costs and where the gain ends.

    c stays as set, whatever the load. ValueError for a name that is not in ``cost.HARDWARE`` or
    ``cost.MODELS``.

    >>> lab = LoadLab(batch=192)
    >>> lab.reading().sentence[-43:]
    'No draft pays here: switch speculation off.'
    >>> lab.close()
    """

    title = "speculation under load"

    def __init__(
        self, hardware="A100 80GB SXM", model="Llama-3.1-8B", batch=1, context=256, a=0.7, c=0.15, k=4
    ):
        super().__init__()
        for name, value, table in (("hardware", hardware, cost.HARDWARE), ("model", model, cost.MODELS)):
            if value not in table:
                raise ValueError(f"{name} must be one of {', '.join(table)}, got {value!r}")
        self.hardware = kit.Choice(
            "accelerator", list(cost.HARDWARE), hardware, "Whose memory and arithmetic."
        )
        self.model = kit.Choice("model", list(cost.MODELS), model, "The target.")
        self.batch = kit.Number("batch", batch, 1, MOST_SEQUENCES, 1, "Sequences that are decoded together.")
        self.context = kit.Number(
            "context", context, 0, LONGEST_CONTEXT, 256, "Tokens in each sequence's KV cache."
        )
        self.a = kit.Number(
            "acceptance a", float(a), 0.0, 1.0, 0.01, "How often the target accepts a judged draft."
        )
        self.c = kit.Number("draft cost c", float(c), 0.0, 1.0, 0.01, "One draft step, in target steps.")
        self.k = kit.Number("draft length k", k, 0, load.K_MAX, 1, "Tokens drafted before each pass.")
        self.controls = {
            name: getattr(self, name) for name in ("hardware", "model", "batch", "context", "a", "c", "k")
        }
        self.views["numbers"] = kit.View.words("load", reading, "106px")
        plots = self.add_plots(PLOTS, VIEWS)
        self.start(
            [
                kit.row([control.widget for control in self.controls.values()]),
                self.views["numbers"].widget,
                plots,
            ]
        )

    def reading(self):
        return reading(self.state)

    def figure(self):
        return figure(self.state)
