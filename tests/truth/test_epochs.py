"""Cyclic batches: exact divergences, directions revealed, at every position of the record."""

from math import inf, sqrt

import numpy as np
import pytest

from tests.convention import Setting, epsilon, guarantee
from tests.truth.revealed import Adversary, Run, Truth, directions, drift_map
from tests.truth.test_revealed import run_of
from zoexplore.bounds.kernels.blocks import SINGLES

DELTAS = (0.2, 1e-2, 1e-4)


def every(J, position, s):
    """Whether each step's batch holds a record that is met in every J-th step, from `position` on."""
    return np.arange(s.T) % J == position


def between_releases(met, releases):
    """The same for the steps after one release and up to the next, of each."""
    return np.split(met, [met.size * k // releases for k in range(1, releases)])


def met_at(s, met, adversary, count, seed, together=False):
    """Mahalanobis distances where the batches of the steps `met` hold the record, which pushes as
    it may: every entry of its part by as much as the clip allows, or as far all `together` along
    the distance.
    """
    run, rng = Run.of(s.replace(batch=None, n=s.batch)), np.random.default_rng(seed)
    Y, d = drift_map(run, adversary.drift), s.d
    x, C = np.zeros((count, d)), np.zeros((count, d, d))
    for holds in met:
        U = directions(rng, count, d, s.K)
        A = np.eye(d) + U @ (U.swapaxes(1, 2) @ (Y - np.eye(d)))
        y = x @ Y.T
        x = np.einsum("sde,se->sd", A, x)
        C = A @ C @ A.swapaxes(1, 2) + run.s1 * (U @ U.swapaxes(1, 2)) + run.s2 * np.eye(d)
        if holds:
            aim = np.where((np.abs(y) > 0).any(axis=1, keepdims=True), y, np.eye(d)[0])
            seen = np.einsum("sek,se->sk", U, aim)
            push = np.einsum("sdk,sk->sd", U, seen if together else np.where(seen < 0, -1.0, 1.0))
            x = x + run.B * push / np.linalg.norm(push, axis=1, keepdims=True)
    return np.sqrt((x * np.linalg.solve(C, x[..., None])[..., 0]).sum(axis=1))


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(("K", "J"), [(3, 5), (6, 2)])
@pytest.mark.parametrize("drift", ["shrink", "turn"])
@pytest.mark.parametrize("c", [0.5, 0.8, 1.0, 1.05])
def test_no_position_gets_past_the_bound(c, drift, K, J, together):
    each = run_of(c, 6, K, 14, 0.4, spread=2.0).replace(n=10 * J, batch=10, sampling="cyclic")
    s = each.replace(clipping="joint", clip=each.clip * sqrt(K)) if together else each
    for delta in DELTAS:
        e = epsilon(s.replace(delta=delta), "sharp")
        assert e < inf
        for position in range(J):
            mean, error = Truth(
                met_at(each, every(J, position, s), Adversary(drift), 200, 1, together)
            ).delta(e)
            assert mean <= delta * (1 + 1e-9) + 4 * error, (position, delta)


@pytest.mark.parametrize("releases", [2, 5])
@pytest.mark.parametrize("c", [0.6, 1.05])
def test_nor_with_checkpoints_released(c, releases):
    """Between two releases both runs start from one point: squared distances add up."""
    s = run_of(c, 6, 3, 17, 0.4, spread=2.0).replace(
        n=30, batch=10, sampling="cyclic", releases=releases
    )
    for delta in DELTAS:
        e = epsilon(s.replace(delta=delta), "sharp")
        assert e < inf
        for position in range(3):
            parts = between_releases(every(3, position, s), releases)
            apart = [
                met_at(s, met, Adversary("shrink"), 200, seed) for seed, met in enumerate(parts)
            ]
            mean, error = Truth(np.sqrt(np.square(apart).sum(axis=0))).delta(e)
            assert mean <= delta * (1 + 1e-9) + 4 * error, (position, delta)


@pytest.mark.parametrize("batches", [{"batch": 25, "sampling": "cyclic"}, {"batch": 40}], ids=str)
def test_checkpoints_of_batches_cost_less_than_all_iterates(batches):
    run = run_of(0.6, 20, 10, 400, 0.4, spread=2.0).replace(**batches)
    line = [epsilon(run.replace(releases=releases), "sharp") for releases in (1, 2, 4, 20)]
    assert line == sorted(line) and line[2] < 0.8 * epsilon(run, "composition")
    held = run.replace(n=run.batch, batch=None, releases=4)  # by every batch
    assert line[2] <= epsilon(held, "sharp") * (1 + 1e-9)


@pytest.mark.parametrize("c", [0.6, 1.0])
def test_nor_where_the_first_visits_are_not_followed_one_by_one(c):
    s = run_of(c, 6, 3, 20 * int(SINGLES), 0.4, spread=4.0).replace(
        n=20, batch=10, sampling="cyclic", delta=1e-2
    )
    e = epsilon(s, "sharp")
    assert 0.2 < e < 0.99 * epsilon(s, "composition") < 20
    mean, error = Truth(met_at(s, every(2, 1, s), Adversary("shrink"), 100, 1)).delta(e)
    assert mean + 4 * error <= s.delta


def test_every_visit_costs_about_what_the_one_before_did():
    """Where nothing contracts: however many epochs a block has."""
    s = run_of(1.0, 6, 3, 1, 0.4, spread=60.0).replace(
        n=20, batch=10, sampling="cyclic", delta=1e-2
    )
    line = np.array([epsilon(s.replace(T=2 * visits), "sharp") for visits in range(90, 200, 10)])
    added = np.diff(line)
    assert (added > 0).all() and (added[1:] < 1.03 * added[:-1]).all()


def test_a_rarely_met_record_of_a_long_run_costs_hardly_more_than_of_a_short_one():
    s = Setting(
        n=2000,
        batch=268,
        sampling="cyclic",
        d=50,
        K=1,
        beta=0.0,
        regime="convex",
        ridge=0.5,
        m=0.5,
        M=1.5,
        eta=1.133,
        sigma=0.00515,
        delta=1e-8,
        neighbours="add-remove",
        R=1e9,
        T=1000,
    )
    assert epsilon(s.replace(T=10**5), "sharp") < 1.1 * epsilon(s, "sharp")


@pytest.mark.parametrize("n, batch", [(50, 10), (5, 2), (7, 3), (4, 1)])
@pytest.mark.parametrize("sampling", ["cyclic", "shuffled"])
def test_composition_counts_every_visit_of_the_record_that_is_met_most(n, batch, sampling):
    """The last batch may be a short one, and the last epoch begun and not ended."""
    epoch = [range(n)[start : start + batch] for start in range(0, n, batch)]
    for T in range(1, 3 * len(epoch) + 2):
        met = max(sum(record in epoch[t % len(epoch)] for t in range(T)) for record in range(n))
        s = run_of(0.8, 6, 3, T, 0.4).replace(n=n, batch=batch, sampling=sampling)
        # in standard deviations
        shift = 2 * s.clip / batch / (s.sigma * sqrt(s.beta + (1 - s.beta) * s.K / s.d))
        assert guarantee(s, "composition").rho == pytest.approx(met * shift**2 / 2, rel=1e-9)


def test_a_record_that_is_met_more_rarely_costs_less_than_composition():
    s = run_of(0.6, 20, 10, 400, 0.4, spread=2.0).replace(batch=10, sampling="cyclic")
    composed = epsilon(s, "composition")
    assert epsilon(s, "sharp") < 0.5 * composed
    assert epsilon(s.replace(sampling="shuffled"), "sharp") == composed
    assert (
        not guarantee(s, "theorem").valid and "in a fixed order" in guarantee(s, "theorem").reason
    )


def test_one_visit_in_the_last_step_is_composition():
    s = run_of(0.6, 6, 3, 5, 0.4).replace(batch=10, sampling="cyclic")
    assert epsilon(s, "sharp") == pytest.approx(epsilon(s, "composition"), rel=1e-9)


def test_more_steps_never_cost_less_and_in_the_end_no_more():
    s = run_of(0.6, 20, 10, 400, 0.4, spread=2.0).replace(batch=10, sampling="cyclic")
    line = [epsilon(s.replace(T=T), "sharp") for T in (5, 50, 500, 10**4, 10**6)]
    assert all(np.diff(line) >= -1e-3 * np.array(line[1:])) and line[-1] == pytest.approx(
        line[-2], rel=1e-6
    )
