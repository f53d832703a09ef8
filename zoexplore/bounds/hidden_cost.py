"""The sharper bound on full batches: plans for rows of runs, and what the tails of their cost come to (docs/sharp.md).

Whatever is chosen here is sound: any fractions are, at any orders of the norm and any exponents. What is looked for is the best.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from zoexplore.bounds import composition
from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import NUMBERS
from zoexplore.bounds.kernels import moments, norms
from zoexplore.bounds.kernels import plans as kernels
from zoexplore.bounds.kernels.blocks import blocks_of, edges_of
from zoexplore.bounds.kernels.profiles import convert
from zoexplore.bounds.rows import RAYS, Rows, tabled
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import spread
from zoexplore.run.setting import NUMERIC_FIELDS, Accounting

MEAN = 1.0  # the order of the norm that is the mean; such plans are counted by exponential moments, others by norms
THETAS = np.array([12.0, 25.0, 50.0, 100.0])  # of exponential moments, over the mean cost
CAPS, LOST = (40.0, 100.0, 200.0), 1e-3  # orders of norms that caps are taken from; the chance that they fail, by delta
TILT = 1.02  # by how much luck makes lengths longer in a plan for the mean
ROUNDS = 8
HIGH = 30.0  # a plan from distance 0 starts from what a step adds to it, or from so many times as much

ORDERS = np.unique(np.round(2.0 ** (np.arange(0, 23) / 2)))  # of norms
FIRST, TRIED = (2.0, 16.0), np.array([2.0, 6.0, 16.0, 45.0, 128.0, 512.0])  # that plans are first made for, and looked at
BESIDE, AROUND = np.array([-3, -1, 0, 1, 3]), np.arange(-2, 3)  # places from the best of those, and from the one that is chosen
LUCKS = 0.3, 0.9  # powers of delta: the chance of the luck that plans are made for
BEHIND, FAR_BEHIND, SAME = 1.05, 1.5, 1e-6  # plans that promise so many times the least are not counted, nor the same ones twice

EXPONENTS_FROM, CUBES_FROM, NORMS_UP_TO = 32, 100, 200  # dimensions: of exponential moments; of norms, entry by entry, and at all
FEW_DIMENSIONS = 10  # in which no promise is relied on
CUBE = 0.8  # of a ball's, what a cube's part adds to the square of a distance in many dimensions
WIDER, QUIET, MANY, ENOUGH = 1.6, 10.0, 40, 0.9  # where norms are left out: of the mean, of cost, of steps, of composition

BETAS = np.array([0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.88, 0.96, 0.99, 1 - 1e-9])  # tried first: both ends may be best
LARGEST_BETA, HALVINGS = 1 - 1e-9, 3  # below 1: some noise stays outside the span; of the distance to the next, around the best
MOST_NODES, FARTHEST = 13, 1e150  # of many neighbouring runs those that choose; diameters that are of use
FEW, FLAT = 8, 1e-6  # values along T that are each looked at; growth of epsilon that is not worth resolving


@lru_cache(maxsize=8192)
def _at_order(K, d, r, low, top, slowest, kind, order):
    """(c_lambda^2, g, ell_lambda) of an order; of the first one the means."""
    if kind >= norms.JOINT and order == MEAN:
        c2 = _joint(r, low, top, slowest, d, order)
    else:
        c2 = norms.largest_drift_constant(r, low, top, slowest, d, order, kind, kind == norms.IDLE and K == d)
    if order == MEAN:
        return c2, np.sqrt(K / d), float(np.sqrt(2 / np.pi) * K / moments.mean_length(d))
    seen, half = (1.0, 1.0) if K == d else (norms.moment(K, d, order), norms.moment(K, d, np.ceil(order / 2)))
    return c2, seen, float(moments.sum_norm(K, d, order, half))


def _joint(r, low, top, slowest, d, order):
    """c_lambda^2 of a joint clip by one number."""
    if d == 1:
        return norms.largest_drift_constant(r, low, top, slowest, d, order, norms.JOINT, False)
    shrink = (d - 1.5) / (d + 2 * order - 1.36)
    return max(norms.joint_constant(*norms.slower(r, low, top, part), shrink) for part in (1.0, slowest))


@lru_cache(maxsize=8192)
def _of_drift(K, d, r, low, top, slowest, kind):
    """(c_1, E chi_d, the most that the square of a drift can be of that of a distance, c_lambda^2 at the numbers of moments)."""
    c1 = float(moments.sum_constant(r, low, top, slowest, d, kind > norms.IDLE))
    if kind == norms.EACH and d > 1:
        parts = [norms.slower(r, low, top, part) for part in (1.0, slowest)]
        reach = max(q * q + max(abs(q - a), abs(q - b)) ** 2 for q, a, b in parts) + 1e-15
    else:
        reach = float(norms.certain_constant(r, low, top, slowest, kind)) ** 2
    if kind >= norms.JOINT:
        tops = [_joint(r, low, top, slowest, d, order) for order in kernels.TOPS]
    else:
        certain = kind == norms.IDLE and K == d
        tops = [norms.largest_drift_constant(r, low, top, slowest, d, order, kind, certain) for order in kernels.TOPS]
    return c1, float(moments.mean_length(d)), reach, tuple(tops)


_shape = lru_cache(maxsize=4096)(moments.tabled_excess)


def _drifts(rows: Rows) -> list[tuple[float, ...]]:
    return list(zip(*(x.tolist() for x in (rows.K, rows.d, rows.r, rows.low, rows.top, rows.slowest, rows.acting)), strict=True))


def _steps(rows: Rows, order, theta=0.0):
    """Rows of `kernels.Step`, and what they look up."""
    size = rows.K.size
    order = np.array(np.broadcast_to(order, size), float)
    keys = _drifts(rows)
    c2, g, ell = np.array([_at_order(*key, o) for key, o in zip(keys, order.tolist(), strict=True)]).T
    places: dict = {}
    which = np.array([places.setdefault(key, len(places)) for key in keys])
    drifts = [_of_drift(*key) for key in places]
    c1, chi, reach = np.array([x[:3] for x in drifts])[which].T
    exponent = np.broadcast_to(theta, size) > 0
    shapes = np.array([_shape(*key[:2]) for key in places]) if exponent.any() else np.zeros((1, 2, moments.PLACES))
    table, tables = np.zeros(size), np.zeros((1, RAYS.shape[1]))
    if (order > MEAN).any():
        some, tables = tabled(rows._replace(order=np.maximum(order, 2.0)))
        table = some.table
    cube = rows.cube > 0
    tilt = np.where(order > MEAN, rows.share ** (-0.5 / order), TILT)
    B, e, own, data = rows.B, rows.remainder, rows.remainder_at_zero, np.where(cube, np.inf, rows.data)
    seen = np.where(exponent, 1.0, g)
    lucky, s2 = (tilt * g < 1) & ~exponent, (1 - rows.beta) / rows.d
    with np.errstate(all="ignore"):
        random = np.where(lucky & (tilt * g * data < B), g * data, 0.0)
        first_random = np.where(lucky & (tilt * g * data + own < B), g * data, 0.0)
        columns = (
            rows.K, rows.d, 1 / (rows.beta / rows.K + s2), np.where(rows.K == rows.d, 0.0, 1 / s2), rows.most, rows.z0,
            rows.times, cube, B, e, order, tilt, c2, np.where(cube, B / np.sqrt(rows.K) * c1 * ell, 0.0),
            np.minimum(seen * data, B) + e, random, np.where(random > 0, 0.0, np.minimum(B, data)) + e,
            np.minimum(seen * data + own, B), first_random, np.where(first_random > 0, own, np.minimum(B, data + own)),
            table, theta, B * c1 / np.sqrt(rows.K) / chi, B * c1, reach, which,
        )  # fmt: skip
    cells = np.array([np.broadcast_to(x, size) for x in columns], float).T.copy()
    return cells, kernels.Laws(tables, RAYS, shapes, np.array([x[3] for x in drifts]))


class Plans(NamedTuple):
    """Typical distances, fractions, counted blocks and planned costs, row by row."""

    x: np.ndarray
    fractions: np.ndarray
    counted: np.ndarray
    cost: np.ndarray


class Tails(NamedTuple):
    """How often plans' costs exceed a number (`profiles.costs`), X, Y and power of shape (rows, tails): the first so many
    by norms, the others by exponential moments, but for a probability `lost`, row by row.
    """

    X: np.ndarray
    Y: np.ndarray
    power: np.ndarray
    norms: int
    lost: np.ndarray


def _plan(rows: Rows, order) -> Plans:
    """Plans for an order of the norm each."""
    cells, laws = _steps(rows, order)
    blocks = max(blocks_of(rows.most[of], far) for far in (False, True) if (of := rows.far == far).any())
    x, fractions = np.empty((rows.K.size, blocks)), np.zeros((rows.K.size, 4, blocks))
    start = np.where(rows.far, rows.z0, np.where(rows.high, HIGH, 1.0) * (rows.B + rows.remainder))
    found = kernels.plan(cells, laws, start, ROUNDS, x, fractions)
    return Plans(x, fractions, found[:, 2], cells[:, 11] ** 2 * found[:, 0] + found[:, 1])


def _tails(rows: Rows, plans: Plans, orders, caps=None, theta=0.0):
    """What of the plans' costs is random, and what certain, shape (rows, orders)."""
    count = orders.shape[1]
    index = np.repeat(np.arange(rows.K.size), count)
    cells, laws = _steps(rows.at(index), orders.ravel(), np.ravel(theta))
    caps = np.ones(plans.x.shape) if caps is None else caps
    found = kernels.tails_of(cells, laws, plans.x[index], plans.fractions[index], plans.counted[index], caps[index])
    return found[:, 0].reshape(-1, count), found[:, 1].reshape(-1, count)


