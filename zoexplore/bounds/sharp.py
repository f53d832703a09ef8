"""Our sharper bound: every step split into span and complement, and one budget for the whole trajectory."""

from bisect import bisect_left
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from zoexplore.bounds import composition, epochs, full_span, sharp_batches
from zoexplore.bounds.assumptions import CLIP_IDLE, EPOCHS, GRADIENTS, LIPSCHITZ, PEOPLE, RELEASED, SMOOTH, START, Assumption
from zoexplore.bounds.bound import Bound, Solved, Style, Trajectory
from zoexplore.bounds.kernels import norms as kernels_norms
from zoexplore.bounds.kernels import sharp as kernels
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import spread
from zoexplore.bounds.shared_sentences import counted_in_tex, of_hidden_iterates
from zoexplore.bounds.sharp_search import (
    FEW,
    FINE,
    Outcome,
    Rows,
    growth_of_squared_distance,
    improve,
    nearest_order,
    settle,
    walk,
)
from zoexplore.bounds.subsampling import by_batch_kind
from zoexplore.run.documents import Reference
from zoexplore.run.formatting import bound_in_tex, format_short, format_tex
from zoexplore.run.setting import NUMERIC_FIELDS, Accounting

if TYPE_CHECKING:
    from zoexplore.bounds.guarantee import Guarantee

ANCHOR = 4.0  # choices are made at powers of it in T, and interpolated between: a curve's many T share a few
MOST_NODES = 25  # rows at which choices are made along other fields; so few along T have their own, too
AGAIN = 2, 12  # rounds at least and, where epsilon still falls, at most, from choices that neighbours made
WORSE = 1.01  # a family of rows that is worse than another by that much at both nodes around a row is not tried there
TIE = 1e-4  # relative; starts that agree so far are the same
FLAT = 1e-5  # a growth of epsilon between anchors that is not worth resolving
BY_COMPOSITION, ALL_DIRECTIONS, SPLIT = 0.0, 1.0, 2.0  # what a bound was the least by
BETAS_APART, STEPS_APART = 0.1, 1.3  # free betas, and the ratio of counted steps, of two nodes that are tried as they are, too


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """The sharper bound's least epsilon; on batches of b < n records as they are drawn. Never above composition."""
    return by_batch_kind(_of_all, _of_batches, runs, accounting)


def _linear_norm_helps(runs: RunArrays) -> np.ndarray:
    """Whether it helps to know that what is clipped is a function of one linear form. The norm of linear models is for a clip
    that may act: an idle one is one that may and does not, and otherwise has a lesser constant and a remainder of two-point
    quotients. Without curvature there is nothing to know.
    """
    return runs.linear & (runs.acting | (runs.xi > 0)) & (runs.top_curvature > 0)


def _of_batches(runs: RunArrays, accounting: Accounting) -> Solved:
    helps = _linear_norm_helps(runs)
    if not helps.any():
        return _by_one_norm(runs, accounting)
    found = _by_one_norm(runs.counted_by_linear_norm(), accounting).mask(helps)
    if (helps & runs.acting & ~runs.joint & (runs.batch < runs.n)).all():  # where choices are searched for widely enough
        return found
    return _by_one_norm(runs, accounting).minimum(found)


def _by_one_norm(runs: RunArrays, accounting: Accounting) -> Solved:
    """Batches, by the one norm or the other."""
    best = _composition(runs, accounting)
    if accounting.schedule == "optimal":
        best = best.minimum(_composition(replace(runs, beta=np.ones(())), accounting))
    if runs.setting.sampling == "cyclic":
        shared = (runs.beta < 1) | (runs.K == runs.d)
        best = best.minimum(epochs.cyclic(runs, accounting).mask(shared & (runs.releases == 1)))
    elif runs.setting.sampling != "shuffled":  # there the worst order of visits is as bad as composition, whatever it is
        best = best.minimum(sharp_batches.solve(runs, accounting).mask(runs.releases == 1))
    return replace(best, extra=best.extra | {"by_linear_norm": np.full((), float(runs.by_linear_norm))})


