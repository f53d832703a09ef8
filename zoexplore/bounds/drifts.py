"""What a step does to a distance: tables of the norm J and constants, cached for each drift and
order.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from zoexplore.bounds.kernels import hulls, moments, norms
from zoexplore.bounds.kernels.history import LABELS, history
from zoexplore.bounds.kernels.joint import joint_linear_norm, joint_norm
from zoexplore.bounds.kernels.rounding import UP
from zoexplore.bounds.kernels.steps import Norms
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.rows import DRIFT, Rows

kept = lru_cache(maxsize=16384)


class Drift(NamedTuple):
    """Holds the fields `DRIFT` of a row, which say how a step changes a distance."""

    K: float
    d: float
    r: float
    low: float
    high: float
    slowest: float
    clip: float
    linear: float

    @property
    def change(self) -> norms.Change:
        """The change that the largest step makes."""
        return norms.Change(self.r, self.low, self.high)


class AtOrder(NamedTuple):
    """Holds what rows of the same drift look up at one order (see `kernels.steps.Norms`)."""

    table: np.ndarray
    c2: float
    seen: float
    c1: float
    ell: float


def norms_of(rows: Rows, orders: np.ndarray) -> Norms:
    """Collect the numbers that the rows look up at each of their `orders`, whose shape is (rows,
    count).
    """
    assert ((rows.cube == 0) | rows.may_count_entries).all(), (
        "entries count only where the clip limits each"
    )
    assert (orders > 1).all(), (
        f"orders {orders.min()} and above are not allowed: J is tabled from order 2 on"
    )
    places: dict[tuple[Drift, float], int] = {}
    asked = zip((Drift(*key) for key in rows[DRIFT].tolist()), orders.tolist(), strict=True)
    place = [[places.setdefault((of, k), len(places)) for k in each] for of, each in asked]
    norms = zip(*(at_order(*each) for each in places), strict=True)
    tables, c2, seen, c1, ell = (np.array(column) for column in norms)
    tilt = np.where(rows.certain > 0, 1.0, rows.share)[:, None] ** (-0.5 / orders)
    return Norms(tables, c2, seen, c1, ell, np.array(place), tilt, orders)


@kept
def at_order(drift: Drift, order: float) -> AtOrder:
    """Compute a drift's table of J and its constants at an order."""
    K, d, half = drift.K, drift.d, float(np.ceil(order / 2))
    at = drift.change, drift.slowest, d
    certain = drift.clip == norms.IDLE and K == d  # if so, nothing is random
    c2 = norms.largest_drift_constant(*at, order, drift.clip, certain)
    seen, of_half = (norms.moment(K, d, k) if K < d else 1.0 for k in (order, half))
    c1 = moments.sum_constant(*at, drift.clip > norms.IDLE)
    return AtOrder(_table(drift, order, c2), c2, seen, c1, moments.sum_norm(K, d, order, of_half))


def _table(drift: Drift, order: float, c2: float) -> Numbers:
    """Tabulate J on the rays, shape (rays,), for the drift's kind of clip."""
    span, change, slowest = norms.Span(drift.K, drift.d, order), drift.change, drift.slowest
    plain = _plain(*span)
    if drift.K == drift.d and drift.clip != norms.EACH:
        return plain
    if drift.clip == norms.JOINT:
        return joint_norm(span, change, slowest, c2)
    if drift.clip == norms.JOINT_LINEAR:
        return joint_linear_norm(plain, span, change, slowest, c2)
    if drift.clip == norms.EACH and not drift.linear:
        return plain
    largest = norms.certain_constant(change, slowest, drift.clip)
    ratio = largest**2 / c2 * UP if c2 < np.inf else 1.0
    if drift.clip == norms.IDLE:
        return hulls.norm_apart(plain, ratio)
    return hulls.linear_norm(plain, hulls.linear_growth(drift.d, order), ratio)


@kept
def _plain(K: float, d: float, order: float) -> Numbers:
    return norms.tabled_norm(K, d, order)


@lru_cache(maxsize=8192)
def law_of_history(drift: Drift, order: float, e: float, q: float) -> tuple[np.ndarray, np.ndarray]:
    """Return (h, chances): squared distances between two runs on secret batches, and the chance of
    each (see `kernels.history.history`).
    """
    h, share, of = np.empty(LABELS), np.empty(LABELS), at_order(drift, order)
    history(of.table, of.c2, e, q, h, share)
    return h, share
