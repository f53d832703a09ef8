"""States the hidden-state theorem as a convex program for cvxpy, as a careful person would write it
from the paper, without any code of the package.

For N counted steps and a constant one-step factor, the variables are the shifts a_t >= 0 and the
distances z_t, which the recursion constrains (docs/bounds.md, "The hidden-state theorem"). Lengths
are in units of the distance at the start.
"""

from math import log, sqrt
from typing import Any

import cvxpy as cp
from cvxpy.atoms.sum_squares import sum_squares

from benchmarks.plain import data_cost, gaussian, lipschitz


def factor(s: Any, N: int, delta_f: float) -> Any:
    """Return the one-step factor that all N steps keep, except with probability delta_f."""
    c, L = lipschitz(s, s.eta / s.K), log(2 * N / delta_f)
    lin, const = 8 * (s.d - 2 * s.K) * L, 12 * (s.d - s.K) * L
    theta = (lin + sqrt(lin**2 + 12 * s.d * s.K * const)) / (6 * s.d * s.K)
    return sqrt(1 + (theta * (1 + c * c) - (1 - c * c)) * s.K / s.d)


def budget(s: Any, N: int, delta_f: float, free: Any) -> Any:
    """Return the least rho with N counted steps and with free shares of noise or the run's beta."""
    # the unit of lengths: the distance at the start
    unit = min(2 * s.R, 2 * s.eta * s.clip * (s.T - N) / sqrt(s.K)) / (s.eta * s.sigma)
    drift, grows = s.M * s.xi / s.sigma / unit, factor(s, N, delta_f)
    a, z = cp.Variable(N, nonneg=True), cp.Variable(N + 1, nonneg=True)
    steps = [z[0] >= 1, z[N] == 0, z[:N] * grows == z[1:] + a - drift]
    data, shift = data_cost(s), s.d / 2 * unit**2
    cost = sum_squares(1 + sqrt(shift / data) * a) if free else sum_squares(a)
    program = cp.Problem(cp.Minimize(cost), steps)
    program.solve(solver=cp.CLARABEL)
    return (
        data * program.value if free else N * data / s.beta + shift / (1 - s.beta) * program.value
    )


def epsilon(s: Any, share: float, near: Any, free: Any = False) -> Any:
    """Return the least epsilon over some numbers of counted steps near `near`, with a given share
    of delta for failures.
    """
    ladder = {
        min(s.T - 1, max(1, round(near * factor))) for factor in (0.5, 0.8, 0.95, 1, 1.05, 1.2, 2)
    }
    return gaussian(min(budget(s, N, share * s.delta, free) for N in ladder), s.delta * (1 - share))
