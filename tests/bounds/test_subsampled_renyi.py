"""The Renyi curve of a step on sampled records, against quadrature and explicit mixtures."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.special import log_ndtr

from tests.bounds.strategies import powers
from tests.effort import proof
from zoexplore.bounds.conversion import best_order, epsilon_at_order
from zoexplore.bounds.kernels.subsampled_renyi import printed_divergence, sampled_divergence


def profile_logarithm(y, alpha, q, mu):
    """Of (gamma^(alpha-2) + gamma^(-alpha-1)) E_gamma dgamma/dy, gamma = 1 + q (exp(mu y) - 1), in
    floats.
    """
    rise = mu * y
    v = np.where(rise > 30, rise + np.log(q), np.log1p(q * np.expm1(np.minimum(rise, 30))))
    a = y - mu / 2
    first, second = log_ndtr(-a), log_ndtr(-a - mu) + rise
    delta = first + np.log(-np.expm1(np.minimum(second - first, -1e-14)))
    return rise + delta + np.maximum((alpha - 2) * v, -(alpha + 1) * v)


def by_the_profile(alpha, q, mu):
    """r_alpha from its definition: the integral of the hockey-stick profile q delta_G, to some 15
    digits.
    """
    turn, ends = (np.log1p(-q) - np.log(q)) / mu, {0.0}
    peaks = [0.0, alpha * mu]  # of h^alpha phi, from both sides
    for i, _ in enumerate(peaks):
        for _ in range(500):
            peaks[i] = (
                alpha * mu / (1 + np.exp(np.clip(mu * (turn - peaks[i] + mu / 2), -700, 700)))
            )
    for centre in (0.0, mu, turn, *(x - mu / 2 for x in (*peaks, alpha * mu))):
        ends |= {
            centre + s * w
            for s in (-1, 1)
            for w in (*np.arange(14), *np.arange(1, 14) / max(mu, 1))
        }
    ends = np.array(sorted(x for x in ends if x >= 0))
    with np.errstate(all="ignore"):
        tops = profile_logarithm(np.maximum(ends, 1e-9), alpha, q, mu)
    live = np.maximum(tops[1:], tops[:-1]) > np.nanmax(tops) - 34
    with mp.workdps(24):
        alpha, q, mu, top = mpf(alpha), mpf(q), mpf(mu), mpf(float(np.nanmax(tops)))

        def tail(x):
            return mp.erfc(x / mp.sqrt(2)) / 2

        def f(y):
            u = mu * y
            v = mp.log1p(q * mp.expm1(u))
            powers_of_gamma = mp.exp((alpha - 2) * v - top) + mp.exp(-(alpha + 1) * v - top)
            return (
                mu
                * q
                * q
                * mp.exp(u)
                * powers_of_gamma
                * (tail(y - mu / 2) - mp.exp(u) * tail(y + mu / 2))
            )

        pieces = [(mpf(a), mpf(b)) for a, b in zip(ends[:-1][live], ends[1:][live], strict=True)]
        total = mp.fsum(mp.quad(f, piece, maxdegree=3) for piece in pieces)
        return mp.log1p(mp.exp(top) * alpha * (alpha - 1) * total) / (alpha - 1)


# Orders, rates and sensitivities at their ends, and one in the middle; those in between are for
# `make proof`.
CURVE = [
    (2.0, 0.01, 0.5),
    (1e6, 1e-3, 1e-6),
    (1e6, 0.9, 0.05),
    (1e3, 1e-9, 0.02),
    (1.0 + 1e-6, 0.3, 1e3),
    (7.0, 0.999, 1e-6),
]
BETWEEN = [
    (1.0 + 1e-6, 0.1, 0.3),
    (1.5, 1e-3, 3.0),
    (20.0, 0.03, 0.3),
    (300.0, 1e-3, 0.3),
    (12.5, 0.5, 1.0),
    (1e6, 0.03, 1e-3),
    (64.5, 1e-2, 0.5),
    (1.01, 1e-9, 5.0),
    (2.0, 1e-6, 6.0),
    (40.0, 0.2, 0.11),
    (1e4, 1e-4, 0.044),
    (3.0, 0.05, 30.0),
    (1.2, 1e-9, 1e3),
    (1.0 + 1e-3, 1e-2, 1e-6),
]


@pytest.mark.parametrize(("alpha", "q", "mu"), [*CURVE, *(proof(*at) for at in BETWEEN)])
def test_the_curve_is_the_integral_of_the_profile(alpha, q, mu):
    exact = by_the_profile(alpha, q, mu)
    with np.errstate(all="ignore"):
        ours = mpf(float(sampled_divergence(alpha, q, mu)))
    assert 0 <= ours / exact - 1 <= 1e-6


@given(powers(-6, 6), powers(-6, 3))
def test_all_records_cost_what_a_gaussian_does(excess, mu):
    with np.errstate(all="ignore"):
        assert sampled_divergence(1 + excess, 1.0, mu) == pytest.approx(
            (1 + excess) * mu**2 / 2, rel=1e-9
        )
        almost = sampled_divergence(1 + excess, 1 - 1e-9, mu)  # the quadrature itself, hardly below
    assert almost == pytest.approx((1 + excess) * mu**2 / 2, rel=1e-6)


@given(powers(-4, 5), powers(-8, -0.01), powers(-6, 3), st.floats(1, 3))
def test_the_curve_rises_with_the_order_the_rate_and_the_sensitivity(excess, q, mu, factor):
    with np.errstate(all="ignore"):
        r = sampled_divergence(1 + excess, q, mu) * (1 - 1e-9)
        assert sampled_divergence(1 + excess * factor, q, mu) >= r
        assert sampled_divergence(1 + excess, min(1.0, q * factor), mu) >= r
        assert sampled_divergence(1 + excess, q, mu * factor) >= r


def of_mixtures(alpha, q, first, second):
    """D_alpha of (1-q) N(0, I) + q N(first, I) from the same with `second`, in the plane, on a
    grid.
    """
    x, y = np.meshgrid(np.linspace(-18, 22, 401), np.linspace(-18, 22, 401), indexing="ij")

    def log_density(point):
        far = ((x - point[0]) ** 2 + (y - point[1]) ** 2) / 2
        return np.logaddexp(np.log1p(-q) - (x * x + y * y) / 2, np.log(q) - far)

    value = alpha * log_density(first) + (1 - alpha) * log_density(second)
    top = value.max()
    return (top + np.log(np.exp(value - top).sum() * 0.1**2 / (2 * np.pi))) / (alpha - 1)


@pytest.mark.parametrize("alpha", [1.1, proof(2.0), 6.5])
@pytest.mark.parametrize("q", [0.001, 0.1, 0.7])
@pytest.mark.parametrize("mu", [0.1, 0.6, 2.0])
def test_no_pair_of_sampled_steps_is_further_apart(alpha, q, mu):
    """What two records in a third's place can do: all three points within mu of each other, in
    either order.
    """
    corner = (mu / 2, mu * 3**0.5 / 2)
    pairs = [
        ((mu, 0), (0, 0)),
        ((0, 0), (mu, 0)),
        ((mu / 2, 0), (-mu / 2, 0)),
        ((mu, 0), corner),
        ((mu, 0), (mu / 3, 0)),
    ]
    furthest = max(of_mixtures(alpha, q, *pair) for pair in pairs)
    assert furthest <= sampled_divergence(alpha, q, mu) * (
        1 + 1e-6
    ) and furthest >= 0.5 * sampled_divergence(alpha, q, mu)


def test_kicks_taken_at_different_points_would_cost_more():
    """Why docs/batches.md takes both at the auxiliary run: with mu and -mu, 2 mu apart, the curve
    is no bound.
    """
    assert of_mixtures(2.0, 0.1, (0.6, 0), (-0.6, 0)) > 2 * sampled_divergence(2.0, 0.1, 0.6)


@pytest.mark.parametrize(
    ("alpha", "q", "mu"),
    [
        (2.0, 0.1, 0.5),
        (1.5, 1e-3, 3.0),
        proof(30.0, 0.3, 0.2),
        (500.0, 0.01, 0.05),
        proof(8.0, 0.9, 2.0),
    ],
)
def test_the_printed_cost_is_the_printed_integral_and_the_smaller_order(alpha, q, mu):
    with mp.workdps(30):
        a, q_, m = mpf(alpha), mpf(q), mpf(mu)

        def f(x):
            return mp.npdf(x) * (1 - q_ + q_ * mp.exp(m * x - m * m / 2)) ** (1 - a)

        exact = mp.log(mp.quad(f, list(range(-100, 41, 2)))) / (a - 1)
    with np.errstate(all="ignore"):
        assert printed_divergence(alpha, q, mu) == pytest.approx(float(exact), rel=1e-6)
        assert printed_divergence(alpha, q, mu) <= sampled_divergence(alpha, q, mu)


@given(powers(0, 6), powers(-4, 1), powers(-5, -0.1), powers(-3, 1), powers(-9, -1), st.booleans())
@example(N=1000.0, budget=1e-12, q=1 / 24931, mu=0.005686154492255604, delta=1e-12, cks=True)
def test_no_order_converts_better_than_the_best(N, budget, q, mu, delta, cks):
    how = "cks" if cks else "mironov"

    def divergence(alpha):
        return N * sampled_divergence(alpha, q, mu) + alpha * budget

    def at(alpha):
        return epsilon_at_order(divergence(alpha), alpha, delta, how)

    with np.errstate(all="ignore"):
        best = at(best_order(divergence, delta, how))
        assert best <= at(1 + np.geomspace(1e-6, 1e6, 400)).min() * (1 + 1e-5) + 1e-12
