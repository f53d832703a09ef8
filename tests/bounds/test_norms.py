"""The norm J and the drift's constant are never below what they stand for, and hardly above it."""

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from tests.bounds.strategies import powers
from tests.convention import DEMONSTRATION, Setting, epsilon, guarantee
from tests.truth.statement import drift_constant as by_brute_force
from tests.truth.statement import norm as by_its_series
from zoexplore.bounds.kernels.hulls import linear_growth, linear_norm, norm_apart
from zoexplore.bounds.kernels.norms import (
    IDLE,
    RAYS,
    Change,
    certain_constant,
    drift_constant,
    norm,
    tabled_norm,
)

PAPER = Setting(
    n=1000, d=1000, K=200, T=1000, sigma=0.1, beta=0.5, regime="strongly-convex", m=0.9, M=1, R=1
)


def step_constant(change, d, order, clip):
    """c_lambda, where something is random."""
    return sqrt(drift_constant(change, d, order, clip, False))


@given(
    st.sampled_from(
        [
            (1, 2),
            (1, 3),
            (2, 3),
            (1, 520),
            (52, 520),
            (519, 520),
            (200, 1000),
            (10**4, 10**6),
            (1, 10**9),
        ]
    ),
    st.sampled_from([1, 2, 7, 30, 129, 600]),
    powers(-5, 5),
)
@settings(max_examples=60)
def test_the_table_is_the_series_from_above(size, order, ratio):
    K, d = size
    table = tabled_norm(float(K), float(d), float(order))
    ours, exact = norm(table, 1.0, ratio)[0], by_its_series(K, d, order, 1.0, ratio)[0]
    assert exact * (1 - 1e-12) <= ours <= exact * (1 + 2e-3)


def test_the_series_is_the_integral():
    with mp.workdps(30):
        for K, d, order, A, C in [
            (3, 7, 5, 1.0, 0.3),
            (1, 4, 40, 0.2, 2.0),
            (20, 30, 12, 1.0, 1.0),
        ]:
            a, b = mpf(K) / 2, mpf(d - K) / 2

            def density(x, a=a, b=b, A=A, C=C, order=order):
                return (
                    (A * (1 - x) + C * x) ** order
                    * x ** (a - 1)
                    * (1 - x) ** (b - 1)
                    / mp.beta(a, b)
                )

            assert float(
                mp.quad(density, [0, 0.1, 0.5, 0.9, 1]) ** (mpf(1) / order)
            ) == pytest.approx(by_its_series(K, d, order, A, C)[0], rel=1e-6)


def test_all_directions_leave_the_span_alone():
    assert norm(tabled_norm(4.0, 4.0, 9.0), 1.0, 0.3)[0] == pytest.approx(0.3, rel=1e-13)


@given(
    st.one_of(st.floats(0, 1), st.sampled_from(RAYS.ravel().tolist()), powers(-12, 0)),
    st.booleans(),
)
def test_between_rays_the_norm_is_interpolated(t, mirrored):
    table = tabled_norm(52.0, 520.0, 129.0)
    A, C = (t, 1 - t) if mirrored else (1 - t, t)
    side = 1 if C > A else 0  # the one with the digits
    expected = (A + C) * np.interp(
        [C, A][side] / (A + C), RAYS[side][:: 1 - 2 * side], table[:: 1 - 2 * side]
    )
    assert norm(table, A, C)[0] == pytest.approx(expected, rel=1e-13)


@given(
    st.sampled_from(["strongly-convex", "convex", "non-convex"]),
    st.sampled_from([1, 2, 5, 100, 10**4]),
    st.sampled_from([1, 20, 300, 5000]),
    st.floats(0, 1),
    st.floats(0, 1),
    powers(-2, 0.7),
    st.booleans(),
)
@settings(max_examples=60)
def test_the_drifts_constant_is_the_maximum_from_above(regime, d, order, m, part, step, acting):
    s = Setting(
        n=10, d=d, K=1, T=1, sigma=1.0, beta=0.5, regime=regime, M=1, m=m, ridge=m * part, eta=step
    )
    low = {"strongly-convex": s.m - s.ridge, "convex": 0.0, "non-convex": -(1 - s.ridge)}[regime]
    change = Change(1 - step * s.ridge, step * low, step * (1 - s.ridge))
    ours = float(step_constant(change, float(d), float(order), float(acting)))
    least = sqrt(by_brute_force(s, order, acting, 2001))
    assert least * (1 - 1e-12) <= ours <= least * (1 + 1e-5) + 1e-12


