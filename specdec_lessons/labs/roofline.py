"""The lab of lesson 1: where a pass of a model over n positions sits on an accelerator's roofline."""

import numpy as np

from specdec_lessons import cost
from specdec_lessons.labs import kit
from specdec_lessons.labs.kit import Curves, Mark, Plot, Quantity, Reading

MOST_POSITIONS, MOST_SEQUENCES, LONGEST_CONTEXT = 512, 256, 131072
INTENSITIES = np.array([0.1, 10_000.0])
POSITIONS = np.unique(np.round(np.geomspace(1, MOST_POSITIONS, 60)).astype(int))
TERA = 1e12

_THIS = Mark("pass", "now", "●", "this pass", "points", size=150)
_PLAIN = Mark("plain", "best", "◆", "plain step", "points", marker="diamond", size=150)
PLOTS = {
    "roofline": Plot(
        "Roofline",
        "FLOP per byte read",
        "TFLOP/s, at best",
        (0.2, 3000),
        (0.01, 3000),
        (
            Mark("roof", "curve", "━", "roof"),
            Mark("ridge", "guide", "┄", "ridge", style="dashed", width=1.5),
            _PLAIN,
            _THIS,
        ),
        x_ticks=(1, 10, 100, 1000),
        y_ticks=(0.01, 0.1, 1, 10, 100, 1000),
        log="xy",
    ),
    "verify_cost": Plot(
        "Cost of a pass, v(n)",
        "positions n in the pass",
        "plain steps",
        (0.93, 550),
        (0, 3),
        (
            Mark("even", "guide", "┄", "one plain step", style="dashed", width=1.5),
            Mark("curve", "curve", "━", ""),
            _THIS,
        ),
        x_ticks=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
        log="x",
    ),
}
TOPS = (2, 3, 5, 8, 15, 30, 60, 120, 250, 500, 1000)


# ---- views: pure functions of the state -----------------------------------------------------------------


def _chosen(state):
    return cost.MODELS[state["model"]], cost.HARDWARE[state["hardware"]]


def _pass(state, positions=None):
    n = state["positions"] if positions is None else positions
    return cost.verify_pass(*_chosen(state), n, state["batch"], state["context"])


def roofline(state):
    """The roof of the accelerator, the pass, and the plain step it started from."""
    hardware = _chosen(state)[1]
    ridge = cost.ridge(hardware)
    corners = np.array([INTENSITIES[0], ridge, INTENSITIES[1]])
    this, plain = _pass(state).intensity, _pass(state, 1).intensity

    def height(intensity):
        return cost.attainable_flops(intensity, hardware) / TERA

    return Curves(
        {
            "roof": (corners, height(corners)),
            "ridge": ((ridge, ridge), (1e-3, hardware.flops / TERA)),
            "plain": (plain, height(plain)),
            "pass": (this, height(this)),
        }
    )


def verify_cost(state):
    """v(n) for n from 1 to 512, and the pass on it."""
    model, hardware = _chosen(state)
    v = cost.verify_cost(model, hardware, POSITIONS, state["batch"], state["context"])
    here = cost.verify_cost(model, hardware, state["positions"], state["batch"], state["context"])
    return Curves(
        {"curve": (POSITIONS, v), "even": ((1, MOST_POSITIONS), (1, 1)), "pass": (state["positions"], here)},
        top=kit.nice_top(v.max(), TOPS),
    )