def _count(rows: Rows, conversion: int) -> np.ndarray:
    """What plans for the rows' orders come to: (epsilon, twice rho, delta_f, steps, z0) of each."""
    found = np.full((rows.K.size, 5), np.inf)
    for by_exponents in (True, False):
        index = np.flatnonzero((rows.order == MEAN) == by_exponents)
        if index.size:
            some = rows.at(index)
            plans = _plan(some, some.order)
            found[index, :3] = convert(*(_exponents if by_exponents else _norms)(some, plans), some.delta, conversion)
            edges = zip(some.most, some.far, plans.counted.astype(int), strict=True)
            found[index, 3] = [edges_of(most, far)[count] for most, far, count in edges]
            found[index, 4] = some.z0
    return found


def _exponents(rows: Rows, plans: Plans) -> Tails:
    """Exponential moments of the plans' costs, within caps from the order at which these are the lowest."""
    lost, caps, sizes = LOST * rows.delta, np.full(plans.x.shape, np.inf), np.full(rows.K.size, np.inf)
    for order in CAPS:
        tried, size = kernels.caps_of(*_steps(rows, order), lost, plans.x, plans.fractions, plans.counted)
        caps, sizes = np.where((size < sizes)[:, None], tried, caps), np.minimum(size, sizes)
    theta = THETAS / plans.cost[:, None]
    X, Y = _tails(rows, plans, np.full(theta.shape, MEAN), caps, theta)
    return Tails(X + Y, np.zeros(X.shape), theta, 0, lost)


