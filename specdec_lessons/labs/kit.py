"""The few parts that all labs are built from.

A lab is three things. Its *state* is a dict of the controls' values. Its *views* are pure functions of
the state, which can be tested without a browser. Its *shell* is the widget that binds the two: ``Lab``
here. No JavaScript of our own: ipywidgets make the controls and hold the live curves, which pure functions
write as HTML. Moved in place, the marks of bqplot wait for one more frame of the page: from a key to a changed
curve they took 27 ms where this takes 14 (medians of tests/benchmarks/widget_latency.py, two runs in a row).
"""

import base64
import html
import itertools
from contextlib import contextmanager
from dataclasses import dataclass, field

import ipywidgets as widgets
import numpy as np
from IPython import get_ipython
from traitlets import CFloat, CInt

from specdec_lessons.figures.style import describe, new_figure, png, styled
from specdec_lessons.labs.css import COLOURS, STYLE

_numbers = itertools.count(1)
_shown = {}  # cell -> (its latest execution, the labs which that made)


# ---- what a view shows in words and numbers -------------------------------------------------------------


@dataclass(frozen=True)
class Quantity:
    """One number of a lab: ``key`` is its data-quantity, ``label`` what the learner reads beside ``text``."""

    key: str
    label: str
    text: str
    unit: str = ""


@dataclass(frozen=True)
class Reading:
    """What a view says: its numbers, and one sentence that changes with the state."""

    sentence: str
    quantities: tuple = ()
    extra: str = field(default="", compare=False)  # further HTML, between the numbers and the sentence


def reading_html(reading, ident=""):
    """The numbers as a definition list, each with its data-quantity, then the sentence (aria-live).

    >>> page = reading_html(Reading("Fine.", (Quantity("E", "tokens per pass", "3.36"),)))
    >>> '<span data-quantity="E">3.36</span>' in page, 'aria-live="polite"' in page
    (True, True)
    """
    numbers = "".join(
        f'<div><dt>{html.escape(q.label)}</dt><dd><span data-quantity="{q.key}">{html.escape(q.text)}</span>'
        + (f"<small>{html.escape(q.unit)}</small>" if q.unit else "")
        + "</dd></div>"
        for q in reading.quantities
    )
    numbers = f'<dl class="sdl-numbers">{numbers}</dl>' if numbers else ""
    return f"{numbers}{reading.extra}{sentence_html(reading.sentence, ident)}"


def sentence_html(sentence, ident=""):
    """The summary sentence, in an element that assistive technology announces when it changes."""
    mark = f' id="{ident}"' if ident else ""
    return f'<p class="sdl-summary"{mark} aria-live="polite" aria-atomic="true">{html.escape(sentence)}</p>'


def live_region(ident):
    """A live region that stays in the page and owns the sentence ``ident``.

    An HTML widget replaces its whole content, and screen readers announce what changes *inside* a live
    region, not one that has just appeared. This region never changes; the new sentence is new in it.
    """
    return widgets.HTML(
        f'<div class="sdl-sr" aria-live="polite" aria-atomic="true" aria-owns="{ident}"></div>',
        layout=widgets.Layout(height="0", margin="0"),
    )


class LiveRegion:
    """A ``live_region`` and the id of its sentence; ``disown`` does without, for a lab that is shown twice.

    Two views of one widget hold the same HTML, and an id may stand in a page only once.
    """

    def __init__(self, name):
        self.ident = new_ident(name)
        self.widget = live_region(self.ident)

    def disown(self):
        self.ident, self.widget.value = "", ""


def new_ident(name):
    """An id for one element of the page, never used before in this kernel."""
    return f"sdl-{name}-{next(_numbers)}"


def html_box(value="", height=None):
    """An HTML widget as wide as its place; with ``height`` it keeps that height whatever it holds."""
    return widgets.HTML(value, layout=widgets.Layout(width="100%", min_height=height, margin="0"))


