"""The mechanism and its accountant, audited together: the last iterates of trainings on two
neighbouring data sets can be distinguished no better than any reported epsilon allows, and not much
worse where the accountant is exact.
"""

from math import inf, sqrt

import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

from tests.audit import audit
from tests.convention import DEMONSTRATION, epsilon
from tests.effort import proof
from tests.last_iterates import last_iterates
from zoexplore.mechanism import Declared, NoisyZOGD, Sources, privacy_report
from zoexplore.mechanism.record import Counts, RunRecord, Step

RUNS = 60_000
DELTA = 0.01
CONFIDENCE = 0.999  # many audits are made here, and each may fail by chance
STEEP = 1e3  # a slope that the clip cuts down to the clip norm, whichever way the directions point


def linear(records, xi):
    """l_i(w) = <x_i, w>, of which nothing but the clip bounds the slope."""
    return lambda w, U: records @ U


def logistic(records, xi):
    """log(1 + exp(-<x_i, w>)), whose slope is at most |x_i|."""

    def quotients(w, U):
        at, along = (w @ records.T).unsqueeze(-1), records @ U
        if xi == 0:
            return -torch.sigmoid(-at) * along
        return (softplus(-at - xi * along) - softplus(-at + xi * along)) / (2 * xi)

    return quotients


def neighbours(n, d, slope, other=-1):
    """n - 1 records at 0, and one along the first axis, one way or the other; or there and not
    there, with the other 0.
    """
    first = torch.zeros(n, d, dtype=torch.float64)
    first[0, 0] = slope
    return first, other * first


def distinguished(loss, setting, slope, seed=0):
    """The audit's lower bound for the worst neighbours of a family of losses."""
    start = torch.zeros(setting.d, dtype=torch.float64)
    ends = [
        last_iterates(
            loss(records, setting.xi), start, setting, RUNS, Sources(seed + i, 100 + seed + i)
        ).numpy()
        for i, records in enumerate(
            neighbours(
                setting.n, setting.d, slope, -1 if setting.neighbours == "replace-one" else 0
            )
        )
    ]
    return audit(*ends, setting.delta, confidence=CONFIDENCE)


def reported(setting, declared=None, clipped=0):
    """Every finite epsilon of the run's report, by bound."""
    counts = Counts(steps=setting.T, looked_at=1, clipped=clipped)
    fields = {name: getattr(setting, name) for name in Step.__annotations__ if name != "kind"}
    record = RunRecord(setting, ((Step(**fields), setting.T),), counts, declared or Declared(), "")
    return {
        bound: g.epsilon
        for bound, g in privacy_report(record).guarantees.items()
        if g.epsilon < inf
    }


def clipped_setting(**fields):
    return DEMONSTRATION.replace(
        **(
            {"n": 2, "R": inf, "m": 0, "ridge": 0, "M": 1.0, "regime": "convex", "delta": DELTA}
            | fields
        )
    )


ONE_STEP = {
    "one dimension": (clipped_setting(d=1, K=1, T=1, sigma=1.2), 0.75),
    "all directions, joint clip": (
        clipped_setting(d=3, K=3, T=1, sigma=1.0, clipping="joint"),
        0.75,
    ),
    "one of two directions": (clipped_setting(d=2, K=1, T=1, sigma=1.2, beta=0.3), 0.2),
}


@pytest.mark.parametrize("setting, fraction", ONE_STEP.values(), ids=ONE_STEP)
def test_one_step_is_distinguished_almost_as_well_as_composition_says(setting, fraction):
    """In one dimension, and with all directions, the outcome's law is the accountant's Gaussian
    pair itself; with few directions the outcome hides the direction, which composition takes to be
    known.
    """
    found = distinguished(linear, setting, STEEP)
    said = reported(setting, clipped=1)
    assert list(said) == ["composition"]
    assert fraction * said["composition"] < found <= said["composition"]