def _of_all(runs: RunArrays, accounting: Accounting) -> Solved:
    """The least epsilon over the order of the moments, the split of delta, the start, the steps, the fractions and, where free,
    a constant beta. Never above composition, which is the case pi = 1 from distance 0.
    """
    free = accounting.schedule == "optimal"
    best = _composition(runs, accounting)
    if free:
        best = best.minimum(_composition(replace(runs, beta=np.ones(())), accounting))
    helps = _linear_norm_helps(runs)
    norms = [runs.counted_by_linear_norm()] if helps.any() else []
    for counted in (runs, *norms):
        everywhere = (counted.K == counted.d) & counted.certain
        if everywhere.any():
            best = best.minimum(_all_directions(counted, accounting).mask(everywhere))
    everywhere = (runs.K == runs.d) & runs.certain
    split = (~everywhere | helps) & (free | (runs.beta < 1) | (runs.K == runs.d))
    if not split.any():
        return best
    shared = (runs.beta < 1) | (runs.K == runs.d)
    beta = np.full((), 0.5) if free else np.where(shared, runs.beta, 0.5)  # of the other rows the bound is composition
    steps = _steps_per_release(runs)
    if not (helps & runs.acting & ~runs.joint).all():  # where its own norm is the less, whatever the choices
        norms.insert(0, runs)
    near = [Rows.of(counted, beta, steps, high=high) for counted in norms for high in (False, True)]
    far = []
    if np.isfinite(runs.R).any():
        most = 2.0 ** np.ceil(np.log2(steps.max()))
        far = [Rows.of(counted, beta, most, far=True) for counted in norms]
    only_T = not any(np.ndim(getattr(runs, name)) for name in NUMERIC_FIELDS if name != "T")
    found = (_along_T if only_T and steps.size > MOST_NODES else _along)(near, far, accounting)
    found = _within(_never_falling(found, near[0].most) if only_T else found, near[0].most)
    return best.minimum(found.reshape(runs.shape).mask(split))


def _steps_per_release(runs: RunArrays) -> np.ndarray:
    """The most steps from one released iterate to the next: a stretch costs at most what one of so many does, and they add up."""
    return np.ceil(runs.T / runs.releases)


def _along(near: list[Rows], far: list[Rows], accounting: Accounting) -> Solved:
    """Neighbouring rows in any field: choices are made for some of them, and interpolated where these are alike; of each family
    between those only where it may be the best, and does not come to the same as another at both.
    """
    families, count = near + far, near[0].K.size
    kept = spread(count, MOST_NODES)
    below, above, weight = _place(np.arange(count), kept)
    settled = _settle([rows.at(kept) for rows in families], accounting)
    enough = np.min([found.epsilon for _, found, _ in settled], axis=0) * WORSE
    solved, alone, tried = Solved.nothing(count), np.zeros(count, bool), []
    for rows, (nodes, found, same) in zip(families, settled, strict=True):
        promising = found.epsilon <= enough
        wanted = (promising[below] | promising[above]) & ~(same[below] & same[above])
        solved = _clearly_least(solved, _by_nodes(rows, nodes, found, below, above, weight, wanted, accounting))
        alone |= wanted & (weight > 0) & _orders_apart(nodes, below, above)
        tried.append(wanted)
    index = np.flatnonzero(alone)
    if index.size:
        some = [rows.at(index) for rows, wanted in zip(families, tried, strict=True) if wanted[index].any()]
        for chosen, outcome, _ in _settle(some, accounting):
            solved = _clearly_least(solved, _as_solved(chosen, chosen, outcome).scatter(index, count))
    return solved


def _clearly_least(solved: Solved, other: Solved) -> Solved:
    """The smaller of the two. A tie goes to the first, so that neighbouring settings tell the same story: what starts from afar
    and what starts from 0 often agree to many digits.
    """
    return solved.minimum(other.mask(other.epsilon < solved.epsilon * (1 - TIE)))


