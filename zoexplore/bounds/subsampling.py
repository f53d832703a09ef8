"""The cost of steps on sampled batches, and the Renyi order that converts it best (docs/batches.md).

A batch is drawn afresh each step, uniformly without replacement and in secret. The cost is not Gaussian: in place of rho it is a
curve r_alpha over the orders alpha, and epsilon is the least over them.
"""

from dataclasses import dataclass

import numpy as np

from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import epsilon_at_order
from zoexplore.bounds.kernels import subsampled_renyi
from zoexplore.bounds.loss_distribution import Losses
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.search import golden
from zoexplore.run.setting import Accounting

LEAST_ORDER, MOST_ORDER = 1 + subsampled_renyi.LEAST_EXCESS, 1 + subsampled_renyi.MOST_EXCESS
LEAST_VARIANCE = 1e-290  # less than that has lost digits, and counts as none
PRINTED_SECTIONS = 24  # of the orders' logarithm, on which the paper's cost is tabled


@dataclass(frozen=True)
class Sampled:
    """One step's cost on a batch: q = b/n, and mu, the differing record's largest effect over the noise. `printed` takes the
    paper's S_alpha, and with K directions the smaller of it and K S_alpha at mu/sqrt(K).
    """

    q: np.ndarray
    mu: np.ndarray
    K: np.ndarray
    printed: bool = False
    sampling: str = "without-replacement"

    @classmethod
    def of(cls, runs: RunArrays, variance, accounting: Accounting) -> "Sampled":
        """The cost at a noise variance in the span, in `RunArrays.unit` squared. A record certainly moves a batch's step at most
        n/b times as far as a step on all records (docs/batches.md, "Composition on fresh batches").
        """
        noise = np.sqrt(np.where(variance < LEAST_VARIANCE, 0.0, variance))
        mu = runs.B * runs.n / runs.batch / noise
        return cls(runs.batch / runs.n, mu, runs.K, accounting.printed, runs.setting.sampling)

    def divergence(self, alpha):
        """One step's Renyi divergence at the order alpha, in its shape. Poisson's pair costs no more than one replaced record."""
        if self.printed:
            joint, apart = (subsampled_renyi.printed_divergence(alpha, self.q, mu) for mu in (self.mu, self.mu / np.sqrt(self.K)))
            return np.minimum(self.K * apart, joint)
        return subsampled_renyi.sampled_divergence(alpha, self.q, self.mu)

    def losses(self, N, budget) -> Losses:
        """The privacy losses of N such steps and a Gaussian shift."""
        return Losses(N, budget, self.q, self.mu, "poisson" if self.sampling == "poisson" else "without-replacement")

    def best_order(self, N, budget, delta, accounting: Accounting, near=np.nan):
        """(alpha, r_alpha) at the best order for N such steps and a Gaussian budget, whose Renyi divergence is alpha times it."""
        if not self.printed:
            return subsampled_renyi.best_order(N, budget, self.q, self.mu, delta, accounting.conversion != "mironov", near)

        def epsilon_at(log_excess):
            alpha = 1 + np.exp(log_excess)
            return epsilon_at_order(N * self.divergence(alpha) + alpha * budget, alpha, delta, accounting.conversion)

        shape = np.broadcast_shapes(*map(np.shape, (N, budget, self.q, self.mu, delta)))
        low, high = np.full(shape, np.log(subsampled_renyi.LEAST_EXCESS)), np.full(shape, np.log(subsampled_renyi.MOST_EXCESS))
        alpha = 1 + np.exp(golden(epsilon_at, low, high, PRINTED_SECTIONS))
        return alpha, self.divergence(alpha)


def by_batch_kind(of_all, of_batches, runs: RunArrays, accounting: Accounting) -> Solved:
    """`of_all(runs, accounting)` for the runs whose batch is all records, `of_batches(runs, accounting)` for the others."""
    full = runs.batch == runs.n
    if full.all() or not full.any():
        return (of_all if full.all() else of_batches)(runs, accounting)
    apart = ((of_all, np.flatnonzero(full)), (of_batches, np.flatnonzero(~full)))
    found = [of(runs.at(rows), accounting).scatter(rows, runs.shape) for of, rows in apart]
    return found[0].minimum(found[1])


def exact(accounting: Accounting) -> bool:
    """Whether steps on batches are converted by their composed privacy-loss distribution, not by a Renyi divergence."""
    return accounting.conversion == "gaussian" and not accounting.printed


def compose(sampled: Sampled, N, delta, accounting: Accounting, **others) -> Solved:
    """epsilon of N steps on batches, without a Gaussian shift."""
    alpha, cost = sampled.best_order(N, 0.0, delta, accounting)
    by_order = from_renyi(N * cost, alpha, delta, accounting, N=N, **others)
    if not exact(accounting):
        return by_order
    return from_losses(sampled.losses(N, 0.0), delta, N=N, **others).minimum(by_order)


def from_losses(losses: Losses, delta, delta_f=0.0, N=np.nan, z=0.0, **others) -> Solved:
    """Convert composed privacy losses exactly, at delta - delta_f. There is no rho, and no order."""
    return _without_budget(losses.epsilon(delta - delta_f), delta_f, N, z, exact=1.0, **others)


def from_renyi(divergence, alpha, delta, accounting: Accounting, delta_f=0.0, N=np.nan, z=0.0, **others) -> Solved:
    """Convert a Renyi divergence at the order alpha, at delta - delta_f. There is no rho."""
    epsilon = epsilon_at_order(divergence, alpha, delta - delta_f, accounting.conversion)
    return _without_budget(epsilon, delta_f, N, z, renyi_order=alpha, **others)


def _without_budget(epsilon, delta_f, N, z, **others) -> Solved:
    return Solved(epsilon, *map(np.asarray, (np.nan, delta_f, N, z)), **{k: np.asarray(x) for k, x in others.items()})


def remark(accounting: Accounting, alpha: float) -> str:
    """A remark on an epsilon that was converted at the order alpha; empty for exact conversion."""
    if np.isnan(alpha):
        return ""
    said = f"by the Rényi divergence of order {alpha:.4g}"
    if accounting.conversion == "gaussian":
        said += ", converted by 'cks'"
    ends = {"smallest": alpha <= LEAST_ORDER * (1 + 1e-9), "largest": alpha >= MOST_ORDER * (1 - 1e-4)}
    for end, met in ends.items():
        if met:
            said += f"; this is the {end} order tried, and another might give less"
    return said
