"""What a step does to a distance: J's tables, constants and moments, kept by drift and order for the next curve."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from zoexplore.bounds.kernels import moments, norms
from zoexplore.bounds.kernels.joint import joint_linear_norm, joint_norm
from zoexplore.bounds.kernels.plans import TOPS
from zoexplore.bounds.kernels.rounding import UP
from zoexplore.bounds.rows import Rows

MEAN = 1.0  # the order of the norm that is the mean
KEPT, KEPT_TABLES = 8192, 16384


class Drift(NamedTuple):
    """How steps change a distance: their directions and curvature, and what the clip may do (`norms.IDLE` and others)."""

    K: float
    d: float
    r: float
    low: float
    top: float
    slowest: float
    clip: float
    linear: float  # 1 where it is counted by the norm of linear models

    @property
    def certain(self) -> bool:
        """Whether an idle clip takes all directions, so that nothing is random."""
        return self.clip == norms.IDLE and self.K == self.d

    @property
    def of_step(self) -> tuple[float, float, float, float]:
        """What the kernels know of a step: r, the least and the largest curvature, and its least size."""
        return self.r, self.low, self.top, self.slowest


def of(rows: Rows, orders: np.ndarray) -> tuple[list[tuple[Drift, tuple[float, ...]]], np.ndarray, np.ndarray]:
    """(Each distinct drift and its orders; which drift each row has, shape (rows,); the places of `orders`, shape (rows, count),
    among all drifts' orders).
    """
    columns = (rows.K, rows.d, rows.r, rows.low, rows.top, rows.slowest, rows.acting, rows.linear)
    indices: dict[tuple[float, ...], int] = {}
    which = np.array([indices.setdefault(key, len(indices)) for key in zip(*(x.tolist() for x in columns), strict=True)])
    known, order = np.unique(orders, return_inverse=True)
    cell = which[:, None] * known.size + order.reshape(orders.shape)
    asked = np.zeros(len(indices) * known.size, bool)
    asked[cell] = True
    each = zip(indices, asked.reshape(-1, known.size), strict=True)
    return [(Drift(*map(float, key)), tuple(known[some].tolist())) for key, some in each], which, (np.cumsum(asked) - 1)[cell]


@lru_cache(maxsize=KEPT)
def tables(drift: Drift, orders: tuple[float, ...]) -> np.ndarray:
    """J at each of the orders, shape (orders, rays); at `MEAN`, which needs none, that of order 2."""
    return np.array([_table_of(drift, max(order, 2.0)) for order in orders])


def _table_of(drift: Drift, order: float) -> np.ndarray:
    own = drift.linear or drift.clip >= norms.JOINT or _counted_apart(drift, order)
    return _table(drift.K, drift.d, order, *((*drift.of_step, drift.clip) if own else ()))


def _counted_apart(drift: Drift, order: float) -> bool:
    """Whether the order is so large against d that an idle clip's c_lambda is above c (`norms.drift_constant`)."""
    if drift.clip != norms.IDLE or drift.K == drift.d:
        return False
    shrink = norms.second_column(drift.d, order)
    centre, radius = abs(drift.r - 0.5 * (drift.top + drift.low)), 0.5 * (drift.top - drift.low)
    return centre * shrink < radius * (1 - shrink) or drift.slowest < 1


@lru_cache(maxsize=KEPT_TABLES)
def _table(K: float, d: float, order: float, *step: float) -> np.ndarray:
    """J, shape (rays,). A `step`, a drift's r, curvatures, least size and clip, makes it the norm of linear models, of a joint
    clip, or of an idle clip at a large order.
    """
    if not step or (K == d and step[-1] >= norms.JOINT):
        return norms.tabled_norm(K, d, order)
    of_step, clip = step[:-1], step[-1]
    c2 = norms.largest_drift_constant(*of_step, d, order, clip, False)
    if clip == norms.JOINT:
        return joint_norm(K, d, order, *of_step, c2)
    if clip == norms.JOINT_LINEAR:
        return joint_linear_norm(_table(K, d, order), K, d, order, *of_step, c2)
    kind = norms.IDLE if clip == norms.IDLE else norms.EACH
    ratio = norms.certain_constant(*of_step, kind) ** 2 / c2 * UP if c2 < np.inf else 1.0
    if clip == norms.IDLE:
        return norms.norm_apart(_table(K, d, order), ratio)
    return norms.linear_norm(_table(K, d, order), norms.linear_growth(d, order), ratio)


@lru_cache(maxsize=KEPT)
def constants(drift: Drift, orders: tuple[float, ...]) -> np.ndarray:
    """(c_lambda^2, g, ell_lambda) at each of the orders, shape (orders, 3); at `MEAN` the means."""
    at = *drift.of_step, drift.d
    c2 = [_as_number(drift, x) if x == MEAN else _largest(*at, x, drift.clip, drift.certain) for x in orders]
    return np.array([(c, *_of_span(drift.K, drift.d, order)) for c, order in zip(c2, orders, strict=True)])


@lru_cache(maxsize=2 * KEPT)
def _of_span(K: float, d: float, order: float) -> tuple[float, float]:
    """(g, ell_lambda) at an order; at MEAN the means."""
    if order == MEAN:
        return np.sqrt(K / d), float(np.sqrt(2 / np.pi) * K / moments.mean_length(d))
    seen, half = (1.0, 1.0) if K == d else (norms.moment(K, d, order), norms.moment(K, d, np.ceil(order / 2)))
    return seen, float(moments.sum_norm(K, d, order, half))


_largest = lru_cache(maxsize=KEPT)(norms.largest_drift_constant)


@lru_cache(maxsize=KEPT)
def _as_number(drift: Drift, order: float) -> float:
    """c_lambda^2 as one number, of a joint clip too, whose norm otherwise has its own tables."""
    if drift.clip < norms.JOINT or drift.d == 1:
        return _largest(*drift.of_step, drift.d, order, min(drift.clip, norms.JOINT), drift.certain)
    shrink = norms.second_column(drift.d, order)
    return max(norms.joint_constant(*norms.slower(*drift.of_step[:3], part), shrink) for part in (1.0, drift.slowest))


@lru_cache(maxsize=KEPT)
def of_moments(drift: Drift) -> tuple[float, float, float, tuple[float, ...]]:
    """(c_1, E chi_d, the largest squared drift over the squared distance, c_lambda^2 at the orders `TOPS`)."""
    c1 = float(moments.sum_constant(*drift.of_step, drift.d, drift.clip > norms.IDLE))
    if drift.clip == norms.EACH and drift.d > 1:
        parts = [norms.slower(*drift.of_step[:3], part) for part in (1.0, drift.slowest)]
        reach = max(q * q + max((q - a) * (q - a), (q - b) * (q - b)) for q, a, b in parts) + 1e-15  # powers would raise
    else:
        certain_c = float(norms.certain_constant(*drift.of_step, drift.clip))
        reach = certain_c * certain_c
    return c1, float(moments.mean_length(drift.d)), reach, tuple(_as_number(drift, order) for order in TOPS)


shape = lru_cache(maxsize=KEPT // 2)(moments.tabled_excess)


def growth_of_squared_distance(drift: Drift, order: float) -> float:
    """The largest growth of a squared distance in a step of a linear model, or of a joint clip, where the clip may act."""
    c2 = norms.drift_constant(*drift.of_step[:3], drift.d, order, drift.clip, False)
    return norms.norm(_table_of(drift, order), 1.0, c2)[0]
