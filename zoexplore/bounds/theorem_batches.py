"""The hidden-state theorem for runs on batches (docs/batches.md).

N counted steps pay N r_alpha for the differing record and alpha times a Gaussian budget for the
drift. The search alternates between the parameters of the budget at a fixed order alpha, and alpha.
Whatever it returns is sound.
"""

from functools import partial
from typing import Any

import numpy as np

from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import epsilon_at_order
from zoexplore.bounds.geometry import program_of, start_of
from zoexplore.bounds.kernels import shifted_divergence
from zoexplore.bounds.kernels.shifted_divergence import Program
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import best_share, golden, interpolated, spread
from zoexplore.bounds.subsampling import Sampled, compose, exact, from_losses, from_renyi
from zoexplore.run.setting import NUMERIC_FIELDS, Accounting

FIRST_SHARE = 0.1  # of delta, where the search begins
FIRST_ORDER = 1.2  # where it begins: an order low enough for a batch to cost less than all records
ROUNDS, AGAIN = 8, 2  # of the search, from the start and from the neighbours' results
MOST_NODES = 25  # rows at which choices are made; those in between interpolate them


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """The theorem with N r_alpha(b/n, 2 Delta/(b sqrt(beta) sigma)) + alpha sum a_t^2/(2 s2), and
    one best beta if it is free. One step separates two runs by at most the geometry's separation,
    whatever their batches.
    """
    free = accounting.schedule == "optimal"
    beta = np.ones(()) if free else runs.beta
    everything = Sampled.of(runs, beta / runs.K, accounting, by_form=False)
    best = compose(everything, runs.T, runs.delta, accounting, beta=beta)
    from_diameter = _best_counted_steps(runs, accounting, np.full((), np.inf))
    best = best.minimum(from_diameter.mask(from_diameter.N <= runs.T))
    return _from_forward_tracking(runs, accounting, everything, best)


def _best_counted_steps(runs: RunArrays, accounting: Accounting, T: Numbers) -> Solved:
    """The best counted steps, split of delta, order and, where free, beta, for runs of T steps
    (inf: any number). Of many rows only some are searched from the start; the others begin at
    interpolated results.
    """
    free = accounting.schedule == "optimal"
    program = program_of(runs, runs.beta, 0.0)
    fixed = (runs.delta, runs.batch, runs.n, runs.B, *program, T)
    shape = np.broadcast_shapes(*map(np.shape, fixed))
    size = int(np.prod(shape))
    start, rounds = (FIRST_SHARE, FIRST_ORDER, 0.5 if free else runs.beta), ROUNDS
    if size > 2 * MOST_NODES:
        nodes = spread(size, MOST_NODES)
        columns: dict[str, Any] = {
            name: _at(getattr(runs, name), shape, nodes) for name in NUMERIC_FIELDS if name != "T"
        }
        some = runs.changed(**columns, T=np.ones(()))
        there = Program(*(_at(x, shape, nodes) for x in program))
        begun = tuple(
            np.full(nodes.shape, x) if np.ndim(x) == 0 else _at(x, shape, nodes) for x in start
        )
        _, share, alpha, _, beta = _choices(
            some, accounting, there, _at(T, shape, nodes), begun, ROUNDS, free
        )
        mixed = (
            np.exp(interpolated(np.log(share), nodes, size)),
            1 + np.exp(interpolated(np.log(alpha - 1), nodes, size)),
        )
        start, rounds = (*mixed, interpolated(beta, nodes, size) if free else runs.beta), AGAIN
        free = False  # beta is settled
    begun = tuple(
        np.broadcast_to(np.reshape(x, shape) if np.size(x) == size else x, shape) for x in start
    )
    N, share, alpha, _, beta = _choices(runs, accounting, program, T, begun, rounds, free)
    z = start_of(program, T, N)
    sampled, budget = (
        Sampled.of(runs, beta / runs.K, accounting, by_form=False),
        _budget(runs, program, T, N, share, beta),
    )
    cost = N * sampled.divergence(alpha) + alpha * budget
    by_order = from_renyi(cost, alpha, runs.delta, accounting, share * runs.delta, N, z, beta=beta)
    if not exact(accounting):
        return by_order
    # spares exact conversion for more steps than any run has
    budget = np.where(N <= runs.T.max(), budget, np.inf)
    return from_losses(
        sampled.losses(N, budget), runs.delta, share * runs.delta, N, z, beta=beta
    ).minimum(by_order)


