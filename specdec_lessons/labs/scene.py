"""The rounds as blocks in space: pure functions from states to corners, and the k3d plot that shows them.

One row a round, round 1 farthest from the viewer; one block a position. What stays is tall, what was
thrown away is flat. All blocks are one mesh with one texture, which holds each state's colour and sign:
64 rounds of 16 drafts cost the browser one draw call, not a thousand.
"""

import io
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import matplotlib
import numpy as np
from ipywidgets import Widget
from PIL import Image, ImageDraw, ImageFont

from specdec_lessons.figures.style import STATES

HEIGHTS = {"drafted": 0.55, "accepted": 0.9, "rejected": 0.4, "discarded": 0.16, "correction": 1.3,
           "bonus": 1.3}
GAP = 0.12  # between blocks, in rows
APART = 0.35  # by how much the target's own token stands apart from the drafts, in rows
OWN = ("correction", "bonus")
MOST_ROWS, MOST_COLUMNS = 64, 17
TILE = 128  # pixels of one side of a block, or of one sign, in the texture
HEIGHT = 400  # pixels of the view
GREY = 0x808890  # lines and floor: readable on light and on dark
FRAME = 0xC2410C  # the frame round the chosen block
FIELD_OF_VIEW = 30.0


class Block(NamedTuple):
    """One block: the index of its round, its position in the round (both from 0) and its state."""

    row: int
    column: int
    state: str


@dataclass(frozen=True)
class Drawn:
    """What the scene shows in one state: blocks of earlier rounds, of the present one, the chosen block."""

    past: tuple
    present: tuple
    n_rows: int
    n_columns: int
    width: float
    chosen: Block | None = None


def blocks(rows):
    """The blocks of some rows, each a sequence of states.

    >>> blocks([("accepted", "bonus")])
    (Block(row=0, column=0, state='accepted'), Block(row=0, column=1, state='bonus'))
    """
    return tuple(Block(row, column, state)
                 for row, states in enumerate(rows) for column, state in enumerate(states))


def brick_width(n_rows, n_columns):
    """How wide a block is, in rows: wider where there are many rows, so that the whole keeps its shape.

    >>> brick_width(16, 17), brick_width(16, 5), brick_width(64, 2)
    (1.0, 2.4, 2.6)
    """
    return round(min(max(0.75 * n_rows / n_columns, 1.0), 2.6), 1)


def room(n_rows, n_drafts, finished=True):
    """How many blocks of each state ``n_rows`` rows of ``n_drafts`` drafts can hold, by state.

    Only the present row, which is not ``finished``, holds drafts without a verdict.

    >>> room(2, 16)
    {'drafted': 0, 'accepted': 32, 'rejected': 2, 'discarded': 32, 'correction': 2, 'bonus': 2}
    """
    most = {state: n_rows * (1 if state in ("rejected", *OWN) else n_drafts) for state in STATES}
    return {**most, "drafted": 0 if finished else most["drafted"]}


def vertices(made, places, width):
    """Corners of some blocks, shape (24 × places in all, 3): five sides each, and its sign on top.

    Each state has its own stretch of the array, of ``places`` blocks; what is not used has no size. So a
    change of the rounds changes this one array, never texture coordinates or indices, and no half of it is
    ever on show.

    >>> vertices((Block(0, 0, "bonus"),), room(1, 16), 1.0).shape
    (840, 3)
    """
    all_corners = np.zeros((sum(places.values()), 24, 3), np.float32)
    start = 0
    for state, most in places.items():
        corner = np.array([(left(one, width), -one.row - 1.0, 0.0) for one in made if one.state == state])
        if len(corner):
            corner += (GAP / 2, GAP / 2, 0)
            size = np.array([width - GAP, 1 - GAP, HEIGHTS[state]])
            sign = 0.82 * size[:2].min() * _TOP + size * (0.5, 0.5, 1.0) + (0, 0, 0.012)
            all_corners[start:start + len(corner)] = corner[:, None] + np.concatenate([size * _SIDES, sign])
        start += most
    return all_corners.reshape(-1, 3)