@pytest.mark.parametrize(
    "sampling, sigma, fraction",
    [("poisson", 0.4, 0.7), ("cyclic", 0.6, 0.75)],
    ids=["Poisson", "cyclic"],
)
def test_one_batch_is_distinguished_almost_as_well_as_composition_says(sampling, sigma, fraction):
    """Of one dimension, the record added or removed: the accountant's own pair, a mixture or a
    Gaussian.
    """
    setting = clipped_setting(
        n=4, batch=2, d=1, K=1, T=1, sigma=sigma, sampling=sampling, neighbours="add-remove"
    )
    found, said = distinguished(linear, setting, STEEP), reported(setting, clipped=1)["composition"]
    assert fraction * said < found <= said


def test_a_sensitivity_too_small_would_be_found_out():
    """The public-state baseline as printed, Delta/n in place of 2 Delta/n; and a joint clip
    accounted sqrt(K) times smaller.
    """
    setting, _ = ONE_STEP["one dimension"]
    assert distinguished(linear, setting, STEEP) > epsilon(setting.replace(clip=0.5), "composition")
    setting, _ = ONE_STEP["all directions, joint clip"]
    assert distinguished(linear, setting, STEEP) > epsilon(
        setting.replace(clip=1 / 3), "composition"
    )


LONGER = {
    "clipped": clipped_setting(d=2, K=1, T=3, sigma=1.5),
    "all directions": clipped_setting(d=2, K=2, T=4, sigma=2.0),
    "batches of one": clipped_setting(n=3, batch=1, d=1, K=1, T=2, sigma=2.5),
    "batches of two": clipped_setting(n=4, batch=2, d=2, K=1, T=2, sigma=1.5, beta=0.8),
    "Poisson": clipped_setting(
        n=4, batch=1, d=1, K=1, T=2, sigma=0.6, sampling="poisson", neighbours="add-remove"
    ),
    "cyclic": clipped_setting(n=3, batch=1, d=2, K=2, T=4, sigma=2.0, sampling="cyclic"),
    "added, with all directions": clipped_setting(
        d=2, K=2, T=2, sigma=0.6, neighbours="add-remove"
    ),
}


# Of one direction both clips are the same.
CLIPPED = [
    pytest.param(setting.replace(clipping=clipping), id=f"{name}-{clipping}")
    for name, setting in LONGER.items()
    for clipping in ("each", "joint")[: 1 if setting.K == 1 else 2]
]


@pytest.mark.parametrize("setting", CLIPPED)
def test_clipped_runs_stay_below_composition(setting):
    found = distinguished(linear, setting, STEEP)
    assert 0 < found <= reported(setting, clipped=1)["composition"]


CURVED = DEMONSTRATION.replace(
    n=2, d=2, K=1, T=6, sigma=1.5, beta=0.5, R=4.0, clip=1.0, M=0.75, m=0.5, ridge=0.5, delta=DELTA
)
CURVED_IS = Declared("strongly-convex", M=0.75, m=0.5, lipschitz=1.0)
HIDDEN = {
    "one of two directions": CURVED,
    "one of four directions": CURVED.replace(d=4),
    "all directions": CURVED.replace(K=2, sigma=1.0),
    "most of the noise isotropic": CURVED.replace(beta=0.1),
    "most of the noise directional": CURVED.replace(beta=0.9),
    "a small ball": CURVED.replace(R=0.8),
    "two points": CURVED.replace(xi=1.0),
    "batches": CURVED.replace(n=3, batch=2, sigma=1.0),
    "a long run": CURVED.replace(T=20, R=1.0),  # in a small ball, too
}


BETWEEN = (
    "one of two directions",
    "most of the noise isotropic",
    "most of the noise directional",
    "a small ball",
)
SOME = [
    (proof if name in BETWEEN else pytest.param)(setting, id=name)
    for name, setting in HIDDEN.items()
]


@pytest.mark.parametrize("setting", SOME)
def test_hidden_states_stay_below_every_bound(setting):
    """Logistic loss with a ridge: all that the bounds ask is declared, and true."""
    said = reported(setting, CURVED_IS)
    found = distinguished(logistic, setting, 1.0)
    assert {"composition", "sharp"} <= set(said)
    assert 0 < found <= min(said.values())


ACTING = CURVED.replace(
    d=4,
    K=3,
    T=30,
    sigma=6.0,
    beta=0.3,
    R=inf,
    M=9 / 4 + 3,
    m=3.0,
    ridge=3.0,
    eta=0.75,
    regime="convex",
)