def _norms(rows: Rows, plans: Plans) -> Tails:
    """Norms of the plans' costs, at the rows' orders and those around."""
    orders = _orders_beside(rows.order, AROUND)
    X, Y = _tails(rows, plans, orders)
    return Tails(X, Y, orders, orders.shape[1], np.zeros(rows.K.size))


def _orders_beside(order, places) -> np.ndarray:
    """The orders so many places away from each, shape (rows, places)."""
    return ORDERS[np.clip(np.searchsorted(ORDERS, order)[:, None] + places, 1, ORDERS.size - 1)]


def _levels(rows: Rows, orders: np.ndarray) -> np.ndarray:
    """At each of the orders what the cost of a plan for the row's own exceeds with the chance of luck that is planned for."""
    X, Y = _tails(rows, _plan(rows, rows.order), orders)
    with np.errstate(all="ignore"):
        return np.nan_to_num(Y + X * rows.share[:, None] ** (-1 / orders), nan=np.inf)


def _promising(run, value, width) -> np.ndarray:
    """The rows that come near to the least of their run, without those that come to the same as another."""
    order = np.lexsort((value, run))
    run, value = run[order], value[order]
    new = np.diff(run, prepend=-1) > 0
    least = np.repeat(value[new], np.diff(np.append(np.flatnonzero(new), run.size)))
    again = ~new & (value <= np.append(np.inf, value[:-1]) * (1 + SAME))
    return np.sort(order[(value <= np.broadcast_to(width, run.shape)[order] * least) & (value < np.inf) & ~again])


