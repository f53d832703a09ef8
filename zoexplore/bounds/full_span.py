"""The optimal shifts, in closed form, if the directions span everything (K = d), so that nothing is
random.
"""

import numpy as np

from zoexplore.bounds.bound import Trajectory
from zoexplore.bounds.kernels import shifted_divergence
from zoexplore.bounds.numbers import Numbers


def least_budget(c: Numbers, T: Numbers, far: Numbers, drift: Numbers, S: Numbers) -> Numbers:
    """Return (rho, N, z): the least budget that brings distances z <- c z + drift - p_t to 0, the
    number of counted steps, and the distance from which they start. A step costs p_t^2/(2S).

    Either all T steps are counted from distance 0, or the best number N <= T of them from `far`.
    For c < 1 the former is the bound by Bok, Su, Altschuler 2024 (doi:10.48550/arXiv.2403.00278):
    1/2 (drift^2/S)(1-c^T)(1+c)/((1+c^T)(1-c)).
    """
    with np.errstate(all="ignore"):
        kappa = np.log(c)
        rho, N, z = shifted_divergence.least_shift(kappa, T, 0.0, drift) / (2 * S), T, np.zeros(())
        # (far + drift sum g)^2/sum g^2 is stationary at the real N with
        # exp(kappa N) = 1 - far (1 - c)/drift
        real = np.where(kappa == 0, far / drift, np.log1p(far * np.expm1(kappa) / drift) / kappa)
        real = np.where(np.isfinite(real), real, T)
        for steps in (np.floor(real), np.ceil(real)):
            steps = np.clip(steps, 1, T)
            apart = shifted_divergence.least_shift(kappa, steps, far, drift) / (2 * S)
            better = apart < rho  # false for nan, which an infinite ball gives
            rho, N, z = (
                np.where(better, apart, rho),
                np.where(better, steps, N),
                np.where(better, far, z),
            )
    return rho, N, z


def trajectory(
    c: Numbers, T: Numbers, N: Numbers, z: Numbers, drift: Numbers, S: Numbers, beta: Numbers
) -> Trajectory:
    """Return the shifts, all in the span, that attain the budget from `least_budget`."""
    with np.errstate(divide="ignore"):
        kappa = np.log(float(c))
    N = int(N)
    nu = float(shifted_divergence.shift_level(kappa, float(N), z, drift, 0.0))
    with np.errstate(invalid="ignore"):
        weight = np.exp(-abs(kappa) * (np.arange(N)[::-1] if kappa <= 0 else np.arange(N)))
    weight = np.where(np.isnan(weight), 1.0, weight)  # exp(-inf 0) is nan at the last step if c = 0
    p = drift * np.maximum(nu * weight, 1.0) if kappa > 0 else nu * weight
    return Trajectory(
        tau=int(T) - N,
        z=shifted_divergence.distances(float(z), p, float(c), float(drift)),
        beta=np.full(N, float(beta)),
        p=p,
        a=np.zeros(N),
        rho=p**2 / (2 * float(S)),
    )
