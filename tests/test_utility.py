"""The utility bound against its formula written out, its conditions, and a run whose gradients are known."""

from math import exp, inf, log, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bounds.strategies import powers, settings_of_runs
from tests.convention import DEMONSTRATION, Accounting, Setting, calibrate, epsilon, guarantee
from zoexplore.questions.utility import clip_probability, closed_form_tradeoff, largest_step, utility

RUN = DEMONSTRATION.replace(n=1000, d=1000, K=50, T=2000, sigma=0.02, M=2.0, m=0.5, ridge=0.5, xi=1e-5, clip=1.0)


def test_every_term_written_out():
    got = utility(RUN, r=3.0, gap=0.7, B_loss=1.5, L=2.0)
    chance = 2 * sqrt(2 * pi) * 1000 * 50 * 2000 * exp(-1000 * (1.0 - 1e-5) ** 2 / (8 * 4))
    assert got.clip_probability == pytest.approx(chance, rel=1e-12)
    assert got.descent == pytest.approx(4 * 1000 / (2000 * 25) * 0.7)
    assert got.perturbation == pytest.approx(4 * 1e-10 * 1e9)
    assert got.clipping == pytest.approx((4 * 4 * 1000 + 8 * 1.5 * 1000 / 25) * chance, rel=1e-12)
    assert got.noise == pytest.approx(2 * 25 * 3 * 2 * 0.02**2)
    assert got.total == got.descent + got.perturbation + got.clipping + got.noise
    assert got.reason == ""


@given(settings_of_runs(), st.floats(0, 1), powers(-2, 2), powers(-2, 2), powers(-1, 1))
def test_beta_does_not_matter_and_a_step_too_large_is_refused(run, rank, gap, B_loss, stretch):
    r = run.d**rank
    got = utility(run, r=r, gap=gap, B_loss=B_loss, L=stretch * run.clip)
    assert got == utility(run.replace(beta=0.25), r=r, gap=gap, B_loss=B_loss, L=stretch * run.clip)
    if run.eta > run.d / (4 * (2 + r) * run.M):
        assert got.total == got.noise == inf and f"{run.eta:.4g} exceeds" in got.reason
    else:
        assert 0 <= got.total < inf and 0 <= got.clip_probability <= 1


def test_the_reason_names_the_largest_K():
    got = utility(RUN.replace(K=100), r=3.0, gap=1.0, B_loss=1.0)
    assert got.total == inf
    assert got.reason == "η = 50 exceeds d/(4(2 + r)M) = 25; with η = K/M the bound needs K ≤ d/(4(2 + r)) = 50"
    assert utility(RUN, r=3.0, gap=1.0, B_loss=1.0).total < inf
    assert largest_step(1000, 2.0, 3.0) == 25


def test_clips_that_cannot_act_and_clips_that_always_may():
    assert clip_probability(RUN, 1.0) == 0
    assert clip_probability(RUN.replace(xi=1.0), 2.0) == 1  # Delta = M xi/2
    assert clip_probability(RUN.replace(d=10, K=5), 100.0) == 1
    assert 0 < clip_probability(RUN, 1.5) < clip_probability(RUN, 1.6) < 1


def test_the_closed_form_is_the_corollarys_minimum_without_its_first_term():
    run = RUN.replace(K=500, xi=0.0, T=10**8, sigma=0.02, m=2.0, ridge=2.0)
    for beta in (0.5, 0.2):
        rho = guarantee(run.replace(beta=beta), "corollary").rho
        target = 2 * sqrt(rho * log(2 / run.delta))
        got = closed_form_tradeoff(run.replace(beta=beta), epsilon=target, r=2.0)
        assert got == pytest.approx(2 * run.eta * 2.0 * run.M * run.sigma**2, rel=1e-4)
    printed = closed_form_tradeoff(run, epsilon=1.0, r=2.0, printed=True)
    assert printed == pytest.approx(64 * 2 * 2 * 0.31 * sqrt(1000) * log(2e5) / 1000)
    assert closed_form_tradeoff(run, epsilon=1.0, r=2.0) == pytest.approx(printed * 2 * sqrt(2))
    assert closed_form_tradeoff(run.replace(beta=1.0), epsilon=1.0, r=2.0) == inf


