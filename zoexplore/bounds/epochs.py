"""Batches in epochs: records cut once into batches, taken in turn (docs/batches.md, "Batches in epochs")."""

import numpy as np

from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import NUMBERS
from zoexplore.bounds.kernels import epochs as kernels
from zoexplore.bounds.rows import FIRST_ORDERS, RAYS, Rows, by_slope, nearest_order, tabled
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import spread
from zoexplore.run.setting import Accounting

AROUND = np.array([0.6, 0.8, 1.0, 1.25, 1.6])  # multiples of the best order that are tried next
ROUGH, FINE = 4, 10  # rounds of the recursion
MOST_NODES = 12  # rows at which orders are sought; those between take the nearest one's


def batches_per_epoch(runs: RunArrays) -> np.ndarray:
    """The number of batches, J = n/b, rounded up; a shorter last one counts as b records."""
    return np.ceil(runs.n / runs.batch)


def visits(runs: RunArrays) -> np.ndarray:
    """The most visits of a record: one in each epoch begun."""
    return np.ceil(runs.T / batches_per_epoch(runs))


def cyclic(runs: RunArrays, accounting: Accounting) -> Solved:
    """The sharper bound of the worst position, met in the last step and every J steps before: from distance 0 and from the
    diameter, at the run's own beta. Only the last iterate is released.
    """
    rows, count, quiet = _rows(runs)
    families = [rows, rows._replace(high=~rows.high)]
    if np.isfinite(runs.R).any():
        families += [_from_afar(rows, runs, False), _from_afar(rows, runs, True)]
    best = None
    for family in families:
        found = _least(family, count, quiet, accounting)
        best = found if best is None else best.minimum(found)
    assert best is not None
    return best.reshape(runs.shape)


def _rows(runs: RunArrays) -> tuple[Rows, np.ndarray, np.ndarray]:
    """The runs as rows from distance 0, how often each meets the record, and the steps between."""
    share = np.where((runs.beta < 1) | (runs.K == runs.d), runs.beta, 0.5)
    ratio, size = runs.n / runs.batch, int(np.prod(runs.shape))
    present = np.minimum(runs.n - (batches_per_epoch(runs) - 1) * runs.batch, runs.batch) / runs.batch
    low = np.where(runs.low_curvature > 0, runs.low_curvature * present, runs.low_curvature)

    def flat(x) -> np.ndarray:
        return np.array(np.broadcast_to(x, runs.shape).reshape(size), float)

    rows = Rows.of(runs, share, runs.T)._replace(
        B=flat(runs.B_clip * ratio), data=flat(runs.B_lipschitz * ratio), low=flat(low),
        remainder_at_zero=flat(runs.remainder / runs.batch), times=np.ones(size),
    )  # fmt: skip
    return rows, flat(visits(runs)), flat(batches_per_epoch(runs) - 1)


def _from_afar(rows: Rows, runs: RunArrays, high: bool) -> Rows:
    z0 = np.array(np.broadcast_to(runs.diameter, runs.shape).reshape(-1), float)
    return rows._replace(z0=z0, far=np.ones(z0.size, bool), high=np.full(z0.size, high))


def _least(rows: Rows, count: np.ndarray, quiet: np.ndarray, accounting: Accounting) -> Solved:
    """Every row's least epsilon over the orders that its nearest node found best, and their neighbours."""
    size = rows.K.size
    nodes = spread(size, MOST_NODES)
    some = rows.at(nodes)
    tried = _tried(some, np.tile(FIRST_ORDERS, (nodes.size, 1)), count[nodes], quiet[nodes], accounting, ROUGH)[0]
    order = FIRST_ORDERS[tried.argmin(axis=1)]
    around = nearest_order(order[:, None] * AROUND)
    tried = _tried(some, around, count[nodes], quiet[nodes], accounting, ROUGH)[0]
    best = around[np.arange(nodes.size), tried.argmin(axis=1)]
    nearest = np.abs(np.arange(size)[:, None] - nodes[None, :]).argmin(axis=1)
    epsilon, rho, share = (x[:, 0] for x in _tried(rows, best[nearest][:, None], count, quiet, accounting, FINE))
    extra = {"moment": best[nearest], "beta": rows.beta}
    delta_f = np.where(rows.certain, 0.0, share * rows.delta)
    return Solved(epsilon, rho, delta_f, rows.most, rows.z0, extra)


def _tried(rows: Rows, orders: np.ndarray, count, quiet, accounting: Accounting, rounds: int) -> tuple[np.ndarray, ...]:
    """epsilon, rho and the share of delta of each row with each of its orders, shape (rows, orders)."""
    index = np.repeat(np.arange(rows.K.size), orders.shape[1])
    some, tables = tabled(rows.at(index)._replace(order=orders.ravel()))
    lipschitz, conversion = by_slope(rows), NUMBERS[accounting.conversion]
    found = kernels.improve(some, count[index], quiet[index], tables, RAYS, lipschitz, conversion, rounds)
    return tuple(x.reshape(orders.shape) for x in found)