# ---- controls -------------------------------------------------------------------------------------------


class Control:
    """A value that the learner sets: ``.value``, ``.widget``, and ``on_change(callback)``."""

    def __init__(self, source, widget):
        self.source, self.widget = source, widget
        self.note = ""  # what happened to a typed value that could not be taken as it was
        self._callback = None

    @property
    def value(self):
        return self.source.value

    @value.setter
    def value(self, value):
        self.source.value = value

    def on_change(self, callback):
        self._callback = callback
        self.source.observe(self._changed, names="value")

    def _changed(self, change):
        self.note = ""
        self._callback()


class _FloatSlider(widgets.FloatSlider):
    """A slider whose steps the kernel does not send back to the page that they came from.

    That message would precede each answer. All it serves is a notebook open in two windows, in two pages: in
    the other one, the typed number and the views follow a step at once, and only the slider stays behind.
    """

    value = CFloat(0.0).tag(sync=True, echo_update=False)


class _IntSlider(widgets.IntSlider):
    """The same for whole numbers."""

    value = CInt(0).tag(sync=True, echo_update=False)


class Number(Control):
    """A slider and, beside it, the same number to be typed.

    A typed number outside the range is set to the nearest end, and ``note`` says so in words; nothing
    else ever happens to what the learner typed. ``follow=False`` waits for the slider's release.
    """

    def __init__(self, label, value, low, high, step=1, hint="", follow=True, width="270px"):
        whole = all(isinstance(x, int) for x in (value, low, high, step))
        self.label, self.low, self.high = label, low, high
        self._places = 0 if whole else max(0, -int(np.floor(np.log10(step) + 1e-9)))
        self._whole = whole
        hint = f"{hint} From {low:g} to {high:g}.".strip()
        slider = (_IntSlider if whole else _FloatSlider)(
            value=value,
            min=low,
            max=high,
            step=step,
            readout=False,
            continuous_update=follow,
            tooltip=hint,
            description=label,
            style={"description_width": "initial"},
            layout=widgets.Layout(width="auto", flex="1 1 auto"),
        )
        self.typed = (widgets.IntText if whole else widgets.FloatText)(
            value=value,
            step=step,
            tooltip=f"{label}: type a number. {hint}",
            description=f"{label}, typed",
            layout=widgets.Layout(width="68px", flex="0 0 auto"),
        )
        self.typed.add_class("sdl-typed")  # its description is for screen readers: the slider shows one
        super().__init__(
            slider,
            widgets.HBox([slider, self.typed], layout=widgets.Layout(width=width, align_items="center")),
        )
        self.typed.observe(self._take_typed, names="value")

    @property
    def value(self):
        """The number as set, without the rounding noise of a slider's steps."""
        return self.source.value if self._whole else round(self.source.value, self._places + 6)

    @value.setter
    def value(self, value):
        if not self.low <= value <= self.high:
            raise ValueError(f"{self.label} must lie in [{self.low:g}, {self.high:g}], got {value!r}")
        self.source.value = value

    def _changed(self, change):
        super()._changed(change)
        self.typed.value = self.value

    def _take_typed(self, change):
        wanted = change["new"]
        if wanted == self.value:
            return
        taken = min(max(wanted, self.low), self.high)
        self.source.value = taken
        if taken != wanted:
            self.typed.value = taken
            self.note = (
                f"{self.label} runs from {self.low:g} to {self.high:g}: {wanted:g} was set to {taken:g}."
            )
            self._callback(only_note=True)


class Choice(Control):
    """One of a few named options, as a dropdown or as buttons side by side."""

    def __init__(self, label, options, value, hint="", buttons=False, width="300px"):
        kind = widgets.ToggleButtons if buttons else widgets.Dropdown
        layout = widgets.Layout(width=width)
        source = kind(
            options=options,
            value=value,
            description=label,
            tooltip=hint,
            layout=layout,
            style={"description_width": "initial", **({"button_width": "auto"} if buttons else {})},
        )
        if buttons:
            source.tooltips = [hint] * len(options)
        super().__init__(source, source)


