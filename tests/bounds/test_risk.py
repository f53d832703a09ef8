"""What a guarantee means: trade-off functions against closed forms, scipy, mpmath and
simulation-free identities.
"""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.stats import norm

from tests.bounds.exact import least_delta
from tests.bounds.strategies import powers, settings_of_runs
from tests.convention import DEMONSTRATION, Accounting, guarantee
from zoexplore.bounds import BOUNDS
from zoexplore.bounds.conversion import delta_of, epsilon_of
from zoexplore.bounds.loss_distribution import Losses
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.questions.attack_targets import pair_for_advantage, pair_for_positives

RATES = np.array([0.0, 1e-9, 1e-4, 0.01, 0.2, 0.5, 0.9, 1.0])


def of_pair(epsilon, delta):
    return TradeOff(epsilons=(epsilon,), deltas=(delta,))


def test_the_curve_says_much_more_than_its_point():
    g = guarantee(DEMONSTRATION, "sharp")
    assert 0 < g.advantage < 0.1
    assert of_pair(g.epsilon, DEMONSTRATION.delta).advantage > 4 * g.advantage


@given(powers(-8, 2), powers(-12, -1))
def test_a_gaussian_shift_is_scipys(rho, delta_f):
    f = TradeOff(rho, delta_f)
    exact = np.maximum(norm.cdf(norm.isf(RATES) - np.sqrt(2 * rho)) - delta_f, 0)
    assert (f.misses(RATES) <= exact + 1e-16).all() and f.misses(RATES) == pytest.approx(
        exact, rel=1e-8, abs=1e-13
    )
    assert f.advantage == pytest.approx(
        min(2 * norm.cdf(np.sqrt(rho / 2)) - 1 + delta_f, 1.0), rel=1e-9
    )
    assert f.advantage >= (1 - RATES - f.misses(RATES)).max() - 1e-10
    assert f.profile(0.3) == pytest.approx(min(1.0, float(delta_of(rho, 0.3)) + delta_f), rel=1e-9)


@pytest.mark.parametrize(("rho", "alpha"), [(0.5, 1e-12), (30.0, 1e-3), (1e-6, 0.3), (200.0, 0.5)])
def test_far_out_digits_are_rounded_down(rho, alpha):
    with mp.workdps(40):
        quantile = mp.findroot(lambda x: mp.ncdf(x) - (1 - mpf(alpha)), norm.isf(alpha))
        exact = mp.ncdf(quantile - mp.sqrt(2 * mpf(rho)))
    found = mpf(float(TradeOff(rho).misses(alpha)))
    assert exact - 2e-15 - exact * 1e-9 <= found <= exact


@given(powers(-4, 1), st.integers(2, 60))
def test_pairs_of_a_shift_say_no_more_than_the_shift(rho, count):
    deltas = np.geomspace(1e-10, 0.5, count)
    pairs = TradeOff(epsilons=tuple(epsilon_of(rho, deltas)), deltas=tuple(deltas))
    shift = TradeOff(rho)
    assert (
        pairs.misses(RATES) <= shift.misses(RATES) + 1e-9
    ).all() and pairs.advantage >= shift.advantage * (1 - 1e-9)
    epsilons = np.array([0.0, 0.01, 0.5, 2.0, 30.0])
    assert (pairs.profile(epsilons) >= shift.profile(epsilons) * (1 - 1e-9)).all()


@given(powers(-4, 0.5), powers(-9, -2))
def test_many_pairs_come_close_to_the_shift(rho, delta_f):
    deltas = np.geomspace(1e-12, 0.9, 400)
    pairs = TradeOff(epsilons=tuple(epsilon_of(rho, deltas)), deltas=tuple(deltas))
    assert pairs.advantage == pytest.approx(TradeOff(rho).advantage, rel=2e-2, abs=1e-3)
    assert pairs.misses(RATES[3:]) == pytest.approx(TradeOff(rho).misses(RATES[3:]), abs=2e-3)


