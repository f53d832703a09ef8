"""The sharper bound on full batches: plans for many runs, the tails of their random cost, and epsilon (docs/sharp.md).

Whatever is chosen here is sound: any fractions are, at any orders of the norm and any exponents. What is looked for is the best.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from zoexplore.bounds import epochs
from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import NUMBERS
from zoexplore.bounds.kernels import moments, norms
from zoexplore.bounds.kernels import plans as kernels
from zoexplore.bounds.kernels.blocks import blocks_of, edges_of
from zoexplore.bounds.kernels.gaussian import GAUSSIAN
from zoexplore.bounds.kernels.profiles import convert
from zoexplore.bounds.rows import RAYS, Rows, tabled
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import spread
from zoexplore.run.setting import NUMERIC_FIELDS, Accounting

MEAN = 1.0  # the order of the norm that is the mean: its plans are counted by exponential moments, others by norms
PLANS, LAST_OF_BUDGET = (2.0, 4.0, 8.0, 16.0, 48.0), 200.0  # the other orders that plans are made for; a budget's last one;
LUCK, LUCK_OF_BUDGET = 0.15, 0.8  # and powers of delta, the chance of luck that plans allow for: on average, beyond a budget
TILT = 1.02  # by how much luck makes lengths longer in a plan for the mean
ORDERS = np.sort(np.concatenate([2.0 ** np.arange(1, 12), 3 * 2.0 ** np.arange(0, 5)]))  # of the norms that tails are taken at,
SPREAD = 1 - np.linspace(1, 0, 8) ** 2  # and which of them up to the one that decides for a neighbour
THETAS = np.array([12.0, 25.0, 50.0, 100.0])  # of exponential moments, over the mean cost
CAPS, LOST = (40.0, 100.0, 200.0), 1e-3  # orders of norms that caps are taken from; the chance that they fail, by delta
ROUNDS = 8
HIGH = 30.0  # a plan from distance 0 starts from what a step adds to it, or from so many times as much
FAR_BEHIND = 2.0  # plans of one order that cost so many times the least are left out,
SAME, TIE = 3e-5, 1e-4  # as are those that cost the same as another; a tie goes to what starts from distance 0
BEHIND, PROMISED = 1.05, (0.3, 0.9)  # or exceed so many times the least with chances of those powers of delta
PARTS = 9  # of an epoch: the step that meets the record, and the others in so many parts less one with the same fractions
EXPONENTS_FROM = 32  # dimensions from which exponential moments are taken
BALLS_UP_TO, BALLS_OF = 100, 30  # dimensions, and directions, up to which records are counted by their length as well
CUBE = 0.8  # of a ball's, what a cube's part adds to the square of a distance in many dimensions

BETAS = np.array([0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.88, 0.96, 0.99, 1 - 1e-9])  # tried first: both ends may be best
LARGEST_BETA, HALVINGS = 1 - 1e-9, 3  # below 1: some noise stays outside the span; of the distance to the next, around the best
MOST_NODES, FARTHEST = 9, 1e150  # of many neighbouring runs those that choose; diameters that are of use
ANCHOR, FEW, FLAT = 4.0, 8, 1e-6  # along T: what nodes are powers of; values that each choose; growth of epsilon not resolved


@lru_cache(maxsize=8192)
def _at_order(K, d, r, low, top, slowest, kind, order):
    """(c_lambda^2, g, ell_lambda) at an order; at MEAN the means."""
    if order == MEAN:
        c2 = _drift_constant(K, d, r, low, top, slowest, kind, order)
        return c2, np.sqrt(K / d), float(np.sqrt(2 / np.pi) * K / moments.mean_length(d))
    c2 = norms.largest_drift_constant(r, low, top, slowest, d, order, kind, kind == norms.IDLE and K == d)
    seen, half = (1.0, 1.0) if K == d else (norms.moment(K, d, order), norms.moment(K, d, np.ceil(order / 2)))
    return c2, seen, float(moments.sum_norm(K, d, order, half))


def _drift_constant(K, d, r, low, top, slowest, kind, order):
    """c_lambda^2 as one number, of a joint clip too, whose norm otherwise has its own tables."""
    if kind < norms.JOINT or d == 1:
        certain = kind == norms.IDLE and K == d
        return norms.largest_drift_constant(r, low, top, slowest, d, order, min(kind, norms.JOINT), certain)
    shrink = (d - 1.5) / (d + 2 * order - 1.36)
    return max(norms.joint_constant(*norms.slower(r, low, top, part), shrink) for part in (1.0, slowest))


@lru_cache(maxsize=8192)
def _of_drift(K, d, r, low, top, slowest, kind):
    """(c_1, E chi_d, the largest squared drift over the squared distance, c_lambda^2 at the orders `kernels.TOPS`)."""
    c1 = float(moments.sum_constant(r, low, top, slowest, d, kind > norms.IDLE))
    if kind == norms.EACH and d > 1:
        parts = [norms.slower(r, low, top, part) for part in (1.0, slowest)]
        reach = max(q * q + max((q - a) * (q - a), (q - b) * (q - b)) for q, a, b in parts) + 1e-15  # powers would raise
    else:
        certain_c = float(norms.certain_constant(r, low, top, slowest, kind))
        reach = certain_c * certain_c
    tops = [_drift_constant(K, d, r, low, top, slowest, kind, order) for order in kernels.TOPS]
    return c1, float(moments.mean_length(d)), reach, tuple(tops)


_shape = lru_cache(maxsize=4096)(moments.tabled_excess)


def _drifts(rows: Rows) -> tuple[np.ndarray, list[tuple[float, ...]]]:
    """The index of each row's drift, and the distinct drifts."""
    columns = (rows.K, rows.d, rows.r, rows.low, rows.top, rows.slowest, rows.acting, rows.linear)
    if all((x == x[0]).all() for x in columns):
        return np.zeros(rows.K.size, int), [tuple(float(x[0]) for x in columns)]
    places: dict[tuple[float, ...], int] = {}
    which = [places.setdefault(key, len(places)) for key in zip(*(x.tolist() for x in columns), strict=True)]
    return np.array(which), [tuple(map(float, key)) for key in places]