class Text(Control):
    """Several lines of text, typed or pasted. Whatever happens to the views, the text stays as it is."""

    def __init__(self, label, value, hint="", rows=5):
        source = widgets.Textarea(
            value=value,
            description=label,
            tooltip=hint,
            placeholder=hint,
            rows=rows,
            layout=widgets.Layout(width="100%"),
            style={"description_width": "initial"},
        )
        super().__init__(source, source)


def button(label, hint, on_click, icon="", width="auto"):
    """A push button; ``hint`` is its tooltip."""
    made = widgets.Button(description=label, tooltip=hint, icon=icon, layout=widgets.Layout(width=width))
    made.on_click(lambda _: on_click())
    return made


def play_button(play, hint):
    """A button "Play" (or "Pause") for an ipywidgets ``Play``, and the link of the two, to be kept.

    The buttons of ``Play`` itself hold an icon and no name, so they are hidden; the widget must stand in
    the page all the same, because its view runs the clock.
    """
    made = widgets.ToggleButton(
        description="Play", icon="play", tooltip=hint, layout=widgets.Layout(width="88px")
    )
    play.add_class("sdl-hidden")

    def name(change):
        made.description, made.icon = ("Pause", "pause") if change["new"] else ("Play", "play")

    play.observe(name, names="playing")
    return made, widgets.jslink((play, "playing"), (made, "value"))


# ---- live curves ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mark:
    """One thing drawn in a plot: ``kind`` is 'line' or 'points'; ``sign`` and ``words`` stand in the key."""

    name: str
    colour: str
    sign: str
    words: str
    kind: str = "line"
    style: str = "solid"
    marker: str = "circle"
    width: float = 2.5
    size: int = 110
    dots: bool = False  # a dot at each point of a line


@dataclass(frozen=True)
class Plot:
    """What a plot looks like whatever the state: title, axes, marks. Live and static are made of it."""

    title: str
    x_label: str
    y_label: str
    x_range: tuple
    y_range: tuple
    marks: tuple
    x_ticks: tuple | None = None
    y_ticks: tuple | None = None
    log: str = ""  # '', 'x' or 'xy': the axes with a logarithmic scale


@dataclass(frozen=True)
class Curves:
    """What a plot shows in one state: (x, y) of each mark by name, and the top of the y axis."""

    xy: dict
    top: float | None = None


class Panel:
    """The live form of a ``Plot``: fixed height, one HTML widget, one message for each state that differs."""

    def __init__(self, plot, height="225px"):
        self.plot, self.box = plot, html_box(height=height)
        self.box.layout.height = height
        self.widget = widgets.VBox(
            [html_box(caption_html(plot)), self.box], layout=widgets.Layout(min_width="0")
        )

    def show(self, curves):
        self.box.value = plot_html(self.plot, curves)


