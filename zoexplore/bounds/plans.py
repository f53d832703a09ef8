"""Plans of the sharper bound for many runs, and the tails of their random cost (docs/sharp.md, "Two recursions").

Whatever is chosen here is sound: any fractions are, at any orders of the norm and any exponents.
"""

from typing import NamedTuple

import numpy as np

from zoexplore.bounds import drifts
from zoexplore.bounds.drifts import MEAN
from zoexplore.bounds.kernels import plans as kernels
from zoexplore.bounds.kernels.blocks import blocks_of, cut_into
from zoexplore.bounds.kernels.moments import PLACES
from zoexplore.bounds.kernels.norms import RAYS
from zoexplore.bounds.rows import Rows

MOST = 1e300  # one over a variance of 0
TILT = 1.02  # factor on random lengths in a plan for the mean
ORDERS = np.array([2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 256.0, 2048.0])  # of norms, for tails
THETAS = np.array([12.0, 25.0, 50.0, 100.0])  # of exponential moments, over the mean cost
CAPS, LOST = (40.0, 100.0, 200.0), 1e-3  # orders of norms that caps are taken from; the chance that they fail, by delta
HIGH = 30.0  # a plan from distance 0 begins with what one step adds, or with this times as much
PARTS = 9  # of an epoch: the step that uses the record, and the others in PARTS - 1 parts with constant fractions


def _steps(rows: Rows, orders: np.ndarray, theta=0.0):
    """Each row's `kernels.STEP` at each of its orders, shape (rows * count, 1), and the tables that the steps look up.

    Args:
        orders: of the norm, shape (rows, count).
        theta: of exponential moments, of that shape; 0 for norms.
    """
    assert (rows.may_count_entries | (rows.cube == 0)).all() and (rows.may_take_moments | (orders > MEAN).any(axis=1)).all()
    found, which, places = drifts.of(rows, orders)
    place = places.ravel()
    c2, g, ell = np.concatenate([drifts.constants(*asked) for asked in found]).T[:, place]
    by_norms = (orders > MEAN).any()
    tables = np.concatenate([drifts.tables(*asked) for asked in found]) if by_norms else np.zeros((1, RAYS.shape[1]))
    index, order = np.repeat(np.arange(rows.K.size), orders.shape[1]), orders.ravel()
    rows, which = rows.at(index), which[index]
    of_drift = [drifts.of_moments(drift) for drift, _ in found]
    c1, chi, reach = np.array([x[:3] for x in of_drift])[which].T
    theta = np.broadcast_to(theta, orders.shape).ravel()
    exponent = theta > 0
    shapes = np.array([drifts.shape(drift.K, drift.d) for drift, _ in found]) if exponent.any() else np.zeros((1, 2, PLACES))
    cube = rows.cube > 0
    tilt = np.where(rows.nothing_random, 1.0, np.where(order > MEAN, rows.share ** (-0.5 / order), TILT))
    B, e, own, data = rows.B, rows.remainder, rows.remainder_at_zero, np.where(cube, np.inf, rows.data)
    seen = np.where(exponent, 1.0, g)
    lucky, s2 = (tilt * g < 1) & ~exponent, (1 - rows.beta) / rows.d
    with np.errstate(all="ignore"):
        random = np.where(lucky & (tilt * g * data < B), g * data, 0.0)
        first_random = np.where(lucky & (tilt * g * data + own < B), g * data, 0.0)
        columns = dict(
            K=rows.K, d=rows.d, per_S=1 / (rows.beta / rows.K + s2),
            per_s2=np.where(rows.K == rows.d, 0.0, np.minimum(1 / s2, MOST)),
            most=rows.most, z0=rows.z0, times=rows.times, cube=cube, b=B, e=e, order=order, tilt=tilt, c2=c2,
            cross=np.where(cube, B / np.sqrt(rows.K) * c1 * ell, 0.0),
            kick=np.minimum(seen * data, B) + e, random=random, sure=np.where(random > 0, 0.0, np.minimum(B, data)) + e,
            first=np.minimum(seen * data + own, B), first_random=first_random,
            first_sure=np.where(first_random > 0, own, np.minimum(B, data + own)),
            table=place if by_norms else 0, theta=theta, entry=B * c1 / np.sqrt(rows.K) / chi, along=B * c1, reach=reach,
            shape=which, cooled=rows.cooled,
        )  # fmt: skip
    cells = np.empty((order.size, 1), kernels.STEP)
    for name, column in columns.items():
        cells[name][:, 0] = column
    return cells, kernels.Laws(tables, shapes, np.array([x[3] for x in of_drift]))


class Plans(NamedTuple):
    """Row by row typical distances (places), fractions (4, places), and the counted blocks and steps, or epochs, and the planned
    cost (one number each).
    """

    x: np.ndarray
    fractions: np.ndarray
    counted: np.ndarray
    steps: np.ndarray
    cost: np.ndarray

    def at(self, index) -> "Plans":
        """Some of the plans."""
        return Plans(*(column[index] for column in self))