def _within(solved: Solved, T) -> Solved:
    """Bounds of runs of T steps, some of them found for more: those count all T, from distance 0, and cost no more."""
    longer = solved.N > T
    return replace(solved, N=np.where(longer, T, solved.N), z=np.where(longer, 0.0, solved.z))


def _by_nodes(rows: Rows, nodes: Rows, found: Outcome, below, above, weight, wanted, accounting: Accounting) -> Solved:
    """The wanted rows with the choices of the nodes around them, interpolated; and with either's where these are unlike, or where
    epsilon comes out larger than at both.
    """

    def mixed(earlier, later, which):
        index = np.flatnonzero(which)
        chosen = _between(rows, nodes, earlier, later, weight, accounting).at(index)
        return _evaluate(chosen, accounting, found.at(later[index])).scatter(index, rows.K.size)

    if not wanted.any():
        return Solved.nothing(rows.K.size)
    solved = mixed(below, above, wanted)
    missed = solved.epsilon > np.maximum(found.epsilon[below], found.epsilon[above]) * (1 + TIE)
    again = wanted & (weight > 0) & (missed | _unlike(nodes, found, below, above))
    if again.any():
        solved = solved.minimum(mixed(below, below, again)).minimum(mixed(above, above, again))
    return solved


def _unlike(nodes: Rows, found: Outcome, below, above) -> np.ndarray:
    """Whether neighbouring nodes may have come to optima of their own."""
    other_beta = np.abs(nodes.beta[above] - nodes.beta[below]) > BETAS_APART
    other_steps = nodes.far[below] & (np.abs(np.log(found.steps[above] / found.steps[below])) > np.log(STEPS_APART))
    return other_beta | other_steps | _orders_apart(nodes, below, above)


def _orders_apart(nodes: Rows, below, above) -> np.ndarray:
    """Whether neighbouring nodes' orders are too different, or too small, to interpolate between."""
    earlier, later = nodes.order[below], nodes.order[above]
    few = (np.minimum(earlier, later) < FEW) & (earlier != later)
    return few | (np.abs(np.log(earlier / later)) > np.log(ANCHOR))


def _along_T(near: list[Rows], far: list[Rows], accounting: Accounting) -> Solved:
    """Many rows that differ in T alone. Choices are made at the powers of ANCHOR around them; what starts from afar is the same
    for all.
    """
    T = near[0].most
    position = np.log(T) / np.log(ANCHOR)
    anchors = np.unique(np.concatenate([np.floor(position), np.ceil(position)]))
    below, above, weight = _place(position, anchors)
    nodes = [rows.at(np.zeros(anchors.size, int))._replace(most=ANCHOR**anchors) for rows in near]
    settled = [(node, found) for node, found, _ in _settle(nodes + [rows.at([0]) for rows in far], accounting)]
    from_afar = solved = Solved.nothing(T.size)
    for rows, (node, found) in zip(far, settled[len(near) :], strict=True):
        everywhere = np.zeros(T.size, int)
        from_afar = _clearly_least(from_afar, _as_solved(rows, node.at(everywhere), found.at(everywhere)))
    settled = settled[: len(near)]
    winner = np.argmin([found.epsilon for _, found in settled], axis=0)
    for i, (rows, (node, found)) in enumerate(zip(near, settled, strict=True)):
        # epsilon grows with T: a later anchor's bound serves all before it, and where two agree, nothing is left to be found
        flat = found.epsilon[above] <= found.epsilon[below] * (1 + FLAT)
        solved = solved.minimum(_as_solved(rows, node.at(above), found.at(above)))
        hopeless = found.epsilon[below] * (1 - TIE) > from_afar.epsilon  # and more so for more steps
        todo = ~flat & ~hopeless & ((winner[below] == i) | (winner[above] == i))
        solved = solved.minimum(_by_nodes(rows, node, found, below, above, weight, todo, accounting))
    return _clearly_least(solved, from_afar)


