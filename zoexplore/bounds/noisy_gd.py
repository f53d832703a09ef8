"""Noisy gradient descent, the first-order comparator."""

from dataclasses import replace

import numpy as np

from zoexplore.bounds import full_span
from zoexplore.bounds.assumptions import (
    CLIP_IDLE,
    FULL_BATCH,
    LAST_ITERATE,
    LIPSCHITZ,
    SMOOTH,
    START,
)
from zoexplore.bounds.bound import Bound, Solved, Trajectory
from zoexplore.bounds.contraction import lipschitz
from zoexplore.bounds.kernels import norms
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.documents import Reference
from zoexplore.run.setting import Accounting


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """Compute epsilon by the optimal shifts for the steps w - eta_1 g + noise, where eta_1 = eta/d
    and each coordinate's noise has variance eta^2 sigma^2/d.
    """
    c, drift, S = _step(runs)
    rho, N, z = full_span.least_budget(c, runs.T, runs.diameter, drift, S)
    return Solved.of(runs, accounting, rho, N=N, z=z)


def _step(runs: RunArrays) -> Numbers:
    """Return (c, drift, S): the Lipschitz constant, the sensitivity and the noise variance of one
    step. If a joint clip acts, c is the constant of a step along clipped gradients.
    """
    c = runs.largest(lambda part: lipschitz(runs.regime, part * runs.eta / runs.d, runs.M, runs.m))
    if runs.setting.clipping == "joint":
        part, kind = runs.K / runs.d, np.where(runs.linear, norms.JOINT_LINEAR, norms.JOINT)
        r, low, top = (
            1 - runs.eta / runs.d * runs.ridge,
            part * runs.low_curvature,
            part * runs.top_curvature,
        )
        clipped = norms.certain_constant(norms.Change(r, low, top), runs.slowest, kind)
        c = np.where(runs.lipschitz > runs.clip, clipped, c)
    return c, runs.gradient_sensitivity / runs.d, 1 / runs.d


def trajectory(runs: RunArrays, accounting: Accounting, solved: Solved) -> Trajectory:
    """Return the shifts and distances behind one run's bound."""
    c, drift, S = _step(runs)
    return full_span.trajectory(c, runs.T, solved.N, solved.z, drift, S, 0.0)


IDLE_OR_JOINT = replace(
    LIPSCHITZ,
    holds=lambda r, a: ~r.acting | (r.setting.clipping == "joint"),
    unless=lambda r: r.acting and r.setting.clipping == "joint",
)

NOISY_GD = Bound(
    id="noisy-gd",
    title="Noisy gradient descent",
    bare=True,
    summary="The same noise energy and mean step η/d with exact gradients (K = d, β = 0): what first-order training would pay.",
    source="Bok, Su, Altschuler 2024, doi:10.48550/arXiv.2403.00278",
    proofs=(Reference("bounds", "Noisy gradient descent"), Reference("joint", "All directions")),
    assumptions=(START, LAST_ITERATE, SMOOTH, IDLE_OR_JOINT, CLIP_IDLE, FULL_BATCH),
    solve=solve,
    trajectory=trajectory,
    comparator=True,
)
