"""The sharper bound on full batches and in epochs: which plan each run takes, and the epsilon that
follows (docs/sharp.md).
"""

from typing import NamedTuple

import numpy as np

from zoexplore.bounds import visits
from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import NUMBERS
from zoexplore.bounds.kernels.gaussian import GAUSSIAN
from zoexplore.bounds.kernels.profiles import convert
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.rows import Rows
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import best_noise, spread
from zoexplore.bounds.sharp_plans import ORDERS, Plans, Tails, followed, plan, tails_of
from zoexplore.run.setting import NUMERIC_FIELDS, Accounting

COUNTED = [(name, float) for name in ("epsilon", "twice_rho", "delta_f", "steps", "z0")]
# a plan is dropped if it costs more than this many times the cheapest of its order
FAR_BEHIND = 2.0
# relative differences: one of two plans is dropped if their costs differ by less than SAME, and a
# plan from distance 0 is preferred if epsilons differ by less than TIE
SAME, TIE = 3e-5, 1e-4
# a plan is dropped if, for each power of PROMISED, its cost at the chance delta**power exceeds
# BEHIND times the least of its run
BEHIND, PROMISED = 1.3, (0.3, 0.9)
BALLS_UP_TO, BALLS_OF = 100, 30  # below this d, or this K, records are also counted by length
# in many dimensions counting by entry (a cube) adds this fraction of what counting by length (a
# ball) adds
CUBE = 0.8
# how many runs along a curve choose plans, and how often runs between these are added
MOST_NODES, SPLITS = 9, 2
FARTHEST = 1e150  # the largest useful diameter


class Effort(NamedTuple):
    """Says what is tried for a conversion."""

    plans: tuple[float, ...]  # the orders of the norm at which plans are made
    tails: np.ndarray  # the orders of the norm at which tails are taken
    luck: float  # plans are made for the cost that is exceeded with a chance of delta**luck
    rounds: int  # the most rounds of planning


ON_AVERAGE = Effort((2.0, 4.0, 8.0, 16.0, 48.0), ORDERS, 0.15, 8)
OF_BUDGET = Effort(  # for conversions of a budget, which comes from one of these orders alone
    (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 96.0, 256.0),
    np.union1d(ORDERS, [96.0, 128.0, 192.0, 400.0, 600.0, 1000.0]),
    1.0,
    30,
)


def effort(conversion: int) -> Effort:
    """Return what is tried for a conversion, a number of `conversion.NUMBERS`."""
    return ON_AVERAGE if conversion == GAUSSIAN else OF_BUDGET


def _count(rows: Rows, plans: Plans, conversion: int, run: np.ndarray) -> np.ndarray:
    """Return the results of plans, an array of dtype `COUNTED`; inf for a plan that does not
    promise its run's least epsilon.

    Args:
        run: the number of the run that each row belongs to.
    """
    counted = np.full(rows.size, np.inf, COUNTED)
    if not rows.size:
        return counted
    orders = effort(conversion).tails
    tails = tails_of(rows, plans, np.tile(orders, (rows.size, 1)))
    promises = [tails.exceeded(rows.delta**luck).min(axis=1) for luck in PROMISED]
    index = np.unique(np.concatenate([_promising(run, cost, BEHIND) for cost in promises]))
    rows, plans, tails = rows.at(index), plans.at(index), tails.at(index)
    converted = convert(*tails, orders.size, rows.delta.copy(), conversion)
    counted["epsilon"][index], counted["twice_rho"][index], counted["delta_f"][index] = converted.T
    counted["steps"][index], counted["z0"][index] = (
        plans.steps,
        np.where(rows.far, rows.diameter, 0.0),
    )
    return counted


def _promising(kind: np.ndarray, cost: np.ndarray, width: float) -> np.ndarray:
    """Return the indices of the rows, shape (some,), whose cost is within a factor `width` of the
    least of their kind. Of rows that cost nearly the same, keep only the first.
    """
    order = np.lexsort((cost, kind))
    kind, cost = kind[order], cost[order]
    new = np.diff(kind, prepend=-1) > 0
    least = np.repeat(cost[new], np.diff(np.append(np.flatnonzero(new), kind.size)))
    with np.errstate(over="ignore"):
        again = ~new & (cost <= np.append(np.inf, cost[:-1]) * (1 + SAME))
        return order[(cost <= width * least) & (cost < np.inf) & ~again]


def _settle(rows: Rows, run: np.ndarray, conversion: int) -> tuple[Rows, np.ndarray]:
    """Return (best, found), both of shape (runs,): every run's best row, with its order, and this
    row's result. `run` says which run each row belongs to, shape (rows,).
    """
    orders, first = effort(conversion).plans, rows.at(np.zeros(run.max() + 1, int))
    tried, run = np.tile(rows, len(orders)).view(Rows), np.tile(run, len(orders))
    kind = np.repeat(np.arange(len(orders)), rows.size)
    tried.order = np.take(orders, kind)
    plans = plan(tried, effort(conversion).rounds)
    kept = _promising((run * len(orders) + kind) * 2 + tried.cube, plans.cost, FAR_BEHIND)
    tried, run = tried.at(kept), run[kept]
    return _least(first, tried, run, _count(tried, plans.at(kept), conversion, run))


