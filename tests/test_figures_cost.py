"""The figures of lesson 1 and what all figures share: right marks, stable bytes, alternative text."""

import matplotlib
import pytest
from matplotlib.figure import Figure

from specdec_lessons import cost, figures
from specdec_lessons.figures import style

A100 = cost.HARDWARE["A100 80GB SXM"]
SEVEN = cost.MODELS["7B"]
TIMES = cost.ColumnTimes((1, 2, 4, 8), (1.0, 2.2, 2.5, 2.8), 2.1, 8192, 4096, "float32", 1, 5, "BLAS")

DRAWINGS = {
    "roofline": lambda: figures.roofline(A100),
    "step_time_bars": lambda: figures.step_time_bars(cost.decode_step(SEVEN, A100)),
    "kv_against_weights": lambda: figures.kv_against_weights(cost.MODELS["Llama-2-7B"], hardware=A100),
    "column_times": lambda: figures.column_times(TIMES),
    "roofline_in_steps": lambda: figures.roofline_in_steps(A100),
    "pass_times": lambda: figures.pass_times(SEVEN, A100),
    "batch_speeds": lambda: figures.batch_speeds(SEVEN, A100),
}


def words(fig):
    return [text.get_text() for text in fig.findobj(matplotlib.text.Text) if text.get_text()]


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_same_data_give_the_same_bytes(name):
    fig = DRAWINGS[name]()
    assert isinstance(fig, Figure) and fig.alt
    first = figures.png(fig)
    assert first.startswith(b"\x89PNG") and first == figures.png(fig) == figures.png(DRAWINGS[name]())


CROWDED = DRAWINGS | {
    "near the ridge": lambda: figures.roofline(A100, {
        f"verify {n}": cost.verify_pass(SEVEN, A100, n) for n in (2, 4, 100, 200, 320)}),
    "a pass on a slow machine": lambda: figures.pass_times(SEVEN, cost.HARDWARE["laptop CPU"], longest=40),
    "a roofline in steps on a slow machine": lambda: figures.roofline_in_steps(cost.HARDWARE["laptop CPU"]),
    "a low ridge": lambda: figures.roofline(cost.HARDWARE["laptop CPU"]),
    "five batches": lambda: figures.kv_against_weights(
        cost.MODELS["Llama-3.1-8B"], (1, 4, 16, 64, 256), hardware=cost.HARDWARE["RTX 4090"]),
    "three passes": lambda: figures.step_time_bars({
        f"verify {n}": cost.verify_pass(SEVEN, A100, n) for n in (1, 5, 200)}),
    "hardly a step": lambda: figures.column_times(cost.ColumnTimes(
        (1, 2, 4, 8, 16, 32, 64), (1.0, 1.1, 1.2, 1.5, 2.1, 3.9, 7.0), 1.0, 8, 8, "float32", 1, 5, "BLAS")),
}


@pytest.mark.parametrize("name", CROWDED)
def test_no_text_lies_on_another_or_outside(name):
    fig = CROWDED[name]()
    figures.png(fig)
    width, height = fig.bbox.size
    boxes = [(text.get_text(), text.get_window_extent()) for text in fig.findobj(matplotlib.text.Text)
             if text.get_text().strip() and text.get_visible() and text.axes is not None]
    boxes = [(text, box) for text, box in boxes if box.width and box.x1 > 0 and box.y1 > 0]
    for text, box in boxes:
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1, text
    for i, (text, box) in enumerate(boxes):
        for other, beside in boxes[i + 1:]:
            assert not (box.shrunk(0.9, 0.8).overlaps(beside.shrunk(0.9, 0.8))), (text, other)


def test_the_readers_settings_do_not_leak_in_or_out():
    plain = figures.png(figures.roofline(A100))
    with matplotlib.rc_context({"axes.facecolor": "black", "font.size": 30, "text.color": "yellow"}):
        assert figures.png(figures.roofline(A100)) == plain
        assert matplotlib.rcParams["font.size"] == 30


def test_points_stand_on_the_roof():
    fig = figures.roofline(A100)
    dots = [line for line in fig.axes[0].lines if line.get_marker() == "o"]
    assert len(dots) == 3
    for dot in dots:
        assert dot.get_ydata()[0] == pytest.approx(cost.attainable_flops(dot.get_xdata()[0], A100))
    assert "ridge: 153 FLOP/byte" in words(fig)


def test_bars_are_as_long_as_the_times():
    fig = figures.step_time_bars({"decode": cost.decode_step(SEVEN, A100)})
    assert [bar.get_width() for bar in fig.axes[0].patches] == pytest.approx([14 / 2.039, 14 / 312], rel=1e-4)


def test_the_weights_are_passed_where_they_should_be():
    fig = figures.kv_against_weights(cost.MODELS["Llama-2-7B"], batches=(1, 8))
    assert {"25,705", "3,213"} <= set(words(fig))  # 13,476,831,232 bytes / (524,288 x batch)


