"""Shares that vary: what they cost together, and the constant run that is no more private."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.convention import DEMONSTRATION, Accounting, epsilon, guarantee
from tests.mechanism.test_report import ran, step_of
from zoexplore.mechanism import Declared, variances
from zoexplore.mechanism.guarantees import composition, dominated, of_last, theorem_of

SETTING = DEMONSTRATION.replace(n=2000, d=60, K=25, T=80, sigma=0.03, R=0.3, M=0.75, m=0.5, ridge=0.5)
FEW = SETTING.replace(n=200, T=400)  # so few records that the theorem counts its last steps only, from the diameter
OPTIMAL = Accounting(schedule="optimal")
shares = st.lists(st.floats(0, 1), min_size=1, max_size=9).map(np.array)


@given(shares, st.sampled_from([1, 25, 60]))
def test_composition_of_any_shares_is_the_sum_of_their_steps(beta, K):
    setting = SETTING.replace(K=K, T=len(beta))
    steps = (2 / 2000) ** 2 / (2 * 0.03**2 * (beta + (1 - beta) * K / 60))
    rho = composition(ran(setting, shares=beta), Accounting()).rho
    assert steps.sum() * (1 - 1e-13) <= rho <= steps.sum() * (1 + 1e-9)


@given(st.lists(st.tuples(*[st.floats(0, 1), *[st.floats(0.1, 10)] * 3]), min_size=2, max_size=9), st.sampled_from([1, 25, 60]))
def test_the_dominated_run_has_the_least_noise_and_the_largest_moves_of_all_steps(varied, K):
    setting = SETTING.replace(K=K, xi=0.1)
    stages = [(step_of(setting, beta=b, sigma=0.03 * s, eta=setting.eta * e, clip=c), 1) for b, s, e, c in varied]
    steps = [step for step, _ in stages]
    constant, slowest = dominated(replace(ran(setting), stages=tuple(stages)))
    (s1, s2), (t1, t2) = (np.array([variances(s.sigma, s.beta, s.eta, 60, K) for s in of]).T for of in (steps, [constant]))
    assert (t1 + t2) == pytest.approx((s1 + s2).min(), rel=1e-9)
    assert (t1 + t2) <= (s1 + s2).min() * (1 + 1e-12)
    if K < 60:  # else nothing lies outside the span
        assert t2 <= s2.min()
        assert t2 == pytest.approx(s2.min(), abs=1e-9 * float((s1 + s2).max()))
    for name in ("clip", "xi"):
        assert constant.eta * getattr(constant, name) >= max(s.eta * getattr(s, name) for s in steps) * (1 - 1e-15)
    assert constant.eta == max(s.eta for s in steps)
    least = min(s.eta for s in steps)
    assert least * (1 - 1e-15) <= slowest * constant.eta <= least


RATES = {  # c is larger at the small rate for small orders of the norm, at the large one for large orders
    "idle": (dict(d=20, K=16, ridge=0.38, M=1.38), 0.15, (0.4, 1.07)),
    "acting": (dict(d=5, K=1, ridge=2.14, M=3.14), 0.17, (0.038, 0.466)),
    "of one linear form": (dict(d=10, K=7, ridge=1.2, M=2.2), 0.115, (0.18, 0.79)),
}


@pytest.mark.parametrize("name, sensitivity", [*((name, "clip") for name in RATES), ("of one linear form", "least")])
def test_rates_that_vary_are_counted_by_the_worse_constants(name, sensitivity):
    """A step is taken to be of the rate that is worse for each constant by itself: never below either rate's own number."""
    changes, noise, rates = RATES[name]
    steepest, accounting = 1.0 if name == "idle" else 2.0, Accounting(sensitivity=sensitivity)
    setting = SETTING.replace(n=50, T=40, R=np.inf, delta=1e-4, beta=0.3, m=changes["ridge"], **changes)
    declared = Declared("convex", M=setting.M, lipschitz=steepest, linear=name == "of one linear form")
    steps = [step_of(setting, eta=rate * setting.K, sigma=noise * rates[1] / rate) for rate in rates]
    record = replace(ran(setting, declared=declared), stages=((steps[0], 10), (steps[1], 30)))
    runs = []
    for step in steps:  # as loud as each other, and moved as far by a record
        heavier = steps[1].eta / step.eta
        runs.append(record.of(step, 40, clip=heavier, lipschitz=steepest * heavier))
    worse = max(epsilon(run, "sharp", accounting) for run in runs)
    found = of_last(record, "sharp", accounting).epsilon
    assert worse * (1 - 2e-3) <= found <= epsilon(runs[0], "composition", accounting) * (1 + 1e-9)
    assert found <= worse * 1.3


def test_the_theorem_at_its_own_optimal_shares_is_the_optimal_theorem():
    free = guarantee(FEW, "theorem", OPTIMAL)
    beta = np.concatenate([np.full(FEW.T - len(free.trajectory.beta), 0.1), free.trajectory.beta])
    found = theorem_of(beta, FEW, Accounting())
    assert len(set(free.trajectory.beta)) > 5
    assert found.rho == pytest.approx(free.rho, rel=1e-6)
    assert found.epsilon == pytest.approx(free.epsilon, rel=1e-6)


@pytest.mark.parametrize("setting", [SETTING, FEW])
@pytest.mark.parametrize("beta", [0.2, 0.5, 0.8])
def test_the_theorem_at_constant_shares_is_the_constant_one(setting, beta):
    constant = guarantee(setting.replace(beta=beta), "theorem").epsilon
    found = theorem_of(np.full(setting.T, beta), setting, Accounting()).epsilon
    assert found == pytest.approx(constant, rel=1e-6)


def test_the_theorem_at_other_shares_is_no_less_than_at_the_best():
    """The sum by hand, for the shifts that the constant share has."""
    beta = np.linspace(0.3, 0.7, FEW.T)
    found, path = theorem_of(beta, FEW, Accounting()), guarantee(FEW, "theorem").trajectory
    last = beta[-len(path.a) :]
    by_hand = ((2 / 200 / 0.03) ** 2 / (2 * last) + path.a**2 * 60 / (2 * FEW.eta**2 * 0.03**2 * (1 - last))).sum()
    assert guarantee(FEW, "theorem", OPTIMAL).rho <= found.rho <= by_hand * (1 + 1e-9)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_theorem_needs_noise_of_both_kinds_at_the_counted_steps(share):
    beta = np.full(FEW.T, 0.5)
    beta[0] = share
    assert theorem_of(beta, FEW, Accounting()).epsilon < np.inf
    beta[-1] = share
    found = theorem_of(beta, FEW, Accounting())
    assert found.epsilon == np.inf
    assert "the shares leave no noise" in found.reason


def test_what_the_theorem_itself_refuses_stays_refused():
    found = theorem_of(np.full(SETTING.T, 0.5), SETTING.replace(K=40), Accounting())
    assert "2K = 80 exceeds d = 60" in found.reason