def _steps(rows: Rows, orders: np.ndarray, theta=0.0):
    """Each row's `kernels.Step` at each of its orders, and the tables that the steps look up.

    Args:
        orders: of the norm, shape (rows, count).
        theta: of exponential moments, of that shape; 0 for norms.
    """
    which, drifts = _drifts(rows)
    known, of_order = np.unique(orders, return_inverse=True)
    laws, first, place = np.unique(
        which[:, None] * known.size + of_order.reshape(orders.shape), return_index=True, return_inverse=True
    )
    place = place.ravel()
    each = [_at_order(*drifts[law // known.size][:7], known[law % known.size]) for law in laws.tolist()]
    c2, g, ell = np.array(each).T[:, place]
    table, tables = np.zeros(1, int), np.zeros((1, RAYS.shape[1]))
    if known[-1] > MEAN:
        some = rows.at(first // orders.shape[1])._replace(order=np.maximum(known[laws % known.size], 2.0))
        some, tables = tabled(some)
        table = some.table[place]
    index, order = np.repeat(np.arange(rows.K.size), orders.shape[1]), orders.ravel()
    rows, which = rows.at(index), which[index]
    of_drift = [_of_drift(*drift[:7]) for drift in drifts]
    c1, chi, reach = np.array([x[:3] for x in of_drift])[which].T
    theta = np.broadcast_to(theta, orders.shape).ravel()
    exponent = theta > 0
    shapes = np.array([_shape(*drift[:2]) for drift in drifts]) if exponent.any() else np.zeros((1, 2, moments.PLACES))
    cube, size = rows.cube > 0, order.size
    tilt = np.where(_known(rows), 1.0, np.where(order > MEAN, rows.share ** (-0.5 / order), TILT))
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
    cells = np.empty((len(columns), size))
    for k, column in enumerate(columns):
        cells[k] = column
    return cells.T.copy()[:, None], kernels.Laws(tables, RAYS, shapes, np.array([x[3] for x in of_drift]))


class Plans(NamedTuple):
    """Typical distances, fractions, counted blocks and planned costs, row by row."""

    x: np.ndarray
    fractions: np.ndarray
    counted: np.ndarray
    cost: np.ndarray

    def at(self, index) -> "Plans":
        """Some of the plans."""
        return Plans(*(column[index] for column in self))


class Tails(NamedTuple):
    """How often plans' costs exceed a number (`profiles.costs`), X, Y and power of shape (rows, tails): the first so many
    by norms, the others by exponential moments, but for a probability `lost`, row by row.
    """

    X: np.ndarray
    Y: np.ndarray
    power: np.ndarray
    norms: int
    lost: np.ndarray

    def at(self, index) -> "Tails":
        """Those of some of the rows."""
        return Tails(self.X[index], self.Y[index], self.power[index], self.norms, self.lost[index])

    def exceeded(self, level) -> np.ndarray:
        """The cost that each tail exceeds with a probability of at most `level`, shape (rows, tails)."""
        with np.errstate(all="ignore"):
            luck = -np.log(level)[:, None]
            found = self.Y + self.X * np.exp(luck / self.power) if self.norms else self.X + luck / self.power
            return np.nan_to_num(found, nan=np.inf)


def _known(rows: Rows) -> np.ndarray:
    """Whether nothing of a run's cost is random."""
    return rows.certain & (rows.K == rows.d)


def _parts(rows: Rows) -> int:
    """What a step that meets the record, and those before it that do not, are cut into."""
    return PARTS if rows.apart.any() else 1


def _steps_apart(rows: Rows, orders: np.ndarray, theta=0.0):
    """`_steps`, each followed by the same step without the record's part where some do not meet it."""
    cells, laws = _steps(rows, orders, theta)
    if not rows.apart.any():
        return cells, laws
    nothing = np.zeros(rows.B.size)
    return np.concatenate([cells, _steps(rows._replace(B=nothing, data=nothing), orders, theta)[0]], axis=1), laws


def _plan(rows: Rows) -> Plans:
    """A plan for each row's order."""
    cells, laws = _steps_apart(rows, rows.order[:, None])
    blocks = max(blocks_of(rows.most[of], far) for far in (False, True) if (of := rows.far == far).any())
    size = blocks * _parts(rows)
    x, fractions = np.empty((rows.K.size, size)), np.zeros((rows.K.size, 4, size))
    met = cells[:, 0]
    added = np.where(rows.cube > 0, rows.B + rows.remainder, met[:, 14])  # by a step to the distance
    start = np.where(rows.far, rows.z0, np.where(rows.high, HIGH, 1.0) * added)
    found = kernels.plan(cells, laws, rows.apart, _parts(rows), start, ROUNDS, x, fractions)
    return Plans(x, fractions, found[:, 2], met[:, 11] ** 2 * found[:, 0] + found[:, 1])


def _tails(rows: Rows, plans: Plans, orders, caps=None, theta=0.0):
    """The random and the certain part of the plans' costs, each of shape (rows, orders)."""
    count = orders.shape[1]
    index = np.repeat(np.arange(rows.K.size), count)
    cells, laws = _steps_apart(rows, orders, theta)
    caps = np.ones((rows.K.size, 1)) if caps is None else caps
    apart = np.repeat(rows.apart, count)
    found = kernels.tails_of(cells, laws, apart, _parts(rows), index, plans.x, plans.fractions, plans.counted, caps)
    return found[:, 0].reshape(-1, count), found[:, 1].reshape(-1, count)


def _exponents(rows: Rows, plans: Plans) -> Tails:
    """Exponential moments of the plans' costs, within caps from the order at which these are the lowest."""
    lost, caps, sizes = LOST * rows.delta, np.full(plans.x.shape, np.inf), np.full(rows.K.size, np.inf)
    for order in CAPS:
        tried, size = kernels.caps_of(
            *_steps(rows, np.full((rows.K.size, 1), order)), lost, plans.x, plans.fractions, plans.counted
        )
        caps, sizes = np.where((size < sizes)[:, None], tried, caps), np.minimum(size, sizes)
    theta = THETAS / plans.cost[:, None]
    X, Y = _tails(rows, plans, np.full(theta.shape, MEAN), caps, theta)
    return Tails(X + Y, np.zeros(X.shape), theta, 0, lost)


def _norms(rows: Rows, plans: Plans, orders=None) -> Tails:
    """Norms of the plans' costs, at all orders or at those given."""
    orders = np.tile(ORDERS, (rows.K.size, 1)) if orders is None else orders
    X, Y = _tails(rows, plans, orders)
    known = _known(rows)[:, None]
    X, Y = np.where(known, 0.0, X), np.where(known, X + Y, Y)
    return Tails(X, Y, orders, orders.shape[1], np.zeros(rows.K.size))


def _count(rows: Rows, plans: Plans, conversion: int, deciding=None, run=None) -> np.ndarray:
    """The result of each plan: (epsilon, twice rho, delta_f, steps, z0, the order that decides at delta_f).

    Args:
        deciding: the order of norms up to which tails are taken, row by row; None for all orders.
        run: which run each row is of, where only those that promise the least of their run are wanted; the others get inf.
    """
    found = np.full((rows.K.size, 6), np.inf)
    for by_exponents in (True, False):
        index = np.flatnonzero((rows.order == MEAN) == by_exponents)
        if not index.size:
            continue
        some, of = rows.at(index), plans.at(index)
        if by_exponents:
            tails = _exponents(some, of)
        elif deciding is None or conversion != GAUSSIAN:  # a budget is of one level, and its order counts for more
            tails = _norms(some, of)
        else:
            place = SPREAD * (np.searchsorted(ORDERS, deciding[index]) + 1)[:, None]
            tails = _norms(some, of, ORDERS[np.minimum(place.round().astype(int), ORDERS.size - 1)])
        if run is not None:
            promises = [tails.exceeded(some.delta**luck).min(axis=1) for luck in PROMISED]
            kept = np.unique(np.concatenate([_promising(run[index], cost, BEHIND) for cost in promises]))
            index, some, of, tails = index[kept], some.at(kept), of.at(kept), tails.at(kept)
        found[index, :3] = convert(*tails, some.delta, conversion)
        edges = zip(some.most, some.far, of.counted.astype(int), strict=True)
        found[index, 3] = [edges_of(most, far)[count] for most, far, count in edges]
        found[index, 4] = some.z0
        found[index, 5] = tails.power[np.arange(index.size), tails.exceeded(found[index, 2]).argmin(axis=1)]
    return found


def _promising(kind, cost, width) -> np.ndarray:
    """The rows whose cost is within `width` of the least of their kind; of equal ones the first."""
    order = np.lexsort((cost, kind))
    kind, cost = kind[order], cost[order]
    new = np.diff(kind, prepend=-1) > 0
    least = np.repeat(cost[new], np.diff(np.append(np.flatnonzero(new), kind.size)))
    again = ~new & (cost <= np.append(np.inf, cost[:-1]) * (1 + SAME))
    return order[(cost <= width * least) & (cost < np.inf) & ~again]


def _settle(rows: Rows, run, conversion: int) -> tuple[Rows, np.ndarray]:
    """For every run the row and order with the least epsilon, and its result."""
    runs = run.max() + 1
    seen = (rows.cube > 0) | (rows.data >= rows.B)  # exponential moments know nothing of how little a span sees of a record
    by_mean = np.flatnonzero((rows.d >= EXPONENTS_FROM) & seen & (rows.apart == 0))
    orders = PLANS if conversion == GAUSSIAN else (*PLANS, LAST_OF_BUDGET)
    parts = [(MEAN, by_mean), *((order, np.arange(run.size)) for order in orders)]
    tried = Rows.stack(*(rows.at(index)._replace(order=np.full(index.size, order)) for order, index in parts))
    run = run[np.concatenate([index for _, index in parts])]
    plans = _plan(tried)
    kept = _promising((run * 64 + tried.order) * 2 + tried.cube, plans.cost, FAR_BEHIND)
    tried, run = tried.at(kept), run[kept]
    found = _count(tried, plans.at(kept), conversion, run=run)
    order = np.lexsort((found[:, 0] * (1 + TIE * tried.far), run))  # a tie goes to what starts from distance 0
    at, where = np.unique(run[order], return_index=True)
    best, least = rows.at(np.zeros(runs, int)), np.full((runs, found.shape[1]), np.inf)  # inf where no plan has a finite cost
    least[at] = found[order[where]]
    return best.put(at, tried.at(order[where])), least


def _row(runs: RunArrays, beta, conversion: int, far: bool, high: bool) -> Rows:
    """Every run from the diameter (`far`) or from distance 0; of steps of which all, or one in each epoch, meet the record."""
    rows = Rows.of(runs, beta, epochs.met_steps(runs), far, high)
    rows = rows._replace(share=rows.delta ** (LUCK if conversion == GAUSSIAN else LUCK_OF_BUDGET))
    return epochs.of_epochs(rows, runs) if epochs.cyclic(runs) else rows


def _rows(runs: RunArrays, beta, conversion: int) -> tuple[Rows, np.ndarray]:
    """Every run from distance 0, hiding soon or late, and from the diameter, with its record counted entry by entry or by its
    length; and which run each row is of.
    """
    rows = Rows.stack(*(_row(runs, beta, conversion, far, high) for far, high in ((False, False), (False, True), (True, False))))
    count = int(np.prod(runs.shape))
    joint = np.tile(np.broadcast_to(runs.joint, runs.shape).ravel(), 3)
    seen = np.minimum(rows.data * np.sqrt(rows.K / rows.d), rows.B)
    by_length = joint | (seen < rows.B) | (rows.d < BALLS_UP_TO) | (rows.K < BALLS_OF)
    by_entry = ~joint & (seen > CUBE * rows.B)
    usable = ~rows.far | (rows.z0 < FARTHEST)
    length, entry = np.flatnonzero(by_length & usable), np.flatnonzero(by_entry & usable)
    both = Rows.stack(rows.at(length), rows.at(entry)._replace(cube=np.ones(entry.size)))
    return both, np.concatenate([length, entry]) % count


def _between(rows: Rows, run, chosen: Rows, deciding, before, after, conversion: int) -> tuple[Rows, np.ndarray]:
    """The better result of the choices that the two nodes around each run made."""
    runs = run.max() + 1
    z0 = np.full(runs, FARTHEST)
    z0[run[rows.far]] = rows.z0[rows.far]
    base = rows.at(np.unique(run, return_index=True)[1])._replace(z0=np.zeros(runs))
    best, least = base, np.full((runs, 6), np.inf)
    ways = np.array([chosen.far, chosen.high, chosen.cube, chosen.order])
    for place, wanted in ((after, np.ones(runs, bool)), (before, (ways[:, before] != ways[:, after]).any(axis=0))):
        choice = chosen.at(place)
        start = np.where(choice.far, z0, 0.0)
        tried = base._replace(far=choice.far, high=choice.high, cube=choice.cube, order=choice.order, z0=start)
        at = np.flatnonzero(wanted & (start < FARTHEST))
        if at.size:
            some = tried.at(at)
            counted = _count(some, _plan(some), conversion, deciding[place[at]])
            less = counted[:, 0] < least[at, 0]
            best, least[at[less]] = best.put(at[less], tried.at(at[less])), counted[less]
    return best, least


def _solve(runs: RunArrays, beta, accounting: Accounting) -> tuple[Rows, np.ndarray]:
    """The result of every run. Of many, `MOST_NODES` compare all plans; each other one takes that of a node beside it."""
    conversion, size = NUMBERS[accounting.conversion], int(np.prod(runs.shape))
    rows, run = _rows(runs, beta, conversion)
    nodes = spread(size, MOST_NODES)
    some = np.isin(run, nodes)
    chosen, found = _settle(rows.at(some), np.searchsorted(nodes, run[some]), conversion)
    if nodes.size == size:
        return chosen, found
    others = np.setdiff1d(np.arange(size), nodes)
    after, some = np.searchsorted(nodes, others), np.isin(run, others)
    best, least = _between(rows.at(some), np.searchsorted(others, run[some]), chosen, found[:, 5], after - 1, after, conversion)
    order = np.argsort(np.concatenate([nodes, others]))
    return Rows.stack(chosen, best).at(order), np.concatenate([found, least])[order]


def _along_T(runs: RunArrays, beta, accounting: Accounting) -> tuple[Rows, np.ndarray]:
    """Runs that differ in T alone choose at powers of ANCHOR. Where epsilon is the same at those around a run there is nothing
    left to choose; what starts from the diameter serves all, and what is proved for more steps serves fewer: epsilon never falls.
    """
    T, conversion = runs.T, NUMBERS[accounting.conversion]
    powers = ANCHOR ** np.arange(np.floor(np.log(T.min()) / np.log(ANCHOR)), np.ceil(np.log(T.max()) / np.log(ANCHOR)) + 1)
    rows, run = _rows(replace(runs, T=powers), beta, conversion)
    run[rows.far & (run == powers.size - 1)] = powers.size
    once = ~rows.far | (run == powers.size)
    chosen, found = _settle(rows.at(once), run[once], conversion)
    above = np.searchsorted(powers, T)
    below = np.maximum(above - 1, 0)
    best, least = chosen.at(above), found[above]
    enough = found[powers.size, 0] if found.shape[0] > powers.size else np.inf
    growing = (least[:, 0] > found[below, 0] * (1 + FLAT)) & (found[below, 0] < enough)
    left = np.flatnonzero(growing & (powers[above] != T))
    if left.size:
        rows, run = _rows(replace(runs, T=T[left]), beta, conversion)
        tried, some = _between(rows, run, chosen, found[:, 5], below[left], above[left], conversion)
        best, least[left] = best.put(left, tried), some
    shared = np.flatnonzero(least[:, 0] > enough * (1 + TIE))
    best, least[shared] = best.put(shared, chosen.at(np.full(shared.size, powers.size))), found[-1]
    places, order = np.arange(T.size), np.argsort(-T, kind="stable")
    for later, i in pairwise(order):
        if least[places[later], 0] < least[i, 0]:
            places[i] = places[later]
    best, least = best.at(places), least[places]
    steps = epochs.met_steps(runs)
    longer = least[:, 3] > steps
    least[longer, 3], least[longer, 4] = steps[longer], 0.0
    return best, least


def _best_beta(runs: RunArrays, accounting: Accounting) -> np.ndarray:
    """The best constant share of every run's noise: sought at nodes, interpolated between them."""
    size, conversion = int(np.prod(runs.shape)), NUMBERS[accounting.conversion]
    nodes = spread(size, MOST_NODES)
    rows, run = _rows(runs, 0.5, conversion)
    some = np.isin(run, nodes)
    rows, run = rows.at(some), np.searchsorted(nodes, run[some])
    tried, reach = np.tile(BETAS, (nodes.size, 1)), 0.15
    for _ in range(1 + HALVINGS):
        index = np.repeat(np.arange(nodes.size), tried.shape[1])
        families = [np.flatnonzero(run == i) for i in range(nodes.size)]
        place = np.concatenate([families[i] for i in index])
        of = np.repeat(np.arange(index.size), [families[i].size for i in index])
        _, found = _settle(rows.at(place)._replace(beta=tried.ravel()[of]), of, conversion)
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
    epsilon, twice, lost, N, z0 = found.T[:5]
    extra = {name: getattr(best, name).astype(float) for name in ("beta", "far", "high", "cube")}
    extra["moment"] = np.where(best.order == MEAN, np.nan, best.order)
    return Solved(epsilon, 0.5 * twice, lost, N, z0, extra).reshape(runs.shape)


def _chosen(runs: RunArrays, accounting: Accounting, solved: Solved) -> tuple[Rows, Plans]:
    """The chosen row of one run, and its plan."""
    extra = {name: float(x) for name, x in solved.extra.items()}
    rows = _row(runs, extra["beta"], NUMBERS[accounting.conversion], extra["far"] > 0, extra["high"] > 0)
    order = MEAN if np.isnan(extra["moment"]) else extra["moment"]
    rows = rows._replace(cube=np.array([extra["cube"]]), order=np.array([order]))
    return rows, _plan(rows)


def tails(runs: RunArrays, accounting: Accounting, solved: Solved) -> Tails:
    """The tails of one run's cost: by norms, or by exponential moments within caps."""
    rows, plans = _chosen(runs, accounting, solved)
    return _exponents(rows, plans) if rows.order[0] == MEAN else _norms(rows, plans)


def epsilons(runs: RunArrays, accounting: Accounting, solved: Solved, deltas: np.ndarray) -> np.ndarray:
    """One run's epsilon at each of the deltas, shape (P,), all by the plan made for its own; inf at those too small for it."""
    found = tails(runs, accounting, solved)
    usable = deltas > 2 * found.lost[0]
    some = found.at(np.zeros(usable.sum(), int))
    least = np.full(deltas.size, np.inf)
    least[usable] = convert(*some, deltas[usable], GAUSSIAN)[:, 0]
    return least


def path(runs: RunArrays, accounting: Accounting, solved: Solved) -> tuple[np.ndarray, ...]:
    """One run's plan, step by step from the first that counts: alpha, pi, the distances that it leads to, those that squares of
    sums are split at, and how much of the square of one a step counts across the span and in it.
    """
    rows, plans = _chosen(runs, accounting, solved)
    count, edges = int(plans.counted[0]), edges_of(rows.most[0], bool(rows.far[0]))
    step = kernels.step_of(_steps(rows, rows.order[:, None])[0][0, 0])
    z = np.zeros(count)
    kernels.forward(step, step, edges, count, np.ones(1), z, plans.fractions[0], 0.0)
    lengths = np.diff(edges[: count + 1]).astype(int)
    alpha, pi, across, along = plans.fractions[0, :, :count]
    return tuple(np.repeat(x, lengths)[::-1] for x in (alpha, pi, z, plans.x[0, :count], across, along))
