"""Conversion of a Gaussian shift budget rho to (epsilon, delta) (docs/bounds.md, "From a budget").

A budget stands for an adaptive composition of Gaussian mechanisms, with rho = 1/2 sum_t shift_t'
Sigma_t^-1 shift_t. This composition is sqrt(2 rho)-GDP, and its Renyi divergence of any order alpha
> 1 is at most alpha rho. All three conversions round up, never give a negative number, and take
arrays as well as numbers.
"""

from collections.abc import Callable

import numpy as np

from zoexplore.bounds.kernels import gaussian
from zoexplore.bounds.kernels.gaussian import ROUND_UP
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.search import golden

# each conversion's number in the kernels
NUMBERS = {"mironov": gaussian.MIRONOV, "cks": gaussian.CKS, "gaussian": gaussian.GAUSSIAN}
LEAST_ORDER, MOST_ORDER = 1 + 1e-6, 1 + 1e6  # the range of Renyi orders that are tried
SECTIONS = 24  # how often the range of log(alpha - 1) is cut


def epsilon_of(rho: Numbers, delta: Numbers, conversion: str = "gaussian") -> Numbers:
    """Return epsilon at `delta` for a shift budget `rho` >= 0; inf if delta <= 0 or rho is
    infinite.

    Sources: "mironov": Mironov 2017, doi:10.1109/CSF.2017.11, Proposition 3; "cks": Canonne,
    Kamath, Steinke 2020, doi:10.48550/arXiv.2004.00010, Proposition 12; "gaussian": Balle, Wang
    2018, doi:10.48550/arXiv.1805.06530, Theorem 8.

    >>> [round(float(epsilon_of(0.05, 1e-5, how)), 3) for how in ("mironov", "cks", "gaussian")]
    [1.567, 1.308, 1.199]
    """
    return gaussian.epsilon(NUMBERS[conversion], np.asarray(rho, float), np.asarray(delta, float))


def epsilon_at_order(
    divergence: Numbers, alpha: Numbers, delta: Numbers, conversion: str
) -> Numbers:
    """Return epsilon >= 0 at `delta` for a Renyi `divergence` at the order alpha > 1; inf if delta
    <= 0. Arrays broadcast.

    "mironov" and "cks" convert as in `epsilon_of`, at this order. "gaussian" needs a Gaussian
    budget, so "cks" takes its place here.

    >>> round(float(epsilon_at_order(0.5, 10.0, 1e-5, "cks")), 3)
    1.418
    """
    divergence, alpha, delta = (np.asarray(x, float) for x in (divergence, alpha, delta))
    with np.errstate(all="ignore"):
        cost = (divergence - np.log(np.where(delta > 0, delta, 0.0)) / (alpha - 1)) * ROUND_UP
        gain = (
            0.0
            if conversion == "mironov"
            else np.log(alpha) / (alpha - 1) + np.log1p(1 / (alpha - 1))
        )
        return np.maximum(cost - gain / ROUND_UP, 0.0)


def best_order(
    divergence: Callable[[np.ndarray], np.ndarray], delta: Numbers, conversion: str
) -> Numbers:
    """Return the Renyi order that converts to nearly the least epsilon at each `delta`, in the
    shape of `delta`; any order is sound.

    Args:
        divergence: gives the run's Renyi divergences at an array of orders.
        delta: the targets.
        conversion: as in `epsilon_at_order`.

    >>> float(best_order(lambda alpha: 0.05 * alpha, np.array(1e-5), "cks").round(1))
    14.3
    """

    def epsilon_at(log_excess: Numbers) -> Numbers:
        alpha = 1 + np.exp(log_excess)
        return epsilon_at_order(divergence(alpha), alpha, delta, conversion)

    low, high = (np.full(np.shape(delta), np.log(x - 1)) for x in (LEAST_ORDER, MOST_ORDER))
    return 1 + np.exp(golden(epsilon_at, low, high, SECTIONS))


def delta_of(rho: Numbers, epsilon: Numbers) -> Numbers:
    """Return the exact delta at `epsilon` >= 0 for a shift budget `rho`, rounded up (Balle, Wang
    2018, Theorem 8).

    For rho > 0 and a finite epsilon, delta is at least the smallest normal double, about 2.2e-308.

    >>> f"{float(delta_of(0.05, 1.0)):.2g}"
    '0.00011'
    """
    return gaussian.gaussian_delta(np.asarray(rho, float), np.asarray(epsilon, float))
