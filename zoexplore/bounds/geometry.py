"""Diameter, contraction and drift of coupled runs, for the hidden-state theorem on all records and on batches."""

from typing import NamedTuple

import numpy as np

from zoexplore.bounds.contraction import gap
from zoexplore.bounds.run_arrays import RunArrays


class Geometry(NamedTuple):
    """How far apart two runs can be and how fast they approach each other, in the kernels' order; arrays that broadcast.

    Args:
        K, d: directions a step, and parameters.
        gap: 1 - c^2 of the first-order step.
        diameter: the ball's.
        separation: the largest increase of the distance in a step.
        drift: c2 = eta M xi, the two-point error that a step adds to the distance.
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
        """The distance from which N of T steps start (T = inf: of any number), in the shape that all broadcast to."""
        return np.where(np.isfinite(T), np.minimum(self.diameter, self.separation * (T - N)), self.diameter)


def _drift(runs: RunArrays) -> np.ndarray:
    """c2, in the runs' shape; one that underflows is rounded up, so that ratios to it stay finite."""
    return np.where(runs.xi > 0, np.maximum(runs.bias_term * np.sqrt(runs.K), 1e-100 * runs.step_sensitivity), 0.0)
