"""Exact divergences, directions revealed, of runs whose clip acts, with released checkpoints, other
neighbours and people.

delta(epsilon) is an average over directions; it is taken four standard errors higher than sampled.
Seeds are fixed.
"""

from functools import cache
from math import ceil, expm1, inf, log1p, sqrt

import numpy as np
import pytest

from tests.bounds import exact
from tests.convention import Setting, epsilon
from tests.truth.revealed import Adversary, Run, Truth, clipped, mahalanobis
from tests.truth.test_revealed import run_of

DELTAS = (0.2, 1e-2, 1e-4)
ADVERSARIES = {
    "all of the drift": Adversary(),
    "flipped": Adversary("flip"),
    "turned": Adversary("turn"),
    "where the noise is least": Adversary("uneven", power=1),
    "greedy": Adversary("turn", greedy=inf),
}


def acting(regime, d, K, T, beta, step, ridge, spread=1.0, R=inf):
    """A run whose clip may act, the noise in units of sqrt(T) records' parts."""
    return Setting(
        n=50,
        d=d,
        K=K,
        T=T,
        sigma=spread * 2 * T**0.5 / 50,
        beta=beta,
        regime=regime,
        R=R,
        M=1.0,
        m=ridge,
        ridge=ridge,
        eta=K * step,
        lipschitz=inf,
    )


ACTING = {
    "K=1 of 2": acting("convex", 2, 1, 6, 0.3, 0.8, 0.3),
    "K=2 of 3, long": acting("convex", 3, 2, 40, 0.2, 0.7, 0.4),
    "K=3 of 6": acting("strongly-convex", 6, 3, 12, 0.9, 1.2, 0.5),
    "K=4 of 4": acting("convex", 4, 4, 15, 0.5, 0.8, 0.3),
    "K=2 of 8, non-convex": acting("non-convex", 8, 2, 20, 0.2, 0.9, 0.6, 0.5),
    "large steps": acting("convex", 5, 2, 10, 0.3, 2.5, 0.5),
    "the ridge flips the sign": acting("convex", 4, 2, 10, 0.3, 2.2, 0.7),
    "one dimension": acting("convex", 1, 1, 10, 0.3, 0.8, 0.3),
    "K=10 of 30": acting("convex", 30, 10, 20, 0.5, 0.8, 0.4),
}


@cache
def promised(s):
    """(delta, the bound's epsilon there), asked once for many adversaries."""
    return [(delta, epsilon(s.replace(delta=delta), "sharp")) for delta in DELTAS]


def never_above(s, mu):
    """The truth at the bound's epsilon, for each delta; returns how near it comes at most."""
    nearest = 0.0
    for delta, e in promised(s):
        if e < inf:
            mean, error = Truth(mu).delta(e)
            assert mean + 4 * error <= delta * (1 + 1e-9), (delta, e, mean, error)
            nearest = max(nearest, mean / delta)
    return nearest


@pytest.mark.parametrize("adversary", ADVERSARIES)
@pytest.mark.parametrize("name", ACTING)
def test_no_slope_of_the_clip_gets_past_the_bound(name, adversary):
    s = ACTING[name]
    never_above(s, clipped(s, ADVERSARIES[adversary], 400 if s.d < 20 else 60, 1))


def test_the_clip_matters():
    """Where it acts it keeps the data's part from contracting: the truth with it is far above that
    of the same run without.
    """
    s = acting("convex", 4, 4, 60, 0.5, 0.9, 0.05)
    with_it, without = (
        clipped(s, Adversary(), 50, 1),
        mahalanobis(Run.of(s), Adversary("flip"), 50, 1),
    )
    assert Truth(with_it).epsilon(s.delta) > 2 * Truth(without).epsilon(s.delta)


@pytest.mark.parametrize("releases", [2, 3, 6])
@pytest.mark.parametrize("name", ["shrinking", "expanding", "clipped"])
def test_checkpoints_give_away_no_more_than_promised(name, releases):
    """Given a released iterate, what comes after starts from one point: squared distances of the
    stretches add up.
    """
    s = {
        "shrinking": run_of(0.6, 6, 2, 12, 0.4),
        "expanding": run_of(1.1, 5, 3, 12, 0.6),
        "clipped": ACTING["K=3 of 6"],
    }[name]
    steps = ceil(s.T / releases)
    tell = clipped if name == "clipped" else lambda s, *rest: mahalanobis(Run.of(s), *rest)
    stretches = [tell(s, Adversary(), 600, seed, 0.0, steps) for seed in range(releases)]
    never_above(s.replace(releases=releases), np.sqrt(np.square(stretches).sum(axis=0)))


OTHERS = [
    {"neighbours": "add-remove"},
    {"records_per_person": 4},
    {"neighbours": "add-remove", "records_per_person": 3},
]


@pytest.mark.parametrize("changes", OTHERS, ids=str)
@pytest.mark.parametrize("c", [0.6, 1.0, 1.1])
def test_other_neighbours_and_people_are_covered(c, changes):
    s = run_of(c, 6, 3, 10, 0.5).replace(**changes)
    assert never_above(s, mahalanobis(Run.of(s), Adversary(greedy=1), 800, 1)) > 1e-4


@pytest.mark.parametrize(
    "neighbours, sampling, moved",
    [("replace-one", "without-replacement", 2), ("add-remove", "poisson", 1)],
)
def test_one_step_is_distinguished_as_two_gaussians_are(neighbours, sampling, moved):
    """A record at the clip, along the directions, against its opposite or nothing: on all records,
    or on hidden batches.
    """
    s = run_of(0.6, 6, 3, 1, 0.5).replace(neighbours=neighbours, sampling=sampling, delta=1e-3)
    noise = s.sigma * sqrt(s.beta + (1 - s.beta) * s.K / s.d)
    for people in (1, 3):
        shift = people * moved * s.clip / s.n / noise
        found = epsilon(s.replace(records_per_person=people), "composition")
        assert found == pytest.approx(float(exact.gaussian(shift**2 / 2, s.delta)), rel=1e-9)
    for batch in (10, 40):
        q, shift = batch / s.n, moved * s.clip / batch / noise
        found = epsilon(s.replace(batch=batch), "composition")
        assert found == pytest.approx(
            log1p(q * expm1(float(exact.gaussian(shift**2 / 2, s.delta / q)))), rel=1e-9
        )


def test_all_iterates_released_is_composition():
    s = run_of(0.7, 6, 3, 10, 0.5)
    for releases in (10, 1000):
        assert epsilon(s.replace(releases=releases), "sharp") == epsilon(s, "composition")
    line = [epsilon(s.replace(releases=m), "sharp") for m in (1, 2, 5, 10)]
    assert line == sorted(line)
