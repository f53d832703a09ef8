"""The sharper bound on full batches: plans for rows of runs, and what the tails of their cost come to (docs/sharp.md)."""

from typing import Any, NamedTuple

import numpy as np

from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import NUMBERS
from zoexplore.bounds.kernels import budgets as kernels
from zoexplore.bounds.kernels.steps import COLUMNS, steps
from zoexplore.bounds.rows import RAYS, Rows, tables_of
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import spread
from zoexplore.setting import NUMERIC_FIELDS, Accounting

TOPS = np.round(25.0 * 2.0 ** (np.arange(13) / 2))  # numbers of moments of a drift that an exponential one is taken from
LOW, HIGH = kernels.STARTS
# A budget that is that many times the mean cost, and few dimensions: luck counts, and plans for a norm are tried.
WIDER, FEW_DIMENSIONS = 1.6, 100
FLAT = 1e-6  # relative: between two numbers of steps whose epsilons are that near nothing is looked at
MOST_NODES, MOST_TRIED = 16, 2  # of many rows: those that try all plans, and how many plans for a norm the others count
FEW = 8  # values along T that are each looked at
D, BETA, MOST, DATA = (COLUMNS.index(name) for name in ("d", "beta", "most", "data"))
CUBE = 0.8  # of a ball's, what a cube's part adds to the square of a distance in many dimensions
LARGEST_BETA = 1 - 1e-9  # below 1: some noise stays outside the span
BETAS = np.append(1 - np.array([1.0, 0.9, 0.75, 0.6, 0.5, 0.4, 0.3, 0.2, 0.12, 0.06, 0.03, 0.01]), LARGEST_BETA)
HALVINGS = 4  # of the distance between those, around the best


class Ways(NamedTuple):
    """How to plan and to count: orders of the norm, and rows of an order's place among them (-1: the mean), 1 to know of the
    record's part its length alone, and the start; how many of the plans for a norm are counted; at how many orders
    tails are taken; the first order for caps.
    """

    orders: np.ndarray
    ways: np.ndarray
    tried: int
    taken: int
    first_cap: int


MEAN = [[-1, 0, LOW], [-1, 0, HIGH]]
QUICK = Ways(np.array([4.0, 30.0, 80.0, 240.0]), np.array(MEAN, float), 0, 2, 1)
ORDERS = (2, 3, 4, 5, 6, 8, 10, 14, 20, 28, 40, 60, 100, 200, 400, 800, 1600)
BY_ENTRIES, BY_LENGTH = (8, 40), (2, 3, 4, 6, 8, 14, 20, 40, 60, 100, 200, 400)  # orders that plans are made for
NORMS = [[ORDERS.index(order), 0, start] for order in BY_ENTRIES for start in (LOW, HIGH)]
NORMS += [[ORDERS.index(order), 1, start] for order in BY_LENGTH for start in (LOW, HIGH)]
WIDE = Ways(np.array(ORDERS, float), np.array(MEAN + NORMS, float), 4, len(ORDERS), ORDERS.index(20))


class Found(NamedTuple):
    """What rows come to, by `kernels.Found`, with their tails, and whether plans for a norm were tried."""

    numbers: np.ndarray
    tails: tuple[np.ndarray, ...]
    wide: np.ndarray


def solve(runs: RunArrays, beta, accounting: Accounting) -> Solved:
    """The least epsilon of every run, `beta` its share (None: the best constant one), from distance 0 and from the diameter."""
    columns, rows, z0 = _columns(runs, 0.5 if beta is None else beta, accounting)
    if beta is None:
        columns[:, BETA] = _best_beta(columns, rows, z0, accounting)
    only_T = not any(np.ndim(getattr(runs, name)) for name in NUMERIC_FIELDS if name != "T")
    settle = _along_T if only_T and columns.shape[0] > FEW else _settle
    return _solved(columns, settle(columns, rows, z0, accounting)).reshape(runs.shape)


