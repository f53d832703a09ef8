"""The sharper bound's choices, for many runs at once: order of the norm, split of delta, fractions, and the share of the noise.

Whatever is chosen here is sound (docs/sharp.md: any order, split and fractions are); this module looks for what is best.
"""

from dataclasses import dataclass, fields
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from zoexplore.bounds.conversion import NUMBERS
from zoexplore.bounds.kernels import norms
from zoexplore.bounds.kernels import sharp as kernels
from zoexplore.bounds.kernels.gaussian import FIRST_SHARE
from zoexplore.bounds.kernels.joint import joint_linear_norm, joint_norm
from zoexplore.bounds.kernels.rounding import UP
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.setting import Accounting

# The orders of the norm that are tried, a tenth apart, so that runs of one K and d share their tables; and the few to try first.
# With the last one the tail's factor is within 0.1 % of 1, so higher ones gain little. In few dimensions low ones differ most.
ORDERS = np.unique(np.round(1.1 ** np.arange(0, 104)))
FIRST_ORDERS = np.array([2.0, 4.0, 8.0, 16.0, 31.0, 80.0, 252.0, 718.0, 2048.0])
AROUND = 1.6 ** np.linspace(-1, 1, 3)  # and then around the best, as its multiples
FINE_RAYS = 80
KEPT_TABLES = 4096
# Steps one by one at the end of a run, then blocks of at most this share of their distance to the end: for what is reported,
# for comparing choices that are near to each other, and for choices that are far apart.
Blocks = tuple[int, float]
FINE, ROUGH, ROUGHEST = (12, 0.26), (6, 0.3), (6, 0.5)
ROUNDS, WARM = 6, 3  # of the recursion: for what is reported, and before orders are compared
SETTLED, MOST_ROUNDS = 2e-4, 24  # a relative gain of epsilon in the last round that is worth another, and how many at most
# Multiples of the order found that are tried last, and of 1 - beta where beta is free, from the drifts that were met: there the
# choices are compared fairly, while the first few rounds favour orders at which the recursion settles soon. Then orders so many
# places away among ORDERS; and next to these where one was better, or where they are whole numbers too coarse for multiples.
BESIDE, BESIDE_REST = (4.0, 0.85, 1.18, 0.91, 1.1), (1.4, 0.7, 1.18, 0.85, 1.07, 0.93)
FARTHER, NEXT, FEW = (-5, 5), (-1, 1), 20
BESIDE_ROUNDS, MOST_BESIDE = 3, 8
# Rows whose epsilon is that many times another's of the same run, or as near to it as that, are not refined further.
BEHIND, SAME = 1.15, 1e-5
LARGEST_BETA = 1 - 1e-9  # below 1: some noise stays outside the span
BETAS = np.append(1 - np.array([1.0, 0.8, 0.6, 0.4, 0.25, 0.12, 0.04, 0.01]), LARGEST_BETA)  # tried first: both ends may be best


class Rows(NamedTuple):
    """Runs as flat arrays (quantities of `RunArrays`, lengths in its unit), each with the choices made for it.

    `far` rows start from z0 and choose the number of steps, at most `most`; the others count `most` steps from distance 0.
    From 0 the recursion has several fixed points: runs that pay for each step's data as it comes, and runs that let distance
    build up (`high`) and work it off at the end. Each row looks for one of them.
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

    @classmethod
    def of(cls, runs: RunArrays, beta, most, far: bool = False, high: bool = False) -> "Rows":
        """The runs, with the first choices that a search starts from."""
        z0 = runs.diameter if far else 0.0
        size = int(np.prod(runs.shape))
        columns = (
            runs.K, runs.d, runs.ridge_factor, runs.low_curvature, runs.top_curvature, runs.slowest, runs.clip_kind,
            runs.linear & runs.by_linear_norm, runs.certain,
            runs.B_clip, runs.B_lipschitz, runs.remainder, runs.remainder_at_zero, runs.delta, runs.releases,
            most, z0, far, high, beta, 9.0, FIRST_SHARE, 0,
        )  # fmt: skip
        return cls(*(np.array(np.broadcast_to(x, (size,))) for x in columns))

    def at(self, index) -> "Rows":
        """Some of the rows, in any order, repeated or not."""
        return Rows(*(column[index] for column in self))

    def put(self, index, other: "Rows") -> "Rows":
        """With the other's rows in the places of these."""
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
    """J; with a drift's r, least and largest curvature, slowest part and what its clip may do, that of linear models, of a joint
    clip, or of an idle one at an order that is large against d.
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
    """The rows told where their tables are, and the tables: of each K, d and order once, where the drift counts of each drift."""
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
    """By how much a step of a linear model, or of a joint clip, lengthens a squared distance at most where the clip may act."""
    c2 = norms.drift_constant(r, low, top, d, order, acting, False)
    return norms.norm(_table(K, d, order, r, low, top, 1.0, acting), RAYS, 1.0, c2)[0]


def by_slope(rows: Rows) -> bool:
    """Whether the length of gradients is counted on in any row; in the others it is infinite."""
    return bool(np.isfinite(rows.data).any())


def nearest_order(order) -> np.ndarray:
    """The orders' neighbours among those that are tried."""
    return ORDERS[np.searchsorted(np.sqrt(ORDERS[1:] * ORDERS[:-1]), order)]


