"""How fast two runs approach each other: Lipschitz constants of the step and the corollary's K_min
(docs/bounds.md).
"""

import numpy as np

from zoexplore.bounds.numbers import Numbers

# c is raised by so much: near 1 its rounding would otherwise count as contraction, T times over
ROUNDING = 2.0**-51


def lipschitz(regime: str, step: Numbers, M: Numbers, m: Numbers) -> Numbers:
    """Lipschitz constant of w - step * grad L(w) for an M-smooth loss, at any step size; arrays
    that broadcast.

    Non-convex: 1 + step M. Convex: max(1, step M - 1), by cocoercivity. Strongly convex: max(|1 -
    step m|, |1 - step M|), the same after subtracting m/2 |w|^2. At the paper's step sizes these
    are 1 + eta M/K, 1 and 1 - eta m/K (docs/bounds.md has the proof).
    """
    if regime == "non-convex":
        return 1 + step * M + ROUNDING
    convex = np.maximum(1.0, step * M - 1 + ROUNDING)
    if regime == "convex":
        return convex
    return np.minimum(convex, np.maximum(np.abs(1 - step * m), np.abs(1 - step * M)) + ROUNDING)


def gap(c: Numbers) -> Numbers:
    """1 - c^2 without cancellation where c is near 1."""
    return (1 - c) * (1 + c)


def tail_exponent(theta: Numbers, K: Numbers, d: Numbers) -> Numbers:
    """The x for which the squared one-step factor exceeds its mean by theta (1+c^2) K/d with
    probability at most 2 exp(-x); 2K <= d. Source: the paper's lemma on Beta tails.
    """
    return 3 * theta**2 * d * K / (12 * (d - K) + 8 * theta * (d - 2 * K))


def k_min(runs: Numbers, per_step: bool = False) -> Numbers:
    """The corollary's sufficient number of directions (real, at least 1), in the runs' shape; inf
    without contraction.

    (20/3) ((1+c^2)/(1-c^2))^2 ln((4/delta) ceil(M R n sqrt(2d)/Delta)); with `per_step` the ceiling
    holds R n sqrt(2d)/(eta Delta), as in the paper's appendix, which divides it by K at eta = K/M.
    """
    theta = corollary_theta(runs.c)
    rate = 1 / runs.eta if per_step else runs.M
    steps = np.ceil(rate * runs.R * runs.n * np.sqrt(2 * runs.d) / runs.clip_each)
    with np.errstate(divide="ignore"):
        need = 20 / 3 / theta**2 * np.log(4 / runs.delta * np.maximum(steps, 1))
    return np.where(theta > 0, np.maximum(need, 1.0), np.inf)


def corollary_theta(c: Numbers) -> Numbers:
    """The deviation theta at which the theorem's c1 is 1, in the shape of c; 0 where the step does
    not contract.
    """
    return np.maximum(gap(c), 0.0) / (1 + c**2)
