"""The sharper bound's choices, for many runs at once: moments, split of delta, fractions, and the share of the noise.

Whatever is chosen here is sound (BOUNDS section 7: any order, split and fractions are); this module looks for what is best.
"""

from dataclasses import dataclass, fields, replace
from functools import lru_cache

import numpy as np

from zoexplore.bounds.conversion import delta_slope, epsilon_of
from zoexplore.bounds.kernels import sharp as kernels
from zoexplore.bounds.runs import Runs
from zoexplore.bounds.search import golden
from zoexplore.setting import Accounting

FIRST_SHARE, LEAST_SHARE, MOST_SHARE = 0.1, 1e-6, 0.999  # of delta, for the coupling to fail
# Orders of the moments to try first. With the last one the tail's factor is within 0.1 % of 1, so higher ones gain little.
ORDERS = np.array([1.0, 2.0, *3.0 ** np.arange(1, 10)])
# Steps one by one at the end of a run, then blocks of at most this share of their distance to the end: for what is reported,
# for comparing choices that are near to each other, and for choices that are far apart.
FINE, ROUGH, ROUGHEST = (14, 0.2), (6, 0.3), (6, 0.5)
ROUNDS, WARM = 10, 6  # of the recursion: for what is reported, and before orders are compared
SETTLED, MORE = 3e-4, 4  # a relative gain of epsilon in the last round that is worth as many rounds again, and how often
ROUND_UP = 1 + 1e-10  # long sums round to less than that


@dataclass(frozen=True)
class Rows:
    """Runs as flat arrays (quantities of `Runs`, lengths in its unit), each with the choices made for it.

    `far` rows start from z0 and choose the number of steps, at most `most`; the others count `most` steps from distance 0.
    The recursion has two kinds of fixed points: runs that pay for each step's data as it comes, and runs that let distance build
    up (`high`) and work it off at the end. Each row looks for one of them.
    """

    K: np.ndarray
    d: np.ndarray
    n: np.ndarray
    c: np.ndarray
    B: np.ndarray
    remainder: np.ndarray
    delta: np.ndarray
    most: np.ndarray
    z0: np.ndarray
    far: np.ndarray
    high: np.ndarray
    beta: np.ndarray
    order: np.ndarray
    share: np.ndarray

    @classmethod
    def of(cls, runs: Runs, beta, most, far: bool = False, high: bool = False) -> "Rows":
        """The runs, with the first choices that a search starts from."""
        z0 = runs.diameter if far else 0.0
        size = int(np.prod(runs.shape))
        given = (runs.K, runs.d, runs.n, runs.c, runs.B, runs.remainder, runs.delta)
        columns = (*given, most, z0, far, high, beta, 9.0, FIRST_SHARE)
        return cls(*(np.array(np.broadcast_to(x, (size,))) for x in columns))

    def __len__(self) -> int:
        return self.K.size

    def at(self, index) -> "Rows":
        """Some of the rows, in any order, repeated or not."""
        return Rows(*(getattr(self, f.name)[index] for f in fields(self)))

    @staticmethod
    def stack(*parts: "Rows") -> "Rows":
        """All rows of the parts, one part after the other."""
        return Rows(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Rows)))


@dataclass(frozen=True)
class Outcome:
    """The best round of the recursion, row by row: epsilon, rho, counted steps and the share of delta it was found with.

    `gain` is by how much, relatively, the last round was better than all before, 0 where it was not; `path` the distances that
    the best round started from, shape (rows, blocks), and `most` the steps it was cut for.
    """

    epsilon: np.ndarray
    rho: np.ndarray
    steps: np.ndarray
    share: np.ndarray
    gain: np.ndarray
    path: np.ndarray
    most: np.ndarray

    def at(self, index) -> "Outcome":
        """Some of the rows."""
        return Outcome(*(getattr(self, f.name)[index] for f in fields(self)))

    def least(self, other: "Outcome", index=slice(None)) -> "Outcome":
        """Row by row the smaller epsilon, `other` holding some of the rows."""
        better = other.epsilon < self.epsilon[index]
        columns = [getattr(self, f.name).copy() for f in fields(self)]
        for column, f in zip(columns, fields(self), strict=True):
            rows = better.reshape(-1, *[1] * (column.ndim - 1))
            column[index] = np.where(rows, getattr(other, f.name), column[index])
        return Outcome(*columns)


