"""The static figures of the course: each ``figure(data...) -> Figure``; ``show`` puts one into a notebook."""

from specdec_lessons.figures.style import STATES, describe, new_figure, png, show, styled

__all__ = ["STATES", "describe", "new_figure", "png", "show", "styled"]
