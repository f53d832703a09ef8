"""The three conversions of docs/bounds.md, "From a budget to (ε, δ)", to any number of digits,
written apart from the package.
"""

import numpy as np
from mpmath import mp, mpf

DIGITS = 60


def _upper(x):
    return mp.erfc(x / mp.sqrt(2)) / 2


def delta_at(rho, epsilon):
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), mu = sqrt(2 rho)."""
    with mp.workdps(DIGITS):
        rho, epsilon = mpf(rho), mpf(epsilon)
        mu = mp.sqrt(2 * rho)
        return _upper(epsilon / mu - mu / 2) - mp.exp(epsilon) * _upper(epsilon / mu + mu / 2)


def mironov(rho, delta):
    with mp.workdps(DIGITS):
        rho, delta = mpf(rho), mpf(delta)
        return rho + 2 * mp.sqrt(-rho * mp.log(delta))


def cks(rho, delta):
    """The least of alpha rho + [ln(1/delta) + (alpha-1) ln(1-1/alpha) - ln alpha]/(alpha-1) over
    real alpha > 1.
    """
    with mp.workdps(DIGITS):
        rho, loss = mpf(rho), -mp.log(mpf(delta))
        # of ln(alpha - 1); the slope is rho - (ln(1/delta) - ln alpha)/(alpha - 1)^2
        low, high = mpf(-60), mpf(60)
        for _ in range(90):
            middle = (low + high) / 2
            u = mp.exp(middle)
            if rho * u * u > loss - mp.log1p(u):
                high = middle
            else:
                low = middle
        return max(mpf(0), (1 + u) * rho + (loss - mp.log1p(u)) / u - mp.log1p(1 / u))


def gaussian(rho, delta):
    """The epsilon at which delta_at(rho, epsilon) = delta; 0 where delta is met there already.

    The logarithm of delta_at is concave in epsilon: Newton's steps from above the solution fall to
    it and never pass it.
    """
    with mp.workdps(DIGITS):
        if delta_at(rho, 0) <= delta:
            return mpf(0)
        mu, epsilon, step = mp.sqrt(2 * mpf(rho)), mironov(rho, delta), mp.inf
        # the next one's share would be its square
        while step > epsilon * mpf(10) ** (-DIGITS // 3):
            there = delta_at(rho, epsilon)
            step = mp.log(delta / there) * there / (mp.exp(epsilon) * _upper(epsilon / mu + mu / 2))
            epsilon -= step
        return epsilon


EXACT = {"mironov": mironov, "cks": cks, "gaussian": gaussian}


def least_delta(epsilon, epsilon_at):
    """The least delta whose epsilon, by a function of deltas, is at most that."""
    low, high = -500.0, 0.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if epsilon_at(np.exp(middle)) > epsilon:
            low = middle
        else:
            high = middle
    return float(np.exp(high))