def _columns(runs: RunArrays, beta, accounting: Accounting) -> tuple[np.ndarray, Rows, np.ndarray]:
    """The runs' columns for the kernels, as `Rows` for J's tables, and the diameters."""
    # where gradients are so short that their length is worth more than to know each entry of the record's part
    short = runs.B_lipschitz * np.sqrt(runs.K / runs.d) < CUBE * runs.B_clip
    data = np.where(short | runs.joint, runs.B_lipschitz, np.inf)
    most = np.ceil(runs.T / runs.releases)  # from one released iterate to the next: stretches cost at most what the longest does
    given = (
        runs.K, runs.d, runs.ridge_factor, runs.low_curvature, runs.top_curvature, runs.slowest, runs.clip_kind,
        runs.joint | short, runs.B_clip, runs.remainder, runs.remainder_at_zero, data,
        beta, most, runs.releases,
        runs.delta,
    )  # fmt: skip
    size = int(np.prod(runs.shape))
    columns = np.array([np.broadcast_to(x, runs.shape).reshape(size) for x in given], float).T.copy()
    return columns, Rows.of(runs, beta, most), np.array(np.broadcast_to(runs.diameter, runs.shape).reshape(size), float)


def _rows_at(columns: np.ndarray, rows: Rows, ways: Ways, accounting: Accounting) -> tuple[Any, ...]:
    """What the kernels take of rows and the orders of some ways."""
    runs, means, orders, constants, chi = steps(columns, ways.orders, TOPS, kernels.TYPICAL, True)
    places, tables = tables_of(rows, ways.orders)
    return runs, means, orders, places, TOPS, constants, chi, tables, RAYS


def _count(columns, rows: Rows, z0, ways: Ways, accounting: Accounting) -> tuple[np.ndarray, ...]:
    given = _rows_at(columns, rows, ways, accounting)
    how = ways.ways, ways.tried, NUMBERS[accounting.conversion], _by_length(columns), ways.taken, ways.first_cap
    return kernels.solve(*given, z0, *how)


def _count_wide(columns, rows: Rows, z0, accounting: Accounting) -> tuple[np.ndarray, ...]:
    """`_count` with plans for norms. Of many rows those are tried that were the best for some of them."""
    if columns.shape[0] <= MOST_NODES:
        return _count(columns, rows, z0, WIDE, accounting)
    nodes = spread(columns.shape[0], MOST_NODES)
    best = _count(columns[nodes], rows.at(nodes), z0[nodes], WIDE, accounting)[0][:, 5]
    chosen = np.unique(np.concatenate([[0, 1], best])).astype(int)
    found = _count(columns, rows, z0, WIDE._replace(ways=WIDE.ways[chosen], tried=MOST_TRIED), accounting)
    found[0][:, 5] = chosen[found[0][:, 5].astype(int)]
    return found


def _by_length(columns: np.ndarray) -> bool:
    """Whether the length of gradients is counted on in any row."""
    return bool(np.isfinite(columns[:, DATA]).any())


def _settle(columns: np.ndarray, rows: Rows, z0: np.ndarray, accounting: Accounting) -> Found:
    """Plans for the mean of the cost, and for norms of it where luck may count."""
    numbers, *tails = _count(columns, rows, z0, QUICK, accounting)
    with np.errstate(all="ignore"):
        steady = (numbers[:, 1] < WIDER * numbers[:, 8]) & (columns[:, D] >= FEW_DIMENSIONS)
    wide = np.flatnonzero(~steady)
    better = np.zeros(columns.shape[0], bool)
    if wide.size:
        others, *more = _count_wide(columns[wide], rows.at(wide), z0[wide], accounting)
        better[wide] = others[:, 0] < numbers[wide, 0]
        numbers[better] = others[better[wide]]
        room = more[0].shape[1] - tails[0].shape[1]
        tails = [np.pad(tail, ((0, 0), (0, room))) for tail in tails]
        for tail, other in zip(tails, more, strict=True):
            tail[better] = other[better[wide]]
    return Found(numbers, tuple(tails), better)