def plot_html(plot, curves):
    """One state of a plot as HTML: lines in an SVG that stretches with the page, the rest in percent of it.

    >>> plot = Plot("T", "x", "y", (0, 4), (0, 2), (Mark("now", "now", "●", "now", "points"),))
    >>> page = plot_html(plot, Curves({"now": (1, 1)}))
    >>> "left:25.00%;bottom:50.00%" in page, page.count("sdl-xtick")
    (True, 2)
    """
    top = plot.y_range[1] if curves.top is None else curves.top
    across = _scale(*plot.x_range, "x" in plot.log)
    up = _scale(plot.y_range[0], top, "y" in plot.log)
    x_ticks = plot.x_range if plot.x_ticks is None else plot.x_ticks
    y_ticks = ticks_to(top) if plot.y_ticks is None else plot.y_ticks
    ticks = "".join(
        f'<span class="sdl-{name}tick" style="{side}:{share:.2f}%">{tick:g}</span>'
        for name, side, scale, values in (("x", "left", across, x_ticks), ("y", "bottom", up, y_ticks))
        for tick, share in zip(values, (100 * scale(values)).tolist())
    )
    grid = "".join(f"M0 {1000 - 1000 * share:.1f}h1000" for share in up(y_ticks).tolist())
    lines, points = f'<path class="sdl-gridlines" d="{grid}"/>', ""
    for mark in plot.marks:
        x, y = across(curves.xy[mark.name][0]), up(curves.xy[mark.name][1])
        shown = np.isfinite(x) & np.isfinite(y)
        x, y = x[shown], y[shown]
        if mark.kind == "points":
            points += _points_html(mark, 100 * x, 100 * y)
        else:
            lines += _line_html(mark, 1000 * x, 1000 - 1000 * np.clip(y, -20, 20))
    return (
        f'<div class="sdl-plot" role="img" '
        f'aria-label="{html.escape(f"{plot.title}: {plot.y_label} against {plot.x_label}")}">'
        f'<div class="sdl-area"><svg viewBox="0 0 1000 1000" preserveAspectRatio="none">{lines}</svg>'
        f'{points}{ticks}</div><span class="sdl-xlabel">{html.escape(plot.x_label)}</span>'
        f'<span class="sdl-ylabel">{html.escape(plot.y_label)}</span></div>'
    )


def _scale(low, high, logarithmic):
    """A function from values to shares of the axis: 0 at ``low``, 1 at ``high``."""
    if logarithmic:
        return lambda values: np.log(_floats(values) / low) / np.log(high / low)
    return lambda values: (_floats(values) - low) / (high - low)


def _line_html(mark, x, y):
    corners = [f"{left:.1f} {down:.1f}" for left, down in zip(x.tolist(), y.tolist())]
    look = f"sdl-line sdl-{mark.style}"
    drawn = (
        f'<path class="{look}" d="M{"L".join(corners)}" stroke="var(--sdl-{mark.colour})" '
        f'stroke-width="{mark.width}"/>'
    )
    if mark.dots:  # a stroke of no length with round ends is a dot that keeps its shape
        dots = "".join(f"M{corner}h0" for corner in corners)
        drawn += f'<path class="sdl-dots" d="{dots}" stroke="var(--sdl-{mark.colour})"/>'
    return drawn


def _points_html(mark, x, y):
    side = mark.size**0.5 * 1.1
    return "".join(
        f'<i class="sdl-point sdl-{mark.marker}" style="left:{left:.2f}%;bottom:{height:.2f}%;'
        f'width:{side:.1f}px;height:{side:.1f}px;background:var(--sdl-{mark.colour})"></i>'
        for left, height in zip(x.tolist(), y.tolist())
        if -0.01 <= left <= 100.01 and -0.01 <= height <= 100.01
    )


def draw_static(ax, plot, curves):
    """The same plot on a matplotlib axes."""
    markers = {"circle": "o", "diamond": "D", "square": "s", "triangle-up": "^"}
    styles = {"solid": "-", "dashed": "--", "dotted": ":"}
    for mark in plot.marks:
        x, y = map(_floats, curves.xy[mark.name])
        look = {
            "color": COLOURS[mark.colour][0],
            "label": mark.words or "_",
            "zorder": 3 if mark.kind == "points" else 2,
        }
        if mark.kind == "points":
            ax.plot(
                x, y, markers[mark.marker], markersize=mark.size**0.5 * 0.8, markeredgecolor="white", **look
            )
        else:
            ax.plot(
                x, y, styles[mark.style] + "o" * mark.dots, markersize=4, linewidth=mark.width * 0.8, **look
            )
    for name in plot.log:
        getattr(ax, f"set_{name}scale")("log")
    ax.set_xlim(plot.x_range)
    ax.set_ylim(plot.y_range[0], curves.top or plot.y_range[1])
    ax.set_title(plot.title)
    ax.set_xlabel(plot.x_label)
    ax.set_ylabel(plot.y_label)
    if plot.x_ticks is not None:
        ax.set_xticks(plot.x_ticks, [f"{tick:g}" for tick in plot.x_ticks])
        ax.minorticks_off()
    ax.legend(loc="best")


