"""Trade-off functions, and what they allow an attacker (docs/concepts.md, "What an attacker can
do").

f(alpha) is the least miss rate, at a false-alarm rate of alpha, of any test for whether a record
was in the data. Every number errs to the safe side: f downward, an attacker's success upward.
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import scipy

from zoexplore.bounds.conversion import delta_of
from zoexplore.bounds.numbers import Numbers

SLACK, LEAST = 1e-11, 1e-15  # allowances for roundings, relative and absolute


@dataclass(frozen=True)
class TradeOff:
    """Holds the largest known f of a run, from a Gaussian shift and from pairs (epsilon_i, delta_i)
    that all hold.

    Args:
        rho: a shift budget, whose coupling fails with a probability of at most `delta_f`; inf if
            there is none.
        delta_f: that probability.
        epsilons, deltas: pairs, shape (P,), for which the run is differentially private; epsilon
            may be inf.

    Source: Dong, Roth, Su 2022, doi:10.1111/rssb.12454. Pairs rest on Proposition 2.5, Gaussian
    shifts on Definition 2.6, and the profile on Proposition 2.12.
    """

    rho: float = inf
    delta_f: float = 0.0
    epsilons: np.ndarray | tuple[float, ...] = ()
    deltas: np.ndarray | tuple[float, ...] = ()

    def misses(self, alpha: Numbers) -> Numbers:
        """Return a lower bound on f at the false-alarm rates `alpha` in [0, 1], in their shape."""
        alpha = rates("alpha", alpha)
        return np.maximum(self._gaussian_misses(alpha), self._misses_of_pairs(alpha))

    def _gaussian_misses(self, alpha: Numbers) -> Numbers:
        if not self.rho < inf:
            return np.zeros(alpha.shape)
        missed = scipy.special.ndtr(-scipy.special.ndtri(alpha) - sqrt(2 * self.rho))
        return np.maximum(missed * (1 - SLACK) - self.delta_f - LEAST, 0.0)

    def _misses_of_pairs(self, alpha: Numbers) -> Numbers:
        epsilon, delta = (
            np.asarray(pair, float).reshape(-1, *(1,) * alpha.ndim)
            for pair in (self.epsilons, self.deltas)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            odds = np.exp(epsilon) * (1 + SLACK)
            missed = np.maximum(1 - delta - odds * alpha, (1 - delta - alpha) / odds) - LEAST
        return np.fmax.reduce(np.where(epsilon < inf, missed, 0.0), axis=0, initial=0.0)

    def profile(self, epsilon: Numbers) -> Numbers:
        """Return an upper bound on delta, of at most 1, at each `epsilon` >= 0, in the shape of
        `epsilon`. Between two pairs the chord in exp(epsilon) bounds delta.
        """
        epsilon = np.asarray(epsilon, float)
        if not (epsilon >= 0).all():
            raise ValueError(f"epsilon = {epsilon} is not allowed: give numbers of at least 0")
        deltas = np.ones(epsilon.shape)
        if self.rho < inf:
            deltas = np.minimum(deltas, delta_of(self.rho, epsilon) + self.delta_f)
        places, heights = self._corners()
        between = np.interp(np.expm1(np.minimum(epsilon, 700.0)), places, heights)
        return np.minimum(deltas, between * (1 + SLACK) + LEAST)

    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (exp(epsilon) - 1, delta) of the pairs, both of shape (P + 1,). The advantage
        comes first, as delta at epsilon = 0, and delta never rises.
        """
        pairs = sorted((e, d) for e, d in zip(self.epsilons, self.deltas, strict=True) if e <= 700)
        places = np.array([0.0, *(np.expm1(e) for e, _ in pairs)])
        return places, np.minimum.accumulate([self.advantage, *(d for _, d in pairs)])

    @property
    def advantage(self) -> float:
        """An upper bound on the total variation max 1 - alpha - f(alpha): the most by which a
        test's true-positive rate exceeds its false-positive rate.
        """
        found = 1.0
        if self.rho < inf:
            found = min(found, scipy.special.erf(sqrt(self.rho) / 2) * (1 + SLACK) + self.delta_f)
        # a pair's advantage is (e - 1 + 2 delta)/(e + 1), with e = exp(epsilon)
        half = np.tanh(np.asarray(self.epsilons, float) / 2)
        return float(
            np.min((half + np.asarray(self.deltas) * (1 - half)) * (1 + SLACK), initial=found)
        )

    def true_positive_rate(self, fpr: Numbers) -> Numbers:
        """Return 1 - f(fpr), the largest true-positive rates at the false-positive rates `fpr`, in
        their shape.
        """
        return np.minimum(1 - self.misses(rates("fpr", fpr)) + LEAST, 1.0)

    def posterior(self, prior: Numbers, fpr: Numbers = 0.01) -> np.ndarray:
        """Return an upper bound on the posterior probability of membership, p (1-f)/(p (1-f) +
        (1-p) fpr), if its `prior` probability is p and the best test with the false-positive rate
        `fpr` is positive. Arrays broadcast.
        """
        prior, fpr = rates("prior", prior), rates("fpr", fpr)
        caught = prior * self.true_positive_rate(fpr)
        with np.errstate(invalid="ignore"):
            found = caught / (caught + (1 - prior) * fpr)
        return np.where(
            prior == 0, 0.0, np.minimum(np.where(np.isnan(found), 1.0, found) * (1 + SLACK), 1.0)
        )

    def reconstruction(self, baseline: Numbers) -> Numbers:
        """Return an upper bound on the rate of reconstructing a record that could be guessed with
        probability `baseline` without the release: 1 - f(baseline), in the shape of `baseline`
        (Hayes, Mahloujifar, Balle 2023, doi:10.48550/arXiv.2302.07225).
        """
        return self.true_positive_rate(rates("baseline", baseline))


