"""The optimisation problem (`Program`) that the hidden-state theorem solves for runs, on all
records or on batches. Arrays broadcast.
"""

import numpy as np

from zoexplore.bounds.contraction import gap
from zoexplore.bounds.kernels.shifted_divergence import Program
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays


def program_of(runs: RunArrays, beta: Numbers, data: Numbers) -> Program:
    """Return the problem at the shares `beta`, where a step's data costs `data` / `beta`."""
    return Program(
        runs.K,
        runs.d,
        gap(runs.c),
        runs.diameter,
        runs.step_separation,
        _drift(runs),
        beta,
        data,
        runs.d / 2,
    )


def start_of(program: Program, T: Numbers, N: Numbers) -> Numbers:
    """Return the distance from which the last N of T steps start, in the shape to which the
    arguments broadcast.
    """
    return np.minimum(program.diameter, program.separation * (T - N))


def _drift(runs: RunArrays) -> np.ndarray:
    """Return the drift's constant c2, in the runs' shape. If c2 would underflow it is rounded up,
    so that ratios to c2 stay finite.
    """
    return np.where(
        runs.xi > 0,
        np.maximum(runs.bias_term * np.sqrt(runs.K), 1e-100 * runs.step_sensitivity),
        0.0,
    )