@styled
def static_plots(plots, views, state, alt):
    """The plots (by name) of one state side by side as a matplotlib figure, with its alternative text."""
    fig, axes = new_figure(9.4, 3.6, columns=len(plots))
    for ax, (name, plot) in zip(axes, plots.items()):
        draw_static(ax, plot, views[name](state))
    return describe(fig, alt)


def _floats(values):
    return np.atleast_1d(np.asarray(values, dtype=np.float64))


def caption_html(plot):
    """The title of a plot and, in words, what each mark in it is."""
    entries = "".join(
        f'<span class="sdl-key"><span class="sdl-swatch" style="color:var(--sdl-{mark.colour})" '
        f'aria-hidden="true">{mark.sign}</span> {html.escape(mark.words)}</span>'
        for mark in plot.marks
        if mark.words
    )
    return f'<div class="sdl-caption"><b>{html.escape(plot.title)}</b>{entries}</div>'


def nice_top(value, steps):
    """The first of ``steps`` that leaves room above ``value`` (the last one if none does).

    >>> nice_top(2.4, (3, 5, 9)), nice_top(20, (3, 5, 9))
    (3, 9)
    """
    return next((step for step in steps if value <= 0.95 * step), steps[-1])


def ticks_to(top):
    """Round numbers from 0 up to ``top``, five or so.

    >>> ticks_to(5.5).tolist(), ticks_to(3).tolist()
    ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0])
    """
    step = next(step for step in (0.1, 0.2, 0.5, 1, 2, 4, 5, 10, 20, 50, 100, 200) if top / step < 6.5)
    return np.arange(0, top + 1e-9, step, dtype=float)


def row(children, gap="4px 22px"):
    """Widgets side by side that wrap where the page is narrow."""
    return widgets.HBox(
        list(children),
        layout=widgets.Layout(flex_flow="row wrap", grid_gap=gap, align_items="center", width="100%"),
    )


def beside(children, basis="300px"):
    """Views side by side in equal shares, below each other where a share would be less than ``basis``."""
    for child in children:
        child.layout.flex, child.layout.min_width, child.layout.width = f"1 1 {basis}", "0", "auto"
    return widgets.HBox(
        list(children), layout=widgets.Layout(flex_flow="row wrap", grid_gap="4px 16px", width="100%")
    )


# ---- the shell ------------------------------------------------------------------------------------------


class View:
    """Binds a pure function of the state to a widget; a failure becomes one line under it.

    ``compute(state)`` gives what is to be shown, ``show(data)`` puts it into ``widget``.
    """

    def __init__(self, compute, show, widget):
        self.compute, self.show = compute, show
        self.region = None  # where it has a sentence: the LiveRegion of that
        self.error = html_box(height="20px")
        self.widget = widgets.VBox([widget, self.error], layout=widgets.Layout(width="100%", margin="0"))
        self.note = ""

    def update(self, state):
        try:
            data = self.compute(state)
            self.error.value = note_html(self.note)  # a line that no longer holds goes before the new words come
            self.show(data)
        except Exception as problem:  # whatever it is, a learner gets one line and goes on
            self.error.value = error_html(problem)

    @classmethod
    def words(cls, name, compute, height):
        """A view of a ``Reading``: numbers and a sentence, in a box of fixed height."""
        box, region = html_box(height=height), LiveRegion(name)

        def show(reading):
            box.value = reading_html(reading, region.ident)

        made = cls(compute, show, widgets.VBox([region.widget, box], layout=widgets.Layout(width="100%")))
        made.region = region
        return made


