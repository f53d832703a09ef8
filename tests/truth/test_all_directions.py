"""K = d, and one step: nothing is random, and the sharper bound is the exact divergence of
Gaussians.
"""

from math import inf, sqrt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.bounds import exact
from tests.bounds.strategies import settings_of_runs
from tests.convention import DEMONSTRATION, Accounting, epsilon, guarantee
from tests.effort import proof
from tests.truth.revealed import Adversary, Run, Truth, mahalanobis
from tests.truth.test_revealed import run_of
from zoexplore.run.setting import SENSITIVITIES


def shifted_interpolation(s, c, drift):
    """Bok, Su, Altschuler 2024: 1/2 (b^2/S)(1-c^T)(1+c)/((1+c^T)(1-c)), b the most that data add in
    a step.
    """
    S = s.eta**2 * s.sigma**2 * (s.beta / s.K + (1 - s.beta) / s.d)
    grown = s.T if c == 1 else (1 - c**s.T) * (1 + c) / ((1 + c**s.T) * (1 - c))
    return 0.5 * drift**2 / S * grown


@pytest.mark.parametrize("sensitivity", SENSITIVITIES)
@pytest.mark.parametrize("T", [1, 2, proof(7), 100, 100_000])
@pytest.mark.parametrize("c", [0.1, proof(0.5), 0.9, 0.999, 1.0])
@pytest.mark.parametrize("beta", [0.0, proof(0.4), 1.0])
def test_k_is_d_is_the_shifted_interpolation_bound(c, T, beta, sensitivity):
    s = run_of(c, 12, 12, T, beta)
    b = 2 * s.eta * s.clip / (s.n * (s.K if sensitivity == "least" else sqrt(s.K)))
    g = guarantee(s, "sharp", Accounting(sensitivity=sensitivity))
    assert g.rho == pytest.approx(shifted_interpolation(s, c, b), rel=1e-6)
    assert g.delta_f == 0
    assert g.epsilon == pytest.approx(float(exact.gaussian(g.rho, s.delta)), rel=1e-6)


@pytest.mark.parametrize("c", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("T", [1, 2, 7, 60])
def test_k_is_d_is_the_exact_divergence_of_a_linear_run(c, T):
    s = run_of(c, 5, 5, T, 0.4)
    truth = Truth(mahalanobis(Run.of(s), Adversary(), 2, 1))
    for delta in (0.2, 1e-2, 1e-5):
        assert epsilon(s.replace(delta=delta), "sharp") == pytest.approx(
            truth.epsilon(delta), rel=1e-6
        )


@pytest.mark.parametrize("c", [1.05, 1.2])
def test_an_expanding_run_with_k_d_hides_no_less_than_its_last_steps(c):
    """The bound is the least over shifts: never below the linear run's exact divergence, and
    composition at most.
    """
    s = run_of(c, 5, 5, 12, 0.4)
    truth = Truth(mahalanobis(Run.of(s), Adversary(), 2, 1))
    assert (
        truth.epsilon(s.delta)
        <= epsilon(s, "sharp") * (1 + 1e-9)
        <= epsilon(s, "composition") * (1 + 2e-9)
    )


@given(settings_of_runs(T=st.just(1), R=st.just(inf)))
def test_one_step_from_the_start_is_composition(s):
    bound = epsilon(s, "sharp")
    assume(bound < inf)
    assert bound == epsilon(s, "composition")


def test_one_step_from_the_start_is_composition_by_default():
    assert epsilon(DEMONSTRATION.replace(T=1), "sharp") == epsilon(
        DEMONSTRATION.replace(T=1), "composition"
    )
