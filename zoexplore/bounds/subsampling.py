"""The cost of steps on sampled batches, and the Renyi order that converts it best
(docs/batches.md).

Each step draws a new batch in secret, uniformly without replacement or by Poisson sampling. Its
cost is not one number rho, as for a Gaussian shift, but a curve: the Renyi divergence r_alpha at
each order alpha. Epsilon is the least over the orders.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import scipy

from zoexplore.bounds.bound import Solved
from zoexplore.bounds.conversion import LEAST_ORDER, MOST_ORDER, best_order, epsilon_at_order
from zoexplore.bounds.kernels import subsampled_renyi
from zoexplore.bounds.kernels.gaussian import ROUND_UP
from zoexplore.bounds.loss_distribution import epsilon_of_steps
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.setting import Accounting

SPAN_LEVELS = np.array(  # for each cell: the chance that a span sees more than the cell's end
    [
        0.93,
        0.82,
        0.7,
        0.58,
        0.46,
        0.35,
        0.26,
        0.19,
        0.13,
        0.09,
        0.06,
        0.04,
        0.025,
        0.015,
        0.008,
        0.004,
        0.0015,
        5e-4,
        1e-4,
        2e-5,
        2e-6,
        1e-7,
        1e-9,
        1e-12,
    ]
)
SPAN_ERROR = 1e-9  # the relative error of those chances
LARGE = 0.2  # the fraction of all records beyond which a batch is large
LEAST_VARIANCE = 1e-290  # a smaller variance has lost digits and counts as 0


@dataclass(frozen=True)
class Sampled:
    """Holds what decides one step's cost on a batch: q = b/n, and mu, the differing record's
    largest effect in deviations of the noise.

    If the length of gradients is bounded, the effect depends on the random span: the last axis of
    `mus` lists the possible effects, and `shares` their chances. With `printed` the cost is the
    smaller of two in the paper: S_alpha at mu, and K S_alpha at mu/sqrt(K) for the K directions.
    """

    q: np.ndarray
    mu: np.ndarray
    K: np.ndarray
    mus: np.ndarray
    shares: np.ndarray
    printed: bool = False
    sampling: str = "without-replacement"

    @classmethod
    def of(
        cls, runs: RunArrays, variance: Numbers, accounting: Accounting, by_form: bool = True
    ) -> "Sampled":
        """Make the cost for a noise variance in the span, in units of `RunArrays.unit` squared.

        A record moves a batch's step at most n/b times as far as a step on all records
        (docs/batches.md, "Composition on fresh batches"). With `by_form`, losses that are functions
        of one linear form have no two-point remainder.
        """
        noise = np.sqrt(np.where(variance < LEAST_VARIANCE, 0.0, variance))
        ratio = runs.n / runs.batch
        mu = (runs.B_public if by_form else runs.B) * ratio / noise
        mus, shares = mu[..., None], np.ones((1,))
        if not accounting.printed and np.isfinite(runs.slope).any():
            roots, shares = seen_by_spans(runs.K, runs.d)
            seen = (
                runs.B_lipschitz[..., None] * roots + runs.quotient_bias_at_zero[..., None]
            ) * ratio[..., None]
            mus = np.minimum(mu[..., None], seen / noise[..., None])
        return cls(
            runs.batch / runs.n, mu, runs.K, mus, shares, accounting.printed, runs.setting.sampling
        )

    def divergence(self, alpha: Numbers) -> Numbers:
        """Return one step's Renyi divergence at the order alpha, in alpha's shape. This covers
        Poisson batches, where an added or removed record costs no more than a replaced one does
        without replacement.
        """
        if self.printed:
            joint, apart = (
                subsampled_renyi.printed_divergence(alpha, self.q, mu)
                for mu in (self.mu, self.mu / np.sqrt(self.K))
            )
            return np.minimum(self.K * apart, joint)
        if not self.averaged:
            return subsampled_renyi.sampled_divergence(alpha, self.q, self.mu)
        excess = np.asarray(alpha, float)[..., None] - 1
        each = excess * subsampled_renyi.sampled_divergence(
            excess + 1, np.asarray(self.q)[..., None], self.mus
        )
        return scipy.special.logsumexp(each, axis=-1, b=self.shares) / excess[..., 0] * ROUND_UP

    @property
    def typical(self) -> "Sampled":
        """The same cost with one typical effect of the record. It only serves to make choices."""
        mu = np.sqrt((self.shares * self.mus**2).sum(axis=-1)) if self.averaged else self.mu
        return replace(self, mu=mu, mus=np.asarray(mu)[..., None], shares=np.ones(1))

    @property
    def averaged(self) -> bool:
        """Whether the record's effect depends on the random span."""
        return bool(self.mus.shape[-1] > 1)

    def steps(self, N: Numbers) -> tuple[Numbers, ...]:
        """Return N such steps in the form that `loss_distribution` takes."""
        return N, self.q, self.mus, self.shares


