"""The paper's hidden-state theorem, minimised over all its free parameters."""

import numpy as np

from zoexplore.bounds import theorem_batches
from zoexplore.bounds.assumptions import (
    BATCHES,
    CLIP_IDLE,
    DIRECTIONAL_NOISE,
    HALF_DIMENSION,
    LAST_ITERATE,
    LIPSCHITZ,
    NO_COOLDOWN,
    PEOPLE,
    SMOOTH,
    START,
)
from zoexplore.bounds.bound import Bound, Solved, Trajectory
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.geometry import program_of, start_of
from zoexplore.bounds.kernels import shifted_divergence
from zoexplore.bounds.kernels.shifted_divergence import FREE, Program
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import best_share
from zoexplore.bounds.subsampling import by_batch_kind
from zoexplore.run.documents import Reference
from zoexplore.run.setting import Accounting

FIRST_SHARE = 0.1  # the fraction of delta at which the search for the split and the steps starts
ROUNDS = 3  # the rounds of that search


def solve(runs: RunArrays, accounting: Accounting) -> Solved:
    """Compute the theorem's least epsilon. Runs on batches of b < n records are counted by the
    theorem's Renyi form, with the best constant beta if beta is free.
    """
    return by_batch_kind(_of_all, theorem_batches.solve, runs, accounting)


def _of_all(runs: RunArrays, accounting: Accounting) -> Solved:
    """Minimise epsilon over the counted steps N, the shifts a_t, the split of delta and, if they
    are free, the shares beta_t. Either all T steps are counted from distance 0, where nothing is
    shifted and nothing can fail, or the last N steps from the largest distance that the earlier
    steps leave.
    """
    beta = np.full((), FREE) if accounting.schedule == "optimal" else runs.beta
    program = program_of(runs, beta, _data_cost(runs))
    counted = _best_counted_steps(program, accounting, runs.T, runs.delta)
    return _from_zero(runs, accounting, beta).minimum(counted.mask(runs.T > 1))


def _from_zero(runs: RunArrays, accounting: Accounting, beta: Numbers) -> Solved:
    share = np.where(beta == FREE, 1.0, beta)
    with np.errstate(divide="ignore"):
        return Solved.of(runs, accounting, runs.T * _data_cost(runs) / share, N=runs.T)


def _data_cost(runs: RunArrays) -> Numbers:
    """Return the cost of one step's data against all the noise along the directions."""
    return runs.record_sensitivity**2 / 2


def _best_counted_steps(
    program: Program, accounting: Accounting, T: Numbers, delta: Numbers
) -> Solved:
    """Find the best number of counted steps and the best split of delta for runs of T steps. The
    number hardly depends on the split, so a few rounds that improve each in turn settle both.
    """
    shape = np.broadcast_shapes(*(np.shape(x) for x in (T, delta, *program)))
    share = np.full(shape, FIRST_SHARE)
    for _ in range(ROUNDS):
        N = shifted_divergence.theorem_steps(T, np.log(share * delta), program)

        def solved(share: Numbers, N: Numbers = N) -> Solved:
            rho = shifted_divergence.theorem_rho(N, T, np.log(share * delta), program)
            epsilon = epsilon_of(rho, delta * (1 - share), accounting.conversion)
            return Solved(epsilon, rho, share * delta, N, start_of(program, T, N))

        share = best_share(lambda x: solved(x).epsilon, shape)
    return solved(share)


def trajectory(runs: RunArrays, accounting: Accounting, solved: Solved) -> Trajectory | None:
    """Return the shifts a_t, distances z_t and shares beta_t that attain one run's bound. Return
    None on batches, because their costs do not add up to a budget.
    """
    if solved.by_losses:
        return None
    N, T = int(solved.N), int(runs.T)
    free = accounting.schedule == "optimal"
    data, shift = float(_data_cost(runs)), float(runs.d / 2)
    if not solved.delta_f > 0:
        beta = np.full(N, 1.0 if free else float(runs.beta))
        a, z = np.zeros(N), np.zeros(N + 1)
    else:
        program = program_of(runs, runs.beta, data)
        c2 = float(program.drift)
        kappa = float(
            shifted_divergence.theorem_growth(
                float(N), np.log(solved.delta_f), program.K, program.d, program.gap
            )
        )
        ratio = shift / data if free else 0.0
        nu = float(shifted_divergence.shift_level(kappa, float(N), solved.z, c2, ratio))
        weight = nu * np.exp(-abs(kappa) * (np.arange(N)[::-1] if kappa <= 0 else np.arange(N)))
        if free:
            floor = 1 + np.sqrt(ratio) * c2 if kappa > 0 else 1.0
            excess = floor * np.maximum(1.0, weight)
            a, beta = (excess - 1) / np.sqrt(ratio), 1 / excess
        else:
            a = c2 * np.maximum(1.0, weight) if kappa > 0 and c2 > 0 else weight
            beta = np.full(N, float(runs.beta))
        z = shifted_divergence.distances(float(solved.z), a, np.exp(kappa), c2)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = data / beta + np.where(a > 0, shift * a**2 / (1 - beta), 0.0)
    return Trajectory(tau=T - N, z=z, beta=beta, p=np.full(N, float(runs.B)), a=a, rho=rho)


THEOREM = Bound(
    id="theorem",
    title="Hidden-state theorem",
    summary="Only the last iterate is released: isotropic noise wears down the distance that earlier steps left, so longer runs "
    "cost no more.",
    source="Paper, hidden-state DP bound",
    proofs=(
        Reference("bounds", "The hidden-state theorem"),
        Reference("batches", "The hidden-state theorem on fresh batches"),
    ),
    assumptions=(
        NO_COOLDOWN,
        START,
        LAST_ITERATE,
        SMOOTH,
        LIPSCHITZ,
        CLIP_IDLE,
        HALF_DIMENSION,
        DIRECTIONAL_NOISE,
        BATCHES,
        PEOPLE,
    ),
    solve=solve,
    trajectory=trajectory,
    chooses_share=True,
    printed="the recursion's index is misprinted, which changes no number; no condition keeps the clip idle; for mini-batches, "
    "S_α is the smaller of two divergences and K S_α treats the directions as if each drew its own batch",
    name="theorem",
)