def test_what_a_clip_can_do_is_never_less_than_nothing():
    """An acting clip may also be idle, so its constant is the larger."""
    for order in (1.0, 50.0, 500.0):
        idle, acting = (
            float(step_constant(Change(0.4, 0.0, 0.3), 1000.0, order, act)) for act in (0.0, 1.0)
        )
        assert idle <= acting


@pytest.mark.parametrize("d", [2, 3, 4, 10, 10**3])
@pytest.mark.parametrize("order", [1, 2, 5, 50, 1000])
def test_a_frames_second_column_keeps_what_the_constant_says(d, order):
    """E chi_(d-1) E 1/chi_(d + 2 order) is at least kappa."""
    with mp.workdps(30):
        first = mp.sqrt(2) * mp.gamma(mpf(d) / 2) / mp.gamma(mpf(d - 1) / 2)
        degrees = d + 2 * order
        second = mp.gamma(mpf(degrees - 1) / 2) / mp.sqrt(2) / mp.gamma(mpf(degrees) / 2)
        assert first * second >= mp.sqrt(mpf(d - 1.5) / (degrees - mpf("1.36")))


@pytest.mark.parametrize("seed", range(4))
def test_no_clip_moves_runs_further_apart_than_the_norm(seed):
    """Means over drawn directions, the clip's slopes chosen by whoever sees them: never above J."""
    rng = np.random.default_rng(seed)
    d, K, order, step, ridge, A, C = 6, 2, 3, 0.6, 0.3, 1.0, 1.5
    r = 1 - step * ridge
    c2 = float(step_constant(Change(r, 0.0, step), float(d), float(order), 1.0)) ** 2
    x = np.eye(d)[0]
    worst = 0.0
    U = np.linalg.qr(rng.standard_normal((20_000, d, K)))[0]
    for angle in np.linspace(0, np.pi, 9):  # h on the sphere with diameter [0, x]
        h = (x * (1 + np.cos(angle)) + np.eye(d)[1] * np.sin(angle)) / 2
        seen, drifted = U[:, 0, :] * r, np.einsum("sdk,d->sk", U, h) * step
        span = np.maximum(seen**2, (seen - drifted) ** 2).sum(axis=1)
        across = 1 - (U[:, 0, :] ** 2).sum(axis=1)
        worst = max(worst, ((A * across + C * span) ** order).mean() ** (1 / order))
    bound = by_its_series(K, d, order, A, C * c2)[0]
    assert 0.85 * bound < worst <= bound * 1.01