def _choices(
    runs: RunArrays,
    accounting: Accounting,
    program: Program,
    T: Numbers,
    start: tuple[Any, ...],
    rounds: int,
    free: bool,
) -> tuple[Any, ...]:
    """(N, share of delta, order, its cost, beta) after so many rounds from (share, order, beta)."""
    share, alpha, beta = start
    most = np.where(np.isfinite(T), T - 1, shifted_divergence.MOST_STEPS)

    def sampled(beta: Numbers) -> Numbers:
        return Sampled.of(runs, beta / runs.K, accounting, by_form=False).typical

    def epsilon(
        N: Numbers, share: Numbers, beta: Numbers, alpha: Numbers, cost: Numbers
    ) -> Numbers:
        divergence = N * cost + alpha * _budget(runs, program, T, N, share, beta)
        return epsilon_at_order(divergence, alpha, runs.delta * (1 - share), accounting.conversion)

    cost, N = sampled(beta).divergence(alpha), np.ones(np.shape(share))
    for _ in range(rounds):
        of = program._replace(beta=beta, data=beta * cost, shift=alpha * runs.d / 2)
        N = shifted_divergence.theorem_steps(T, most, np.log(share * runs.delta), of)
        share = best_share(partial(epsilon, N, beta=beta, alpha=alpha, cost=cost), N.shape)
        if free:

            def by_beta(
                x: Numbers, N: Numbers = N, share: Numbers = share, alpha: Numbers = alpha
            ) -> Numbers:
                return epsilon(N, share, x, alpha, sampled(x).divergence(alpha))

            beta = golden(by_beta, np.zeros(N.shape), np.ones(N.shape), 14)
        budget = _budget(runs, program, T, N, share, beta)
        near = np.broadcast_to(alpha, N.shape) if rounds == AGAIN else None
        alpha, cost = sampled(beta).best_order(
            N, budget, runs.delta * (1 - share), accounting, near
        )
    return N, share, alpha, cost, beta


def _budget(
    runs: RunArrays, program: Program, T: Numbers, N: Numbers, share: Numbers, beta: Numbers
) -> Numbers:
    """The cost of the shifts of N counted steps."""
    return shifted_divergence.theorem_rho(
        N, T, np.log(share * runs.delta), program._replace(beta=beta)
    )


def _at(x: Numbers, shape: tuple[int, ...], index: np.ndarray) -> Numbers:
    """Rows of an array after broadcasting it to the shape."""
    return np.broadcast_to(x, shape).reshape(-1)[index]


def _from_forward_tracking(
    runs: RunArrays, accounting: Accounting, everything: Sampled, best: Solved
) -> Solved:
    """Improve the rows whose first steps stay within the diameter, unless the data of the rest
    alone costs too much.
    """
    ahead = np.minimum(runs.T - 1, np.ceil(runs.diameter / runs.step_separation))
    able = np.broadcast_to(
        (runs.step_separation < runs.diameter) & (ahead >= 1) & (runs.beta < 1), runs.shape
    )
    if not able.any():
        return best
    least = compose(everything, runs.T - ahead, runs.delta, accounting).epsilon
    rows = np.broadcast_to(able & (least < best.epsilon), runs.shape)
    if not rows.any():
        return best
    columns: dict[str, Any] = {
        name: np.broadcast_to(getattr(runs, name), runs.shape)[rows] for name in NUMERIC_FIELDS
    }
    some = runs.changed(**columns)
    found = _best_counted_steps(some, accounting, some.T)
    return best.minimum(found.scatter(rows, runs.shape))
