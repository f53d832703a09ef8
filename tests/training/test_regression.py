"""The closed form that docs/training.md searches for a gain in regression by hidden iterates, and what it found."""

import numpy as np
import pytest

from benchmarks.regression import EPSILONS, Squares, best, diabetes, iterates


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    return Squares.of(X, np.clip(X @ [0.3, -0.2, 0.1] + 0.1 * rng.standard_normal(200), -1, 1), 100)


def test_means_and_variances_are_those_of_simulated_descent(small):
    eta, ridge, s, T = 0.6, 0.02, 0.05, 12
    rng, start = np.random.default_rng(1), small.start("flat", 1.0)
    w = np.tile(start, (20_000, 1))
    for _ in range(T):
        gradient = w * (small.curvature + ridge) - small.pull
        w = w - eta * (gradient + s * rng.standard_normal(w.shape))
    mean, variance = (found[0] for found in iterates(small, ridge, eta, start, np.array([float(T)])))
    np.testing.assert_allclose(w.mean(axis=0), mean, atol=4 * s / np.sqrt(len(w)))
    np.testing.assert_allclose(w.var(axis=0), s**2 * variance, rtol=0.05)
    assert small.explained(w, np.zeros_like(w)).mean() == pytest.approx(small.explained(mean, s**2 * variance), abs=0.01)


def test_in_regression_hiding_buys_nothing_from_a_start_at_zero_which_is_the_best_start():
    data = diabetes()
    for epsilon in EPSILONS:
        public, hidden = best(data, epsilon, False)[0], best(data, epsilon, True)[0]
        assert public <= hidden + 5e-5 and hidden - public < 5e-5
    assert best(data, 1.0, True, "flat")[0] - best(data, 1.0, False, "flat")[0] == pytest.approx(0.005, abs=5e-4)
    assert best(data, 1.0, True, "flat")[0] < best(data, 1.0, False)[0]