def _least(
    best: Rows, tried: Rows, run: np.ndarray, counted: np.ndarray
) -> tuple[Rows, np.ndarray]:
    """Return (best, least), both of shape (runs,): every run's row with the least epsilon, and this
    row's result. A run none of whose rows was tried keeps its row of `best`, and has epsilon inf.
    """
    # if epsilons nearly tie, a start from distance 0 wins
    order = np.lexsort((counted["epsilon"] * (1 + TIE * tried.far), run))
    at, where = np.unique(run[order], return_index=True)
    least = np.full(best.size, np.inf, COUNTED)
    least[at] = counted[order[where]]
    best[at] = tried[order[where]]
    return best, least


def forgotten(runs: RunArrays, steps: float, accounting: Accounting) -> Solved:
    """Compute the cost of the distance that is left when a single run has gone on for `steps` steps
    without the record (docs/batches.md, "Forgetting").
    """
    conversion = NUMBERS[accounting.conversion]
    rows, run = _rows(runs.changed(T=runs.T + steps), runs.beta, conversion)
    # the fraction of the strong convexity that is left without the record
    left = np.maximum(1.0 - runs.records_per_person / runs.n, 0.0)
    low = np.where(rows.low > 0, rows.low * left, rows.low)
    rows = rows.changed(low=low, cooled=steps, last_beta=rows.beta, forgets=1.0)
    best, counted = _settle(rows, run, conversion)
    return _solved(best, counted).reshape(runs.shape)


def _row(runs: RunArrays, beta: Numbers, conversion: int, far: bool, late: bool) -> Rows:
    """Make every run's row, from the diameter if `far`, else from distance 0. Either all steps use
    the record, or one step in each epoch does.
    """
    share = runs.delta ** effort(conversion).luck
    if visits.cyclic(runs):
        return visits.rows_of_epochs(runs, beta, far, late=late, share=share)
    return visits.rows_of_batches(
        runs, beta, far=far, late=late, share=share, most=visits.met_steps(runs)
    )


def _rows(runs: RunArrays, beta: Numbers, conversion: int) -> tuple[Rows, np.ndarray]:
    """Return (rows, run). Every run has rows from distance 0 that hide early, rows from distance 0
    that hide late, and rows from the diameter. A row counts the record either by entries or by
    length. `run` says which run each row belongs to, shape (rows,).
    """
    starts = (False, False), (False, True), (True, False)
    rows = np.concatenate([_row(runs, beta, conversion, *start) for start in starts]).view(Rows)
    count = int(np.prod(runs.shape))
    seen = np.minimum(rows.length * np.sqrt(rows.K / rows.d), rows.B)
    by_length = (
        ~rows.may_count_entries | (seen < rows.B) | (rows.d < BALLS_UP_TO) | (rows.K < BALLS_OF)
    )
    by_entry = rows.may_count_entries & (seen > CUBE * rows.B)
    usable = (rows.far == 0) | (rows.diameter < FARTHEST)
    length, entry = np.flatnonzero(by_length & usable), np.flatnonzero(by_entry & usable)
    both = rows.at(np.concatenate([length, entry]))
    both.cube[length.size :] = 1.0
    return both, np.concatenate([length, entry]) % count


def _between(
    rows: Rows,
    run: np.ndarray,
    chosen: Rows,
    around: tuple[np.ndarray, np.ndarray],
    conversion: int,
) -> tuple[Rows, np.ndarray]:
    """Try the choices of the two nodes `around` each run. Return the run's better row and this
    row's result, both of shape (runs,). Any choices are sound, because each run is counted by its
    own rows.
    """
    before, after = around
    index = [np.flatnonzero(_alike(rows, chosen.at(node[run]))) for node in around]
    index[0] = index[0][~_same(chosen.at(before), chosen.at(after))[run[index[0]]]]
    orders = [chosen.order[node[run[at]]] for node, at in zip(around, index, strict=True)]
    both = np.concatenate(index)
    tried = rows.at(both).changed(order=np.concatenate(orders))
    counted = _count(tried, plan(tried, effort(conversion).rounds), conversion, run[both])
    return _least(rows.at(np.unique(run, return_index=True)[1]), tried, run[both], counted)


def _alike(rows: Rows, others: Rows) -> Numbers:
    """Say which rows start and hide in the same way as the others, shape (rows,)."""
    return (rows.far == others.far) & (rows.late == others.late)