def edges_for(rows: Rows, blocks: tuple[int, float] = FINE) -> np.ndarray:
    """Steps to the end at which blocks begin, as many as the longest run needs."""
    return _edges(int(np.ceil(np.log2(rows.most.max()))), *blocks)


@lru_cache(maxsize=128)
def _edges(exponent: int, singles: int, growth: float) -> np.ndarray:
    """Blocks are powers of two, which the kernels sum by doubling."""
    edges = [float(r) for r in range(singles + 1)]
    while edges[-1] < 2.0**exponent:
        edges.append(edges[-1] + 2.0 ** np.floor(np.log2(growth * edges[-1])))
    return np.array(edges)


def moments(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """o and g of the rows' orders."""
    return kernels.complement_moment(rows.K, rows.d, rows.order), kernels.span_moment(rows.K, rows.d, rows.order)


def arguments(rows: Rows, o: np.ndarray, g: np.ndarray, accounting: Accounting) -> tuple[np.ndarray, ...]:
    """Of the kernels, from z0 to 1/s2: the drift's span part is u z + w, and f u z + w_f with the tail's factor f.

    w_0 and w_0f stand for w and w_f in a first step from distance 0; `random` is the part of w_f that is proportional to f.
    """
    f = np.exp(-np.log(rows.share * rows.delta) / (2 * rows.order))
    s2 = (1 - rows.beta) / rows.d
    S = rows.beta / rows.K + s2
    if accounting.sensitivity == "lipschitz":
        data, at_zero = rows.B / np.sqrt(rows.K), rows.remainder / rows.n
        tail = np.minimum(f * g, 1.0)  # a projection never lengthens: where the tail says less than that, it is not needed
        w, w_f = g * data + rows.remainder, tail * data + rows.remainder
        w_0, w_0f = np.minimum(g * data + at_zero, rows.B), np.minimum(tail * data + at_zero, rows.B)
        random = np.where(f * g < 1, tail * data, 0.0)
    else:
        w = w_f = rows.B + rows.remainder
        w_0 = w_0f = rows.B
        random = np.zeros(len(rows))
    return rows.z0, o, rows.c * g, w, w_f, w_0, w_0f, random, f, 1 / S, 1 / s2


def first_guess(rows: Rows, accounting: Accounting, edges: np.ndarray) -> np.ndarray:
    """Constant trajectories to start the recursion from, shape (rows, blocks)."""
    z0, o, u, w, *_ = arguments(rows, *moments(rows), accounting)
    ratio = np.sqrt(o**2 + u**2)
    with np.errstate(divide="ignore"):
        built_up = np.minimum(rows.most * w, np.where(ratio < 1, w / np.maximum(1 - ratio, 0.0), np.inf))
    guess = np.maximum(z0, np.where(rows.high, np.minimum(built_up, 1e100), w))
    return np.repeat(guess[:, None], edges.size - 1, axis=1)


def improve(rows: Rows, accounting: Accounting, edges: np.ndarray, typical: np.ndarray, rounds: int) -> Outcome:
    """Rounds of the recursion, each with a better split of delta; the best round is kept, `typical` becomes the last one's."""
    count = len(rows)
    unbounded = np.full(count, np.inf)
    best = Outcome(unbounded, unbounded, np.ones(count), rows.share, np.zeros(count), typical.copy(), rows.most)
    rho, slope, steps = np.empty(count), np.empty(count), np.empty(count)
    o, g = moments(rows)
    for _ in range(rounds):
        started = typical.copy()
        kernels.sweep(edges, typical, rows.far, rows.most, *arguments(rows, o, g, accounting), rho, slope, steps)
        delta_p = rows.delta * (1 - rows.share)
        epsilon = epsilon_of(rho * ROUND_UP, delta_p, accounting.conversion)
        gain = np.maximum(0.0, 1 - epsilon / np.maximum(best.epsilon, 1e-300))
        found = Outcome(epsilon, rho * ROUND_UP, steps, rows.share, gain, started, rows.most)
        best = replace(best.least(found), gain=gain)
        lost = ~np.isfinite(rho)  # distances that run away are not gone on from
        typical[lost] = np.where(np.isfinite(best.epsilon[lost, None]), best.path[lost], started[lost])
        # the split is best where delta_f = (d rho/d ln f) (d delta/d rho)/(2 order), whose right side is nearly proportional to
        # delta - delta_f
        odds = slope * delta_slope(rho, epsilon, delta_p, accounting.conversion) / (2 * rows.order * delta_p)
        share = np.nan_to_num(odds / (1 + odds), nan=FIRST_SHARE)
        rows = replace(rows, share=np.clip(share, LEAST_SHARE, MOST_SHARE))
    return best


def improved(rows: Rows, accounting: Accounting, edges: np.ndarray, typical: np.ndarray, rounds: int) -> Outcome:
    """Rounds for all rows, and then more for those that still gain by them."""
    found = improve(rows, accounting, edges, typical, rounds)
    moving = np.flatnonzero(found.gain > SETTLED)
    for _ in range(MORE):
        if not moving.size:
            break
        path = typical[moving]
        more = improve(replace(rows.at(moving), share=found.share[moving]), accounting, edges, path, rounds)
        typical[moving] = path
        gained = more.epsilon < found.epsilon[moving] * (1 - SETTLED)
        found = found.least(more, moving)
        moving = moving[gained]
    return found


def settle(rows: Rows, accounting: Accounting, edges: np.ndarray) -> tuple[Rows, Outcome]:
    """Rows with their order, share and, where the schedule is free, beta chosen; the bounds found."""
    rough = edges_for(rows, ROUGH)
    rows = _coarse_order(rows, accounting, edges_for(rows, ROUGHEST))
    if accounting.schedule == "optimal":
        rows = _best_beta(rows, accounting, rough)
    rows = _refine_order(rows, accounting, rough)
    found = improved(rows, accounting, edges, first_guess(rows, accounting, edges), ROUNDS)
    return replace(rows, share=found.share), found


def _coarse_order(rows: Rows, accounting: Accounting, edges: np.ndarray) -> Rows:
    tried = rows.at(np.repeat(np.arange(len(rows)), ORDERS.size))
    tried = replace(tried, order=np.tile(ORDERS, len(rows)))
    found = improve(tried, accounting, edges, first_guess(tried, accounting, edges), 2)
    best = found.epsilon.reshape(-1, ORDERS.size).argmin(axis=1)
    return replace(rows, order=ORDERS[best], share=found.share.reshape(-1, ORDERS.size)[np.arange(len(rows)), best])


def _refine_order(rows: Rows, accounting: Accounting, edges: np.ndarray) -> Rows:
    """The best order between the coarse ones around the present one."""
    typical = first_guess(rows, accounting, edges)
    improve(rows, accounting, edges, typical, WARM)

    def epsilon_at(log_order):
        return improve(_with_order(rows, log_order), accounting, edges, typical, 2).epsilon

    spread = np.log(2.5)
    low, high = np.maximum(0.0, np.log(rows.order) - spread), np.minimum(np.log(ORDERS[-1]), np.log(rows.order) + spread)
    return _with_order(rows, golden(epsilon_at, low, high, 6))


def _with_order(rows: Rows, log_order: np.ndarray) -> Rows:
    return replace(rows, order=np.round(np.exp(log_order)))


def _best_beta(rows: Rows, accounting: Accounting, edges: np.ndarray) -> Rows:
    typical = first_guess(rows, accounting, edges)

    def epsilon_at(beta):
        return improve(replace(rows, beta=beta), accounting, edges, typical, 2).epsilon

    return replace(rows, beta=golden(epsilon_at, np.zeros(len(rows)), np.full(len(rows), 1 - 1e-9), 8))
