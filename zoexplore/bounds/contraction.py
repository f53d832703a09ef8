"""How fast two runs approach each other: the Lipschitz constants of the step, and the corollary's
K_min (docs/bounds.md).
"""

import numpy as np

from zoexplore.bounds.numbers import Numbers

# the amount by which c is raised, so that rounding near 1 never counts as contraction
ROUNDING = 2.0**-51


def lipschitz(regime: str, step: Numbers, M: Numbers, m: Numbers) -> Numbers:
    """Return the Lipschitz constant of w - step * grad L(w) for an M-smooth loss, at any step size;
    arrays broadcast.

    Non-convex: 1 + step M. Convex: max(1, step M - 1), by cocoercivity. Strongly convex: max(|1 -
    step m|, |1 - step M|), by cocoercivity of the loss minus m/2 |w|^2. At the paper's step sizes
    these are 1 + eta M/K, 1 and 1 - eta m/K (docs/bounds.md has the proof).
    """
    if regime == "non-convex":
        return 1 + step * M + ROUNDING
    convex = np.maximum(1.0, step * M - 1 + ROUNDING)
    if regime == "convex":
        return convex
    return np.minimum(convex, np.maximum(np.abs(1 - step * m), np.abs(1 - step * M)) + ROUNDING)


def gap(c: Numbers) -> Numbers:
    """Compute 1 - c^2 without cancellation near c = 1."""
    return (1 - c) * (1 + c)


def tail_exponent(theta: Numbers, K: Numbers, d: Numbers) -> Numbers:
    """Return x such that the squared one-step factor exceeds its mean by theta (1+c^2) K/d with
    probability at most 2 exp(-x), for 2K <= d. The source is the paper's lemma on Beta tails.
    """
    return 3 * theta**2 * d * K / (12 * (d - K) + 8 * theta * (d - 2 * K))


def k_min(runs: Numbers, per_step: bool = False) -> Numbers:
    """Return a number of directions that suffices for the corollary (real, at least 1), in the
    runs' shape; inf without contraction.

    The number is (20/3) ((1+c^2)/(1-c^2))^2 ln((4/delta) ceil(M R n sqrt(2d)/Delta)). With
    `per_step` the ceiling is of R n sqrt(2d)/(eta Delta), as in the paper's appendix. At eta = K/M
    this is K times smaller.
    """
    theta = corollary_theta(runs.c)
    rate = 1 / runs.eta if per_step else runs.M
    steps = np.ceil(rate * runs.R * runs.n * np.sqrt(2 * runs.d) / runs.clip_each)
    with np.errstate(divide="ignore"):
        need = 20 / 3 / theta**2 * np.log(4 / runs.delta * np.maximum(steps, 1))
    return np.where(theta > 0, np.maximum(need, 1.0), np.inf)


def corollary_theta(c: Numbers) -> Numbers:
    """Return the deviation theta at which the theorem's c1 is 1, in the shape of c; 0 if the step
    does not contract.
    """
    return np.maximum(gap(c), 0.0) / (1 + c**2)
