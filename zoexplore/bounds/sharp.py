"""Our sharper bound, which splits every step into span and complement, and averages the privacy
loss over the random cost of hiding.
"""

from bisect import bisect_left
from dataclasses import replace

import numpy as np

from zoexplore.bounds import composition, full_span, hidden_cost, sharp_batches, visits
from zoexplore.bounds.assumptions import (
    CLIP_IDLE,
    COMPOSABLE_BATCHES,
    GRADIENTS,
    LINEAR,
    LIPSCHITZ,
    PEOPLE,
    RELEASED,
    SHARE_AS_SET,
    SMOOTH,
    START,
)
from zoexplore.bounds.bound import Bound, Solved, Trajectory
from zoexplore.bounds.drifts import Drift, at_order
from zoexplore.bounds.kernels import norms
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.subsampling import by_batch_kind, where_batches_are_large
from zoexplore.run.documents import Reference
from zoexplore.run.formatting import format_short
from zoexplore.run.setting import Accounting

# which part of the bound gave the least epsilon
BY_COMPOSITION, ALL_DIRECTIONS, SPLIT = 0.0, 1.0, 2.0


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """Compute the sharper bound's least epsilon, by the better of two norms. It never exceeds
    composition's. Runs on batches of b < n records are counted according to how batches are drawn.
    """
    helps = _linear_norm_helps(runs)
    # for all these runs the norm of linear models is the smaller one, whatever the choices
    if (helps & runs.acting & ~runs.joint).all():
        return _by_one_norm(runs.counted_by_linear_norm(), accounting)
    best = _by_one_norm(runs, accounting)
    if helps.any():
        found = _by_one_norm(runs.counted_by_linear_norm(), accounting)
        best = best.minimum(found.mask(helps))
    return best


def _by_one_norm(runs: RunArrays, accounting: Accounting) -> Solved:
    found = by_batch_kind(_of_all, _of_batches, runs, accounting)
    return replace(found, by_linear_norm=np.full((), float(runs.by_linear_norm)))


def _linear_norm_helps(runs: RunArrays) -> Numbers:
    """Say for which runs the norm of linear models may be smaller, in the runs' shape. Under an
    idle clip the usual norm has the smaller constant, so the norm of linear models helps only
    against the remainder of two-point quotients. Without curvature both norms are the same.
    """
    return runs.linear & (runs.acting | (runs.xi > 0)) & (runs.top_curvature > 0)


def _of_batches(runs: RunArrays, accounting: Accounting) -> Solved:
    """Take the least of three epsilons: by composition, as if every batch held the record, and with
    the batches as they are drawn.
    """
    best = _composition(runs, accounting)
    # With shuffled batches, two visits may follow one another directly, which costs as much as
    # composition. Poisson batches differ in size.
    if visits.cyclic(runs):
        best = best.minimum(_hidden(runs, accounting))
    elif runs.setting.sampling not in ("shuffled", "poisson"):
        best = best.minimum(where_batches_are_large(_hidden, runs, accounting))
    if runs.setting.sampling not in ("shuffled", "cyclic"):
        best = best.minimum(
            sharp_batches.solve(runs, accounting).mask((runs.cooled == 0) | (runs.releases == 1))
        )
    return best


def _of_all(runs: RunArrays, accounting: Accounting) -> Solved:
    """Minimise epsilon over the order of the moments, the split of delta, the start, the steps, the
    fractions and, if it is free, a constant beta. The result never exceeds composition's, which is
    the case pi = 1 from distance 0.
    """
    best, everywhere = _composition(runs, accounting), (runs.K == runs.d) & runs.certain
    if everywhere.any():
        best = best.minimum(_all_directions(runs, accounting).mask(everywhere))
    return best.minimum(_hidden(runs, accounting, ~everywhere))


def _hidden(runs: RunArrays, accounting: Accounting, where: np.ndarray | bool = True) -> Solved:
    """Compute epsilon from the cost of hiding step by step, for the runs that `where` selects."""
    free = accounting.schedule == "optimal"
    shared = (runs.last_beta < 1) | (runs.K == runs.d)
    # with several releases, only the last stretch would have the cool-down
    alike = (runs.cooled == 0) | ((runs.releases == 1) & (not visits.cyclic(runs)))
    allowed = where & (shared | free) & alike & (runs.T > runs.releases)
    if not allowed.any():
        return Solved.nothing(())
    beta = None if free else np.where(shared, runs.beta, 0.5)
    found = hidden_cost.solve(runs, beta, accounting)
    return replace(found, kind=np.full((), SPLIT)).mask(allowed)


