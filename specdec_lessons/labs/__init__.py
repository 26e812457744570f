"""The live labs of the course: put one last in a cell, drag, and see."""

from specdec_lessons.labs.bars import BarsLab
from specdec_lessons.labs.replay import ReplayLab
from specdec_lessons.labs.roofline import RooflineLab
from specdec_lessons.labs.speedup import SpeedupLab

__all__ = ["BarsLab", "ReplayLab", "RooflineLab", "SpeedupLab"]
