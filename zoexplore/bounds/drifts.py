"""What a step does to a distance: J's tables and constants, kept by drift and order for the next
curve.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from zoexplore.bounds.kernels import moments, norms
from zoexplore.bounds.kernels.history import LABELS, history
from zoexplore.bounds.kernels.joint import joint_linear_norm, joint_norm
from zoexplore.bounds.kernels.rounding import UP
from zoexplore.bounds.kernels.steps import Norms
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.rows import DRIFT, Rows

KEPT, KEPT_TABLES = 8192, 16384
kept = lru_cache(maxsize=KEPT)


class Drift(NamedTuple):
    """How steps change a distance: the `DRIFT` of a row."""

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
        """That of the largest step."""
        return norms.Change(self.r, self.low, self.high)

    @property
    def certain(self) -> bool:
        """Whether an idle clip takes all directions, so that nothing is random."""
        return self.clip == norms.IDLE and self.K == self.d


def norms_of(rows: Rows, orders: np.ndarray) -> Norms:
    """What the rows look up at each of their orders, shape (rows, count)."""
    assert ((rows.cube == 0) | rows.may_count_entries).all(), (
        "entries count only where the clip limits each"
    )
    assert (orders > 1).all(), (
        f"orders {orders.min()} and above are not allowed: J is tabled from order 2 on"
    )
    indices: dict[tuple[float, ...], int] = {}
    which = np.array([indices.setdefault(key, len(indices)) for key in rows[DRIFT].tolist()])
    tabled, order = np.unique(orders, return_inverse=True)
    cell = which[:, None] * tabled.size + order.reshape(orders.shape)
    asked = np.zeros(len(indices) * tabled.size, bool)
    asked[cell] = True
    each = zip(indices, asked.reshape(-1, tabled.size), strict=True)
    found = [(Drift(*key), tuple(tabled[some].tolist())) for key, some in each]
    c2, seen, c1, ell = np.concatenate(
        [_constants(*drift_and_orders) for drift_and_orders in found]
    ).T.copy()
    tilt = np.repeat(rows.share, orders.shape[1]) ** (-0.5 / orders.ravel())
    tilt = np.where(rows.certain[:, None] > 0, 1.0, tilt.reshape(orders.shape))
    tables = np.concatenate([_tables(*drift_and_orders) for drift_and_orders in found])
    return Norms(tables, c2, seen, c1, ell, (np.cumsum(asked) - 1)[cell], tilt, orders)


@kept
def _tables(drift: Drift, orders: tuple[float, ...]) -> np.ndarray:
    """J at each of the orders, shape (orders, rays)."""
    return np.array([_table_of(drift, order) for order in orders])


def _table_of(drift: Drift, order: float) -> Numbers:
    own = drift.linear or drift.clip >= norms.JOINT or _counted_apart(drift, order)
    return _table(
        drift.K, drift.d, order, *((drift.change, drift.slowest, drift.clip) if own else ())
    )


def _counted_apart(drift: Drift, order: float) -> bool:
    """Whether the order is so large against d that an idle clip's c_lambda is above c
    (`norms.drift_constant`).
    """
    if drift.clip != norms.IDLE or drift.K == drift.d:
        return False
    shrink = norms.second_column(drift.d, order)
    centre, radius = abs(drift.r - 0.5 * (drift.high + drift.low)), 0.5 * (drift.high - drift.low)
    return centre * shrink < radius * (1 - shrink) or drift.slowest < 1


@lru_cache(maxsize=KEPT_TABLES)
def _table(
    K: float,
    d: float,
    order: float,
    change: Numbers = None,
    slowest: Numbers = 1.0,
    clip: Numbers = norms.IDLE,
) -> Numbers:
    """J, shape (rays,). A `change` makes it the norm of linear models, of a joint clip, or of an
    idle clip at a large order.
    """
    if change is None or (K == d and clip >= norms.JOINT):
        return norms.tabled_norm(K, d, order)
    c2 = norms.largest_drift_constant(change, slowest, d, order, clip, False)
    span = norms.Span(K, d, order)
    if clip == norms.JOINT:
        return joint_norm(span, change, slowest, c2)
    if clip == norms.JOINT_LINEAR:
        return joint_linear_norm(_table(K, d, order), span, change, slowest, c2)
    kind = norms.IDLE if clip == norms.IDLE else norms.EACH
    ratio = norms.certain_constant(change, slowest, kind) ** 2 / c2 * UP if c2 < np.inf else 1.0
    if clip == norms.IDLE:
        return norms.norm_apart(_table(K, d, order), ratio)
    return norms.linear_norm(_table(K, d, order), norms.linear_growth(d, order), ratio)


@kept
def _constants(drift: Drift, orders: tuple[float, ...]) -> np.ndarray:
    """(c_lambda^2, what the span sees of a length, c_1, ell_lambda) at each of the orders, shape
    (orders, 4).
    """
    c1 = float(moments.sum_constant(drift.change, drift.slowest, drift.d, drift.clip > norms.IDLE))
    at = drift.change, drift.slowest, drift.d
    spans = [_of_span(drift.K, drift.d, order) for order in orders]
    c2 = [norms.largest_drift_constant(*at, order, drift.clip, drift.certain) for order in orders]
    return np.array(
        [(squared, seen, c1, ell) for squared, (seen, ell) in zip(c2, spans, strict=True)]
    )


@lru_cache(maxsize=2 * KEPT)
def _of_span(K: float, d: float, order: float) -> tuple[float, float]:
    """(What the span sees of a length, ell_lambda) at an order."""
    seen, half = (
        (1.0, 1.0)
        if K == d
        else (norms.moment(K, d, order), norms.moment(K, d, np.ceil(order / 2)))
    )
    return seen, float(moments.sum_norm(K, d, order, half))


@lru_cache(maxsize=KEPT)
def law_of_history(drift: Drift, order: float, e: float, q: float) -> tuple[np.ndarray, np.ndarray]:
    """How far apart two runs on secret batches may be, as `kernels.history.history` has it."""
    h, share = np.empty(LABELS), np.empty(LABELS)
    history(_table_of(drift, order), _constants(drift, (order,))[0, 0], e, q, h, share)
    return h, share


def growth_of_squared_distance(drift: Drift, order: float) -> float:
    """The largest growth of a squared distance in a step of a linear model, or of a joint clip,
    where the clip may act.
    """
    c2 = norms.drift_constant(drift.change, drift.d, order, drift.clip, False)
    return float(norms.norm(_table_of(drift, order), 1.0, c2).J)