@pytest.mark.parametrize("A", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("order", [2, 10, 100, 1000])
def test_an_idle_drift_is_counted_apart_where_the_order_is_large_against_d(order, A):
    """Of two coordinates one is seen: means over the angle, of the drift that is worst."""
    low, top, angle = 0.0, 0.6, np.linspace(0, np.pi, 20_001)[:-1]
    change = Change(1.0, low, top)
    c, c2 = (
        certain_constant(change, 1.0, IDLE),
        float(step_constant(change, 2.0, float(order), IDLE)) ** 2,
    )
    table = tabled_norm(1.0, 2.0, float(order))
    bound = norm(norm_apart(table, c**2 / c2), A, c2)[0]
    worst = 0.0
    for turned in np.linspace(0, np.pi, 60):  # over the disc's edge, where the mean is largest
        drift = (1 - 0.3 + 0.3 * np.cos(turned)) * np.cos(angle) + 0.3 * np.sin(turned) * np.sin(
            angle
        )
        values = A * np.sin(angle) ** 2 + drift**2
        worst = max(worst, values.max() * ((values / values.max()) ** order).mean() ** (1 / order))
    assert worst <= bound * (1 + 1e-9) < 2 * worst
    assert bound <= norm(table, A, c2)[0] * (1 + 1e-13)


@pytest.mark.parametrize("d", [2, 3, 4, 10, 520, 10**6, 10**9])
@pytest.mark.parametrize("order", [1, 2, 7, 50, 1000])
def test_the_growth_of_linear_models_is_its_product_from_above(d, order):
    """||1 + beta|| / kappa_1^2, and the bound on kappa_1 costs little."""
    with mp.workdps(60):
        half = mpf(d - 1) / 2
        product = (
            mp.loggamma(half + order)
            - mp.loggamma(half)
            + mp.loggamma(2 * half)
            - mp.loggamma(2 * half + order)
        )
        kappa = mp.exp(2 * mp.loggamma(mpf(d) / 2) - mp.loggamma(half) - mp.loggamma(half + 1))
        exact = 2 * mp.exp(product / order) / kappa**2
    ours = linear_growth(float(d), float(order))
    assert exact * (1 - 1e-13) <= ours <= exact * (1 + 0.7 / d) + 1e-13


@given(
    st.sampled_from([(1, 2), (2, 3), (1, 520), (260, 520), (4, 4), (10**4, 10**6)]),
    st.sampled_from([1, 2, 30, 600]),
    st.sampled_from([0.3, 0.9, 1.0]),
    powers(-4, 4),
)
@settings(max_examples=30)
def test_the_norm_of_linear_models_is_the_lower_hull_of_both(size, order, ratio, C):
    """Never above either, and no line between two points of them gives less."""
    (K, d), growth = map(float, size), linear_growth(float(size[1]), float(order))
    table = tabled_norm(K, d, float(order))
    ours = norm(linear_norm(table, growth, ratio), 1.0, C)[0]

    def least(A, C):
        return min(
            by_its_series(*size, order, A, C)[0],
            growth * by_its_series(*size, order, A, ratio * C)[0],
        )

    assert ours <= norm(table, 1.0, C)[0] * (1 + 1e-12)
    assert ours <= growth * norm(table, 1.0, ratio * C)[0] * (1 + 2e-3)
    x, here = np.geomspace(1e-6, 1e6, 601), C / (1 + C)
    t = x / (1 + x)
    values = np.array([least(1 / (1 + each), each / (1 + each)) for each in x])
    below, above = t < here, t > here
    weight = (here - t[below, None]) / (t[above] - t[below, None])
    lines = values[below, None] * (1 - weight) + values[above] * weight
    assert min(lines.min(), least(1 - here, here)) * (1 + C) * (1 - 1e-4) <= ours


REFERENCES = [  # and epsilon by a fixed budget, by another program
    (PAPER, 0.2220),
    (PAPER.replace(ridge=0.9, lipschitz=inf), 0.2235),
    (PAPER.replace(ridge=0.9, lipschitz=inf, regime="non-convex"), 0.238),
    (PAPER.replace(releases=5), 0.533),
    (PAPER.replace(releases=20), 1.139),
    (PAPER.replace(batch=200, sampling="cyclic"), 0.610),
    (PAPER.replace(batch=50, sampling="cyclic"), 2.10),
    *(
        (
            PAPER.replace(
                clip=3 / sqrt(1000), m=ridge, ridge=ridge, regime="convex", lipschitz=inf
            ),
            known,
        )
        for ridge, known in ((0.05, 0.233), (0.1, 0.164), (0.2, 0.0539), (0.5, 0.0249))
    ),
    (DEMONSTRATION.replace(K=52), 2.343),
    (DEMONSTRATION.replace(K=52, lipschitz=inf), 2.428),
    (DEMONSTRATION, 0.8834),
    (DEMONSTRATION.replace(lipschitz=inf), 0.9179),
]


@pytest.mark.parametrize(("run", "known"), REFERENCES)
def test_reference_values(run, known):
    """The average over the cost is below a budget (test_hidden_cost.py)."""
    assert 0.6 * known <= epsilon(run, "sharp") <= known


def test_an_acting_clip_needs_no_lipschitz_constant_and_says_what_contracts():
    run = PAPER.replace(ridge=0.9, lipschitz=inf)
    g, idle = guarantee(run, "sharp"), guarantee(run.replace(lipschitz=None), "sharp")
    assert "ridge" in g.note and idle.note == "" and idle.epsilon <= g.epsilon < 1.02 * idle.epsilon
    assert not any("Lipschitz" in c.words or "idle" in c.words for c in g.checks) and len(
        g.checks
    ) < len(idle.checks)
    assert all(not guarantee(run, bound).valid for bound in ("theorem", "corollary", "noisy-gd"))
