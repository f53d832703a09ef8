"""The sharper bound's least epsilon: plans that promise most, the tails of their cost, what these come to (docs/sharp.md)."""

from math import exp, inf, log
from typing import Any, NamedTuple

from numpy import empty, int64, ndarray, ones, sqrt, zeros

from zoexplore.bounds.kernels.blocks import cut
from zoexplore.bounds.kernels.compiling import kernel
from zoexplore.bounds.kernels.gaussian import GAUSSIAN
from zoexplore.bounds.kernels.plans import Run, Weights, plan
from zoexplore.bounds.kernels.profiles import converted, costs
from zoexplore.bounds.kernels.tails import caps, tail

CELLS = 32  # levels of a tail, quadratically spaced in their logarithm
LEAST_LEVEL, LOST = 1e-4, 1e-3  # the lowest level, and the chance that a cap is exceeded, by delta
TYPICAL = 0.2  # of delta: the level that a plan for a norm is made for, and its splits of squares
ROUNDS = 8
THETAS = (12.0, 25.0, 50.0, 100.0)  # of exponential moments, over the mean cost
STARTS = (1.0, 1e6)  # squared distances that a plan starts from, over what a step adds: each may lead to an optimum of its own


class Row(NamedTuple):
    """A run with what its orders are: its numbers, those of the mean and of every order, and where the orders' tables are."""

    run: Run
    mean: Weights
    orders: ndarray  # columns of `Weights`, shape (orders, 8)
    places: ndarray
    tops: ndarray  # numbers of moments, and their constants
    constants: ndarray
    k0: float
    k1: float
    chi: float


class Work(NamedTuple):
    """Arrays that plans and tails fill, a place a block."""

    edges: ndarray
    h: ndarray
    alpha: ndarray
    pi: ndarray
    in_A: ndarray
    in_C: ndarray
    reach: ndarray
    caps: ndarray
    trial: ndarray


@kernel()
def weights_at(orders, k):
    """An order's numbers."""
    o = orders[k]
    return Weights(o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7])


@kernel()
def with_ball(run, z0, ball):
    """The run from another distance, its record's part known entry by entry or by length."""
    return Run(
        run.K, run.d, run.c2, run.c1, run.reach, max(run.ball, ball), run.B, run.e, run.per_S, run.per_s2, run.most, z0,
        run.times, run.delta,
    )  # fmt: skip


@kernel()
def work_of(run):
    """Room for a run's blocks."""
    edges = cut(run.most, run.z0 > 0.0)
    n = edges.size - 1
    return Work(edges, empty(n), empty(n), empty(n), empty(n), empty(n), empty(n), ones(n), ones(n))


@kernel(error_model="numpy")
def planned(row, tables, rays, work, way, z0):
    """(cost, blocks) of one way to plan: the order (-1: the mean), whether by length alone, and the start."""
    k = int(way[0])
    run = with_ball(row.run, z0, way[1])
    weights, table = (row.mean, tables[0]) if k < 0 else (weights_at(row.orders, k), tables[row.places[k]])
    found = plan(run, weights, table, rays, work.edges, way[2], ROUNDS, work.h, work.alpha, work.pi, work.in_A, work.in_C)
    for b in range(work.h.size):
        work.reach[b] = sqrt(work.h[b])
    return found


@kernel(error_model="numpy")
def _narrowest(row, run, tables, rays, work, count, first):
    """Fill `work.caps` by the order whose caps are the lowest where the plan pays."""
    least = inf
    for k in range(first, row.places.size):
        table = tables[row.places[k]]
        caps(run, weights_at(row.orders, k), table, rays, work.edges, count, work.alpha, work.pi, LOST * run.delta, work.trial)
        size = 0.0
        for b in range(count):
            price = work.alpha[b] ** 2 * run.per_s2 + work.pi[b] ** 2 * run.per_S
            size += (work.edges[b + 1] - work.edges[b]) * work.trial[b] * price
        if size < least:
            least = size
            for b in range(count):
                work.caps[b] = work.trial[b]
    return least


