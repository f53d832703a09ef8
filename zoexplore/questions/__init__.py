"""Inverse questions: which run meets a target epsilon, where hiding helps, and what to run."""

from zoexplore.questions.calibration import SOLVABLE_FIELDS, Unreachable, calibrate, changes_nothing
from zoexplore.questions.forgotten import forgetting
from zoexplore.questions.hiding import Gain, gain_along, gain_map
from zoexplore.questions.recommendation import Plan, recommend, signal_to_noise
from zoexplore.questions.several import Composed, compose, gaussian, search, subsampled

__all__ = [
    "SOLVABLE_FIELDS",
    "Composed",
    "Gain",
    "Plan",
    "Unreachable",
    "calibrate",
    "changes_nothing",
    "compose",
    "forgetting",
    "gain_along",
    "gain_map",
    "gaussian",
    "recommend",
    "search",
    "signal_to_noise",
    "subsampled",
]