def error_html(problem):
    """One line that says what went wrong, announced at once.

    >>> error_html(ValueError("a must lie in [0, 1], got 1.2"))
    '<p class="sdl-error" role="alert">This view cannot be shown: a must lie in [0, 1], got 1.2</p>'
    """
    what = " ".join(str(problem).split()) or type(problem).__name__
    what = what if isinstance(problem, ValueError) else f"{type(problem).__name__}: {what}"
    return f'<p class="sdl-error" role="alert">This view cannot be shown: {html.escape(what)}</p>'


def note_html(note):
    """One line about a typed value that was out of range; nothing where there is nothing to say."""
    return f'<p class="sdl-error" role="alert">{html.escape(note)}</p>' if note else ""


class Lab:
    """A live lab: put it last in a cell, or pass it to ``display``.

    Subclasses build ``controls`` and ``views`` (dicts by name), call ``start(children)``, and give
    ``reading()`` and ``figure()``: sentence, numbers and picture for those who read without a kernel.
    """

    title = "lab"

    def __init__(self):
        self.controls, self.views = {}, {}
        self.links = []  # widgets that no other widget holds
        self._held, self._quiet, self._waiting, self.widget = False, False, [], None
        self._made_in = self._shown_in = (None, None)  # (cell, execution)
        self._displays = 0

    def start(self, children):
        """Bind controls to views, draw everything once, and take the place of this cell's former labs."""
        style = widgets.HTML(STYLE, layout=widgets.Layout(height="0", margin="0", overflow="hidden"))
        self.widget = widgets.VBox(
            [style, *children], layout=widgets.Layout(width="100%", max_width="1100px", grid_gap="4px")
        )
        self.widget.add_class("sdl")
        for name, control in self.controls.items():
            control.on_change(lambda name=name, only_note=False: self._changed(name, only_note))
        self.update()
        _retire_labs_of_this_cell(self)

    @property
    def state(self):
        """The controls' values, by name."""
        return {name: control.value for name, control in self.controls.items()}

    def set(self, **values):
        """Set several controls; the views are drawn once, at the end."""
        with self.hold():
            for name, value in values.items():
                self.controls[name].value = value

    @contextmanager
    def hold(self):
        """Changes inside the block reach the views together, when it ends."""
        if self._held:
            yield
            return
        self._held = True
        try:
            yield
        finally:
            self._held = False
            waiting, self._waiting = self._waiting, []
            if waiting:
                self.react(waiting)

    @contextmanager
    def quietly(self):
        """Controls set inside the block set nothing off: the caller draws."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before

    def _changed(self, name, only_note=False):
        if self._quiet:
            return
        if only_note:
            self._say_note()
        elif self._held:
            self._waiting.append(name)
        else:
            self.react([name])

    def react(self, names):
        """What a change of these controls does. Subclasses add to it, or keep out of it."""
        self.update()

    def update(self):
        """Bring every view to the present state: words first.

        A picture asks the page for a frame, and words that arrive later may have to wait until that is drawn.
        """
        state = self.state
        self._gather_notes()
        for view in sorted(self.views.values(), key=lambda view: view.region is None):
            view.update(state)

    def _gather_notes(self):
        first = next(iter(self.views.values()))
        first.note = " ".join(control.note for control in self.controls.values() if control.note)
        return first

    def add_plots(self, plots, views, height="225px"):
        """Make a panel and a view of each plot, by name; the widget that shows them side by side."""
        for name, plot in plots.items():
            panel = Panel(plot, height=height)
            self.views[name] = View(views[name], panel.show, panel.widget)
        return beside([self.views[name].widget for name in plots])

    def _say_note(self):
        first = self._gather_notes()
        first.error.value = note_html(first.note)

    def reading(self):
        """Sentence and numbers of the present state, a ``Reading``."""
        raise NotImplementedError

    def figure(self):
        """A static matplotlib figure of the present state, with alternative text in ``.alt``."""
        raise NotImplementedError

    def close(self):
        """Take the lab out of the page and the kernel: every widget of it, and every handler."""
        if self.widget is not None:
            for part in _all_parts([self.widget, *self.links]):
                part.unobserve_all()
                part.close()
            self.widget = None

    def disown_sentences(self):
        """Take the ids off the sentences: the lab is shown more than once."""
        for view in self.views.values():
            if view.region and view.region.ident:
                view.region.disown()
                self.update()

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.widget is None:
            return {"text/plain": f"{self.title}: closed"}
        _note_display(self)
        return {**self.widget._repr_mimebundle_(), **self.twin()}

    def twin(self):
        """What a reader without a kernel sees: the figure, the sentence and the numbers, as MIME bundle."""
        reading, figure = self.reading(), self.figure()
        picture = base64.b64encode(png(figure)).decode("ascii")
        return {
            "text/html": twin_html(reading, picture, figure.alt),
            "image/png": picture,
            "text/plain": reading.sentence,
        }


def twin_html(reading, picture, alt):
    """The static twin of a lab in plain HTML that survives GitHub's and nbviewer's sanitisers."""
    names = "".join(f"<th>{html.escape(q.label)}</th>" for q in reading.quantities)
    values = "".join(
        f'<td data-quantity="{q.key}">{html.escape(q.text + _gap(q.unit) + q.unit)}</td>'
        for q in reading.quantities
    )
    return (
        f'<img alt="{html.escape(alt, quote=True)}" src="data:image/png;base64,{picture}" width="860">'
        f"<p>{html.escape(reading.sentence)}</p><table><thead><tr>{names}</tr></thead>"
        f"<tbody><tr>{values}</tr></tbody></table><p><em>Run this cell for the live lab.</em></p>"
    )


def _gap(unit):
    return " " if unit[:1].isalpha() else ""


def _all_parts(widget):
    """A widget (or several) and every widget that it is made of, found through its traits."""
    found, waiting = [], [widget]
    while waiting:
        part = waiting.pop()
        if isinstance(part, widgets.Widget):
            if part not in found:
                found.append(part)
                waiting += [getattr(part, key) for key in part.keys]
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, (list, tuple)):
            waiting += part
    return found


def _retire_labs_of_this_cell(lab):
    """A cell that runs again leaves one live lab: close those which its former run made.

    A lab that another cell shows stays until that cell shows its successor (see ``_note_display``).
    """
    cell, execution = lab._made_in = _running_cell()
    if cell is None:
        return
    former, labs = _shown.get(cell, (None, []))
    if former != execution:
        for old in labs:
            if old._shown_in[0] in (None, cell):
                old.close()
        labs = [old for old in labs if old.widget is not None]
    _shown[cell] = execution, [*labs, lab]


def _note_display(lab):
    """Remember which cell shows a lab, and close those that it shows the successor of.

    A successor was made by a later run of the cell that made the other. Two views of one lab cannot
    share an id, so from its second display on its sentence does without.
    """
    lab._displays += 1
    if lab._displays == 2:
        lab.disown_sentences()
    here = lab._shown_in = _running_cell()
    cell, labs = lab._made_in[0], _shown.get(lab._made_in[0], (None, []))[1]
    if cell is None or here[0] is None:
        return
    for old in labs:
        if old._shown_in[0] == here[0] and old._made_in != lab._made_in:
            old.close()
    _shown[cell] = _shown[cell][0], [old for old in labs if old.widget is not None]


def _running_cell():
    """(which cell is running, which run of it this is); (None, None) outside a notebook."""
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        return None, None
    parent = kernel.get_parent("shell")
    if parent.get("header", {}).get("msg_type") != "execute_request":
        return None, None
    cell = parent.get("metadata", {}).get("cellId") or parent.get("content", {}).get("code")
    return cell, parent["header"].get("msg_id")