def reading(state):
    """The numbers of one state and its summary sentence.

    >>> state = {"hardware": "A100 80GB SXM", "model": "7B", "batch": 1, "context": 0, "positions": 5}
    >>> print(reading(state).sentence.replace(": ", ":\\n"))
    On the A100 80GB SXM, a pass of 7B over 5 positions takes 6.87 ms, 1.00 × a plain step:
    bound by memory at 5.0 FLOP per byte.
    """
    model, hardware = _chosen(state)
    n, batch, context = state["positions"], state["batch"], state["context"]
    this = _pass(state)
    v = cost.verify_cost(model, hardware, n, batch, context)
    rate = cost.tokens_per_second(model, hardware, batch, context)
    free = cost.free_positions(model, hardware, batch, context)
    quantities = (
        Quantity("milliseconds_per_pass", "this pass", _short(this.seconds * 1e3), "ms"),
        Quantity("verify_cost", "v(n)", f"{v:.2f}", "plain steps"),
        Quantity("intensity", "FLOP per byte", f"{this.intensity:,.1f}", f"ridge {cost.ridge(hardware):.0f}"),
        Quantity("bound", "bound by", this.bound),
        Quantity(
            "tokens_per_second",
            "tokens/s, plain",
            _short(rate),
            f"{_short(rate / batch)} each" if batch > 1 else "",
        ),
        Quantity("free_positions", "positions for the price of one", f"{free:,}"),
    )
    room = (
        ""
        if cost.fits(model, hardware, batch, context)
        else (f" Weights and cache do not fit into its {hardware.memory / 1e9:.0f} GB.")
    )
    return Reading(
        f"On the {state['hardware']}, a pass of {state['model']} over {n} "
        f"{'position' if n == 1 else 'positions'}{f', {batch} sequences,' if batch > 1 else ''} "
        f"takes {_short(this.seconds * 1e3)} ms, {v:.2f} × a plain step: bound by {this.bound} "
        f"at {this.intensity:,.1f} FLOP per byte.{room}",
        quantities,
    )


def _short(number):
    """Three digits or so, never an exponent: 0.045, 6.87, 14.5, 146, 12,345."""
    return next(
        (f"{number:.{places}f}" for top, places in ((1, 3), (10, 2), (100, 1)) if number < top),
        f"{number:,.0f}",
    )


VIEWS = {"roofline": roofline, "verify_cost": verify_cost}


def figure(state):
    """Both plots of a state as a static matplotlib figure."""
    return kit.static_plots(
        PLOTS, VIEWS, state,
        "Left, a roofline with this pass and the plain step on it; right, the cost v(n) of a pass. "
        + reading(state).sentence,
    )


# ---- the lab --------------------------------------------------------------------------------------------


class RooflineLab(kit.Lab):
    """Choose an accelerator, a model, a batch, a context and the positions of a pass; see it on the roof.

    ValueError for a name that is not in ``cost.HARDWARE`` or ``cost.MODELS``.

    >>> lab = RooflineLab(positions=1)
    >>> lab.state["hardware"], lab.state["positions"]
    ('A100 80GB SXM', 1)
    >>> lab.close()
    """

    title = "a pass on the roofline"

    def __init__(self, hardware="A100 80GB SXM", model="7B", batch=1, context=0, positions=5):
        super().__init__()
        for name, value, table in (("hardware", hardware, cost.HARDWARE), ("model", model, cost.MODELS)):
            if value not in table:
                raise ValueError(f"{name} must be one of {', '.join(table)}, got {value!r}")
        self.hardware = kit.Choice(
            "accelerator", list(cost.HARDWARE), hardware, "Whose memory and arithmetic."
        )
        self.model = kit.Choice("model", list(cost.MODELS), model, "Whose weights are read in every pass.")
        self.positions = kit.Number(
            "positions n", positions, 1, MOST_POSITIONS, 1, "New positions in one pass: k + 1 with k drafts."
        )
        self.batch = kit.Number("batch", batch, 1, MOST_SEQUENCES, 1, "Sequences that are decoded together.")
        self.context = kit.Number(
            "context", context, 0, LONGEST_CONTEXT, 1024, "Tokens in each sequence's KV cache."
        )
        self.controls = {
            name: getattr(self, name) for name in ("hardware", "model", "positions", "batch", "context")
        }
        self.views["numbers"] = kit.View.words("roofline", reading, "86px")
        plots = self.add_plots(PLOTS, VIEWS, height="260px")
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
