"""The proof's coupled processes, run under the accountant's own fractions and budget, do what the
proof says of them.

delta is large, so that its part for the coupling to fail is large enough for failures to be
counted.
"""

from itertools import product
from math import inf, sqrt

import numpy as np
import pytest
from scipy.stats import beta as beta_law

from tests.convention import DEMONSTRATION, Accounting, guarantee
from tests.effort import proof, times
from tests.truth.coupled import Plan, difference, whole_runs
from tests.truth.revealed import Run
from tests.truth.statement import Step
from tests.truth.test_revealed import run_of
from zoexplore.run.setting import SENSITIVITIES

DELTA = 0.3
MISTAKEN = 1e-4  # the chance that a count's confidence bound is wrong

RUNS = {
    "K=1 of 2": (0.1, run_of(0.1, 2, 1, 30, 0.0, 0.4)),
    "K=2 of 3, expanding, from the diameter": (1.1, run_of(1.1, 3, 2, 400, 0.1, 0.05, R=0.01)),
    "K=2 of 6": (0.5, run_of(0.5, 6, 2, 30, 0.4, 0.3)),
    "K=2 of 6, remainder": (0.5, run_of(0.5, 6, 2, 30, 0.4, 0.3, xi=0.3)),
    "K=8 of 10": (0.6, run_of(0.6, 10, 8, 40, 0.5, 0.2)),
    "K=2 of 4, from the diameter": (0.3, run_of(0.3, 4, 2, 400, 0.2, 0.05, R=0.05)),
}


def planned(s, sensitivity="clip", share=1.0):
    """The guarantee, its fractions with `share` of their budget, and the step's numbers."""
    g = guarantee(s.replace(delta=DELTA), "sharp", Accounting(sensitivity=sensitivity))
    inside = g.trajectory
    step = Step.of(s, s.beta, 1, g.delta_f, sensitivity)
    rho = g.rho
    return g, Plan(inside.alpha, inside.pi, share * rho * (1 + 1e-12), g.start), step


def at_most(count, of):
    """Clopper and Pearson's upper bound on a probability."""
    return 1.0 if count == of else beta_law.ppf(1 - MISTAKEN, count + 1, of - count)


# By default the other drifts, which bring runs together sooner, are those of one run with
# everything in it.
WITH_ALL = "K=2 of 6, remainder"
COUPLED = [
    case if case[2] == "shrink" or case[:2] == (WITH_ALL, "clip") else proof(*case)
    for case in product(RUNS, SENSITIVITIES, ("shrink", "turn", "flip"))
]


@pytest.mark.parametrize("aim", ["aligned", proof("random")])
@pytest.mark.parametrize("name, sensitivity, drift", COUPLED)
def test_the_budget_runs_out_no_more_often_than_delta_f(name, sensitivity, drift, aim):
    _, s = RUNS[name]
    g, plan, step = planned(s, sensitivity)
    seen = difference(Run.of(s, sensitivity), plan, step, drift, times(1000), 1, aim == "aligned")
    assert at_most(seen.stopped.sum(), seen.stopped.size) <= max(
        g.delta_f, at_most(0, seen.stopped.size)
    )
    assert (seen.apart[~seen.stopped] <= 1e-12 * max(plan.start, s.eta / s.n)).all()
    assert (seen.cost <= plan.rho).all()


def test_stops_are_counted():
    """With less of the budget they do happen, and then the runs stay apart."""
    _, s = RUNS["K=2 of 6"]
    _, plan, step = planned(s, share=0.5)
    seen = difference(Run.of(s), plan, step, "shrink", 3000, 1)
    assert 0.02 < seen.stopped.mean() < 1
    assert (seen.apart[seen.stopped] > 0).all()


def soft_records(n, d, width=0.3):
    """Convex records width log cosh((<v, w> - at)/width), the last one replaced by its opposite;
    Delta = 1.
    """
    rng = np.random.default_rng(8)
    v = rng.standard_normal((n, d))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    at = 0.2 * rng.standard_normal(n)
    v[-1], at[-1] = np.eye(d)[0], -5.0
    other = at.copy()
    other[-1] = 5.0
    return v, (at, other), width


def estimates(xi, records):
    """Both datasets' means of the records' clipped two-point quotients."""
    v, ats, width = records
    h = max(xi, 1e-6)

    def loss(x):
        y = np.abs(x / width)
        return width * (y + np.log1p(np.exp(-2 * y)))

    def quotients(w, U):
        x, along = w @ v.T, v @ U  # (count, n), (count, n, K)
        means = []
        for at in ats:
            centre = (x - at)[..., None]
            means.append(
                np.clip(
                    (loss(centre + h * along) - loss(centre - h * along)) / (2 * h), -1, 1
                ).mean(axis=1)
            )
        return means

    return quotients


REAL = {
    "soft": dict(T=100, sigma=2.0, beta=0.4, R=inf, eta=0.45),
    "soft, perturbed": dict(T=100, sigma=2.0, beta=0.4, R=inf, eta=0.45, xi=0.005),
    "soft, in a ball": dict(T=200, sigma=0.5, beta=0.2, R=0.05, eta=0.4),
}


@pytest.mark.parametrize("name", REAL)
def test_whole_runs_meet_and_leak_no_more_than_promised(name):
    n, d, K = 6, 5, 2
    records = soft_records(n, d)
    s = DEMONSTRATION.replace(
        n=n, d=d, K=K, clip=1.0, M=1 / records[2] + 1.0, m=1.0, ridge=1.0, **REAL[name]
    )
    g, plan, step = planned(s)
    seen = whole_runs(s, plan, step, estimates(s.xi, records), times(2000), 4)
    assert at_most(seen.stopped.sum(), seen.stopped.size) <= max(
        g.delta_f, at_most(0, seen.stopped.size)
    )
    assert (seen.apart[~seen.stopped] <= 1e-9).all()
    leaked = np.maximum(0.0, -np.expm1(np.minimum(0.0, g.epsilon - seen.ratio)))
    assert leaked.mean() + 4 * leaked.std() / sqrt(leaked.size) <= DELTA - g.delta_f
    assert np.exp(-seen.ratio).mean() == pytest.approx(
        1, abs=5 * np.exp(-seen.ratio).std() / sqrt(leaked.size)
    )
