"""Values at the ends of what doubles hold: an epsilon is never 0, nor below the true one, because
something underflowed.
"""

from math import inf

import mpmath as mp
import pytest

from tests.convention import DEMONSTRATION, Accounting, epsilon, guarantee
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.kernels import blocks, shifted_divergence
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.setting import CONVERSIONS

BOUNDS = ("composition", "output-perturbation", "theorem", "sharp", "noisy-gd")


def delta_of(rho, loss):
    """The exact delta of a Gaussian shift budget (Balle, Wang 2018)."""
    with mp.workdps(500):
        mu, loss = mp.sqrt(2 * mp.mpf(rho)), mp.mpf(loss)
        return mp.ncdf(mu / 2 - loss / mu) - mp.exp(loss) * mp.ncdf(-mu / 2 - loss / mu)


def composition_rho(s):
    with mp.workdps(40):
        share = s.beta + (1 - mp.mpf(s.beta)) * s.K / s.d
        return s.T * (2 * mp.mpf(s.clip) / s.n) ** 2 / (2 * mp.mpf(s.sigma) ** 2 * share)


@pytest.mark.parametrize(
    "sigma, clip, n",
    [(1e200, 1.0, 1000), (1.0, 1e-200, 1000), (1e300, 1e-300, 2**53), (1e150, 1e-8, 2**53)],
)
@pytest.mark.parametrize("batch", [None, 10])
def test_a_shift_too_small_to_be_squared_still_costs(sigma, clip, n, batch):
    s = DEMONSTRATION.replace(n=n, sigma=sigma, clip=clip, delta=1e-280, batch=batch)
    for bound in BOUNDS:
        for conversion in CONVERSIONS:
            found = epsilon(s, bound, Accounting(conversion=conversion))
            assert found > 0, (bound, conversion)
            if bound == "composition" and batch is None:
                rho = composition_rho(s)
                loose = rho + 2 * mp.sqrt(-rho * mp.log(s.delta))
                assert found >= loose if conversion == "mironov" else found >= 0.1 * loose


@pytest.mark.parametrize(
    "changes",
    [{"M": 1e-200, "xi": 1e-200, "sigma": 1e-300, "clip": 1e-300}, {"xi": 5e-324, "sigma": 1e200}],
)
def test_a_remainder_too_small_for_a_product_still_counts(changes):
    """M xi underflows; over the noise scale it need not."""
    s = DEMONSTRATION.replace(regime="convex", m=0, ridge=0, R=inf, eta=1.0, **changes)
    with mp.workdps(40):
        exact = mp.mpf(s.M) * s.xi / s.sigma / mp.sqrt(s.K)
    assert RunArrays.of(s).bias_term >= exact * (1 - mp.mpf(10) ** -15)


@pytest.mark.parametrize("delta", [5e-324, 2.5e-323, 1.39e-320, 8.6e-318, 1e-309, 1e-300, 1e-291])
@pytest.mark.parametrize("rho", [1e-12, 0.07, 66.236, 1834.2])
def test_a_delta_of_few_digits_is_not_rounded_to_a_larger_one(rho, delta):
    assert delta_of(rho, float(epsilon_of(rho, delta))) <= mp.mpf(delta)


@pytest.mark.parametrize("delta", [1e-300, 1.7e-300, 3e-300])
def test_half_of_the_smallest_delta_is_no_more_than_half(delta):
    """The closed form gives delta/2 to the chance of failing: the same delta may not be spent on
    both halves.
    """
    s = DEMONSTRATION.replace(n=1000, d=10**7, K=10**6, T=20, delta=delta, m=0.75, ridge=0.75)
    g = guarantee(s, "corollary")
    if g.valid:
        c = mp.mpf(2) ** -51  # eta = K/M and m = M
        theta = (1 - c**2) / (1 + c**2)
        exponent = 3 * theta**2 * s.d * s.K / (12 * (s.d - s.K) + 8 * theta * (s.d - 2 * s.K))
        assert 2 * g.N * mp.exp(-exponent) <= mp.mpf(delta) / 2


@pytest.mark.parametrize("A", [1e-3, 1e-9, 1e-15])
@pytest.mark.parametrize("L", [2.0, 4.0, 7.0, 16.0])
def test_what_hardly_anything_is_left_of_has_all_its_digits(A, L):
    """A distance of 1e100 may be worked off by factors far below a double's precision."""
    left, total = blocks.affine(A, 1e-300, 1e150, L)
    with mp.workdps(60):
        exact = mp.mpf(A) ** int(L) * mp.mpf(1e150)
        assert (
            exact * (1 - mp.mpf(10) ** -13)
            <= left
            <= exact * (1 + mp.mpf(10) ** -13) + mp.mpf(10) ** -299
        )
    assert total == pytest.approx(1e150 * (1 - A**L) / (1 - A), rel=1e-12)


def test_a_far_start_does_not_vanish_with_its_factor():
    """exp(-760) underflows, 1e300 exp(-760) does not."""
    kappa, N = -7.6, 100
    with mp.workdps(40):
        left = (mp.mpf(1e300) * mp.exp(mp.mpf(kappa) * N)) ** 2
        weights = (1 - mp.exp(2 * mp.mpf(kappa) * N)) / (1 - mp.exp(2 * mp.mpf(kappa)))
    assert shifted_divergence.least_shift(kappa, N, 1e300, 0.0) == pytest.approx(
        float(left / weights), rel=1e-10
    )


@pytest.mark.parametrize(
    "K, d, N", [(100, 1000, 1e9), (1, 10**6, 1e15), (10**5, 10**6, 1e14), (260, 520, 1e12)]
)
@pytest.mark.parametrize("log_delta_f", [-12.0, -40.0])
def test_a_distance_that_hardly_shrinks_is_not_rounded_to_one_that_does(K, d, N, log_delta_f):
    """The theorem's growth is a small difference, taken N times: at 1 - c^2 where the two nearly
    cancel.
    """

    def exact(gap):
        with mp.workdps(50):
            loss = mp.log(2 * mp.mpf(N)) - mp.mpf(log_delta_f)
            lin, const = 8 * (mp.mpf(d) - 2 * K) * loss, 12 * (mp.mpf(d) - K) * loss
            theta = (lin + mp.sqrt(lin**2 + 12 * mp.mpf(d) * K * const)) / (6 * mp.mpf(d) * K)
            return theta, mp.log(1 + (theta * (2 - mp.mpf(gap)) - mp.mpf(gap)) * K / d) / 2

    theta, _ = exact(0.0)
    balance = float(2 * theta / (1 + theta))
    for gap in (balance * (1 + x) for x in (-1e-3, -1e-9, -1e-15, 0.0, 1e-15, 1e-9)):
        if gap < 1:
            found = float(
                shifted_divergence.theorem_growth(N, log_delta_f, float(K), float(d), gap)
            )
            assert found >= exact(gap)[1] * (1 - mp.sign(found) * mp.mpf(10) ** -15)