def texture_places(places):
    """Where each corner lies in the texture, shape (24 × places in all, 2), from the upper left."""
    uvs = []
    for column, most in enumerate(places.values()):
        x = (column + np.array([_INSET, 1 - _INSET, 1 - _INSET, _INSET])) / len(STATES)
        y = np.array([1 - _INSET, 1 - _INSET, _INSET, _INSET])
        sides, sign = (np.stack([x, (line + y) / 2], axis=-1) for line in (0, 1))
        uvs.append(np.tile(np.concatenate([np.tile(sides, (5, 1)), sign]), (most, 1)))
    return np.concatenate(uvs).astype(np.float32)


def quads(count):
    """Indices (2 count, 3) of two triangles for each four vertices."""
    two = np.array([(0, 1, 2), (0, 2, 3)], dtype=np.uint32)
    return (two + 4 * np.arange(count, dtype=np.uint32)[:, None, None]).reshape(-1, 3)


SIZES = ((24, 8), (24, 16), (64, 8), (MOST_ROWS, MOST_COLUMNS - 1))  # rows and drafts of meshes, small first
GROUND = np.float32([(-80, -160, -0.05), (160, -160, -0.05), (160, 80, -0.05), (-80, 80, -0.05)])
PRESENT = room(1, MOST_COLUMNS - 1, finished=False)

# Corners of the sides of a unit block, seen from outside counter-clockwise from the lower left.
_SIDES = np.array([
    (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1),  # top
    (0, 0, 0), (1, 0, 0), (1, 0, 1), (0, 0, 1),  # front
    (1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1),  # right
    (1, 1, 0), (0, 1, 0), (0, 1, 1), (1, 1, 1),  # back
    (0, 1, 0), (0, 0, 0), (0, 0, 1), (0, 1, 1),  # left
], dtype=float)
_TOP = np.array([(-0.5, -0.5, 0), (0.5, -0.5, 0), (0.5, 0.5, 0), (-0.5, 0.5, 0)])
_INSET = 0.02  # of a tile: what is beside it in the texture must not bleed in


@lru_cache(maxsize=1)
def texture():
    """The picture on the blocks as PNG bytes: above the sides, below the signs, one column a state."""
    image = Image.new("RGB", (TILE * len(STATES), 2 * TILE))
    for column, state in enumerate(STATES.values()):
        for line in (0, 1):
            image.paste(_tile(state, with_sign=line == 1), (column * TILE, line * TILE))
    with io.BytesIO() as file:
        image.save(file, "PNG", optimize=True)
        return file.getvalue()