def seen_by_spans(K: Numbers, d: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Return (fractions, chances): the fractions of a vector's length that a random span may see,
    rounded up, and their chances. Both have the shape of K and d and a last axis of cells.

    The square of the seen fraction has the law Beta(K/2, (d - K)/2), which the cells divide.
    """
    K, d = np.broadcast_arrays(np.asarray(K, float), np.asarray(d, float))
    found = [_cells_of_span(float(k), float(n)) for k, n in zip(K.ravel(), d.ravel(), strict=True)]
    roots, shares = (
        np.reshape([each[i] for each in found], (*K.shape, SPAN_LEVELS.size + 1)) for i in (0, 1)
    )
    return roots, shares


@lru_cache(maxsize=4096)
def _cells_of_span(K: float, d: float) -> tuple[np.ndarray, np.ndarray]:
    if K == d:
        return np.ones(SPAN_LEVELS.size + 1), np.eye(1, SPAN_LEVELS.size + 1)[0]
    a, b = 0.5 * K, 0.5 * (d - K)
    ends = np.minimum(
        np.nan_to_num(scipy.special.betainccinv(a, b, SPAN_LEVELS), nan=1.0) * ROUND_UP, 1.0
    )
    beyond = np.minimum(scipy.special.betaincc(a, b, ends) * (1 + SPAN_ERROR), 1.0)
    beyond = np.minimum.accumulate(np.where(np.isfinite(beyond), beyond, 1.0))
    return np.sqrt(np.append(ends, 1.0)), -np.diff(np.concatenate([[1.0], beyond, [0.0]]))


def by_batch_kind(
    of_all: Callable[[RunArrays, Accounting], Solved],
    of_batches: Callable[[RunArrays, Accounting], Solved],
    runs: RunArrays,
    accounting: Accounting,
) -> Solved:
    """Apply `of_all(runs, accounting)` to the runs whose batch is all records, and
    `of_batches(runs, accounting)` to the others.
    """
    full = runs.batch == runs.n
    if full.all() or not full.any():
        return (of_all if full.all() else of_batches)(runs, accounting)
    return _where(full, of_all, runs, accounting).minimum(
        _where(~full, of_batches, runs, accounting)
    )


def where_batches_are_large(
    of_all: Callable[[RunArrays, Accounting], Solved], runs: RunArrays, accounting: Accounting
) -> Solved:
    """Apply `of_all(runs, accounting)`, which counts every batch as if it held the record, to runs
    on large batches. Epsilon is inf for the others, because there the secret draw hides more.
    """
    return _where(runs.batch > LARGE * runs.n, of_all, runs, accounting)


def _where(
    chosen: np.ndarray,
    of: Callable[[RunArrays, Accounting], Solved],
    runs: RunArrays,
    accounting: Accounting,
) -> Solved:
    """Apply `of(runs, accounting)` to the chosen runs; epsilon is inf for the others."""
    if chosen.all():
        return of(runs, accounting)
    if not chosen.any():
        return Solved.nothing(runs.shape)
    rows = np.flatnonzero(chosen)
    return of(runs.at(rows), accounting).scatter(rows, runs.shape)


def exact(accounting: Accounting) -> bool:
    """Return whether steps on batches are converted by composing their privacy losses, rather than
    by a Renyi divergence.
    """
    return accounting.conversion == "gaussian" and not accounting.printed


def compose(
    kinds: list[tuple[Sampled, Numbers]],
    delta: Numbers,
    accounting: Accounting,
    budget: Numbers = 0.0,
    **others: Numbers,
) -> Solved:
    """Return epsilon at `delta` for steps on batches, with a count of each kind, and a Gaussian
    shift. The conversion composes the privacy losses, or takes the Renyi divergence at the best
    order. The result has no rho.
    """
    nothing = {"rho": np.nan, "delta_f": 0.0, "N": np.nan, "z": 0.0}
    others = {name: np.asarray(x) for name, x in (nothing | others).items()}
    if exact(accounting):
        steps = [each.steps(count) for each, count in kinds]
        epsilon = epsilon_of_steps(steps, budget, delta, drawn(kinds[0][0].sampling))
        return Solved(epsilon, exact=np.ones(()), **others)

    def divergence(alpha: Numbers) -> Numbers:
        return sum(count * each.divergence(alpha) for each, count in kinds) + alpha * budget

    seen = [x for each, count in kinds for x in (each.q, each.mu, count)]
    delta = np.broadcast_arrays(delta, budget, *seen)[0]
    alpha = best_order(divergence, delta, accounting.conversion)
    epsilon = epsilon_at_order(divergence(alpha), alpha, delta, accounting.conversion)
    return Solved(epsilon, renyi_order=alpha, **others)


def drawn(sampling: str) -> str:
    """Return the sampling whose losses count: "poisson", else "without-replacement"."""
    return "poisson" if sampling == "poisson" else "without-replacement"


def remark(accounting: Accounting, alpha: float) -> str:
    """Say at which order alpha epsilon was converted; return "" for exact conversion (alpha NaN)."""
    if np.isnan(alpha):
        return ""
    said = f"by the Rényi divergence of order {alpha:.4g}"
    if accounting.conversion == "gaussian":
        said += ", converted by 'cks'"
    ends = {
        "smallest": alpha <= LEAST_ORDER * (1 + 1e-9),
        "largest": alpha >= MOST_ORDER * (1 - 1e-3),
    }
    for end, met in ends.items():
        if met:
            said += f"; this is the {end} order tried, and another might give less"
    return said