@kernel(error_model="numpy")
def tails_of(row, run, tables, rays, work, count, lipschitz, taken, first_cap, X, Y, power):
    """(the tails that hold for certain, all of them): norms, and exponential moments but for a chance of `LOST` delta."""
    n, mean = 0, inf
    loose = with_ball(run, run.z0, 1.0)
    for k in range(min(taken, row.places.size)):
        weights, table = weights_at(row.orders, k), tables[row.places[k]]
        tilt = exp(-0.5 * log(TYPICAL * run.delta) / weights.order)
        for way in range(3):  # entry by entry, by length with what is certain apart, and by length in the norm
            quick = taken < row.places.size and run.ball == 0.0 and way > 0
            if quick or (way == 0 and run.ball > 0.0) or (way == 2 and not lipschitz):
                continue
            X[n], Y[n] = tail(
                loose if way > 0 else run, weights, table, rays, work.edges, count, work.alpha, work.pi, work.reach, work.in_C,
                work.caps, 0.0, row.chi, row.tops, row.constants, row.k0, row.k1, tilt if way < 2 else 1.0, way < 2,
            )  # fmt: skip
            power[n] = weights.order
            mean = min(mean, X[n] + Y[n])
            n += 1
    norms = n
    if mean < inf and _narrowest(row, run, tables, rays, work, count, first_cap) < inf:
        for over in THETAS:
            theta = over / mean
            X[n], Y[n] = tail(
                run, row.mean, tables[0], rays, work.edges, count, work.alpha, work.pi, work.reach, work.in_C, work.caps, theta,
                row.chi, row.tops, row.constants, row.k0, row.k1, 1.0, True,
            )  # fmt: skip
            power[n] = theta
            n += 1
    return norms, n, mean


@kernel(error_model="numpy")
def levels_of(delta):
    """Levels of a tail, from 1 down to far below delta."""
    levels = empty(CELLS + 1)
    for i in range(CELLS + 1):
        levels[i] = exp(log(LEAST_LEVEL * delta) * (i / CELLS) ** 2)
    return levels


@kernel(error_model="numpy")
def _converted(run, conversion, X, Y, power, norms, n, levels, s):
    """(epsilon, twice rho, delta_f, the tails counted): with the exponential moments, or without them and their caps."""
    if n > norms and X[norms] < inf:
        costs(X, Y, power, norms, n, levels, s)
        epsilon, twice, beyond = converted(conversion, run.delta, levels, s, LOST * run.delta)
        if epsilon < inf:
            return epsilon, twice, beyond, n
    costs(X, Y, power, norms, norms, levels, s)
    epsilon, twice, beyond = converted(conversion, run.delta, levels, s, 0.0)
    return epsilon, twice, beyond, norms


class Found(NamedTuple):
    """What a plan comes to: epsilon, rho and delta_f of a budget that holds, steps, start, how it was planned, and its tails."""

    epsilon: float
    twice: float
    beyond: float
    N: float
    z0: float
    way: Any
    norms: Any
    counted: Any
    mean: float


@kernel(error_model="numpy")
def best_of(row, tables, rays, z0, ways, tried, conversion, lipschitz, taken, first_cap, X, Y, power):
    """The least epsilon of the plans that promise most: of the mean, and `tried` of the others, from distance 0 and from z0.

    Args:
        ways: how to plan, shape (ways, 3): order (-1: the mean), by length alone, start.
        X, Y, power: become the best one's tails.
    """
    run = row.run
    near, far = work_of(with_ball(run, 0.0, 0.0)), work_of(with_ball(run, max(z0, 1e-300), 0.0))
    starts = 2 if 0.0 < z0 < 1e150 else 1
    count = ways.shape[0]
    promise, levels, s = empty((starts, count)), levels_of(run.delta), empty(CELLS + 1)
    for i in range(starts):
        for j in range(count):
            promise[i, j] = planned(row, tables, rays, far if i else near, ways[j], z0 if i else 0.0)[0]
    best = Found(inf, inf, 0.0, run.most, 0.0, int64(0), int64(0), int64(0), inf)
    x, y, p = empty(X.size), empty(X.size), empty(X.size)
    of_mean = 0
    while of_mean < count and ways[of_mean, 0] < 0.0:
        of_mean += 1
    for family in range(2):
        first, last = (0, of_mean) if family == 0 else (of_mean, count)
        least = inf
        for _ in range(2 if family == 0 else tried):
            at_i, at_j, least_now = 0, -1, inf
            for i in range(starts):
                for j in range(first, last):
                    if promise[i, j] < least_now:
                        at_i, at_j, least_now = i, j, promise[i, j]
            if at_j < 0 or least_now > (1.05 if family == 0 else 2.0) * least:
                break
            least = min(least, least_now)
            for i in range(starts):
                for j in range(first, last):  # the same plan, found twice
                    if promise[i, j] <= least_now * (1.0 + 1e-6):
                        promise[i, j] = inf
            work, start = far if at_i else near, z0 if at_i else 0.0
            _, blocks = planned(row, tables, rays, work, ways[at_j], start)
            norms, n, mean = tails_of(
                row, with_ball(run, start, 0.0), tables, rays, work, blocks, lipschitz, taken, first_cap, x, y, p
            )
            epsilon, twice, beyond, counted = _converted(run, conversion, x, y, p, norms, n, levels, s)
            if epsilon < best.epsilon or (best.epsilon == inf and epsilon == 0.0):
                best = Found(epsilon, twice, beyond, work.edges[blocks], start, at_j, norms, counted, mean)
                for k in range(n):
                    X[k], Y[k], power[k] = x[k], y[k], p[k]
    return best