class Answers:
    """Says what a guarantee allows an attacker, by its trade-off function `risk`."""

    @property
    def risk(self) -> TradeOff:
        """The trade-off function that limits every test for a record."""
        raise NotImplementedError

    def profile(self, epsilon: Numbers) -> Numbers:
        """Return an upper bound on delta, of at most 1, at each epsilon >= 0, in the shape of
        `epsilon`. Raises ValueError for a negative epsilon.

        >>> from zoexplore import guarantee
        >>> from zoexplore.run.presets import DEMONSTRATION
        >>> bool(guarantee(DEMONSTRATION, "sharp").profile(0.95) <= 1e-5)
        True
        """
        return self.risk.profile(epsilon)

    def tradeoff(self, alpha: Numbers) -> Numbers:
        """Return a lower bound on f(alpha), in the shape of `alpha`: the least rate at which a test
        misses a record if its false-alarm rate is alpha, in [0, 1].
        """
        return self.risk.misses(alpha)

    @property
    def advantage(self) -> float:
        """The most by which any test's true-positive rate exceeds its false-positive rate."""
        return self.risk.advantage

    def true_positive_rate(self, fpr: Numbers) -> Numbers:
        """Return the largest true-positive rate of any test at false-positive rates in [0, 1], in
        the shape of these rates.
        """
        return self.risk.true_positive_rate(fpr)

    def posterior(self, prior: Numbers, fpr: Numbers = 0.01) -> np.ndarray:
        """Return the largest posterior probability of membership if its `prior` is given and a test
        with the false-positive rate `fpr` is positive. Arrays broadcast.
        """
        return self.risk.posterior(prior, fpr)

    def reconstruction(self, baseline: Numbers) -> Numbers:
        """Return the highest rate of reconstructing a record that a guess finds with chance
        `baseline`, in the shape of `baseline`.
        """
        return self.risk.reconstruction(baseline)


def rates(name: str, value: Numbers) -> np.ndarray:
    """Return probabilities as an array of their shape. Raises ValueError for anything else."""
    found = np.asarray(value, float)
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"{name} = {value!r} is not allowed: give a number from 0 to 1")
    return found