def _never_falling(solved: Solved, T: np.ndarray) -> Solved:
    """Runs that differ in T alone: what was found for more steps also serves fewer, so that a curve does not fall."""
    order = np.argsort(T, kind="stable")
    best, least = order.copy(), solved.epsilon[order]
    for i in range(order.size - 2, -1, -1):
        if least[i + 1] < least[i]:
            best[i], least[i] = best[i + 1], least[i + 1]
    back = np.empty_like(order)
    back[order] = best
    extra = {k: v[back] for k, v in solved.extra.items()}
    return Solved(**{k: getattr(solved, k)[back] for k in solved.ARRAYS}, extra=extra)


def _settle(families: list[Rows], accounting: Accounting) -> list[tuple[Rows, Outcome, np.ndarray]]:
    """`settle` for all families in one call. Those of as many rows as the first tell of the same runs, others of one more run."""
    sizes = [rows.K.size for rows in families]
    runs = np.concatenate([np.arange(size) if size == sizes[0] else [sizes[0]] * size for size in sizes])
    rows, found, same = settle(Rows.stack(*families), accounting, runs)
    parts = [slice(end - size, end) for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
    return [(rows.at(part), found.at(part), same[part]) for part in parts]


def _place(position: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nodes around each position, and the weight of the later one."""
    exact = np.interp(position, nodes, np.arange(nodes.size))
    below = np.floor(exact).astype(int)
    return below, np.ceil(exact).astype(int), exact - below


def _between(rows: Rows, nodes: Rows, below, above, weight, accounting: Accounting) -> Rows:
    """The rows with the choices of their nodes, interpolated."""

    def mix(x):
        return x[below] * (1 - weight) + x[above] * weight

    return rows._replace(
        order=nearest_order(np.exp(mix(np.log(nodes.order)))),
        share=np.exp(mix(np.log(nodes.share))),
        beta=mix(nodes.beta) if accounting.schedule == "optimal" else rows.beta,
    )


def _evaluate(rows: Rows, accounting: Accounting, nodes: Outcome) -> Solved:
    """The bound of rows whose choices are made, from what was found for a node each."""
    found = improve(rows, accounting, FINE, _carried(rows, nodes), *AGAIN)
    return _as_solved(rows, rows, found)


def _carried(rows: Rows, nodes: Outcome) -> np.ndarray:
    """The distances that the nodes' best rounds started from, for the rows' blocks: the same from either end of a run."""
    count, theirs = (kernels.blocks_of(most, rows.far, *FINE)[:, None] for most in (rows.most, nodes.most))
    block = np.arange(count.max())
    index = np.where(2 * block < count, block, block + theirs - count)
    return np.take_along_axis(nodes.path, np.clip(index, 0, theirs - 1), axis=1)


def _as_solved(rows: Rows, chosen: Rows, found: Outcome) -> Solved:
    """The rows' bounds under the choices; where these were made for a longer run, that run's."""
    path = np.empty(rows.K.size, object)
    for i, distances in enumerate(found.path):
        path[i] = distances
    extra = {
        "kind": np.full(rows.K.size, SPLIT), "moment": chosen.order, "share": found.share, "beta": chosen.beta, "path": path,
        "high": chosen.high, "far": chosen.far, "by_linear_norm": chosen.linear, "most": found.most,
    }  # fmt: skip
    delta_f = np.where(rows.certain, 0.0, found.share * rows.delta)
    N = np.where(rows.far, found.steps, np.minimum(found.steps, rows.most))
    return Solved(found.epsilon, found.rho, delta_f, N, rows.z0, extra)


def _composition(runs: RunArrays, accounting: Accounting) -> Solved:
    solved = composition.solve(runs, accounting)
    return replace(solved, extra=solved.extra | {"kind": np.full((), BY_COMPOSITION), "beta": runs.beta})


def _all_directions(runs: RunArrays, accounting: Accounting) -> Solved:
    """K = d: nothing is random, delta is not split, and all noise counts as the directions'."""
    steps = _steps_per_release(runs)
    rho, N, z = full_span.least_budget(runs.certain_c, steps, runs.diameter, *_all_directions_step(runs, accounting))
    counted = {"by_linear_norm": float(runs.by_linear_norm)}
    return Solved.of(runs, accounting, rho * runs.releases, N=N, z=z, kind=ALL_DIRECTIONS, beta=runs.beta, **counted)


def _all_directions_step(runs: RunArrays, accounting: Accounting):
    """Drift and noise variance of a step in all directions."""
    return np.minimum(runs.B_lipschitz, runs.B_clip) + runs.remainder, runs.s1 + runs.s2


def trajectory(runs: RunArrays, accounting: Accounting, solved: Solved) -> Trajectory | None:
    """The distances, fractions and shifts of one run, step by step; None on batches, whose steps' costs are no budget, and where
    more than one iterate is released.
    """
    if "renyi_order" in solved.extra or runs.releases > 1 or runs.batch < runs.n:
        return None
    extra = {k: v.item() for k, v in solved.extra.items()}
    runs = runs.counted_by_linear_norm(extra.get("by_linear_norm") == 1.0)
    N, tau = int(solved.N), int(runs.T - solved.N)
    if extra["kind"] == BY_COMPOSITION:  # everything is shifted away at once
        flat, ones, beta = np.full(N, float(solved.rho) / N), np.ones(N), extra["beta"]
        noise = float(beta / runs.K + (1 - beta) / runs.d)
        return Trajectory(tau, np.zeros(N + 1), beta * ones, np.sqrt(2 * flat * noise), 0 * ones, flat, ones, ones)
    if extra["kind"] == ALL_DIRECTIONS:
        drift, S = _all_directions_step(runs, accounting)
        return full_span.trajectory(runs.certain_c, runs.T, solved.N, solved.z, drift, S, runs.beta)
    rows = Rows.of(runs, extra["beta"], extra["most"], far=bool(extra["far"]), high=bool(extra["high"]))
    rows = rows._replace(z0=np.atleast_1d(solved.z), order=np.atleast_1d(extra["moment"]), share=np.atleast_1d(extra["share"]))
    z, alpha, pi, a, p, rho, drift = walk(rows, accounting, solved.extra["path"].item(), N)
    return Trajectory(tau, z, np.full(N, extra["beta"]), p, a, rho, alpha, pi, drift)


def substitute(g: "Guarantee") -> tuple[str, ...]:
    """The lengths and variances that the recursion works with, with the run's numbers."""
    runs = RunArrays.of(g.setting).counted_by(g.accounting)
    unit = float(runs.unit)
    return (
        rf"c = {bound_in_tex(float(runs.c))},\quad B = {bound_in_tex(float(runs.B) * unit)},\quad"
        rf" S = {format_tex(float(runs.s1 + runs.s2) * unit**2)},\quad s_2 = {format_tex(float(runs.s2) * unit**2)}",
        rf"{counted_in_tex(g)}\ z = {bound_in_tex(g.start)},\quad \delta_f = {bound_in_tex(g.delta_f)}",
        r"\rho",
    )


def _smooth_data(runs: RunArrays) -> str:
    """What is supposed of what is clipped of a single run's losses."""
    inside = runs.regime == "strongly-convex" and runs.m > runs.ridge
    shape = ", and (m − ridge)-strongly convex" if inside else "" if runs.regime == "non-convex" else ", and convex"
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


LINEAR = Assumption(
    "What is clipped of every record's loss is a function of one linear form of the parameters (a generalised linear model).",
    unless=lambda r: not _linear_norm_helps(r),
)
NOT_LINEAR = (
    "what is clipped is said to be strongly convex (m exceeds the ridge), which no function of one linear form is: "
    "nothing is made of its being one"
)


def remark(runs: RunArrays, solved: Solved) -> str:
    """What the bound does not use of the run, and what contracts if the clip acts."""
    ignored = runs.setting.linear and runs.low_curvature > 0 and runs.d > 1
    return "; ".join(filter(None, (NOT_LINEAR if ignored else "", _about_clip(runs, solved))))


def _about_clip(runs: RunArrays, solved: Solved) -> str:
    """With a clip that acts: what contracts, and how much of it that takes."""
    if not runs.acting:
        return ""
    order = float(solved.extra.get("moment", np.nan))
    need, most = needed_ridge(runs, order if np.isfinite(order) else 10.0), float(runs.M - runs.ridge)
    said = "the clip may act, so only the ridge pulls two runs together"
    if not np.isfinite(need):
        return f"{said}, and at this step size no ridge is enough"
    share = f" ({format_short(need / most, 2)} of the smoothness of what is clipped)" if most > 0 else ""
    return f"{said}: it must be at least {format_short(need)}{share}, and is {format_short(runs.ridge)}"


def needed_ridge(runs: RunArrays, order: float) -> float:
    """The least ridge with which a single run's step contracts where the clip acts, what is clipped as it is; inf for none.

    Args:
        order: of the norm that contraction is meant in.
    """
    of_joint = (kernels_norms.JOINT, kernels_norms.JOINT_LINEAR) if runs.linear else (kernels_norms.JOINT,)
    return min(_needed(runs, order, kind) for kind in (of_joint if runs.joint else (kernels_norms.EACH,)))


def _needed(runs: RunArrays, order: float, kind: float) -> float:
    """The same by one norm. That of a linear model, or of a joint clip, falls as the ridge grows, up to a step of half the
    curvature.
    """
    step = float(runs.eta / runs.K)
    tried = np.geomspace(1e-4, 1.0, 2000) * 2 / step
    low, top = float(runs.low_curvature), float(runs.top_curvature)
    d, r = float(runs.d), 1 - step * tried
    c = kernels_norms.step_constant(r, low, top, d, order, kind)
    first = int(np.argmax(c < 1)) if (c < 1).any() else tried.size
    if runs.joint and runs.K < runs.d:  # whose constant is that of all directions
        first = tried.size
    if runs.linear or runs.joint:
        up_to = min(first, int(np.count_nonzero(r >= top / 2)))

        def contracts(i: int) -> bool:
            return growth_of_squared_distance(float(runs.K), d, order, float(r[i]), low, top, kind) < 1

        found = bisect_left(range(up_to), True, key=contracts)
        first = found if found < up_to else first
    return float(tried[first]) if first < tried.size else np.inf


SHARP = Bound(
    id="sharp",
    title="Sharper bound",
    latex=r"\rho = \min\ \tfrac12\sum_t\left(\frac{p_t^2}{S_t} + \frac{a_t^2}{s_{2,t}}\right),\quad"
    r" v \leftarrow J(A, C),\quad A = \tfrac{\alpha^2}{s_2} + v(1-\alpha)^2,"
    r"\quad C = \tfrac{\pi^2(1+\varphi)}{S} + v(1-\pi)^2(1+\theta)",
    summary="Span and complement are each hidden by the noise they see; chance is budgeted over the whole run, not step by step.",
    source="",
    proofs=(
        Reference("sharp", "The norm"), Reference("sharp", "Proof"), Reference("sharp", "Linear models"),
        Reference("joint", "Proof"), Reference("batches", "Released checkpoints"), Reference("batches", "Neighbours"),
        Reference("batches", "The sharper bound on fresh batches"),
    ),
    assumptions=(START, RELEASED, SMOOTH_DATA, LINEAR, IDLE, STEEP, CLIP_IDLE, EPOCHS, PEOPLE),
    solve=solve,
    trajectory=trajectory,
    remark=remark,
    chooses_share=True,
    style=Style(("#00594c", "#3fd6b2"), (), 4.0),
    explain=of_hidden_iterates,
    substitute=substitute,
)  # fmt: skip