@dataclass(frozen=True)
class Outcome:
    """The best round of the recursion, row by row: epsilon, rho, counted steps and the share of delta it was found with.

    `path` is the drifts that the best round started from, shape (rows, blocks), and `most` the steps it was cut for.
    """

    epsilon: np.ndarray
    rho: np.ndarray
    steps: np.ndarray
    share: np.ndarray
    path: np.ndarray
    most: np.ndarray

    def at(self, index) -> "Outcome":
        """Some of the rows."""
        return Outcome(*(getattr(self, f.name)[index] for f in fields(self)))

    def put(self, index, other: "Outcome") -> "Outcome":
        """With the other's rows in the places of these."""
        ours = [getattr(self, f.name).copy() for f in fields(self)]
        for column, f in zip(ours, fields(self), strict=True):
            column[index] = getattr(other, f.name)
        return Outcome(*ours)

    def minimum(self, other: "Outcome") -> "Outcome":
        """Row by row the smaller epsilon."""
        better = other.epsilon < self.epsilon
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Outcome(*(np.where(better.reshape(-1, *[1] * (ours.ndim - 1)), theirs, ours) for ours, theirs in pairs))


def first_guess(rows: Rows, accounting: Accounting, blocks: Blocks) -> np.ndarray:
    """Constant drifts to start the recursion from, shape (rows, blocks)."""
    return kernels.first_guess(*tabled(rows), RAYS, by_slope(rows), *blocks)


def improve(rows: Rows, accounting: Accounting, blocks: Blocks, paths: np.ndarray, rounds: int, most_rounds: int = 0) -> Outcome:
    """Rounds of the recursion, and as many more as gain, up to the most; `paths` become the last one's drifts."""
    lipschitz, conversion = by_slope(rows), NUMBERS[accounting.conversion]
    epsilon, rho, steps, share, path = kernels.improve(
        *tabled(rows), RAYS, lipschitz, conversion, *blocks, paths, rounds, SETTLED, max(rounds, most_rounds)
    )
    return Outcome(epsilon, rho, steps, share, path, rows.most)


def walk(rows: Rows, accounting: Accounting, path: np.ndarray, N: int) -> tuple[np.ndarray, ...]:
    """A row's last N steps, from the drifts its best round started from: z (N + 1 of them), alpha, pi, a, p, rho, drift."""
    return kernels.walk(*tabled(rows), RAYS, by_slope(rows), *FINE, path, N)


def settle(rows: Rows, accounting: Accounting, run: np.ndarray) -> tuple[Rows, Outcome, np.ndarray]:
    """Rows with their order, share and, where the schedule is free, beta chosen; the bounds found; which rows come to the same as
    an earlier one of their `run`, a number each. These, and those that others leave behind, are not refined to the last.
    """
    rows = _coarse_order(rows, accounting, ROUGHEST)
    if accounting.schedule == "optimal":
        rows = _best_beta(rows, accounting, ROUGHEST)
    rows = _refine_order(rows, accounting, ROUGH)
    found = improve(rows, accounting, FINE, first_guess(rows, accounting, FINE), ROUNDS, MOST_ROUNDS)
    first, ahead = _ahead(found.epsilon, run)
    some, best = _beside(rows.at(ahead), found.at(ahead), accounting)
    index = np.arange(run.size)
    alike = np.where((rows.far[first] == rows.far) & (rows.linear[first] == rows.linear), first, index)
    rows, found = rows.put(ahead, some).at(alike), found.put(ahead, best).at(alike)
    return rows._replace(share=found.share), found, first != index


