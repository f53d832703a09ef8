"""Steps on batches that differ, converted exactly: against quadrature, the constant accountant and
another library's.
"""

from math import exp, inf

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from scipy.integrate import quad
from scipy.stats import norm

from tests.convention import Accounting, epsilon
from tests.mechanism.test_report import SETTING, epsilons, ran
from zoexplore.bounds.loss_distribution import Losses, Part, epsilon_of_parts
from zoexplore.mechanism import privacy_report

WITHOUT, POISSON = "without-replacement", "poisson"
TWO = [(0.1, 1.0, 0.3, 0.5), (0.01, 2.0, 0.5, 0.7), (0.9, 0.8, 0.2, 2.0)]


def varied(steps, delta, sampling, rho=0.0):
    """epsilon of kinds of steps, each (how many, q, mu), and a Gaussian shift."""
    parts = [Part.of(count, q, [mu], [1.0]) for count, q, mu in steps]
    return float(epsilon_of_parts(sampling, parts, np.array([rho]), np.array([delta]))[0])


def log_ratio(x, q, mu):
    return np.log1p(q * np.expm1(mu * x - mu**2 / 2))


def profile(gamma, q, mu, order):
    """E_gamma of one step's pair, at every gamma > 0."""
    if order == "both":
        return (
            profile(gamma, q, mu, "remove")
            if gamma >= 1
            else 1 - gamma + gamma * profile(1 / gamma, q, mu, "remove")
        )
    if order == "add":  # E_gamma(P, Q) = 1 - gamma + gamma E_{1/gamma}(Q, P)
        return 1 - gamma + gamma * profile(1 / gamma, q, mu, "remove")
    if gamma <= 1 - q:
        return 1 - gamma
    x = (np.log1p((gamma - 1) / q) + mu**2 / 2) / mu
    return (1 - q - gamma) * norm.sf(x) + q * norm.sf(x - mu)


def delta_of_two(e, q1, mu1, q2, mu2, order):
    """The first step's losses by quadrature, the second's profile in closed form."""

    def rest(loss):
        return profile(exp(e - loss), q2, mu2, order)

    def mixed(x):
        return (1 - q1) * norm.pdf(x) + q1 * norm.pdf(x - mu1)

    def of(f, low):
        return quad(f, low, 12 + mu1, points=[0, mu1, 3], limit=400, epsabs=1e-14, epsrel=1e-11)[0]

    def up(low):
        return of(lambda x: mixed(x) * rest(log_ratio(x, q1, mu1)), low)

    def down(low):
        return of(lambda x: norm.pdf(x) * rest(-log_ratio(x, q1, mu1)), low)

    if order != "both":
        return {"remove": up, "add": down}[order](-12)
    return up(mu1 / 2) + down(mu1 / 2) + (1 - q1) * (1 - 2 * norm.cdf(-mu1 / 2)) * rest(0.0)


@pytest.mark.parametrize("two", TWO, ids=str)
@pytest.mark.parametrize("sampling", [WITHOUT, POISSON])
def test_two_steps_that_differ_are_what_quadrature_says(two, sampling):
    q1, mu1, q2, mu2 = two
    for delta in (1e-3, 1e-7):
        found = varied([(1, q1, mu1), (1, q2, mu2)], delta, sampling)
        orders = ("remove", "add") if sampling == POISSON else ("both",)
        for scale, below in ((1 + 1e-9, True), (1 - 2e-3, False)):
            truth = max(delta_of_two(found * scale, *two, order) for order in orders)
            assert (truth <= delta * (1 + 1e-8)) == below


@pytest.mark.parametrize("sampling", [WITHOUT, POISSON])
@pytest.mark.parametrize(
    "N, q, mu, rho", [(200, 0.1, 0.5, 0.0), (1000, 0.016, 0.125, 0.02), (15_000, 0.01, 0.3, 0.1)]
)
def test_parts_of_equal_steps_are_the_whole(N, q, mu, rho, sampling):
    """The constant accountant's number is itself up to a thousandth above the truth."""
    whole = float(Losses(N, rho, q, mu, sampling).epsilon(1e-6))
    assert varied([(N // 3, q, mu), (N - N // 3, q, mu)], 1e-6, sampling, rho) == pytest.approx(
        whole, rel=1e-3
    )


def test_another_library_says_the_same():
    steps = [(300, 0.01, 1 / 1.5), (100, 0.03, 1 / 2.0), (1, 1.0, 0.2)]
    parts = [
        privacy_loss_distribution.from_gaussian_mechanism(
            1 / mu, sampling_prob=q, value_discretization_interval=1e-4
        ).self_compose(count)
        for count, q, mu in steps
    ]
    theirs = parts[0].compose(parts[1]).compose(parts[2]).get_epsilon_for_delta(1e-5)
    assert varied(steps[:2], 1e-5, POISSON, 0.2**2 / 2) == pytest.approx(theirs, rel=2e-3)


def test_nothing_is_below_0_and_what_cannot_be_is_infinite():
    assert varied([(1, 0.01, 0.1)], 0.5, WITHOUT) == 0
    assert varied([(10**6, 0.9, 30.0)], 1e-5, WITHOUT) > 1e3
    assert varied([(1, 0.5, 1e200)], 1e-5, POISSON) == inf


def test_a_run_of_batches_that_vary_is_between_its_extremes():
    setting, shares = SETTING.replace(batch=100), np.linspace(0.2, 0.7, 80)
    record = ran(setting, shares=shares)
    found = epsilons(record)["composition"]
    assert (
        epsilon(setting.replace(beta=0.7), "composition")
        < found
        < epsilon(setting.replace(beta=0.2), "composition")
    )
    assert (
        "composed privacy-loss distribution"
        in privacy_report(record).guarantees["composition"].note
    )
    constant = epsilons(ran(setting, shares=[0.5] * 40 + [0.5 + 1e-9] * 40))["composition"]
    assert constant == pytest.approx(epsilon(setting, "composition", Accounting()), rel=1e-3)
