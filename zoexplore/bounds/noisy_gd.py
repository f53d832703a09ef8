"""Noisy gradient descent, the first-order comparator (BOUNDS section 8)."""

import numpy as np

from zoexplore.bounds.assumptions import CLIP_IDLE, FULL_BATCH, LAST_ITERATE, LIPSCHITZ, SMOOTH
from zoexplore.bounds.bound import Bound, Solved, Trajectory
from zoexplore.bounds.contraction import lipschitz
from zoexplore.bounds.kernels import shifts
from zoexplore.bounds.runs import Runs
from zoexplore.setting import Accounting


def solve(runs: Runs, accounting: Accounting) -> Solved:
    """The optimal shifts for w - eta_1 g + noise of variance eta^2 sigma^2/d a coordinate, eta_1 = eta/d.

    Either all T steps are counted from distance 0, where for c < 1 and B = 2 Delta eta_1/n this is the shifted-interpolation
    bound 1/2 (B^2/S)(1-c^T)(1+c)/((1+c^T)(1-c)); or the best number of them from the diameter.
    """
    kappa, B, S = _step(runs)
    from_zero = shifts.least_shift(kappa, runs.T, 0.0, B) / (2 * S)
    with np.errstate(all="ignore"):
        # (z + B sum g)^2 / sum g^2 is stationary in the real number of steps where exp(kappa N) = 1 - z (1 - c)/B
        real = np.where(kappa == 0, 2 * runs.R / B, np.log1p(2 * runs.R * np.expm1(kappa) / B) / kappa)
        real = np.where(np.isfinite(real), real, runs.T)
        least, N = np.inf, runs.T
        for steps in (np.floor(real), np.ceil(real)):
            steps = np.clip(steps, 1, runs.T)
            rho = shifts.least_shift(kappa, steps, 2 * runs.R, B) / (2 * S)
            least, N = np.where(rho < least, rho, least), np.where(rho < least, steps, N)
    start = Solved.of(runs, accounting, from_zero, N=runs.T)
    return start.least(Solved.of(runs, accounting, np.where(np.isnan(least), np.inf, least), N=N, z=2 * runs.R))


def _step(runs: Runs):
    """ln c, sensitivity and noise variance of one step."""
    step = runs.eta / runs.d
    with np.errstate(divide="ignore"):
        kappa = np.log(lipschitz(runs.regime, step, runs.M, runs.m))
    return kappa, 2 * runs.clip * step / runs.n, runs.eta**2 * runs.sigma**2 / runs.d


def trajectory(runs: Runs, accounting: Accounting, solved: Solved) -> Trajectory:
    """The shifts, all of them in the span, which is everything."""
    kappa, B, S = (float(x) for x in _step(runs))
    N = int(solved.N)
    nu = float(shifts.shift_level(kappa, N, solved.z, B, 0.0))
    p = nu * np.exp(-abs(kappa) * (np.arange(N)[::-1] if kappa <= 0 else np.arange(N)))
    p = np.maximum(p, B) if kappa > 0 else p
    z = shifts.distances(float(solved.z), p, np.exp(kappa), B)
    return Trajectory(tau=int(runs.T) - N, z=z, beta=np.zeros(N), p=p, a=np.zeros(N), rho=p**2 / (2 * S))


NOISY_GD = Bound(
    id="noisy-gd",
    title="Noisy gradient descent",
    latex=r"\rho = \frac{B^2}{2S}\,\frac{(1-c^T)(1+c)}{(1+c^T)(1-c)},\quad B=\frac{2\Delta\eta}{nd},\ S=\frac{\eta^2\sigma^2}{d}",
    says="The same noise energy and mean step η/d with exact gradients (K = d, β = 0): what first-order training would pay.",
    source="Bok, Su, Altschuler 2024, doi:10.48550/arXiv.2403.00278; BOUNDS section 8",
    assumptions=(LAST_ITERATE, SMOOTH, LIPSCHITZ, CLIP_IDLE, FULL_BATCH),
    solve=solve,
    trajectory=trajectory,
)
