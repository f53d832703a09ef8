"""From a Gaussian shift budget rho to (epsilon, delta): BOUNDS section 2.

Every full-batch bound is an adaptive composition of Gaussian mechanisms with one number
rho = 1/2 sum_t shift_t' Sigma_t^-1 shift_t, so that the pair is sqrt(2 rho)-GDP and alpha rho-Renyi for every alpha > 1.
All three conversions are rounded up, are never negative, and take arrays as well as numbers.
"""

import numpy as np

from zoexplore.bounds.kernels import gaussian

_EPSILON = {
    "mironov": gaussian.mironov_epsilon,
    "cks": gaussian.cks_epsilon,
    "gaussian": gaussian.gaussian_epsilon,
}


def epsilon_of(rho, delta, conversion="gaussian"):
    """epsilon at `delta` of a shift budget `rho` >= 0; inf where delta <= 0 or rho is infinite.

    Sources: "mironov": Mironov 2017, doi:10.1109/CSF.2017.11, Proposition 3; "cks": Canonne, Kamath, Steinke 2020,
    doi:10.48550/arXiv.2004.00010, Proposition 12; "gaussian": Balle, Wang 2018, doi:10.48550/arXiv.1805.06530, Theorem 8.
    """
    return _EPSILON[conversion](np.asarray(rho, float), np.asarray(delta, float))


def delta_of(rho, epsilon):
    """The exact delta at `epsilon` >= 0 of a shift budget `rho`, rounded up (Balle, Wang 2018, Theorem 8)."""
    return gaussian.gaussian_delta(np.asarray(rho, float), np.asarray(epsilon, float))


def delta_slope(rho, epsilon, delta, conversion):
    """How fast delta grows with rho at a fixed epsilon, near enough to split delta by: exact but for "cks"."""
    with np.errstate(all="ignore"):
        if conversion == "gaussian":
            mu = np.sqrt(2 * rho)
            return np.exp(-((epsilon / mu - mu / 2) ** 2) / 2) / np.sqrt(2 * np.pi) / mu
        ratio = -np.log(delta) / rho
        return delta * (np.sqrt(ratio) + ratio)