def _tile(state, with_sign):
    paper = state.colour if state.filled else "#FFFFFF"
    tile = Image.new("RGB", (TILE, TILE), paper)
    pen = ImageDraw.Draw(tile)
    if state.hatch:
        for start in range(-TILE, TILE, TILE // 5):
            pen.line([(start, TILE), (start + TILE, 0)], fill=state.colour, width=TILE // 28)
    if with_sign:
        font = _font_that_fills(state.sign)
        if state.hatch:
            pen.ellipse([TILE * 0.18, TILE * 0.18, TILE * 0.82, TILE * 0.82], fill=paper)
        pen.text((TILE / 2, TILE / 2), state.sign, font=font, fill=state.ink, anchor="mm")
    else:
        edge = state.colour if not state.filled else "#" + "".join(
            f"{int(int(state.colour[i:i + 2], 16) * 0.72):02X}" for i in (1, 3, 5))
        pen.rectangle([0, 0, TILE - 1, TILE - 1], outline=edge, width=TILE // 16)
    return tile


def _font_that_fills(sign):
    """The font size at which a sign is 0.8 of a tile wide or high."""
    left, top, right, bottom = ImageFont.truetype(_FONT, 100).getbbox(sign)
    return ImageFont.truetype(_FONT, int(100 * 0.8 * TILE / max(right - left, bottom - top)))


_FONT = matplotlib.get_data_path() + "/fonts/ttf/DejaVuSans-Bold.ttf"


def floor(n_rows, across):
    """Vertices (4 MOST_ROWS, 3) of a strip under each row; rows that are not used have no size."""
    strip = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]) * (across, 1 - GAP, 1)
    corners = np.zeros((MOST_ROWS, 4, 3), np.float32)
    corners[:n_rows] = strip - np.array([(0, row + 1 - GAP / 2, 0.02) for row in range(n_rows)])[:, None]
    return corners.reshape(-1, 3)


def left(block, width):
    """Where a block begins, from the left of its row."""
    return block.column * width + APART * (block.state in OWN)


def frame_lines(block, width):
    """The twelve edges of a box round one block: vertices (8, 3) and indices (12, 2)."""
    grow = 0.05
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    low = np.array([left(block, width) + GAP / 2 - grow, -block.row - 1 + GAP / 2 - grow, -0.02])
    size = np.array([width - GAP + 2 * grow, 1 - GAP + 2 * grow, HEIGHTS[block.state] + grow + 0.04])
    edges = [(i, j) for i in range(8) for j in range(i + 1, 8) if (corners[i] != corners[j]).sum() == 1]
    return (low + size * corners).astype(np.float32), np.array(edges, dtype=np.uint32)


def hit(eye, point, made, width):
    """The first of the blocks ``made`` on the way from ``eye`` to a ``point`` behind them, or None.

    >>> hit((0.5, -0.5, 9.0), (0.5, -0.5, 0.0), (Block(0, 0, "accepted"), Block(0, 1, "bonus")), width=1.0)
    Block(row=0, column=0, state='accepted')
    """
    if not made:
        return None
    low = np.array([(left(one, width) + GAP / 2, -one.row - 1 + GAP / 2, 0.0) for one in made])
    high = low + [(width - GAP, 1 - GAP, HEIGHTS[one.state]) for one in made]
    eye, way = np.asarray(eye, dtype=float), np.subtract(point, eye)
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (low - eye) / way, (high - eye) / way
    enter, leave = np.fmin(first, second).max(axis=1), np.fmax(first, second).min(axis=1)
    enter = np.where((enter <= leave) & (leave > 0), enter, np.inf)
    return made[int(enter.argmin())] if np.isfinite(enter.min()) else None


def camera(n_rows, n_columns, width, aspect=1.5, from_above=False):
    """Nine numbers: where the camera stands, what it looks at, which way is up. All blocks are in view."""
    slant, turn = np.radians((89.9, 0.0) if from_above else (50.0, 20.0))
    back = np.array([np.sin(turn) * np.cos(slant), -np.cos(turn) * np.cos(slant), np.sin(slant)])
    right = np.array([np.cos(turn), np.sin(turn), 0.0])
    upward = np.cross(back, right)
    reach = np.tan(np.radians(FIELD_OF_VIEW / 2))
    right_end = n_columns * width + APART + 0.3
    corners = np.array([(x, y, z) for x in (-1.6, right_end)  # with room for the labels on the left
                        for y in (0.4, -n_rows - 0.4) for z in (0.0, max(HEIGHTS.values()))])
    target = corners.mean(axis=0)
    for _ in range(8):  # the middle of the picture depends on the distance, and that on the middle
        along, across, up = ((corners - target) @ way for way in (back, right, upward))
        distance = np.max(along + np.maximum(np.abs(across) / (reach * aspect), np.abs(up) / reach))
        for way, offset in ((right, across), (upward, up)):
            seen = offset / (distance - along)
            target = target + way * (seen.max() + seen.min()) / 2 * distance
    above = (0.0, 1.0, 0.0) if from_above else (0.0, 0.0, 1.0)
    return [*(target + distance * back).round(3).tolist(), *target.round(3).tolist(), *above]


def row_labels(n_rows, most=6):
    """Which rounds get their number beside the row: the first, the last and round steps between.

    >>> row_labels(24), row_labels(3)
    ((1, 5, 10, 15, 20, 24), (1, 2, 3))
    """
    step = next(step for step in (1, 2, 5, 10, 20) if n_rows / step <= most)
    between = [number for number in range(step, n_rows, step) if number > 1 and n_rows - number >= 0.6 * step]
    return tuple(dict.fromkeys((1, *between, n_rows)))


class Scene:
    """The k3d plot: past rounds, the present round, floor, frame of the chosen block, labels."""

    def __init__(self, on_click):
        import k3d  # only here: lessons without the laboratory do not load it

        self._k3d, self._on_click = k3d, on_click
        self.plot = k3d.plot(
            height=HEIGHT, background_color=-1, grid_visible=False, grid_auto_fit=False,
            menu_visibility=False, camera_auto_fit=False, camera_mode="orbit", camera_fov=FIELD_OF_VIEW,
            mode="callback", axes_helper=0.0, antialias=1, lighting=1.6)
        self.plot.layout.width = "100%"
        self.present = self._blocks(PRESENT)
        self._size, self.past = SIZES[0], self._blocks(room(*SIZES[0]))
        self.frame = k3d.lines(*frame_lines(Block(0, 0, "accepted"), 1.0), indices_type="segment",
                               color=FRAME, width=0.09, shader="mesh")
        self.floor = k3d.mesh(floor(1, 1.0), quads(MOST_ROWS), color=GREY, opacity=0.28, side="double",
                              compression_level=1)
        self.labels = k3d.text([" "], [0, 0, 0], color=GREY, reference_point="rc", size=0.9, label_box=False,
                               is_html=True)
        # k3d searches a mesh as it was when it was made, so clicks are taken by a ground that never changes
        self.ground = k3d.mesh(GROUND, quads(1), color=GREY, opacity=0.0, side="double",
                               click_callback=self._clicked)
        for one in (self.ground, self.floor, self.past, self.present, self.frame, self.labels):
            self.plot += one
        self._shown, self._drawn = {}, None

    def _blocks(self, places):
        return self._k3d.mesh(
            vertices((), places, 1.0), quads(6 * sum(places.values())), uvs=texture_places(places),
            texture=texture(), compression_level=1)

    def _clicked(self, content):
        drawn = self._drawn
        found = hit(self.plot.camera[:3], content["position"], drawn.past + drawn.present, drawn.width)
        if found is not None:
            self._on_click(found.row, found.column)

    def show(self, drawn):
        """Bring the plot to a ``Drawn``; what has not changed is not sent again."""
        self._drawn = drawn
        self._make_room(drawn)
        if self._is_new("past", (drawn.past, drawn.width, self._size)):
            self.past.vertices = vertices(drawn.past, room(*self._size), drawn.width)
        if self._is_new("present", (drawn.present, drawn.width)):
            self.present.vertices = vertices(drawn.present, PRESENT, drawn.width)
        if self._is_new("frame", (drawn.chosen, drawn.width)):
            block = drawn.chosen
            self.frame.visible = block is not None
            if block is not None:
                self.frame.vertices = frame_lines(block, drawn.width)[0]
        if self._is_new("size", (drawn.n_rows, drawn.n_columns, drawn.width)):
            self._lay_out(drawn)

    def _make_room(self, drawn):
        """A mesh of another size where the rounds need or leave more room."""
        wanted = next(size for size in SIZES if drawn.n_rows <= size[0] and drawn.n_columns <= size[1] + 1)
        if wanted != self._size:
            old, self._size, self.past = self.past, wanted, self._blocks(room(*wanted))
            self.plot -= old
            self.plot += self.past
            _close(old)

    def _is_new(self, name, what):
        new, self._shown[name] = self._shown.get(name) != what, what
        return new

    def _lay_out(self, drawn):
        n, across = drawn.n_rows, drawn.n_columns * drawn.width + APART
        self.floor.vertices = floor(n, across)
        self.plot.grid = [-2.0, -n - 1.0, -0.1, across + 1.0, 1.0, 2.0]  # near and far plane depend on it
        numbers = row_labels(n)
        with self.labels.hold_sync():
            self.labels.position = [x for number in numbers for x in (-0.35, 0.5 - number, 0.0)]
            self.labels.text = [f"round {number}" if number == 1 else str(number) for number in numbers]
        self.look()

    def look(self, from_above=False):
        """Put the camera where it stood at first, or above the middle."""
        drawn = self._drawn
        wanted = camera(drawn.n_rows, drawn.n_columns, drawn.width, from_above=from_above)
        if list(self.plot.camera) == wanted:
            self.plot.send_state("camera")
        self.plot.camera = wanted
        self.plot.render()  # once more: labels are placed by where the camera was when the last drawing began

    def close(self):
        """Close the plot and its objects, which hang on it by their numbers alone."""
        for one in (*self.plot.objects, self.plot):
            _close(one)


def _close(one):
    one.layout.close()
    Widget.close(one)  # k3d's own close() of a plot leaves the widget open