def _candidates(rows: Rows, run) -> tuple[Rows, np.ndarray]:
    """Rows with the orders at which the tails of plans for other orders, and for more or less luck, are thinnest."""
    count, ways = rows.K.size, [(luck, order) for luck in LUCKS for order in FIRST]
    rows = Rows.stack(*(rows._replace(order=np.full(count, order), share=rows.delta**luck) for luck, order in ways))
    run, kind = np.tile(run, len(ways)), np.repeat(np.arange(len(LUCKS)), len(FIRST) * count)
    levels = _levels(rows, np.tile(TRIED, (run.size, 1)))
    width = np.where(rows.d < FEW_DIMENSIONS, np.inf, FAR_BEHIND)
    chosen = _promising(run * len(LUCKS) + kind, levels.min(axis=1), width)
    rows = rows._replace(order=TRIED[levels.argmin(axis=1)]).at(chosen)
    orders = _orders_beside(rows.order, BESIDE)
    return rows._replace(order=orders[np.arange(chosen.size), _levels(rows, orders).argmin(axis=1)]), run[chosen]


def _by_mean(rows: Rows) -> np.ndarray:
    """Where exponential moments may say more than norms: not where a record's part is counted in the norm."""
    return (rows.d >= EXPONENTS_FROM) & ((rows.cube > 0) | (rows.data >= rows.B))


def _settle(rows: Rows, run, conversion: int, enough) -> tuple[Rows, np.ndarray]:
    """Of every run the row, and its order, with the least epsilon; and what it comes to."""
    runs = run.max() + 1
    tried, of, steady = [], [], np.zeros(runs, bool)
    index = np.flatnonzero(_by_mean(rows))
    if index.size:
        some = rows.at(index)._replace(order=np.full(index.size, MEAN))
        cost = _plan(some, some.order).cost
        chosen = _promising(run[index], cost, BEHIND)
        some, cost, theirs = some.at(chosen), cost[chosen], run[index[chosen]]
        found = _count(some, conversion)
        tried, of = [(some, found)], [theirs]
        good = (found[:, 1] < np.minimum(WIDER * cost, QUIET)) & (found[:, 0] < enough[theirs]) & (found[:, 3] >= MANY)
        steady[theirs[good]] = True
    index = np.flatnonzero((rows.d < NORMS_UP_TO) | (rows.cube == 0) | ~steady[run])
    if index.size:
        entries = index[(rows.cube[index] > 0) & (rows.d[index] >= CUBES_FROM)]
        some = Rows.stack(rows.at(index)._replace(cube=np.zeros(index.size)), rows.at(entries))
        some, theirs = _candidates(some, run[np.concatenate([index, entries])])
        tried.append((some, _count(some, conversion)))
        of.append(theirs)
    rows, found, run = Rows.stack(*(x[0] for x in tried)), np.concatenate([x[1] for x in tried]), np.concatenate(of)
    order = np.lexsort((found[:, 0], run))
    best = order[np.searchsorted(run[order], np.arange(runs))]
    return rows.at(best), found[best]


