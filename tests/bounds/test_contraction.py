"""The Lipschitz constant of a step holds for any loss of its regime, at any step size."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds import reference
from tests.bounds.strategies import powers
from tests.convention import DEMONSTRATION
from zoexplore.bounds.contraction import corollary_theta, gap, lipschitz, tail_exponent

regimes = st.sampled_from(["strongly-convex", "convex", "non-convex"])


def lowest_curvature(regime, M, m):
    return {"strongly-convex": m, "convex": 0.0, "non-convex": -M}[regime]


@given(regimes, st.integers(0, 2**32 - 1), powers(-2, 2), st.floats(0, 1), powers(-4, 2))
def test_no_quadratic_moves_points_apart_faster(regime, seed, M, part, relative_step):
    """w - step H w for random symmetric H with curvatures between the regime's and M, the ends
    included.
    """
    m, step = part * M, relative_step / M
    rng = np.random.default_rng(seed)
    low = lowest_curvature(regime, M, m)
    curvatures = np.concatenate([[low, M], rng.uniform(low, M, 4)])
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    H = Q * curvatures @ Q.T
    worst = np.linalg.norm(np.eye(6) - step * H, 2)
    c = lipschitz(regime, step, M, m)
    assert worst <= c * (1 + 1e-12) + 1e-12
    if regime != "non-convex":
        assert c == pytest.approx(worst, abs=1e-9 * max(1, c))  # and some quadratic attains it


@given(regimes, st.integers(0, 2**32 - 1), powers(-1, 1), st.floats(0, 1), powers(-2, 1))
def test_no_nonlinear_loss_moves_points_apart_faster(regime, seed, M, part, relative_step):
    """Sums over directions of functions of one variable whose curvature swings over the whole
    range.
    """
    m, step = part * M, relative_step / M
    low = lowest_curvature(regime, M, m)
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    frequency = rng.uniform(0.5, 20, 4)

    def gradient(w):  # curvature (low+M)/2 + (M-low)/2 cos(frequency x) along each column of Q
        x = Q.T @ w
        return Q @ ((low + M) / 2 * x + (M - low) / 2 * np.sin(frequency * x) / frequency)

    c = lipschitz(regime, step, M, m)
    for _ in range(20):
        x, y = rng.normal(size=(2, 4)) * 10 ** rng.uniform(-2, 1)
        moved = np.linalg.norm(x - y - step * (gradient(x) - gradient(y)))
        assert moved <= c * np.linalg.norm(x - y) * (1 + 1e-9)


@given(regimes, powers(-2, 2), st.floats(0, 1), powers(-4, 2))
def test_it_is_the_paper_s_within_the_paper_s_step_sizes(regime, M, part, relative_step):
    s = DEMONSTRATION.replace(regime=regime, M=M, m=part * M, ridge=0)
    step = relative_step / M
    assert float(lipschitz(regime, step, M, s.m)) == pytest.approx(
        reference.lipschitz(s, step), rel=1e-12, abs=1e-15
    )


@given(powers(-2, 2), st.floats(0, 1), powers(-4, 2))
def test_what_is_known_of_a_loss_can_only_help(M, part, relative_step):
    step = relative_step / M
    strong, convex, any_loss = (
        float(lipschitz(r, step, M, part * M)) for r in ("strongly-convex", "convex", "non-convex")
    )
    assert strong <= convex * (1 + 1e-15) and convex <= any_loss
    assert lipschitz("strongly-convex", step, M, 0.0) == convex


@given(st.floats(0, 3))
def test_the_closed_form_s_deviation_makes_the_factor_one(c):
    theta = float(corollary_theta(c))
    assert theta == 0 if c >= 1 else 1 - (1 - c * c) + theta * (1 + c * c) == pytest.approx(1)
    assert float(gap(c)) == pytest.approx(1 - c * c, abs=1e-14)


@given(powers(-3, 1), st.integers(1, 1000), st.integers(2, 10**4))
def test_the_tail_is_the_lemma_s(theta, K, d):
    K = min(K, d // 2)
    assert float(tail_exponent(theta, K, d)) == pytest.approx(
        3 * theta**2 * d * K / (12 * (d - K) + 8 * theta * (d - 2 * K))
    )


def test_the_tail_holds_for_the_true_law():
    """Beta(K/2, (d-K)/2) strays from its mean by theta K/d, above or below, more rarely than the
    lemma says.
    """
    from scipy.special import betainc, betaincc

    for d in (2, 3, 10, 100, 10**4, 10**6):
        for K in {1, 2, max(1, d // 10), d // 2} - {0}:
            if 2 * K > d:
                continue
            for theta in (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 20.0):
                bound = np.exp(-tail_exponent(theta, K, d))
                assert betainc(K / 2, (d - K) / 2, max(0.0, K / d * (1 - theta))) <= bound + 1e-300
                assert betaincc(K / 2, (d - K) / 2, min(1.0, K / d * (1 + theta))) <= bound + 1e-300


def test_contraction_needs_a_step_below_two_over_M():
    for regime, eta in (("strongly-convex", 520.0), ("convex", 1.0), ("non-convex", 1e-3)):
        s = DEMONSTRATION.replace(regime=regime, K=10, M=1, m=0.5, eta=eta, R=inf)
        assert lipschitz(regime, s.eta / s.K, s.M, s.m) >= 1