def _composition(runs: RunArrays, accounting: Accounting) -> Solved:
    """Compose at the run's share. If the share is free, also try all noise along the directions."""
    solved = composition.solve(runs, accounting)
    found = replace(solved, kind=np.full((), BY_COMPOSITION), beta=runs.beta)
    if accounting.schedule == "optimal" and not (runs.beta == 1).all():
        found = found.minimum(_composition(runs.changed(beta=np.ones(())), accounting))
    return found


def _all_directions(runs: RunArrays, accounting: Accounting) -> Solved:
    """Bound runs with K = d, in which nothing is random. So delta is not split, and all noise
    counts as directional.
    """
    # a stretch between releases costs at most as much as the longest one
    steps = np.ceil(runs.T / runs.releases)
    rho, N, z = full_span.least_budget(
        runs.certain_c, steps, runs.diameter, *_all_directions_step(runs, accounting)
    )
    return Solved.of(
        runs,
        accounting,
        rho * runs.releases,
        N=N,
        z=z,
        kind=ALL_DIRECTIONS,
        beta=runs.beta,
    )


def _all_directions_step(runs: RunArrays, accounting: Accounting) -> Numbers:
    """Return the drift and the noise variance of a step in all directions."""
    return np.minimum(runs.B_lipschitz, runs.B_clip) + runs.remainder, runs.s1 + runs.s2