def test_noise_from_the_closed_form_misses_the_target():
    run = RUN.replace(K=500, xi=0.0, T=10**6, m=2.0, ridge=2.0)
    sigma = sqrt(closed_form_tradeoff(run, epsilon=8.0, r=1.0) / (2 * run.eta * run.M))
    mironov = Accounting("mironov")
    assert epsilon(run.replace(sigma=sigma), "corollary", mironov) > 8.0
    assert calibrate(run, "sigma", epsilon=8.0, bound="corollary", accounting=mironov).sigma > sigma


def test_a_quadratic_stays_below_the_bound():
    """Loss |w|^2/2 on r of the coordinates, followed exactly in expectation; the clip never acts."""
    d, K, r, sigma, T = 1000, 20, 10, 0.001, 400
    run = DEMONSTRATION.replace(n=1000, d=d, K=K, T=T, sigma=sigma, M=1.0, m=0.0, ridge=0.0, eta=20.0, clip=1.0)
    squared = [1.0]
    for _ in range(T - 1):
        # E|w - (eta/K) P g|^2 over uniform spans, and the noise energy that falls on r of d coordinates
        step = run.eta / K
        cross = (K / d) * (step**2 - 2 * step)
        squared.append(squared[-1] * (1 + cross) + (run.eta * sigma) ** 2 * r / d)
    assert np.mean(squared) <= utility(run, r=r, gap=0.5, B_loss=0.5).total


@pytest.mark.parametrize(
    "wrong, name",
    [
        ({"r": 0.5}, "r"),
        ({"r": 2000}, "r"),
        ({"gap": -1}, "gap"),
        ({"gap": inf}, "gap"),
        ({"B_loss": float("nan")}, "B_loss"),
        ({"L": 0}, "L"),
    ],
)
def test_values_that_are_refused(wrong, name):
    with pytest.raises(ValueError, match=rf"^{name} = "):
        utility(RUN, **({"r": 2.0, "gap": 1.0, "B_loss": 1.0} | wrong))
    with pytest.raises(ValueError, match=r"^epsilon = 0"):
        closed_form_tradeoff(RUN, epsilon=0, r=2.0)


def test_sampled_batches_have_no_bound():
    """Two Huber losses at 1 and -1, a record a step: the run keeps hovering, far from stationary."""
    run = Setting(n=2, d=1, K=1, T=4000, sigma=1e-9, beta=0.5, regime="convex", clip=5.0, M=1.0, eta=1 / 12, batch=1)
    draw, w, squares = np.random.default_rng(0), 0.0, []
    for _ in range(run.T):
        squares.append(w**2)  # the mean of the two losses has the gradient w within their knees
        w -= run.eta * (w - draw.choice([-1.0, 1.0]))
    bound = utility(run, r=1, gap=0.0, B_loss=1.0, L=5.0)
    assert np.mean(squares) > 0.03
    assert bound.total == inf and "b = 1 is below n = 2" in bound.reason
    assert utility(run.replace(batch=2), r=1, gap=0.0, B_loss=1.0, L=5.0).total < 1e-15


def test_an_unknown_smoothness_has_no_bound():
    run = Setting(n=2, d=1, K=1, T=9, sigma=1.0, beta=0.5)
    assert utility(run, r=1, gap=0.0, B_loss=1.0).total == inf and "M = ∞" in utility(run, r=1, gap=0.0, B_loss=1.0).reason


def test_a_joint_clip_acts_no_more_often_than_one_of_each_quotient_that_fits_into_it():
    run = DEMONSTRATION.replace(K=26, T=10_000)
    joint = run.replace(clipping="joint", clip=0.8 * sqrt(26))
    assert clip_probability(joint.replace(clip=1.0), L=1.0) == 0 < clip_probability(joint, L=6.0)
    assert clip_probability(joint, L=6.0) == clip_probability(run.replace(clip=0.8), L=6.0)
    assert clip_probability(joint.replace(clip=1.0, xi=0.1), L=1.0) > 0
    assert closed_form_tradeoff(joint, epsilon=1.0, r=3) == pytest.approx(
        closed_form_tradeoff(run.replace(clip=0.8), epsilon=1.0, r=3), rel=1e-12
    )