def test_a_pass_turns_where_the_arithmetic_takes_over():
    """14 GB at 2.039 TB/s; 2 x 7e9 FLOP a position at 312 TFLOP/s, attention aside."""
    fig = figures.pass_times(SEVEN, A100)
    reading, arithmetic, level, rising = (line.get_xydata() for line in fig.axes[0].lines[:4])
    assert reading[:, 1] == pytest.approx(14 / 2.039)
    assert arithmetic[:, 1] == pytest.approx(arithmetic[:, 0] * 14 / 312, rel=0.01)
    assert level[-1, 0] == 152 and rising[0, 0] == 153
    assert rising[:, 1] == pytest.approx(rising[:, 0] * 14 / 312, rel=0.01)


def test_a_bigger_batch_makes_no_answer_faster():
    together, each = (line.get_xydata() for line in figures.batch_speeds(SEVEN, A100).axes[0].lines[:2])
    assert together[:, 1] == pytest.approx(together[:, 0] * each[:, 1])
    assert each[0, 1] == pytest.approx(2039 / 14) and each[:, 1].max() == pytest.approx(2039 / 14)
    assert together[-1, 1] == pytest.approx(312e12 / 14e9, rel=1e-3)  # the arithmetic alone


def test_the_roofline_in_steps_ends_at_the_lower_of_both_lines():
    first, second, third = figures.roofline_in_steps(A100).axes
    assert len(first.lines) == 1 and len(second.lines) == 2
    slope, ceiling = first.lines[0].get_xydata(), second.lines[1].get_xydata()
    assert slope[:, 1] == pytest.approx(slope[:, 0] * 2.039e12) and ceiling[:, 1] == pytest.approx(312e12)
    rise, flat = (line.get_xydata() for line in third.lines[2:4])
    assert rise[-1] == pytest.approx([312 / 2.039, 312e12]) and flat[:, 1] == pytest.approx(312e12)


def test_measured_curve_and_both_ideals():
    proportional, free, measured = (line.get_ydata().tolist()
                                    for line in figures.column_times(TIMES).axes[0].lines[:3])
    assert proportional == [1, 2, 4, 8] and free == [1, 1, 1, 1] and measured == [1, 2.2, 2.5, 2.8]


def test_six_states_differ_in_sign_and_are_those_of_the_course():
    assert list(style.STATES) == ["drafted", "accepted", "rejected", "discarded", "correction", "bonus"]
    assert "".join(state.sign for state in style.STATES.values()) == "○✓✗–↺★"
    looks = {(state.colour, state.filled, state.hatch) for state in style.STATES.values()}
    assert len(looks) == 6
    assert [style.STATES[n].colour for n in ("accepted", "rejected", "correction", "bonus")] == [
        "#009E73", "#D55E00", "#0072B2", "#E69F00"]


def test_shown_figure_has_caption_and_alternative_text():
    caption = "Two columns cost <more> than one & a bit."
    shown = figures.show(DRAWINGS["column_times"](), caption, alt='A "curve".')
    page = shown._repr_html_()
    assert 'alt="A &quot;curve&quot;."' in page and "data:image/png;base64,iVBOR" in page
    assert "<figcaption" in page and "&lt;more&gt; than one &amp; a bit." in page
    assert "max-width:720px" in page
    data, metadata = shown._repr_mimebundle_()
    assert set(data) == {"text/plain", "text/html", "image/png"}
    assert metadata["image/png"]["alt"] == 'A "curve".'
    assert 'A "curve".' in data["text/plain"]
    assert set(shown._repr_mimebundle_(include={"text/html"})[0]) == {"text/html"}


@pytest.mark.parametrize("call, message", [
    (lambda: figures.show(style.new_figure()[0], "Seen."), "alt must be a sentence in words, got None"),
    (lambda: figures.show(DRAWINGS["roofline"](), " "), "caption must be a sentence in words"),
    (lambda: figures.show("a picture", "Seen."), "fig must be a matplotlib Figure, got str"),
    (lambda: style.new_figure(width=0), r"width must be a number of inches in \(0, 40\], got 0"),
    (lambda: figures.roofline("A100"), "hardware must be a Hardware"),
    (lambda: figures.roofline(A100, {}), "points must map labels to StepCost"),
    (lambda: figures.step_time_bars([1.0]), "costs must map labels to StepCost"),
    (lambda: figures.kv_against_weights(SEVEN, batches=()), "batches must be one to five batch sizes"),
    (lambda: figures.kv_against_weights(SEVEN, batches=(0,)), "batches must be a whole number of at least 1"),
    (lambda: figures.kv_against_weights(SEVEN, hardware="A100"), "hardware must be a Hardware"),
    (lambda: figures.pass_times(SEVEN, A100, longest=1), "longest must be a whole number of at least 2"),
    (lambda: figures.batch_speeds(SEVEN, "A100"), "hardware must be a Hardware"),
    (lambda: figures.roofline_in_steps(SEVEN), "hardware must be a Hardware"),
    (lambda: figures.column_times([1, 2]), "times must be what cost.measure_columns returns"),
])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
