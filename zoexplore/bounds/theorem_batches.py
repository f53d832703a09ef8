"""The hidden-state theorem for runs on batches (docs/batches.md).

N counted steps pay N times a step's Renyi divergence r_alpha for the differing record, and alpha
times a Gaussian budget for the distance. Whatever the search returns is sound.
"""

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

FIRST_SHARE = 0.1  # the fraction of delta at which the search begins
FIRST_ORDER = 1.2  # the first order, low enough for a batch to cost less than all records
ROUNDS = 8  # the rounds of the search
SECTIONS = 14  # how often the range of beta is cut, if beta is free
MOST_NODES = 25  # the number of rows that make choices; the others interpolate them


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """Minimise the theorem's N r_alpha(b/n, 2 Delta/(b sqrt(beta) sigma)) + alpha sum a_t^2/(2 s2),
    over beta too if it is free. One step moves two runs apart by at most the program's
    `separation`, whatever their batches.
    """
    beta = np.ones(()) if accounting.schedule == "optimal" else runs.beta
    steps = [(_step(runs, beta, accounting), runs.T)]
    from_zero = compose(steps, runs.delta, accounting, N=runs.T, beta=beta)
    return from_zero.minimum(_best_counted_steps(runs, accounting).mask(runs.T > 1))


def _best_counted_steps(runs: RunArrays, accounting: Accounting) -> Solved:
    """Find the best number of counted steps, split of delta and, if it is free, beta. Among many
    rows only a few are searched, and the others interpolate the split, beta and the order.
    """
    size, free = int(np.prod(runs.shape)), accounting.schedule == "optimal"
    nodes = spread(size, MOST_NODES)
    chosen = _choices(runs.at(nodes) if runs.shape else runs, accounting)
    share, beta, excess = (
        np.exp(interpolated(np.log(np.ravel(x)), nodes, size)).reshape(runs.shape) for x in chosen
    )
    beta = np.minimum(beta, 1.0) if free else runs.beta
    N, _ = _counted(runs, accounting, share, beta, 1 + excess)
    lost = share * runs.delta
    return compose(
        [(_step(runs, beta, accounting), N)],
        runs.delta - lost,
        accounting,
        _budget(runs, N, share, beta),
        delta_f=lost,
        N=N,
        z=start_of(program_of(runs, beta, 0.0), runs.T, N),
        beta=beta,
    )


def _choices(runs: RunArrays, accounting: Accounting) -> tuple[Numbers, ...]:
    """Return (share of delta, beta, Renyi order - 1). Each round improves the budget's parameters
    at a fixed order, and then the order.
    """
    share, alpha = np.full(runs.shape, FIRST_SHARE), np.full(runs.shape, FIRST_ORDER)
    free = accounting.schedule == "optimal"
    beta = np.broadcast_to(0.5 if free else runs.beta, runs.shape)
    for _ in range(ROUNDS):
        share, beta, alpha = _round(runs, accounting, share, beta, alpha)
    return share, beta, alpha - 1


def _counted(
    runs: RunArrays, accounting: Accounting, share: Numbers, beta: Numbers, alpha: Numbers
) -> tuple[Numbers, Numbers]:
    """Return (N, cost): the best number of counted steps given the other choices, and the cost of
    one step.
    """
    cost = _step(runs, beta, accounting).typical.divergence(alpha)
    of = program_of(runs, beta, beta * cost)._replace(shift=alpha * runs.d / 2)
    return shifted_divergence.theorem_steps(runs.T, np.log(share * runs.delta), of), cost


def _round(
    runs: RunArrays, accounting: Accounting, share: Numbers, beta: Numbers, alpha: Numbers
) -> tuple[Numbers, ...]:
    """Return (share, beta, order), each the best given the others so far."""
    N, cost = _counted(runs, accounting, share, beta, alpha)

    def epsilon(share: Numbers, beta: Numbers, cost: Numbers) -> Numbers:
        divergence = N * cost + alpha * _budget(runs, N, share, beta)
        return epsilon_at_order(divergence, alpha, runs.delta * (1 - share), accounting.conversion)

    share = best_share(lambda x: epsilon(x, beta, cost), N.shape)
    if accounting.schedule == "optimal":

        def at_beta(x: Numbers) -> Numbers:
            return epsilon(share, x, _step(runs, x, accounting).typical.divergence(alpha))

        beta = golden(at_beta, np.zeros(N.shape), np.ones(N.shape), SECTIONS)
    step, budget = _step(runs, beta, accounting).typical, _budget(runs, N, share, beta)
    left = np.broadcast_to(runs.delta * (1 - share), N.shape)
    alpha = best_order(lambda x: N * step.divergence(x) + x * budget, left, accounting.conversion)
    return share, beta, alpha


def _step(runs: RunArrays, beta: Numbers, accounting: Accounting) -> Sampled:
    """Return the cost of one step's data against the noise along the directions."""
    return Sampled.of(runs, beta / runs.K, accounting, by_form=False)


def _budget(runs: RunArrays, N: Numbers, share: Numbers, beta: Numbers) -> Numbers:
    """Return the cost of the shifts of N counted steps."""
    return shifted_divergence.theorem_rho(
        N, runs.T, np.log(share * runs.delta), program_of(runs, beta, 0.0)
    )
