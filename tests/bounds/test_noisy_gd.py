"""Noisy gradient descent: optimal shifts, from nothing or from the diameter."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds import reference
from tests.bounds.strategies import powers, settings_of_runs, whole_powers
from tests.convention import DEMONSTRATION, guarantee

RUN = DEMONSTRATION.replace(n=1000, d=50, K=10, sigma=0.1, M=1, m=0.3, ridge=0.3, R=1, T=40)


def program(run, N, start):
    """The shifts as a quadratic program: each step's noise S must pay for its share of start and
    data.
    """
    c, B, S = reference.noisy_gd_step(run)
    return reference.Program(
        N=N, c1=c, start=start, c2=B, data=0.25 * B**2 / S, shift=0.25 / S, beta=0.5
    )


def least(run, N, start, solver=False):
    p = program(run, N, start)
    return (p.least_by_solver() if solver else p.least()) - 2 * N * p.data


@given(
    settings_of_runs(
        regime=st.just("strongly-convex"),
        R=st.just(inf),
        ridge=st.just(1.0),
        m=powers(-4, -0.1),
        eta=st.none(),
    )
)
def test_with_contraction_and_no_ball_it_is_the_shifted_interpolation_bound(run):
    assert guarantee(run, "noisy-gd").rho == pytest.approx(
        reference.shifted_interpolation_rho(run), rel=1e-8
    )


@pytest.mark.parametrize("regime", ["strongly-convex", "convex", "non-convex"])
@pytest.mark.parametrize("R", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("eta", [1.0, 10.0, 90.0, 130.0])
def test_no_shifts_found_by_a_general_solver_do_better(regime, R, eta):
    run = RUN.replace(regime=regime, R=R, eta=eta, T=7)
    solver = min(
        [least(run, 7, 0.0, solver=True), *(least(run, N, 2 * R, solver=True) for N in range(1, 8))]
    )
    assert guarantee(run, "noisy-gd").rho == pytest.approx(solver, rel=1e-5)


@given(
    settings_of_runs(
        T=whole_powers(0, 2),
        R=powers(-6, 3),
        ridge=st.just(1.0),
        d=whole_powers(0, 3),
        eta=powers(-3, 3.5),
    )
)
def test_no_number_of_steps_does_better(run):
    with np.errstate(over="ignore", invalid="ignore"):
        every = [least(run, run.T, 0.0), *(least(run, N, 2 * run.R) for N in range(1, run.T + 1))]
    true = min(rho for rho in every if not np.isnan(rho))
    if 0 < true < 1e200:
        assert guarantee(run, "noisy-gd").rho == pytest.approx(true, rel=1e-6)


@given(
    settings_of_runs(
        T=whole_powers(0, 3), R=powers(-6, 3), ridge=st.just(1.0), d=whole_powers(0, 3)
    )
)
def test_the_trajectory_is_a_certificate(run):
    g = guarantee(run, "noisy-gd")
    if not 0 < g.epsilon < 1e100:
        return
    c, B, S = reference.noisy_gd_step(run)
    path = g.trajectory
    assert (
        path.tau == run.T - g.N
        and path.z[0] == pytest.approx(g.start)
        and (g.start == 0 or g.start == 2 * run.R)
    )
    assert g.start > 0 or path.tau == 0
    assert np.all(path.p >= 0) and np.all(path.z >= 0)
    scale = (c * path.z + B).max()
    assert path.z[-1] <= 1e-8 * scale
    assert np.allclose(path.z[1:], c * path.z[:-1] + B - path.p, rtol=0, atol=1e-8 * scale)
    assert g.rho == pytest.approx(float(np.sum(path.p**2)) / (2 * S), rel=1e-6)


def test_one_step_is_one_gaussian_mechanism():
    run = RUN.replace(T=1, R=inf)
    assert guarantee(run, "noisy-gd").rho == pytest.approx(
        (2 / run.n) ** 2 / (2 * run.d * run.sigma**2), rel=1e-12
    )


def test_without_contraction_and_ball_it_is_composition():
    run = RUN.replace(regime="convex", R=inf)
    assert guarantee(run, "noisy-gd").rho == pytest.approx(
        run.T * (2 / run.n) ** 2 / (2 * run.d * run.sigma**2), rel=1e-12
    )


def test_linear_dynamics_lose_exactly_this():
    """w <- c w + B + noise against w <- c w + noise: the last iterates are Gaussians whose
    divergence is known.
    """
    run = RUN.replace(R=inf, eta=20.0)
    c, B, S = reference.noisy_gd_step(run)
    powers_of_c = c ** np.arange(run.T)
    exact = 0.5 * (B * powers_of_c.sum()) ** 2 / (S * (powers_of_c**2).sum())
    assert guarantee(run, "noisy-gd").rho == pytest.approx(exact, rel=1e-9)


def test_a_run_that_moves_only_by_noise_is_no_special_case():
    for change in ({"eta": 50.0, "m": 1.0, "ridge": 1.0, "M": 1.0}, {"d": 1, "K": 1}):
        g = guarantee(RUN.replace(**change), "noisy-gd")
        assert 0 < g.epsilon < inf and np.all(np.isfinite(g.trajectory.z))


@pytest.mark.parametrize("n", [2, 5, 20])
def test_in_one_dimension_a_missing_record_takes_no_strong_convexity(n):
    """The drift may be written by the larger data set in both orders (docs/batches.md,
    "Neighbours").
    """
    run = DEMONSTRATION.replace(
        n=n, d=1, K=1, T=100, sigma=1.0, R=1.0, M=1.0, m=0.5, ridge=0.0, eta=0.5
    )
    run = run.replace(neighbours="add-remove")
    assert guarantee(run, "sharp").epsilon == pytest.approx(
        guarantee(run, "noisy-gd").epsilon, rel=1e-9
    )
