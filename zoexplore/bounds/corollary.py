"""The paper's closed form for strongly convex losses."""

import numpy as np

from zoexplore.bounds.assumptions import (
    CLIP_IDLE,
    FINITE_BALL,
    FULL_BATCH,
    HALF_DIMENSION,
    LAST_ITERATE,
    LIPSCHITZ,
    NO_COOLDOWN,
    SMOOTH,
    START,
    Assumption,
)
from zoexplore.bounds.bound import Bound, Solved
from zoexplore.bounds.contraction import corollary_theta, k_min, tail_exponent
from zoexplore.bounds.kernels.gaussian import ROUND_UP
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.documents import Reference
from zoexplore.run.fields import OPTIONS
from zoexplore.run.formatting import format_count, format_short
from zoexplore.run.setting import Accounting


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """Minimise N (2 Delta/n)^2/(beta sigma^2) + 2 (2R)^2 d/((1-beta) N eta^2 sigma^2) over the
    numbers N of steps that delta/2 allows.
    """
    if accounting.printed:
        return _printed(runs, accounting)
    step = runs.record_sensitivity**2 / runs.beta
    start = 2 * runs.diameter**2 * runs.d / (1 - runs.beta)
    most = np.minimum(runs.T, most_steps(runs))
    real = np.sqrt(start / step)
    below, above = (np.clip(f(real), 1, np.maximum(most, 1)) for f in (np.floor, np.ceil))
    rho = np.minimum(below * step + start / below, above * step + start / above)
    N = np.where(below * step + start / below <= above * step + start / above, below, above)
    return Solved.of(runs, accounting, rho, runs.delta / 2, N, runs.diameter)


def _printed(runs: RunArrays, accounting: Accounting) -> Solved:
    """Take the smaller of the proof's two branches. The convergent branch has the printed
    factor 8.
    """
    every_step = runs.T * runs.record_sensitivity**2 / 2
    convergent = 2 * runs.record_sensitivity * runs.diameter * np.sqrt(2 * runs.d)
    N = np.minimum(
        runs.T, np.ceil(runs.n * runs.R * np.sqrt(2 * runs.d) / (runs.clip_each * runs.eta))
    )
    return Solved.of(
        runs, accounting, np.minimum(every_step, convergent), runs.delta / 2, N, runs.diameter
    )


def most_steps(runs: RunArrays) -> Numbers:
    """Return the largest number of counted steps whose chances of failing add up to at most
    delta/2, in the runs' shape.
    """
    with np.errstate(over="ignore"):
        steps = np.exp(
            np.log(runs.delta) - np.log(4) + tail_exponent(corollary_theta(runs.c), runs.K, runs.d)
        )
    return np.floor(steps / ROUND_UP)


def _enough_directions(runs: RunArrays, accounting: Accounting) -> Numbers:
    return runs.K >= k_min(runs, per_step=True) if accounting.printed else most_steps(runs) >= 1


def _too_few(runs: RunArrays) -> str:
    # another assumption fails already, so this one need not say anything
    if runs.M == np.inf or 2 * runs.K > runs.d:
        return ""
    if not runs.c < 1:
        return "no K is enough without contraction"
    small = f"K = {format_count(runs.K)} is too small: the chance that a step fails exceeds δ/2"
    enough, most = float(k_min(runs)), format_count(runs.d // 2)
    if enough == np.inf:
        return small
    return f"{small} (the paper's K_min is enough, {format_count(enough)}; at most d/2 = {most} is allowed)"


def _no_contraction(runs: RunArrays) -> str:
    if runs.M == np.inf:
        return ""
    regime = OPTIONS["regime"][runs.regime]
    return f"the step does not contract: its Lipschitz constant is {format_short(float(runs.c))} ({regime} loss)"


def _largest_xi(runs: RunArrays) -> Numbers:
    """Return the largest xi at which the two-point error costs at most half as much as the record,
    in the runs' shape.
    """
    return (
        np.sqrt((1 - runs.beta) / runs.beta)
        * runs.record_sensitivity
        * runs.sigma
        / (runs.M * np.sqrt(2 * runs.d))
    )


COROLLARY = Bound(
    id="corollary",
    title="Closed form",
    summary="The theorem with its contraction factor set to 1: a formula that fits on a line, at several times the privacy loss.",
    source="Paper, closed-form corollary and the appendix on numerical results",
    proofs=(Reference("bounds", "The closed form"),),
    assumptions=(
        NO_COOLDOWN,
        START,
        LAST_ITERATE,
        SMOOTH,
        LIPSCHITZ,
        CLIP_IDLE,
        HALF_DIMENSION,
        FINITE_BALL,
        FULL_BATCH,
        Assumption(
            "A step contracts: the loss is strongly convex and the step size is below 2K/M.",
            lambda r, a: r.c < 1,
            _no_contraction,
        ),
        Assumption(
            "The noise is shared: 0 < β < 1.",
            lambda r, a: ((r.beta > 0) & (r.beta < 1)) | a.printed,
            lambda r: f"β = {format_short(r.beta, 6)} is not strictly between 0 and 1",
        ),
        Assumption(
            "K is large enough for δ/2 to cover the chance that a step fails to contract.",
            _enough_directions,
            _too_few,
        ),
        Assumption(
            "The perturbation is small: ξ ≤ √((1−β)/β) · 2Δ/(nM√(2d)).",
            lambda r, a: (r.xi == 0) | (r.M == np.inf) | (r.xi <= _largest_xi(r)),
            lambda r: (
                f"ξ = {format_short(float(r.xi))} exceeds {format_short(float(_largest_xi(r)))}"
            ),
        ),
    ),
    solve=solve,
    printed="the minimum carries the factor 8 where its own two terms add up to 16",
)
