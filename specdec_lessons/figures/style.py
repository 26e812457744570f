"""What all figures share: the colours and signs of the course, the look, and how a figure is shown.

A figure function is decorated with ``styled``, makes its canvas with ``new_figure``, attaches its
alternative text with ``describe`` and returns the matplotlib ``Figure``. A notebook passes that to
``show``, with a caption that says what to see. No pyplot, so nothing stays open.
"""

import base64
import functools
import html
import io
import math
from dataclasses import dataclass

import matplotlib.style
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

PIXELS_PER_INCH = 100  # a figure 7.2 inches wide takes 720 px of the page
RESOLUTION = 160  # dots per inch in the file: sharp on a screen of double density

INK = "#1F2328"
MUTED = "#5F6670"
GRID = "#DADDE1"
GREY = "#767676"
TARGET = "#1F3A5F"  # p, the target's distribution
DRAFT = "#CC79A7"  # q, the draft's distribution
MEMORY = "#2F7EBB"  # time spent reading from memory
COMPUTE = "#8A3C86"  # time spent on arithmetic

LOOK = {
    "font.family": ["DejaVu Sans"],
    "font.size": 10.5,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": 10.5,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.linewidth": 2.2,
    "hatch.linewidth": 0.8,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
}


@dataclass(frozen=True)
class State:
    """What can become of a token: colour, sign, label, and whether its mark is filled or hatched."""

    colour: str
    sign: str
    label: str
    filled: bool = True
    hatch: str | None = None

    @property
    def ink(self):
        """Black or white, whichever reads better on this state's fill (white paper when not filled).

        >>> STATES["correction"].ink, STATES["bonus"].ink
        ('#FFFFFF', '#000000')
        """
        if not self.filled:
            return "#000000"
        light = _luminance(self.colour)
        return "#000000" if (light + 0.05) / 0.05 > 1.05 / (light + 0.05) else "#FFFFFF"


STATES = {
    "drafted": State(GREY, "○", "drafted", filled=False),
    "accepted": State("#009E73", "✓", "accepted"),
    "rejected": State("#D55E00", "✗", "rejected"),
    "discarded": State(GREY, "–", "discarded", filled=False, hatch="////"),
    "correction": State("#0072B2", "↺", "correction"),
    "bonus": State("#E69F00", "★", "bonus"),
}


def _luminance(colour):
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def styled(figure_function):
    """Make a figure function draw in the look of the course, whatever matplotlib settings the reader has."""

    @functools.wraps(figure_function)
    def draw(*args, **kwargs):
        with matplotlib.style.context(LOOK, after_reset=True):
            return figure_function(*args, **kwargs)

    return draw


def new_figure(width=7.2, height=4.0, rows=1, columns=1, **subplots):
    """An empty figure of ``width`` by ``height`` inches with its axes (an array where there are several).

    The layout is constrained, so labels find their own room. ``subplots`` goes to ``Figure.subplots``
    (for example ``sharey=True`` or ``width_ratios=(2, 1)``). Inside a function under ``styled`` it has the
    look of the course.

    >>> fig, ax = new_figure(5, 3)
    >>> fig.get_size_inches().tolist()
    [5.0, 3.0]
    """
    for name, value in (("width", width), ("height", height)):
        if not (isinstance(value, (int, float)) and math.isfinite(value) and 0 < value <= 40):
            raise ValueError(f"{name} must be a number of inches in (0, 40], got {value!r}")
    fig = Figure(figsize=(width, height), layout="constrained")
    return fig, fig.subplots(rows, columns, **subplots)


def describe(fig, alt):
    """Attach ``alt``, what a reader who cannot see the picture must know; returns the figure."""
    fig.alt = _sentence("alt", alt)
    return fig


def png(fig):
    """The figure as PNG bytes of at most 256 colours; the same figure gives the same bytes, without a date.

    The first call settles the layout, which a second pass would shift by fractions of a pixel.
    """
    if not isinstance(fig, Figure):
        raise ValueError(f"fig must be a matplotlib Figure, got {type(fig).__name__}")
    with matplotlib.style.context(LOOK, after_reset=True):
        canvas = FigureCanvasAgg(fig)
        fig.set_dpi(RESOLUTION)
        canvas.draw()
        fig.set_layout_engine("none")
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    with io.BytesIO() as file:
        image.quantize(256, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        return file.getvalue()


class Shown:
    """A figure with caption and alternative text, ready for a notebook's output (see ``show``)."""

    def __init__(self, image, caption, alt, width):
        self.image, self.caption, self.alt, self.width = image, caption, alt, width

    def __repr__(self):
        return f"Figure. {self.caption} [{self.alt}]"

    @property
    def _base64(self):
        return base64.b64encode(self.image).decode("ascii")

    def _repr_html_(self):
        return (
            f'<figure style="margin:0.5em 0;max-width:{self.width}px">'
            f'<img alt="{html.escape(self.alt, quote=True)}" src="data:image/png;base64,{self._base64}" '
            'style="display:block;width:100%;height:auto;background:#ffffff;border-radius:4px">'
            f'<figcaption style="margin-top:0.4em">{html.escape(self.caption)}</figcaption></figure>'
        )

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = {"text/plain": repr(self), "text/html": self._repr_html_(), "image/png": self._base64}
        keep = {kind: value for kind, value in data.items()
                if (not include or kind in include) and kind not in (exclude or ())}
        return keep, {"image/png": {"alt": self.alt, "width": self.width}}


def show(fig, caption, alt=None):
    """What a notebook cell ends with: the figure, a caption that says what to see, and alternative text.

    ``alt`` defaults to the text that the figure function attached with ``describe``. The result displays as
    an HTML figure (never wider than the page, on white in both themes), as a PNG where HTML is not wanted,
    and as plain text otherwise. Raises ``ValueError`` without caption or alternative text.

    >>> fig, ax = new_figure(4, 2)
    >>> show(describe(fig, "An empty plot."), "Nothing to see yet.")
    Figure. Nothing to see yet. [An empty plot.]
    """
    image = png(fig)
    alt = _sentence("alt", getattr(fig, "alt", None) if alt is None else alt)
    return Shown(image, _sentence("caption", caption), alt, round(fig.get_figwidth() * PIXELS_PER_INCH))


def _sentence(name, text):
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"{name} must be a sentence in words, got {text!r}")
    return " ".join(text.split())