def _rows(runs: RunArrays, beta) -> tuple[Rows, np.ndarray]:
    """Every run from distance 0, hiding soon or late, and from the diameter; and which run each row is of."""
    most = np.ceil(runs.T / runs.releases)  # between two released iterates: stretches cost at most what the longest does
    rows = Rows.stack(*(Rows.of(runs, beta, most, far, high) for far, high in ((False, False), (False, True), (True, False))))
    run = np.tile(np.arange(int(np.prod(runs.shape))), 3)
    drifts = _drifts(rows)
    c1, c = np.array([_of_drift(*key)[0] for key in drifts]), np.sqrt([_at_order(*key, MEAN)[0] for key in drifts])
    joint = np.array(np.broadcast_to(runs.joint, runs.shape)).ravel()[run]
    seen = np.minimum(rows.data * np.sqrt(rows.K / rows.d), rows.B)
    cube = ~joint & (CUBE * c1 * rows.B < c * seen)
    rows = rows._replace(share=rows.delta ** LUCKS[0], cube=cube.astype(float))
    usable = ~rows.far | (rows.z0 < FARTHEST)
    return rows.at(np.flatnonzero(usable)), run[usable]


def _between(rows: Rows, run, chosen: Rows, before, after, conversion: int) -> tuple[Rows, np.ndarray]:
    """What the choices of the two nodes around each run come to, the better of both."""
    runs = run.max() + 1
    base, z0 = rows.at(np.arange(runs)), np.full(runs, FARTHEST)  # from distance 0, every run in turn
    z0[run[rows.far]] = rows.z0[rows.far]
    best, least = base, np.full((runs, 5), np.inf)
    luck = np.log(chosen.share) / np.log(chosen.delta)
    ways = np.round([chosen.far, chosen.high, chosen.cube, luck, chosen.order], 6)
    for place, wanted in ((after, np.ones(runs, bool)), (before, (ways[:, before] != ways[:, after]).any(axis=0))):
        choice = chosen.at(place)
        start = np.where(choice.far, z0, 0.0)
        tried = base._replace(
            far=choice.far, high=choice.high, cube=choice.cube, order=choice.order, share=base.delta ** luck[place], z0=start
        )
        at = np.flatnonzero(wanted & (start < FARTHEST))
        if at.size:
            counted = _count(tried.at(at), conversion)
            less = counted[:, 0] < least[at, 0]
            best, least[at[less]] = best.put(at[less], tried.at(at[less])), counted[less]
    return best, least


def _solve(runs: RunArrays, beta, accounting: Accounting) -> tuple[Rows, np.ndarray]:
    """Runs, of which only some choose where they are many, and those between count what the two around them chose."""
    conversion, enough = NUMBERS[accounting.conversion], composition.solve(runs, accounting).epsilon
    rows, run = _rows(runs, beta)
    enough = np.broadcast_to(ENOUGH * enough, runs.shape).ravel()
    nodes = spread(enough.size, MOST_NODES)
    some = np.isin(run, nodes)
    chosen, found = _settle(rows.at(some), np.searchsorted(nodes, run[some]), conversion, enough[nodes])
    if nodes.size == enough.size:
        return chosen, found
    others = np.setdiff1d(np.arange(enough.size), nodes)
    after, some = np.searchsorted(nodes, others), np.isin(run, others)
    best, least = _between(rows.at(some), np.searchsorted(others, run[some]), chosen, after - 1, after, conversion)
    order = np.argsort(np.concatenate([nodes, others]))
    return Rows.stack(chosen, best).at(order), np.concatenate([found, least])[order]


def _along_T(runs: RunArrays, beta, accounting: Accounting) -> tuple[Rows, np.ndarray]:
    """`_solve` for runs that differ in T alone, at powers of two. Where epsilon is the same at those around a run nothing is left
    to be found; and what is found for more steps serves fewer, too, so that epsilon does not fall.
    """
    T = runs.T
    powers = 2.0 ** np.arange(np.floor(np.log2(T.min())), np.ceil(np.log2(T.max())) + 1)
    chosen, found = _solve(replace(runs, T=powers), beta, accounting)
    above = np.searchsorted(powers, T)
    below = np.maximum(above - 1, 0)
    best, least = chosen.at(above), found[above]
    left = np.flatnonzero((least[:, 0] > found[below, 0] * (1 + FLAT)) & (powers[above] != T))
    if left.size:
        rows, run = _rows(replace(runs, T=T[left]), beta)
        tried, some = _between(rows, run, chosen, below[left], above[left], NUMBERS[accounting.conversion])
        best, least[left] = best.put(left, tried), some
    places, order = np.arange(T.size), np.argsort(-T, kind="stable")
    for later, i in pairwise(order):
        if least[places[later], 0] < least[i, 0]:
            places[i] = places[later]
    best, least = best.at(places), least[places]
    longer = least[:, 3] > T
    least[longer, 3], least[longer, 4] = T[longer], 0.0
    return best, least


