"""Inverse questions: which run meets a target epsilon, where hiding helps, and what to run."""

from zoexplore.questions.calibration import SOLVABLE_FIELDS, Unreachable, calibrate, changes_nothing
from zoexplore.questions.hiding import Gain, gain_along, gain_map
from zoexplore.questions.recommendation import Plan, recommend, signal_to_noise

__all__ = [
    "SOLVABLE_FIELDS",
    "Gain",
    "Plan",
    "Unreachable",
    "calibrate",
    "changes_nothing",
    "gain_along",
    "gain_map",
    "recommend",
    "signal_to_noise",
]
