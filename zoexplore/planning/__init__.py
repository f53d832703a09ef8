"""The inverse questions: what a run must be for a target epsilon, from which step a bound pays off, and what to run."""

from zoexplore.planning.calibration import SOLVABLE_FIELDS, Unreachable, calibrate, changes_nothing
from zoexplore.planning.hiding import Gain, gain_along, gain_map
from zoexplore.planning.recommendation import Plan, recommend, signal_to_noise
from zoexplore.planning.steps import crossover_step, flat_step, least_directions

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
    "least_directions",
    "recommend",
    "signal_to_noise",
]
