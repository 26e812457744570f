"""The live labs of the course: put one last in a cell, drag, and see."""

from specdec_lessons.labs.bars import BarsLab
from specdec_lessons.labs.counter_reader import CounterReaderLab
from specdec_lessons.labs.load import LoadLab
from specdec_lessons.labs.policy_race import PolicyRaceLab
from specdec_lessons.labs.replay import ReplayLab
from specdec_lessons.labs.roofline import RooflineLab
from specdec_lessons.labs.speedup import SpeedupLab

__all__ = [
    "BarsLab", "CounterReaderLab", "LaboratoryLab", "LoadLab", "PolicyRaceLab", "ReplayLab",
    "RooflineLab", "SpeedupLab",
]


def __getattr__(name):
    """The 3-D laboratory is loaded when it is asked for."""
    if name == "LaboratoryLab":
        from specdec_lessons.labs.laboratory import LaboratoryLab

        return LaboratoryLab
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
