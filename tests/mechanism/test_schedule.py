"""Rates and shares that vary: what they cost together, and the constant run that is no more
private.
"""

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.convention import DEMONSTRATION, Accounting, epsilon
from tests.mechanism.problems import SETTING as SMALL
from tests.mechanism.problems import optimiser, run
from tests.mechanism.test_report import ran, step_of
from zoexplore.mechanism import Declared, privacy_report
from zoexplore.mechanism.guarantees import composition, constant, of_last
from zoexplore.mechanism.noise import deviations

SETTING = DEMONSTRATION.replace(
    n=2000, d=60, K=25, T=80, sigma=0.03, R=0.3, M=0.75, m=0.5, ridge=0.5
)
HIDDEN = "corollary", "theorem", "sharp"
shares = st.lists(st.floats(0, 1), min_size=1, max_size=9).map(np.array)


@given(shares, st.sampled_from([1, 25, 60]))
def test_composition_of_any_shares_is_the_sum_of_their_steps(beta, K):
    setting = SETTING.replace(K=K, T=len(beta))
    steps = (2 / 2000) ** 2 / (2 * 0.03**2 * (beta + (1 - beta) * K / 60))
    rho = composition(ran(setting, shares=beta), Accounting()).rho
    assert steps.sum() * (1 - 1e-13) <= rho <= steps.sum() * (1 + 1e-9)


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=9), st.sampled_from([1, 25, 60]))
def test_the_constant_run_has_the_least_noise_and_the_largest_moves_of_all_steps(rates, K):
    setting = SETTING.replace(K=K, xi=0.1)
    steps = [step_of(setting, eta=setting.eta * rate) for rate in rates]
    found = constant(replace(ran(setting), stages=tuple((step, 1) for step in steps)))
    eta, least = max(s.eta for s in steps), min(s.eta for s in steps)
    noise = np.square([deviations(s.sigma, s.beta, s.eta, 60, K) for s in steps]).min(0)
    ours = np.square(deviations(found.sigma, found.beta, found.eta, 60, K))
    assert (noise * (1 - 1e-9) <= ours).all() and (ours <= noise * (1 + 1e-14)).all()
    assert found.eta == eta and (found.clip, found.xi) == (setting.clip, setting.xi)
    slowest = getattr(found, "slowest", 1.0)
    assert least * (1 - 1e-15) <= slowest * eta <= least


# c is larger at the small rate for small orders of the norm, at the large one for large orders
RATES = {
    "idle": (dict(d=20, K=16, ridge=0.38, M=1.38), 0.15, (0.4, 1.07)),
    "acting": (dict(d=5, K=1, ridge=2.14, M=3.14), 0.17, (0.038, 0.466)),
    "of one linear form": (dict(d=10, K=7, ridge=1.2, M=2.2), 0.115, (0.18, 0.79)),
}


@pytest.mark.parametrize(
    "name, sensitivity", [*((name, "clip") for name in RATES), ("of one linear form", "least")]
)
def test_rates_that_vary_are_counted_by_the_worse_constants(name, sensitivity):
    """A step is taken to be of the rate that is worse for each constant by itself: never below
    either rate's own number.
    """
    changes, noise, rates = RATES[name]
    steepest, accounting = 1.0 if name == "idle" else 2.0, Accounting(sensitivity=sensitivity)
    setting = SETTING.replace(
        n=50, T=40, R=inf, delta=1e-4, beta=0.3, m=changes["ridge"], **changes
    )
    declared = Declared(
        "convex", M=setting.M, lipschitz=steepest, linear=name == "of one linear form"
    )
    steps = [
        step_of(setting, eta=rate * setting.K, sigma=noise * rates[1] / rates[0]) for rate in rates
    ]
    record = replace(ran(setting, declared=declared), stages=((steps[0], 10), (steps[1], 30)))
    runs = []
    # with the noise of the smaller, and moved as far by a record as by the larger
    for step in steps:
        heavier = steps[1].eta / step.eta
        quiet = step.sigma * steps[0].eta / step.eta
        runs.append(record.of(step, 40, sigma=quiet, clip=heavier, lipschitz=steepest * heavier))
    worse = max(epsilon(run, "sharp", accounting) for run in runs)
    found = of_last(record, "sharp", accounting).epsilon
    assert worse * (1 - 2e-3) <= found <= epsilon(runs[0], "composition", accounting) * (1 + 1e-9)
    assert found <= worse * 1.3


@pytest.mark.parametrize("made", [80, 73])
def test_a_cool_down_is_counted_as_the_accountant_does_up_to_the_last_step_made(made):
    setting = SETTING.replace(beta=0.2, cooldown=10, cooldown_beta=0.8)
    shares = [setting.beta_at(t) for t in range(made)]
    report = privacy_report(ran(setting, steps=made, shares=shares), sensitivity="clip")
    counted = setting.replace(T=made, cooldown=made - 70)
    for bound in HIDDEN:
        assert report.guarantees[bound].epsilon == epsilon(counted, bound)
    assert report.guarantees["composition"].epsilon == pytest.approx(
        epsilon(counted, "composition")
    )
    early = privacy_report(ran(setting, steps=70, shares=shares[:70]), sensitivity="clip")
    assert early.guarantees["sharp"].epsilon == epsilon(setting.replace(T=70, cooldown=0), "sharp")


def test_shares_that_change_twice_leave_composition():
    report = privacy_report(ran(SETTING, shares=[0.2] * 30 + [0.8] * 30 + [0.2] * 20))
    for bound in HIDDEN:
        assert "beta changed during the run" in report.guarantees[bound].reason
    assert report.epsilon < inf


def test_a_public_run_with_a_cool_down_composes():
    setting = SMALL.replace(T=6, cooldown=2, cooldown_beta=1.0, sigma=2.0)
    made = run(optimiser(setting), 6)
    found = made.privacy_report(released="all").guarantees["composition"]
    assert found.epsilon == pytest.approx(epsilon(setting, "composition"))
    assert "beta from 0.5 to 1" in repr(made.privacy_report(released="all"))
