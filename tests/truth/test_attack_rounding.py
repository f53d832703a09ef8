"""Where a rounding, a floor or an overflow could pass for privacy: the budget again, by other
arithmetic.
"""

from math import inf

import mpmath as mp
import numpy as np
import pytest

from tests.convention import DEMONSTRATION, epsilon, guarantee


@pytest.mark.parametrize("bound", ["sharp", "noisy-gd"])
@pytest.mark.parametrize("m", [6e-17, 1.7e-16, 3.3e-13, 8.1e-9, 0.3, 1.0])
def test_a_slow_contraction_is_not_rounded_to_a_faster_one(m, bound):
    """K = d, eta = K: c = 1 - m, of which a double keeps few digits; over 3/m steps that shows."""
    s = DEMONSTRATION.replace(
        n=100, d=3, K=3, T=min(2**53, round(3 / m)), sigma=1.0, R=inf, M=1.0, m=m, ridge=m, eta=3.0
    )
    with mp.workdps(50):
        c, drift = (
            1 - mp.mpf(m),
            mp.mpf(2) * s.eta * s.clip / (s.n * (s.d if bound == "noisy-gd" else mp.sqrt(s.K))),
        )
        variance = mp.mpf(s.eta * s.sigma) ** 2 / s.d
        exact = drift**2 / (2 * variance) * (1 - c**s.T) * (1 + c) / ((1 + c**s.T) * (1 - c))
        assert guarantee(s, bound).rho >= exact * (1 - mp.mpf(10) ** -12)


@pytest.mark.parametrize("beta", [1 - 1e-11, 1 - 1e-13, float(np.nextafter(1, 0))])
@pytest.mark.parametrize("K", [64, 500])
def test_hardly_any_isotropic_noise_is_counted_as_what_it_is(beta, K):
    """The shifts' cost again, at the run's own variances."""
    s = DEMONSTRATION.replace(K=K, T=100, beta=beta, R=inf)
    g = guarantee(s, "sharp")
    path, isotropic = g.trajectory, (s.eta * s.sigma) ** 2 * (1 - beta) / s.d
    spanned = (s.eta * s.sigma) ** 2 * beta / s.K + isotropic
    assert g.rho >= 0.5 * (path.p**2 / spanned + path.a**2 / isotropic).sum() * (1 - 1e-9)


@pytest.mark.parametrize("R, eta, sigma", [(1e308, 1e155, 1e155), (1e-323, 1e-162, 3e-162)])
def test_a_ball_is_no_smaller_for_units_beyond_doubles(R, eta, sigma):
    """The ball's diameter in units of the noise's length, which itself over- or underflows."""
    s = DEMONSTRATION.replace(
        n=10,
        d=4,
        K=2,
        T=3,
        R=R,
        eta=eta,
        sigma=sigma,
        clip=sigma,
        M=1e-3,
        m=0,
        ridge=0,
        regime="convex",
    )
    same = s.replace(R=(R / eta) / sigma, eta=1.0, sigma=1.0, clip=1.0, M=1e-3)
    assert epsilon(s, "output-perturbation") >= epsilon(same, "output-perturbation") * (1 - 1e-9)
