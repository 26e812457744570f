"""The figures of lesson 8 draw the numbers that they are given, and say them in words."""

import numpy as np
import pytest

from specdec_lessons import figures


def drawn(fig, number=0):
    """The (x, y) data of each line of an axes."""
    return [tuple(np.asarray(part, float).tolist() for part in line.get_data()) for line in fig.axes[number].lines]


def test_pass_cost_draws_each_batch():
    fig = figures.pass_cost_by_batch({1: [1, 1, 1], 64: [1.0, 1.5, 2.5]})
    assert ([1, 2, 3], [1.0, 1.5, 2.5]) in drawn(fig) and ([1, 2, 3], [1, 1, 1]) in drawn(fig)
    assert "batch 64: up to 2.50" in fig.alt


def test_speedup_by_batch_marks_where_k_changes():
    fig = figures.speedup_by_batch([1, 2, 64, 192], [3, 3, 2, 0], [1.7, 1.7, 1.5, 1], [1.7, 1.7, 0.9, 0.5], 4)
    words = [text.get_text() for text in fig.axes[0].texts]
    assert [word for word in words if word.startswith("k = ")] == ["k = 3", "k = 2", "k = 0"]
    assert "From batch 64 on k = 4 is slower than plain decoding" in fig.alt


def test_speedup_by_context_draws_thin_what_does_not_fit():
    fig = figures.speedup_by_context([128, 256, 512], {64: [1.1, 1.2, 1.3]}, {64: [True, True, False]})
    assert ([128, 256], [1.1, 1.2]) in drawn(fig) and ([256, 512], [1.2, 1.3]) in drawn(fig)


def test_by_position_has_both_readings():
    fig = figures.by_position([0.8, 0.4], [0.8, 0.5])
    assert sorted(round(bar.get_height(), 2) for bar in fig.axes[0].patches) == [0.4, 0.5, 0.8, 0.8]


def test_rules_and_their_limit():
    fig = figures.acceptance_of_rules({"one": 0.8, "two": 0.84}, limit=0.96)
    assert [bar.get_width() for bar in fig.axes[0].patches] == [0.8, 0.84]
    assert drawn(fig)[0][0] == [0.96, 0.96]


def test_leniency_draws_both_curves():
    assert drawn(figures.leniency([1, 0.75], [0.8, 1], [0, 0.2])) == [([1, 0.75], [0.8, 1]), ([1, 0.75], [0, 0.2])]


@pytest.mark.parametrize("call", [lambda: figures.pass_cost_by_batch({}), lambda: figures.acceptance_of_rules({})])
def test_nothing_to_draw(call):
    with pytest.raises(ValueError, match="must hold at least one"):
        call()