def trajectory(runs: RunArrays, accounting: Accounting, solved: Solved) -> Trajectory | None:
    """Return the distances, fractions and shifts of one run, step by step. Return None on batches,
    because their steps' costs do not add up to a budget, and if several iterates are released.
    """
    if solved.by_losses or runs.releases > 1 or runs.batch < runs.n:
        return None
    runs = runs.counted_by_linear_norm(bool(solved.by_linear_norm == 1))
    N, tau, beta = int(solved.N), int(runs.T - solved.N), float(solved.beta)
    if solved.kind == BY_COMPOSITION:  # each step's data is hidden at once
        flat, ones = np.full(N, float(solved.rho) / N), np.ones(N)
        noise = float(beta / runs.K + (1 - beta) / runs.d)
        return Trajectory(
            tau, np.zeros(N + 1), beta * ones, np.sqrt(2 * flat * noise), 0 * ones, flat, ones, ones
        )
    if solved.kind == ALL_DIRECTIONS:
        drift, S = _all_directions_step(runs, accounting)
        return full_span.trajectory(runs.certain_c, runs.T, solved.N, solved.z, drift, S, runs.beta)
    alpha, pi, z, x, across, along = hidden_cost.path(runs, accounting, solved)
    b = float(np.minimum(runs.B_lipschitz, runs.B_clip) + runs.remainder)
    # the directions' share of the noise, step by step
    share = np.where(np.arange(N)[::-1] < float(runs.cooled), float(runs.last_beta), beta)
    z, s2 = np.append(z, 0.0), (1 - share) / float(runs.d)
    z[0] = float(solved.z)
    p, a = pi * (np.sqrt(along) * z[:-1] + b), alpha * np.sqrt(across) * z[:-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        spent = p**2 / (share / float(runs.K) + s2) + (
            np.nan_to_num(a**2 / s2) if runs.K < runs.d else 0.0
        )
    return Trajectory(
        tau, z, share, p, a, float(solved.rho) * spent / spent.sum(), alpha, pi, np.sqrt(along) * x
    )


def epsilons(
    runs: RunArrays, accounting: Accounting, solved: Solved, deltas: np.ndarray
) -> Numbers | None:
    """Return one run's epsilons at other deltas by the same plan, shape (P,). Return None if no
    plan gave the least epsilon, or if a budget was converted.
    """
    if solved.kind != SPLIT or accounting.conversion != "gaussian":
        return None
    return hidden_cost.epsilons(
        runs.counted_by_linear_norm(bool(solved.by_linear_norm == 1)), accounting, solved, deltas
    )


def _smooth_data(runs: RunArrays) -> str:
    """Put into words the assumption on the clipped part of a single run's losses."""
    inside = runs.regime == "strongly-convex" and runs.m > runs.ridge
    shape = (
        ", and (m − ridge)-strongly convex"
        if inside
        else ""
        if runs.regime == "non-convex"
        else ", and convex"
    )
    if runs.ridge == 0:
        return f"Every record's loss is M-smooth{shape.replace('(m − ridge)', 'm')}."
    return f"Every record's loss is M-smooth; what is clipped of it, all but the ridge, is (M − ridge)-smooth{shape}."


SMOOTH_DATA = replace(
    SMOOTH,
    words="Every record's loss is M-smooth; what is clipped of it, all but the ridge, is (M − ridge)-smooth, and convex or "
    "(m − ridge)-strongly convex where the regime says so.",
    said=lambda r: _smooth_data(r),
)
IDLE = replace(LIPSCHITZ, holds=None, shortfall=None, vouched=False, unless=lambda r: r.acting)
STEEP = replace(GRADIENTS, unless=lambda r: not r.acting or r.slope == np.inf)


ONE_FORM = replace(LINEAR, unless=lambda r: not _linear_norm_helps(r))
NOT_LINEAR = (
    "the clipped part is declared strongly convex (m exceeds the ridge), which no function of one linear form is: "
    "the bound does not use that it is linear"
)


def remark(runs: RunArrays, solved: Solved) -> str:
    """Say which statement about the run the bound does not use, and what contracts if the clip
    acts.
    """
    ignored = runs.setting.linear and runs.low_curvature > 0 and runs.d > 1
    return "; ".join(filter(None, (NOT_LINEAR if ignored else "", _about_clip(runs, solved))))


def _about_clip(runs: RunArrays, solved: Solved) -> str:
    """Say that only the ridge contracts under a clip that may act, and how large it must be."""
    if not runs.acting:
        return ""
    order = float(solved.moment)
    need, most = (
        needed_ridge(runs, order if np.isfinite(order) else 10.0),
        float(runs.M - runs.ridge),
    )
    said = "the clip may act, so only the ridge pulls two runs together"
    if not np.isfinite(need):
        return f"{said}, and at this step size no ridge is enough"
    share = (
        f" ({format_short(need / most, 2)} of the smoothness of what is clipped)"
        if most > 0
        else ""
    )
    return f"{said}: it must be at least {format_short(need)}{share}, and is {format_short(runs.ridge)}"


def needed_ridge(runs: RunArrays, order: float) -> float:
    """Find the least ridge with which a single run's step contracts if the clip acts and the
    clipped part stays the same; inf if no ridge is enough.

    Args:
        order: the order of the norm in which the step contracts.
    """
    step, low, top = (float(x) for x in (runs.eta / runs.K, runs.low_curvature, runs.top_curvature))
    tried = np.geomspace(1e-4, 1.0, 2000) * 2 / step
    # norms fall as the ridge grows, until 1 - step * ridge meets the middle of the curvatures
    tried = tried[1 - step * tried >= 0.5 * (min(low, 0.0) + top)]
    kinds = [norms.JOINT] if runs.joint else [norms.EACH]
    kinds += [norms.JOINT_LINEAR] if runs.joint and runs.linear else []

    def contracts(ridge: float) -> bool:
        of = float(runs.K), float(runs.d), 1 - step * ridge, low, top, 1.0
        each = (at_order(Drift(*of, kind, float(runs.linear)), order) for kind in kinds)
        return any(norms.norm(at.table, 1.0, at.c2).J < 1 for at in each)

    least = bisect_left(tried, True, key=contracts)
    return float(tried[least]) if least < tried.size else np.inf


SHARP = Bound(
    id="sharp",
    title="Sharper bound",
    summary="Span and complement are each hidden by the noise they see, the privacy loss averaged over what that may cost.",
    source="",
    proofs=(
        Reference("sharp", "The norm"),
        Reference("sharp", "Proof"),
        Reference("sharp", "The lemma"),
        Reference("sharp", "Linear models"),
        Reference("joint", "Proof"),
        Reference("batches", "Released checkpoints"),
        Reference("batches", "Neighbours"),
        Reference("batches", "The sharper bound on fresh batches"),
    ),
    assumptions=(
        START,
        RELEASED,
        SMOOTH_DATA,
        ONE_FORM,
        IDLE,
        STEEP,
        CLIP_IDLE,
        COMPOSABLE_BATCHES,
        PEOPLE,
        SHARE_AS_SET,
    ),
    solve=solve,
    trajectory=trajectory,
    epsilons=epsilons,
    remark=remark,
    chooses_share=True,
)