def _best_beta(runs: RunArrays, accounting: Accounting) -> np.ndarray:
    """The constant share of every run's noise that does best: chosen at nodes, and interpolated between."""
    size = int(np.prod(runs.shape))
    nodes = spread(size, MOST_NODES)
    rows, run = _rows(runs, 0.5)
    some = np.isin(run, nodes)
    rows, run, conversion = rows.at(some), np.searchsorted(nodes, run[some]), NUMBERS[accounting.conversion]
    tried, reach = np.tile(BETAS, (nodes.size, 1)), 0.15
    for _ in range(1 + HALVINGS):
        index = np.repeat(np.arange(nodes.size), tried.shape[1])
        families = [np.flatnonzero(run == i) for i in range(nodes.size)]
        place = np.concatenate([families[i] for i in index])
        of = np.repeat(np.arange(index.size), [families[i].size for i in index])
        _, found = _settle(rows.at(place)._replace(beta=tried.ravel()[of]), of, conversion, np.full(index.size, np.inf))
        best = tried[np.arange(nodes.size), found[:, 0].reshape(tried.shape).argmin(axis=1)]
        tried = np.clip(best[:, None] + reach * np.array([-1.0, -0.5, 0.0, 0.5, 1.0]), 0.0, LARGEST_BETA)
        reach /= 3
    return np.interp(np.arange(size), nodes, best).reshape(runs.shape)


def solve(runs: RunArrays, beta, accounting: Accounting) -> Solved:
    """The least epsilon of every run at a share beta of its noise; at the best constant one where it is None."""
    beta = _best_beta(runs, accounting) if beta is None else beta
    only_T = not any(np.ndim(getattr(runs, name)) for name in NUMERIC_FIELDS if name != "T")
    along_T = only_T and runs.T.size > FEW and np.ndim(beta) == 0
    best, found = (_along_T if along_T else _solve)(runs, beta, accounting)
    epsilon, twice, lost, N, z0 = found.T
    extra = {name: getattr(best, name).astype(float) for name in ("beta", "far", "high", "cube", "share")}
    extra["moment"] = np.where(best.order == MEAN, np.nan, best.order)
    return Solved(epsilon, 0.5 * twice, lost, N, z0, extra).reshape(runs.shape)


def _chosen(runs: RunArrays, solved: Solved) -> tuple[Rows, Plans]:
    """One run's row as it was chosen, and its plan."""
    extra = {name: float(x) for name, x in solved.extra.items()}
    rows = Rows.of(runs, extra["beta"], np.ceil(runs.T / runs.releases), extra["far"] > 0, extra["high"] > 0)
    order = MEAN if np.isnan(extra["moment"]) else extra["moment"]
    rows = rows._replace(cube=np.array([extra["cube"]]), share=np.array([extra["share"]]), order=np.array([order]))
    return rows, _plan(rows, rows.order)


def tails(runs: RunArrays, solved: Solved) -> Tails:
    """The tails of one run's cost: by norms, or by exponential moments within caps."""
    rows, plans = _chosen(runs, solved)
    return _exponents(rows, plans) if rows.order[0] == MEAN else _norms(rows, plans)


def path(runs: RunArrays, solved: Solved) -> tuple[np.ndarray, ...]:
    """One run's plan, step by step from the first that counts: alpha, pi, typical distances, and how much of the square of one
    a step counts across the span and in it.
    """
    rows, plans = _chosen(runs, solved)
    count = int(plans.counted[0])
    lengths = np.diff(edges_of(rows.most[0], bool(rows.far[0]))[: count + 1]).astype(int)
    alpha, pi, across, along = plans.fractions[0, :, :count]
    return tuple(np.repeat(x, lengths)[::-1] for x in (alpha, pi, plans.x[0, :count], across, along))