def _beside(rows: Rows, found: Outcome, accounting: Accounting) -> tuple[Rows, Outcome]:
    """The rows with the best of the choices near those that were made."""
    for factor in BESIDE:
        rows, found = _better(rows, found, accounting, order=nearest_order(rows.order * factor))
    for factor in BESIDE_REST if accounting.schedule == "optimal" else ():
        rows, found = _better(rows, found, accounting, beta=np.clip(1 - factor * (1 - rows.beta), 0.0, LARGEST_BETA))
    before = rows.order
    for places in FARTHER:
        rows, found = _better(rows, found, accounting, order=_places_away(rows.order, places))
    again = np.flatnonzero((rows.order != before) | (rows.order < FEW))
    if again.size:
        some, best = rows.at(again), found.at(again)
        for places in NEXT:
            some, best = _better(some, best, accounting, order=_places_away(some.order, places))
        rows, found = rows.put(again, some), found.put(again, best)
    return rows, found


def _places_away(order: np.ndarray, places: int) -> np.ndarray:
    """The orders that are so many places further among those that are tried."""
    return ORDERS[np.clip(np.searchsorted(ORDERS, order) + places, 0, ORDERS.size - 1)]


def _ahead(epsilon: np.ndarray, run: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every row the first of its run that comes to the same, which is another only for the best of a run; and those of them,
    each once, that are not far behind the best.
    """
    least = np.full(run.max() + 1, np.inf)
    np.minimum.at(least, run, epsilon)
    same = np.flatnonzero(epsilon <= (1 + SAME) * least[run])
    first = np.arange(run.size)
    _, which, back = np.unique(run[same], return_index=True, return_inverse=True)
    first[same] = same[which][back]
    return first, np.flatnonzero((epsilon <= BEHIND * least[run]) & (first == np.arange(run.size)))


def _better(rows: Rows, found: Outcome, accounting: Accounting, **choice: np.ndarray) -> tuple[Rows, Outcome]:
    """The rows with another choice where that is better, told from the drifts that were found without it."""
    other = rows._replace(share=found.share, **choice)
    tried = improve(other, accounting, FINE, found.path.copy(), BESIDE_ROUNDS, MOST_BESIDE)
    gains = tried.epsilon < found.epsilon
    kept = {name: np.where(gains, values, getattr(rows, name)) for name, values in choice.items()}
    return rows._replace(**kept), found.minimum(tried)


def _tried(rows: Rows, orders: np.ndarray, accounting: Accounting, blocks: Blocks, rounds: int) -> Outcome:
    """What each row comes to with each of its orders, shape (rows, orders), after so many rounds."""
    tried = rows.at(np.repeat(np.arange(rows.K.size), orders.shape[1]))._replace(order=orders.ravel())
    return improve(tried, accounting, blocks, first_guess(tried, accounting, blocks), rounds)


def _coarse_order(rows: Rows, accounting: Accounting, blocks: Blocks) -> Rows:
    orders = np.tile(FIRST_ORDERS, (rows.K.size, 1))
    found = _tried(rows, orders, accounting, blocks, 2)
    best = (np.arange(rows.K.size), found.epsilon.reshape(orders.shape).argmin(axis=1))
    return rows._replace(order=orders[best], share=found.share.reshape(orders.shape)[best])


def _refine_order(rows: Rows, accounting: Accounting, blocks: Blocks) -> Rows:
    """The best order between the coarse ones around the present one: the vertex of a parabola through the best of some."""
    around = rows.order[:, None] * AROUND
    orders = nearest_order(around)
    epsilon = _tried(rows, orders, accounting, blocks, WARM).epsilon.reshape(orders.shape)
    row, best = np.arange(rows.K.size), np.clip(epsilon.argmin(axis=1), 1, AROUND.size - 2)
    left, middle, right = (epsilon[row, best + k] for k in (-1, 0, 1))
    with np.errstate(all="ignore"):
        vertex = np.nan_to_num((left - right) / (2 * (left - 2 * middle + right)), nan=0.0, posinf=0.0, neginf=0.0)
    order = around[row, best] * (AROUND[1] / AROUND[0]) ** np.clip(vertex, -1, 1)
    return rows._replace(order=nearest_order(order))


def _best_beta(rows: Rows, accounting: Accounting, blocks: Blocks) -> Rows:
    tried = rows.at(np.repeat(np.arange(rows.K.size), BETAS.size))._replace(beta=np.tile(BETAS, rows.K.size))
    found = improve(tried, accounting, blocks, first_guess(tried, accounting, blocks), WARM)
    return rows._replace(beta=BETAS[found.epsilon.reshape(-1, BETAS.size).argmin(axis=1)])