def _along_T(columns: np.ndarray, rows: Rows, z0: np.ndarray, accounting: Accounting) -> Found:
    """Many rows that differ in T alone: what epsilon is at powers of two tells where nothing grows any more."""
    most = columns[:, MOST]
    powers = np.arange(np.floor(np.log2(most.min())), np.ceil(np.log2(most.max())) + 1)
    first = np.zeros(powers.size, int)
    ends = columns[first]
    ends[:, MOST] = 2.0**powers
    at_ends = _settle(ends, rows.at(first), z0[first], accounting)
    above = np.searchsorted(2.0**powers, most)
    below = np.maximum(above - 1, 0)
    epsilon = at_ends.numbers[:, 0]
    flat = (epsilon[above] <= epsilon[below] * (1 + FLAT)) | (2.0 ** powers[above] == most)
    index = np.flatnonzero(~flat)
    numbers, wide = at_ends.numbers[above], at_ends.wide[above]
    tails = tuple(np.zeros((most.size, 0)) for _ in at_ends.tails)  # of a curve nobody asks for them
    if index.size:
        found = _settle(columns[index], rows.at(index), z0[index], accounting)
        numbers[index], wide[index] = found.numbers, found.wide
    least = _least_from(most, numbers[:, 0])
    return Found(numbers[least], tails, wide[least])


def _least_from(most: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """For every number of steps the place of the least epsilon found for so many or more: it serves fewer, too."""
    order = np.argsort(most, kind="stable")
    places = order.copy()
    for i in range(order.size - 2, -1, -1):
        if epsilon[places[i + 1]] < epsilon[places[i]]:
            places[i] = places[i + 1]
    back = np.empty_like(order)
    back[order] = places
    return back


def _solved(columns: np.ndarray, found: Found) -> Solved:
    """The rows' bounds. A number that was found for a longer run counts all of a shorter one, from distance 0."""
    epsilon, twice, beyond, N, z0, way = found.numbers[:, :6].T
    longer = N > columns[:, MOST]
    tails = np.empty(N.size, object)
    if N.size == 1:
        norms, counted = (int(x) for x in found.numbers[0, 6:8])
        tails[0] = (norms, *(tail[0, :counted] for tail in found.tails))
    extra = {"beta": columns[:, BETA], "way": way, "wide": 1.0 * found.wide, "tails": tails}
    return Solved(epsilon, 0.5 * twice, beyond, np.where(longer, columns[:, MOST], N), np.where(longer, 0.0, z0), extra)


def _best_beta(columns: np.ndarray, rows: Rows, z0: np.ndarray, accounting: Accounting) -> np.ndarray:
    """The share whose plans for the mean promise most, row by row."""
    count = columns.shape[0]

    def promised(beta: np.ndarray) -> np.ndarray:
        index = np.repeat(np.arange(count), beta.shape[1])
        tried = columns[index]
        tried[:, BETA] = beta.ravel()
        return kernels.promises(*_rows_at(tried, rows.at(index), QUICK, accounting), z0[index], QUICK.ways).reshape(beta.shape)

    found = promised(np.tile(BETAS, (count, 1)))
    at = found.argmin(axis=1)
    best, reach = BETAS[at], np.maximum(BETAS[np.minimum(at + 1, BETAS.size - 1)] - BETAS[np.maximum(at - 1, 0)], 1e-6) / 2
    for _ in range(HALVINGS):
        tried = np.clip(best[:, None] + reach[:, None] * np.array([-0.5, 0.0, 0.5]), 0.0, LARGEST_BETA)
        best = tried[np.arange(count), promised(tried).argmin(axis=1)]
        reach = reach / 2
    return best


def epsilons(tails: tuple[Any, ...], deltas: np.ndarray, delta: float) -> np.ndarray:
    """epsilon at each of the deltas, of the tails (`Solved.extra`) of a plan that was made for `delta`."""
    norms, X, Y, power = tails
    return kernels.epsilons(X, Y, power, norms, np.asarray(deltas, float), kernels.LOST * delta)


def path(runs: RunArrays, accounting: Accounting, solved: Solved) -> tuple[np.ndarray, ...]:
    """A run's plan, step by step from the first that counts: alpha, pi, squared distances, and what of them a step's norm counts
    across the span and in it.
    """
    extra = solved.extra
    columns, rows, _ = _columns(runs, float(extra["beta"]), accounting)
    ways = WIDE if float(extra["wide"]) else QUICK
    way = ways.ways[int(extra["way"])]
    edges, *found = kernels.path(*_rows_at(columns, rows, ways, accounting), float(solved.z), way)
    lengths = np.diff(np.minimum(edges, float(solved.N))).astype(int)
    return tuple(np.repeat(values[: lengths.size], lengths)[::-1] for values in found)
