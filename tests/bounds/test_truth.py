"""Runs whose divergence is known exactly: linear steps, the directions revealed. No bound may be below it."""

from math import inf, sqrt

import numpy as np
import pytest

from tests.bounds import reference
from zoexplore import Setting, epsilon
from zoexplore.bounds.conversion import delta_of

RUNS = [
    Setting(n=20, d=24, K=6, T=12, sigma=0.5, beta=0.5, M=1, m=0.7, ridge=0.7, R=inf, delta=1e-3),
    Setting(n=20, d=24, K=12, T=60, sigma=0.3, beta=0.1, M=1, m=1, ridge=1, R=inf, delta=1e-2),
    Setting(n=5, d=40, K=2, T=25, sigma=1.0, beta=0.9, M=1, m=0.3, ridge=0.3, R=inf, delta=1e-3, eta=1.0),
    Setting(n=50, d=30, K=15, T=200, sigma=0.05, beta=0.5, M=2, m=1.5, ridge=1.5, R=inf, delta=1e-4),
]


def steps(run, rng):
    """The projectors of a run's directions."""
    for _ in range(run.T):
        U = np.linalg.qr(rng.normal(size=(run.d, run.K)))[0]
        yield U @ U.T


def budget(run, rng):
    """Half the squared distance of the last iterates' Gaussians: the loss is (m/2)|w|^2, and the record that differs
    pushes as far as the clip allows, along whatever part of the gap the span sees.
    """
    s1, s2 = reference.variances(run)
    B = 2 * run.eta * run.clip / (run.n * sqrt(run.K))
    gap, covariance = np.zeros(run.d), np.zeros((run.d, run.d))
    first = rng.normal(size=run.d)
    for P in steps(run, rng):
        A = np.eye(run.d) - run.eta / run.K * run.m * P
        push = P @ (gap if gap.any() else first)
        gap = A @ gap + B * push / np.linalg.norm(push)
        covariance = A @ covariance @ A.T + s1 * P + s2 * np.eye(run.d)
    return 0.5 * gap @ np.linalg.solve(covariance, gap)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"T={run.T}")
def test_no_bound_is_below_a_run_that_is_known_exactly(run):
    rng = np.random.default_rng(7)
    budgets = [budget(run, rng) for _ in range(60)]
    for bound in ("composition", "theorem"):
        reported = epsilon(run, bound)
        assert reported < inf
        assert np.mean([float(delta_of(rho, reported)) for rho in budgets]) <= run.delta


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"T={run.T}")
def test_gradient_descent_on_a_quadratic_attains_its_bound(run):
    """All directions, steps of eta/d: the gap and the variance are geometric sums, and nothing is lost."""
    c, B, S = reference.noisy_gd_step(run)
    weights = c ** np.arange(run.T)
    exact = 0.5 * (B * weights.sum()) ** 2 / (S * (weights**2).sum())
    reported = epsilon(run, "noisy-gd")
    assert reported == pytest.approx(reference.epsilon_of(exact, run.delta, "gaussian"), rel=1e-8)


def test_one_step_of_the_clipped_update_is_composition_exactly():
    run = RUNS[0].replace(T=1)
    rho = budget(run, np.random.default_rng(0))
    assert epsilon(run, "composition") == pytest.approx(reference.epsilon_of(rho, run.delta, "gaussian"), rel=1e-9)
    assert epsilon(run, "theorem") >= epsilon(run, "composition")