def _same(rows: Rows, others: Rows) -> Numbers:
    """Say which rows made all the same choices as the others, shape (rows,)."""
    return _alike(rows, others) & (rows.cube == others.cube) & (rows.order == others.order)


def _solve(runs: RunArrays, beta: Numbers, accounting: Accounting) -> tuple[Rows, np.ndarray]:
    """Return every run's row and result, both of shape (runs,). Among many runs, all plans are
    compared only at `MOST_NODES` nodes and at runs between nodes that choose differently. The other
    runs take the choices of the nodes around them.
    """
    conversion, size = NUMBERS[accounting.conversion], int(np.prod(runs.shape))
    rows, run = _rows(runs, beta, conversion)
    nodes, new = np.zeros(0, int), spread(size, MOST_NODES)
    chosen, counted = rows.at(np.zeros(size, int)), np.full(size, np.inf, COUNTED)
    for _ in range(1 + SPLITS):
        some, nodes = np.isin(run, new), np.union1d(nodes, new)
        chosen[new], counted[new] = _settle(
            rows.at(some), np.searchsorted(new, run[some]), conversion
        )
        new = _middles(nodes, chosen)
        if not new.size:
            break
    others = np.setdiff1d(np.arange(size), nodes)
    if others.size:
        after, some = np.searchsorted(nodes, others), np.isin(run, others)
        around = nodes[after - 1], nodes[after]
        of = np.searchsorted(others, run[some])
        chosen[others], counted[others] = _between(rows.at(some), of, chosen, around, conversion)
    return chosen, counted


def _middles(nodes: np.ndarray, chosen: Rows) -> Numbers:
    """Return the runs halfway between neighbouring nodes that chose differently, shape (some,)."""
    before, after = nodes[:-1], nodes[1:]
    halves = (before + after) // 2
    return halves[~_same(chosen.at(before), chosen.at(after)) & (halves > before)]


def solve(runs: RunArrays, beta: Numbers, accounting: Accounting) -> Solved:
    """Compute the least epsilon of every run if a share `beta` of the noise lies along the
    directions, or at the best constant share if `beta` is None.
    """
    if beta is None:
        beta = best_noise(runs, lambda some, beta: solve(some, beta, accounting).epsilon)
    best, counted = _solve(runs, beta, accounting)
    only_T = not any(np.ndim(getattr(runs, name)) for name in NUMERIC_FIELDS if name != "T")
    if only_T and runs.T.size > 1 and (np.diff(runs.T) > 0).all():
        # the last steps of a longer run are a shorter run, so the longer run's epsilon holds for
        # both
        counted["epsilon"] = np.minimum.accumulate(counted["epsilon"][::-1])[::-1]
    return _solved(best, counted).reshape(runs.shape)


def _solved(best: Rows, counted: np.ndarray) -> Solved:
    chosen = {name: best[name].copy() for name in ("beta", "far", "late", "cube")}
    columns = (
        counted["epsilon"],
        0.5 * counted["twice_rho"],
        counted["delta_f"],
        counted["steps"],
        counted["z0"],
    )
    return Solved(*columns, moment=best.order.copy(), **chosen)


def _chosen(runs: RunArrays, accounting: Accounting, solved: Solved) -> tuple[Rows, Plans]:
    """Return one run's chosen row, and this row's plan."""
    conversion = NUMBERS[accounting.conversion]
    rows = _row(runs, float(solved.beta), conversion, bool(solved.far > 0), bool(solved.late > 0))
    rows = rows.changed(cube=solved.cube, order=solved.moment)
    return rows, plan(rows, effort(conversion).rounds)


def tails(runs: RunArrays, accounting: Accounting, solved: Solved) -> Tails:
    """Return the tails of one run's cost."""
    return tails_of(
        *_chosen(runs, accounting, solved), effort(NUMBERS[accounting.conversion]).tails[None, :]
    )


def epsilons(
    runs: RunArrays, accounting: Accounting, solved: Solved, deltas: np.ndarray
) -> Numbers:
    """Compute one run's epsilon at each of the deltas, shape (P,), all by the plan made for the
    run's own delta.
    """
    found = tails(runs, accounting, solved).at(np.zeros(deltas.size, int))
    return convert(*found, found.X.shape[1], deltas, GAUSSIAN)[:, 0]


def path(runs: RunArrays, accounting: Accounting, solved: Solved) -> tuple[np.ndarray, ...]:
    """Return (alpha, pi, z, x, across, along) of one run's plan, each of shape (N,) over the
    counted steps: the fractions, the distances, the lengths at which squares of sums are split, and
    the factors of a squared distance across the span and in it.
    """
    rows, plans = _chosen(runs, accounting, solved)
    z, lengths = followed(rows, plans)
    alpha, pi, across, along = plans.fractions[0, :, : z.size]
    return tuple(
        np.repeat(x, lengths)[::-1] for x in (alpha, pi, z, plans.x[0, : z.size], across, along)
    )