def test_batches_have_the_trade_off_of_their_losses():
    run = DEMONSTRATION.replace(batch=200, sigma=0.05)
    g = guarantee(run, "composition")
    mu = 2 * run.clip / run.batch / run.sigma / np.sqrt(run.beta + (1 - run.beta) * run.K / run.d)
    losses = Losses(run.T, 0.0, run.batch / run.n, mu)
    for at in (0.0, 0.05, g.epsilon):
        exact = least_delta(at, losses.epsilon)
        assert exact * (1 - 1e-2) <= g.profile(at) <= exact * 1.1 + 1e-9
    assert g.advantage >= least_delta(0.0, losses.epsilon) * (1 - 1e-2)
    assert g.gaussian_dp is None and g.zero_concentrated is None


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("batch", [None, 500])
def test_every_bound_says_what_it_means(bound, batch):
    run = DEMONSTRATION.replace(batch=batch, sigma=0.02 if batch else DEMONSTRATION.sigma)
    g = guarantee(run, bound)
    f = g.tradeoff(RATES)
    assert (np.diff(f) <= 1e-12).all() and (f <= 1 - RATES + 1e-12).all() and (f >= 0).all()
    assert 0 <= g.advantage <= 1 and g.advantage >= (1 - RATES - f).max() - 1e-9
    if not g.valid:
        assert (
            g.advantage == 1
            and (f == 0).all()
            and g.posterior(0.5) == pytest.approx(1 / 1.01)
            and g.gaussian_dp is None
        )
        return
    assert g.profile(g.epsilon) <= run.delta * (1 + 1e-9)
    assert g.advantage <= of_pair(g.epsilon, run.delta).advantage + 1e-12
    assert (f >= of_pair(g.epsilon, run.delta).misses(RATES) - 1e-12).all()
    assert g.true_positive_rate(0.01) == pytest.approx(1 - float(g.tradeoff(0.01)))
    assert g.reconstruction(0.01) == g.true_positive_rate(0.01)
    assert 0.1 <= g.posterior(0.1) <= 1 and g.posterior(0.0) == 0
    if g.gaussian_dp:
        assert g.gaussian_dp == (
            pytest.approx(np.sqrt(2 * g.rho)),
            g.delta_f,
        ) and g.zero_concentrated == (g.rho, g.delta_f)


@given(settings_of_runs())
def test_nothing_an_attacker_does_is_understated(run):
    g = guarantee(run, "composition", Accounting())
    if g.epsilon < inf:
        assert g.profile(np.array([0.0, 1.0, g.epsilon])).min() >= 0
        assert g.profile(g.epsilon) <= run.delta * (1 + 1e-6)


def test_bayes_by_hand():
    f = TradeOff(0.5)
    caught = 1 - norm.cdf(norm.isf(0.05) - 1)
    assert f.posterior(0.3, 0.05) == pytest.approx(
        0.3 * caught / (0.3 * caught + 0.7 * 0.05), rel=1e-9
    )


@given(st.floats(0.01, 0.9), st.floats(1e-3, 0.4))
def test_a_wanted_answer_comes_to_a_pair(advantage, fpr):
    assert of_pair(*pair_for_advantage(advantage)).advantage == pytest.approx(advantage, rel=1e-9)
    tpr = fpr + (1 - fpr) * 0.3
    assert of_pair(*pair_for_positives(fpr, tpr)).true_positive_rate(fpr) == pytest.approx(
        tpr, rel=1e-9
    )


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: TradeOff(1.0).misses(1.5), "alpha"),
        (lambda: TradeOff(1.0).true_positive_rate(-0.1), "fpr"),
        (lambda: TradeOff(1.0).posterior(2.0), "prior"),
        (lambda: TradeOff(1.0).profile(-1.0), "epsilon"),
        (lambda: TradeOff(1.0).reconstruction(np.nan), "baseline"),
    ],
)
def test_refusals_say_what_is_allowed(call, says):
    with pytest.raises(ValueError, match=f"{says} = .* is not allowed: give"):
        call()