class Tails(NamedTuple):
    """How often plans' costs exceed a number (`profiles.costs`): X, Y and power of shape (rows, tails), the first `norms` by
    norms, the others by exponential moments. None holds with a probability of at most `lost`, shape (rows,).
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


def _parts(rows: Rows) -> int:
    """How many parts a step that uses the record and those before it are cut into."""
    return PARTS if rows.apart.any() else 1


def steps(rows: Rows, orders: np.ndarray, theta=0.0):
    """`_steps`, shape (rows * count, 1), or 2 where some steps do not use the record: then the same without its part follows.
    With a cool-down the same two follow once more, with its noise.
    """
    cells, laws = _steps(rows, orders, theta)
    if not (rows.apart.any() or rows.cooled.any()):
        return cells, laws
    both = np.concatenate([cells, _without_record(cells)], axis=1)
    if not rows.cooled.any():
        return both, laws
    late, _ = _steps(rows._replace(beta=rows.last_beta), orders, theta)
    quiet = _without_record(late)
    forgets = np.repeat(rows.forgets > 0, orders.shape[1])[:, None]
    return np.concatenate([both, np.where(forgets, quiet, late), quiet], axis=1), laws


def _without_record(cells):
    """The same steps without the record's part."""
    quiet = cells.copy()
    for name in ("b", "cross", "random", "entry", "along"):
        quiet[name] = 0.0
    quiet["kick"] = quiet["sure"] = quiet["e"]
    return quiet


def plan(rows: Rows, rounds: int) -> Plans:
    """A plan for each row's order, after so many rounds at most."""
    cells, laws = steps(rows, rows.order[:, None])
    blocks = max(blocks_of(rows.most[of], far) for far in (False, True) if (of := rows.far == far).any())
    size = blocks * _parts(rows)
    x, fractions = np.empty((rows.K.size, size)), np.zeros((rows.K.size, 4, size))
    met = cells[:, 0]
    added = np.where(rows.cube > 0, rows.B + rows.remainder, met["kick"])  # by a step to the distance
    start = np.where(rows.far, rows.z0, np.where(rows.high, HIGH, 1.0) * added)
    found = kernels.plan(cells, laws, rows.apart, _parts(rows), start, rounds, x, fractions)
    return Plans(x, fractions, found[:, 2], found[:, 3], met["tilt"] ** 2 * found[:, 0] + found[:, 1])


def _tails(rows: Rows, plans: Plans, orders, caps=None, theta=0.0):
    """The random and the certain part of the plans' costs, each of shape (rows, orders)."""
    count = orders.shape[1]
    index = np.repeat(np.arange(rows.K.size), count)
    cells, laws = steps(rows, orders, theta)
    caps = np.ones((rows.K.size, 1)) if caps is None else caps
    apart = np.repeat(rows.apart, count)
    found = kernels.tails_of(cells, laws, apart, _parts(rows), index, plans.x, plans.fractions, plans.counted, caps)
    return found[:, 0].reshape(-1, count), found[:, 1].reshape(-1, count)


def exponents(rows: Rows, plans: Plans) -> Tails:
    """Exponential moments of the plans' costs, within caps from the order at which these are the lowest."""
    lost, caps, sizes = LOST * rows.delta, np.full(plans.x.shape, np.inf), np.full(rows.K.size, np.inf)
    for order in CAPS:
        tried, size = kernels.caps_of(
            *steps(rows, np.full((rows.K.size, 1), order)), lost, plans.x, plans.fractions, plans.counted
        )
        caps, sizes = np.where((size < sizes)[:, None], tried, caps), np.minimum(size, sizes)
    theta = THETAS / plans.cost[:, None]
    X, Y = _tails(rows, plans, np.full(theta.shape, MEAN), caps, theta)
    return Tails(X + Y, np.zeros(X.shape), theta, 0, lost)


def in_norms(rows: Rows, plans: Plans, orders: np.ndarray) -> Tails:
    """Norms of the plans' costs, at each of the orders, shape (rows, orders)."""
    X, Y = _tails(rows, plans, orders)
    sure = rows.nothing_random[:, None]
    X, Y = np.where(sure, 0.0, X), np.where(sure, X + Y, Y)
    return Tails(X, Y, orders, orders.shape[1], np.zeros(rows.K.size))


def followed(rows: Rows, plans: Plans) -> tuple[np.ndarray, np.ndarray]:
    """The distances that one row's plan leads to, from the end, and the blocks' numbers of steps, both of shape (blocks,)."""
    count, row = int(plans.counted[0]), steps(rows, rows.order[:, None])[0][0]
    edges, z = np.empty(plans.x.shape[1] + 1), np.zeros(count)
    cut_into(rows.most[0], bool(rows.far[0]), rows.cooled[0], edges)
    kernels.forward(row, edges, count, np.ones(1), z, plans.fractions[0], 0.0)
    return z, np.diff(edges[: count + 1]).astype(int)
