"""Inverse questions: which run meets a target epsilon, when a bound pays off, and what to run."""

from zoexplore.questions.calibration import SOLVABLE_FIELDS, Unreachable, calibrate, changes_nothing
from zoexplore.questions.hiding import Gain, gain_along, gain_map
from zoexplore.questions.recommendation import Plan, recommend, signal_to_noise
from zoexplore.questions.steps import crossover_step, flat_step

__all__ = [
    "SOLVABLE_FIELDS",
    "Gain",
    "Plan",
    "Unreachable",
    "calibrate",
    "changes_nothing",
    "crossover_step",
    "flat_step",
    "gain_along",
    "gain_map",
    "recommend",
    "signal_to_noise",
]
