"""The start page's test: one slider, one sentence that the kernel answers with."""

from specdec_lessons import figures
from specdec_lessons.labs import kit
from specdec_lessons.labs.kit import Quantity, Reading

LARGEST = 16


def reading(state):
    """The kernel's answer to one position of the slider.

    >>> reading({"k": 3}).sentence
    'You chose 3 drafts: one pass of the target will check 4 positions.'
    """
    k = state["k"]
    drafts = "1 draft" if k == 1 else f"{k} drafts"
    positions = "1 position" if k == 0 else f"{k + 1} positions"
    return Reading(f"You chose {drafts}: one pass of the target will check {positions}.",
                   (Quantity("positions", "positions in one pass", str(k + 1)),))


@figures.styled
def figure(state):
    """The slider as a picture: the drafts, and the one position more that a pass checks."""
    fig, ax = figures.new_figure(7.2, 1.5)
    k, drafted, bonus = state["k"], figures.STATES["drafted"], figures.STATES["bonus"]
    ax.scatter(range(1, k + 1), [0] * k, s=220, facecolors="none", edgecolors=drafted.colour, linewidths=2)
    ax.scatter([k + 1], [0], s=260, marker="*", color=bonus.colour)
    ax.set_xlim(0, LARGEST + 2)
    ax.set_ylim(-1, 1)
    ax.set_yticks([])
    ax.set_xticks(range(1, LARGEST + 2))
    ax.set_xlabel(f"position ({drafted.sign} drafted, {bonus.sign} the one after the drafts)")
    return figures.describe(fig, reading(state).sentence)


class FirstWidget(kit.Lab):
    """One slider and one sentence. If the sentence follows the slider, live widgets work here.

    >>> widget = FirstWidget()
    >>> widget.set(k=7)
    >>> widget.reading().sentence
    'You chose 7 drafts: one pass of the target will check 8 positions.'
    >>> widget.close()
    """

    title = "first widget"

    def __init__(self, k=4):
        super().__init__()
        self.k = kit.Number("drafts", k, 0, LARGEST, 1, "Drag it, or use the arrow keys.")
        self.controls = {"k": self.k}
        self.views["numbers"] = kit.View.words("first", reading, "64px")
        self.start([kit.row([self.k.widget]), self.views["numbers"].widget])

    def reading(self):
        return reading(self.state)

    def figure(self):
        return figure(self.state)
