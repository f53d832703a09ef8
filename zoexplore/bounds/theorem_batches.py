"""The hidden-state theorem for runs on batches (docs/batches.md).

N counted steps pay N r_alpha for the differing record and alpha times a Gaussian budget for the
drift. The search alternates between the parameters of the budget at a fixed order alpha, and alpha.
Whatever it returns is sound.
"""

from functools import partial
from typing import Any

import numpy as np

from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import best_order, epsilon_at_order
from zoexplore.bounds.geometry import program_of, start_of
from zoexplore.bounds.kernels import shifted_divergence
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import best_share, golden, interpolated, spread
from zoexplore.bounds.subsampling import Sampled, compose
from zoexplore.run.setting import Accounting

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
    from_zero = compose([(everything, runs.T)], runs.delta, accounting, N=runs.T, beta=beta)
    from_diameter = _best_counted_steps(runs.changed(T=np.full((), np.inf)), accounting)
    best = from_zero.minimum(from_diameter.mask(from_diameter.N <= runs.T))
    # from a shorter distance, unless the data of the counted steps alone costs too much
    ahead = np.minimum(runs.T - 1, np.ceil(runs.diameter / runs.step_separation))
    able = np.broadcast_to((ahead >= 1) & (runs.step_separation < runs.diameter), runs.shape)
    if not able.any():
        return best
    least = compose([(everything, runs.T - ahead)], runs.delta, accounting).epsilon
    rows = able & (least < best.epsilon)
    if not rows.any():
        return best
    some = runs.at(rows) if runs.shape else runs
    return best.minimum(_best_counted_steps(some, accounting).scatter(rows, runs.shape))


def _best_counted_steps(runs: RunArrays, accounting: Accounting) -> Solved:
    """The best counted steps, split of delta, order and, where free, beta. Of many rows only some
    are searched from the start; the others begin at interpolated results.
    """
    free = accounting.schedule == "optimal"
    shape, size = runs.shape, int(np.prod(runs.shape))
    start, rounds = (FIRST_SHARE, FIRST_ORDER, 0.5 if free else runs.beta), ROUNDS
    if size > 2 * MOST_NODES:
        nodes = spread(size, MOST_NODES)
        some = runs.at(nodes)
        begun = _begun((*start[:2], 0.5 if free else some.beta), some.shape)
        _, share, alpha, beta = _choices(some, accounting, begun, ROUNDS, free)
        mixed = (
            np.exp(interpolated(np.log(share), nodes, size)),
            1 + np.exp(interpolated(np.log(alpha - 1), nodes, size)),
        )
        start, rounds = (*mixed, interpolated(beta, nodes, size) if free else runs.beta), AGAIN
        free = False  # beta is settled
    N, share, alpha, beta = _choices(runs, accounting, _begun(start, shape), rounds, free)
    z = start_of(program_of(runs, beta, 0.0), runs.T, N)
    sampled = Sampled.of(runs, beta / runs.K, accounting, by_form=False)
    budget = _budget(runs, N, share, beta)
    lost = share * runs.delta
    return compose(
        [(sampled, N)],
        runs.delta - lost,
        accounting,
        budget,
        alpha,
        delta_f=lost,
        N=N,
        z=z,
        beta=beta,
    )


def _begun(start: tuple[Any, ...], shape: tuple[int, ...]) -> list[np.ndarray]:
    """The same for every run, of its shape."""
    return [np.broadcast_to(x, shape) for x in start]


def _choices(
    runs: RunArrays, accounting: Accounting, start: list[np.ndarray], rounds: int, free: bool
) -> tuple[Any, ...]:
    """(N, share of delta, order, beta) after so many rounds from (share, order, beta)."""
    share, alpha, beta = start

    def sampled(beta: Numbers) -> Numbers:
        return Sampled.of(runs, beta / runs.K, accounting, by_form=False).typical

    def epsilon(
        N: Numbers, share: Numbers, beta: Numbers, alpha: Numbers, cost: Numbers
    ) -> Numbers:
        divergence = N * cost + alpha * _budget(runs, N, share, beta)
        return epsilon_at_order(divergence, alpha, runs.delta * (1 - share), accounting.conversion)

    cost, N = sampled(beta).divergence(alpha), np.ones(np.shape(share))
    for _ in range(rounds):
        of = program_of(runs, beta, beta * cost)._replace(shift=alpha * runs.d / 2)
        N = shifted_divergence.theorem_steps(runs.T, np.log(share * runs.delta), of)
        share = best_share(partial(epsilon, N, beta=beta, alpha=alpha, cost=cost), N.shape)
        if free:

            def by_beta(
                x: Numbers, N: Numbers = N, share: Numbers = share, alpha: Numbers = alpha
            ) -> Numbers:
                return epsilon(N, share, x, alpha, sampled(x).divergence(alpha))

            beta = golden(by_beta, np.zeros(N.shape), np.ones(N.shape), 14)
        budget = _budget(runs, N, share, beta)
        near = np.broadcast_to(alpha, N.shape) if rounds == AGAIN else None
        of_step = sampled(beta)

        def divergence(
            x: Numbers, of_step: Sampled = of_step, N: Numbers = N, budget: Numbers = budget
        ) -> Numbers:
            return N * of_step.divergence(x) + x * budget

        left = np.broadcast_to(runs.delta * (1 - share), N.shape)
        alpha = best_order(divergence, left, accounting.conversion, near)
        cost = of_step.divergence(alpha)
    return N, share, alpha, beta


def _budget(runs: RunArrays, N: Numbers, share: Numbers, beta: Numbers) -> Numbers:
    """The cost of the shifts of N counted steps."""
    return shifted_divergence.theorem_rho(
        N, runs.T, np.log(share * runs.delta), program_of(runs, beta, 0.0)
    )
