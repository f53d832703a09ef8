"""Output perturbation: the last step's noise hides two runs a diameter and a step apart, at the
worst angle.
"""

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.bounds import reference
from tests.bounds.strategies import powers, settings_of_runs
from tests.convention import DEMONSTRATION, Accounting, guarantee

RUN = DEMONSTRATION.replace(
    n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, delta=1e-5, T=1000, beta=0.5
)


@given(
    settings_of_runs(
        R=powers(-4, 4), beta=st.one_of(st.sampled_from([0.0, 1e-9, 1.0]), st.floats(0, 1))
    )
)
def test_the_angle_is_the_worst_one(run):
    assume(run.beta < 1 or run.K == run.d)
    true = reference.output_perturbation_rho(run)
    ours = guarantee(run, "output-perturbation").rho
    assert ours >= true * (1 - 1e-9)
    assert ours == pytest.approx(true, rel=1e-6)


# 2K/eta = 5: beyond, the ridge's step overshoots
@pytest.mark.parametrize("ridge", [0.0, 5.0, 7.5, 60.0])
def test_no_pair_of_points_costs_more(ridge):
    """Two points of the ball, any directions, any clipped updates: the shift against the step's own
    covariance.
    """
    rng = np.random.default_rng(1)
    d, K, eta, sigma, beta, R = 6, 2, 0.8, 0.3, 0.4, 0.5
    run = DEMONSTRATION.replace(
        d=d, K=K, eta=eta, sigma=sigma, beta=beta, R=R, M=100, m=ridge, ridge=ridge
    )
    rho = guarantee(run, "output-perturbation").rho
    worst = 0.0
    for _ in range(4000):
        U = np.linalg.qr(rng.normal(size=(d, K)))[0]
        # quotients from -Delta to Delta, and the reverse
        update = eta / K * U @ np.sign(rng.normal(size=K)) * 2
        into = rng.uniform(0, 1)  # how much of the distance lies along the update
        apart = into * update / np.linalg.norm(update) + (1 - into) * rng.normal(size=d) / sqrt(d)
        apart *= 2 * R / np.linalg.norm(apart)
        shift = apart - eta / K * ridge * U @ (U.T @ apart)
        shift += update * (np.sign(shift @ update) if ridge > 5 else 1.0)
        noise = eta**2 * sigma**2 * (beta / K * U @ U.T + (1 - beta) / d * np.eye(d))
        worst = max(worst, 0.5 * shift @ np.linalg.solve(noise, shift))
    assert worst <= rho
    # a ridge that does not overshoot brings points nearer, which is left aside
    assert worst >= 0.98 * rho or 0 < ridge <= 5


@pytest.mark.parametrize(("change", "condition"), [({"R": inf}, "R = ∞"), ({"beta": 1.0}, "β = 1")])
def test_it_needs_a_ball_and_noise_everywhere(change, condition):
    g = guarantee(RUN.replace(**change), "output-perturbation")
    assert g.epsilon == inf and condition in g.reason


def test_directions_that_span_everything_need_no_other_noise():
    run = RUN.replace(K=1000, beta=1.0)
    moved = 2 + 2 * run.eta / sqrt(run.K)
    assert guarantee(run, "output-perturbation").rho == pytest.approx(
        moved**2 * run.K / (2 * run.eta**2 * run.sigma**2), rel=1e-12
    )


def test_as_printed_the_last_update_moves_nothing():
    g = guarantee(RUN, "output-perturbation", Accounting(printed=True))
    assert g.rho == pytest.approx(2**2 * RUN.d / (2 * RUN.eta**2 * 0.5 * RUN.sigma**2), rel=1e-12)
    assert g.rho < guarantee(RUN, "output-perturbation").rho


def test_the_number_of_steps_is_no_matter():
    assert (
        len({guarantee(RUN.replace(T=T), "output-perturbation").epsilon for T in (1, 50, 10**6)})
        == 1
    )
