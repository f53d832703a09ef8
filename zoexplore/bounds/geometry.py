"""What the hidden-state theorem makes of a run's distances, on all records and on batches."""

from typing import NamedTuple

import numpy as np

from zoexplore.bounds.contraction import gap
from zoexplore.bounds.run_arrays import RunArrays


class Geometry(NamedTuple):
    """How far apart two runs can be and how fast they approach each other, in the order in which kernels take it.

    Args:
        K, d: directions a step, and parameters.
        gap: 1 - c^2 of the first-order step.
        diameter: of the ball.
        separation: the most that a step takes two runs further apart.
        drift: c2 = eta M xi, what two-point estimates add to the distance in a step.
    """

    K: np.ndarray
    d: np.ndarray
    gap: np.ndarray
    diameter: np.ndarray
    separation: np.ndarray
    drift: np.ndarray

    @classmethod
    def of(cls, runs: RunArrays) -> "Geometry":
        return cls(runs.K, runs.d, gap(runs.c), runs.diameter, runs.step_separation, _drift(runs))

    def start(self, T, N) -> np.ndarray:
        """The distance that N counted steps start from in runs of T steps; of any number of steps where T is inf."""
        return np.where(np.isfinite(T), np.minimum(self.diameter, self.separation * (T - N)), self.diameter)


def _drift(runs: RunArrays) -> np.ndarray:
    """c2; a vanishing one is rounded up, so that distances over it stay finite."""
    return np.where(runs.xi > 0, np.maximum(runs.bias_term * np.sqrt(runs.K), 1e-100 * runs.step_sensitivity), 0.0)
