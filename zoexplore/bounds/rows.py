"""Many runs as rows of numbers for the kernels, and J's tables for their orders of the norm."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from zoexplore.bounds.kernels import norms
from zoexplore.bounds.kernels.joint import joint_linear_norm, joint_norm
from zoexplore.bounds.kernels.rounding import UP
from zoexplore.bounds.run_arrays import RunArrays

# The orders of the norm that batches are searched for, a tenth apart, so that runs of one K and d share their tables.
ORDERS = np.unique(np.round(1.1 ** np.arange(0, 104)))
FINE_RAYS = 80
KEPT_TABLES = 16384


class Rows(NamedTuple):
    """Runs as flat arrays (quantities of `RunArrays`, lengths in its unit), each with the choices made for it.

    `far` rows start from z0 and choose the number of steps, at most `most`; the others count `most` steps from distance 0.
    From 0 the recursion has several fixed points: runs that pay for each step's data as it comes, and runs that let distance
    build up (`high`) and work it off at the end. Each row looks for one of them. A share of delta is kept for bad luck; `cube`
    is 1 where every entry of the record's part is known, 0 where its length alone is counted.
    """

    K: np.ndarray
    d: np.ndarray
    r: np.ndarray
    low: np.ndarray
    top: np.ndarray
    slowest: np.ndarray  # steps are of sizes from that part of eta on
    acting: np.ndarray
    linear: np.ndarray  # counted by the norm of linear models
    certain: np.ndarray
    B: np.ndarray
    data: np.ndarray
    remainder: np.ndarray
    remainder_at_zero: np.ndarray
    delta: np.ndarray
    times: np.ndarray
    most: np.ndarray
    z0: np.ndarray
    far: np.ndarray
    high: np.ndarray
    beta: np.ndarray
    order: np.ndarray
    share: np.ndarray
    table: np.ndarray
    cube: np.ndarray
    apart: np.ndarray  # steps between two that meet the record

    @classmethod
    def of(cls, runs: RunArrays, beta, most, far: bool = False, high: bool = False) -> "Rows":
        """The runs, with the choices that a search starts from."""
        z0 = runs.diameter if far else 0.0
        size = int(np.prod(runs.shape))
        columns = (
            runs.K, runs.d, runs.ridge_factor, runs.low_curvature, runs.top_curvature, runs.slowest, runs.clip_kind,
            runs.linear & runs.by_linear_norm, runs.certain,
            runs.B_clip, runs.B_lipschitz, runs.remainder, runs.remainder_at_zero, runs.delta, runs.releases,
            most, z0, far, high, beta, 9.0, 1.0, 0, 0.0, 0.0,
        )  # fmt: skip
        return cls(*(np.full(size, x) for x in columns))

    def at(self, index) -> "Rows":
        """Some of the rows, in any order, repeated or not."""
        return Rows(*(column[index] for column in self))

    def put(self, index, other: "Rows") -> "Rows":
        """A copy with the other's rows at those places."""
        ours = [column.copy() for column in self]
        for column, theirs in zip(ours, other, strict=True):
            column[index] = theirs
        return Rows(*ours)

    @staticmethod
    def stack(*parts: "Rows") -> "Rows":
        """All rows of the parts, one part after the other."""
        return Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


RAYS = norms.knots(FINE_RAYS)  # J is tabled on so many, from above by its convexity


@lru_cache(maxsize=KEPT_TABLES)
def _table(K: float, d: float, order: float, *drift: float) -> np.ndarray:
    """J, shape (rays,); with a drift's r, least and largest curvature, slowest part and what its clip may do, that of linear
    models, of a joint clip, or of an idle one at an order that is large against d.
    """
    if not drift or (K == d and drift[-1] >= norms.JOINT):
        return norms.tabled_norm(K, d, order, RAYS)
    of_step, acting = drift[:-1], drift[-1]
    c2 = norms.largest_drift_constant(*of_step, d, order, acting, False)
    if acting == norms.JOINT:
        return joint_norm(K, d, order, RAYS, *of_step, c2)
    if acting == norms.JOINT_LINEAR:
        return joint_linear_norm(_table(K, d, order), K, d, order, RAYS, *of_step, c2)
    kind = norms.IDLE if acting == norms.IDLE else norms.EACH
    ratio = norms.certain_constant(*of_step, kind) ** 2 / c2 * UP if c2 < np.inf else 1.0
    if acting == norms.IDLE:
        return norms.norm_apart(_table(K, d, order), RAYS, ratio)
    return norms.linear_norm(_table(K, d, order), RAYS, norms.linear_growth(d, order), ratio)


def tabled(rows: Rows) -> tuple[Rows, np.ndarray]:
    """The rows with the indices of their tables, and the tables: one for each K, d and order, and drift where it matters."""
    found: dict[tuple[float, ...], int] = {}
    keys: list[tuple[float, ...]] = list(zip(*(x.tolist() for x in (rows.K, rows.d, rows.order)), strict=True))
    for i in np.flatnonzero(rows.linear | (rows.acting >= norms.JOINT) | _counted_apart(rows)):
        keys[i] = (*keys[i], *(float(x[i]) for x in (rows.r, rows.low, rows.top, rows.slowest, rows.acting)))
    which = [found.setdefault(key, len(found)) for key in keys]
    return rows._replace(table=np.array(which)), np.array([_table(*key) for key in found])


def _counted_apart(rows: Rows) -> np.ndarray:
    """Where the order is so large against d that an idle clip's c_lambda is above c (`norms.drift_constant`)."""
    random = (rows.acting == norms.IDLE) & ~rows.linear & ~rows.certain & (rows.K < rows.d)
    shrink = (rows.d - 1.5) / (rows.d + 2 * rows.order - 1.36)
    centre, radius = np.abs(rows.r - 0.5 * (rows.top + rows.low)), 0.5 * (rows.top - rows.low)
    return random & ((centre * shrink < radius * (1 - shrink)) | (rows.slowest < 1))


def growth_of_squared_distance(K: float, d: float, order: float, r: float, low: float, top: float, acting: float) -> float:
    """The largest growth of a squared distance in a step of a linear model, or of a joint clip, where the clip may act."""
    c2 = norms.drift_constant(r, low, top, d, order, acting, False)
    return norms.norm(_table(K, d, order, r, low, top, 1.0, acting), RAYS, 1.0, c2)[0]


def nearest_order(order) -> np.ndarray:
    """The nearest of `ORDERS`, in the shape of `order`."""
    return ORDERS[np.searchsorted(np.sqrt(ORDERS[1:] * ORDERS[:-1]), order)]