@kernel(error_model="numpy")
def solve(
    columns, means, orders, places, tops, constants, chi, tables, rays, z0, ways, tried, conversion, lipschitz, taken, first_cap
):
    """`best_of` for many rows: (its numbers, shape (rows, 9), and the tails X, Y and power, shape (rows, tails))."""
    rows, most = columns.shape[0], orders.shape[1] * 3 + len(THETAS)
    found, X, Y, power = empty((rows, 9)), empty((rows, most)), zeros((rows, most)), ones((rows, most))
    for i in range(rows):
        row = row_of(columns, means, orders, places, tops, constants, chi, i)
        best = best_of(row, tables, rays, z0[i], ways, tried, conversion, lipschitz, taken, first_cap, X[i], Y[i], power[i])
        found[i, 0], found[i, 1], found[i, 2], found[i, 3] = best.epsilon, best.twice, best.beyond, best.N
        found[i, 4], found[i, 5], found[i, 6], found[i, 7] = best.z0, float(best.way), float(best.norms), float(best.counted)
        found[i, 8] = best.mean
    return found, X, Y, power


@kernel()
def row_of(columns, means, orders, places, tops, constants, chi, i):
    """A row of `columns`: the fields of `Run`, then k0 and k1."""
    c = columns[i]
    run = Run(c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], 0.0, c[11], c[12])
    return Row(run, weights_at(means, i), orders[i], places[i], tops, constants[i], c[13], c[14], chi[i])


@kernel(error_model="numpy")
def promises(columns, means, orders, places, tops, constants, chi, tables, rays, z0, ways):
    """The least cost that any of the ways plans for, row by row."""
    least = empty(columns.shape[0])
    for i in range(least.size):
        row = row_of(columns, means, orders, places, tops, constants, chi, i)
        least[i] = inf
        for start in (0.0, z0[i]):
            if start < 1e150:
                work = work_of(with_ball(row.run, start, 0.0))
                for j in range(ways.shape[0]):
                    least[i] = min(least[i], planned(row, tables, rays, work, ways[j], start)[0])
    return least


@kernel(error_model="numpy")
def path(columns, means, orders, places, tops, constants, chi, tables, rays, z0, way):
    """The first row's plan from a distance: (steps to the end at which blocks begin, alpha, pi, h, slopes in A and in C)."""
    row = row_of(columns, means, orders, places, tops, constants, chi, 0)
    work = work_of(with_ball(row.run, z0, 0.0))
    planned(row, tables, rays, work, way, z0)
    return work.edges, work.alpha, work.pi, work.h, work.in_A, work.in_C


@kernel(error_model="numpy")
def epsilons(X, Y, power, norms, deltas, lost):
    """epsilon at every delta, of tails: all of them but for a probability `lost`, or the norms, which hold for certain."""
    found, s = empty(deltas.size), empty(CELLS + 1)
    for i in range(deltas.size):
        levels = levels_of(deltas[i])
        costs(X, Y, power, norms, norms, levels, s)
        found[i] = converted(GAUSSIAN, deltas[i], levels, s, 0.0)[0]
        if X.size > norms and lost < deltas[i]:
            costs(X, Y, power, norms, X.size, levels, s)
            found[i] = min(found[i], converted(GAUSSIAN, deltas[i], levels, s, lost)[0])
    return found