@pytest.mark.parametrize(
    "setting",
    [proof(ACTING), ACTING.replace(d=1, K=1, eta=0.25, xi=0.02)],
    ids=["K=3 of 4", "two points, d=1"],
)
def test_a_clip_that_acts_now_and_then_stays_below_the_bound_for_it(setting):
    """Logistic loss on rows of length 3, clipped at 1: the clip acts on one side of the decision
    boundary, not on the other.
    """
    said = reported(setting, Declared("convex", M=setting.M, m=setting.m), clipped=7)
    assert set(said) == {"composition", "sharp"} and said["sharp"] < 0.9 * said["composition"]
    assert 0 < distinguished(logistic, setting, 3.0) <= said["sharp"]


@pytest.mark.parametrize(
    "d, best, T",
    [
        (1, {"sharp", "noisy-gd"}, 2),
        (1, {"sharp", "noisy-gd"}, 10),
        (3, {"sharp", "noisy-gd"}, 2),
        proof(3, {"sharp", "noisy-gd"}, 10),
    ],
)
def test_with_all_directions_runs_are_told_apart_almost_as_the_best_bound_says(d, best, T):
    """Linear losses and a ridge: the last iterate's law is the very pair of Gaussians that the
    bound is for.
    """
    setting = CURVED.replace(d=d, K=d, eta=d / 2, R=inf, T=T, sigma=1.6)
    said = reported(setting, CURVED_IS)
    found, least = distinguished(linear, setting, 1.0), min(said.values())
    assert {bound for bound in said if said[bound] < 1.001 * least} == best
    assert least < said["composition"]
    assert 0.65 * least < found <= least


@pytest.mark.proof
def test_the_optimiser_itself_is_distinguished_as_its_report_says():
    """The class that people import, step by step: `last_iterates`, which the other audits use, is
    tested to be the same.
    """
    setting = clipped_setting(d=2, K=2, T=1, sigma=1.0, clipping="joint")
    runs = 4000
    sources, ends, report = Sources(1, 2), [], None
    for records in neighbours(2, 2, STEEP):
        outcomes = np.empty((runs, 2))
        for outcome in outcomes:
            made = NoisyZOGD(
                torch.zeros(2, dtype=torch.float64),
                lambda w, X: X @ w,
                setting,
                sources=sources,
            )
            made.step(made.batch(records))
            outcome[:] = made.w
        ends.append(outcomes)
        report = made.privacy_report()
    assert 0.35 * report.epsilon < audit(*ends, DELTA, confidence=CONFIDENCE) <= report.epsilon


class TestAudit:
    """Against pairs whose epsilon is known."""

    def gaussians(self, mu, seed, runs=40_000, d=3):
        rng = np.random.default_rng(seed)
        shift = mu * np.ones(d) / sqrt(d)
        return rng.standard_normal((runs, d)), shift + rng.standard_normal((runs, d))

    @pytest.mark.parametrize("mu", [0.5, 1.0, 2.0])
    def test_finds_most_of_a_gaussian_pairs_epsilon_in_any_direction(self, mu):
        exact = epsilon(clipped_setting(d=1, K=1, T=1, sigma=1 / mu), "composition")
        assert 0.6 * exact < audit(*self.gaussians(mu, 0), DELTA) < exact

    def test_is_too_high_no_more_often_than_it_says(self):
        """On equal laws with delta = 0 the true epsilon is 0, and any bound above it is a mistake."""
        wrong = sum(
            audit(*self.gaussians(0.0, seed, 400), 0.0, confidence=0.8) > 0 for seed in range(200)
        )
        assert wrong <= 40 + 3 * sqrt(200 * 0.8 * 0.2)

    def test_more_confidence_says_less(self):
        pair = self.gaussians(1.0, 1)
        assert audit(*pair, DELTA, confidence=0.999) < audit(*pair, DELTA, confidence=0.9)

    def test_outcomes_that_never_overlap_are_limited_by_their_number_alone(self):
        first, second = np.zeros((1000, 1)), np.ones((1000, 1))
        at_most = audit(
            first + 0.01 * np.random.default_rng(0).standard_normal((1000, 1)), second, 0.0
        )
        assert 4 < at_most < np.log(500)
