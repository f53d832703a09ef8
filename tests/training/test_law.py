"""Runs in law, against directions that are drawn and against the engine."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp

from benchmarks.comparison.choices import Choice
from benchmarks.comparison.law import Run, accuracy, ended, parted, validated
from benchmarks.comparison.search import multiplier, split
from tests.effort import proof, times
from tests.training.small import blobs, small_task
from zoexplore.mechanism import Sources, stiefel
from zoexplore.mechanism.rng import normal
from zoexplore.run.setting import Accounting
from zoexplore.training.data import Data
from zoexplore.training.engine import Job
from zoexplore.training.step import hybrid
from zoexplore.training.sweep_plans import SweepPlan

D, RUNS, Z = 12, 3000, 0.004
DATA = blobs(30, 4, 3)


def start_gradient():
    """The mean gradient of a softmax at zero."""
    p = np.full((30, 3), 1 / 3)
    p[np.arange(30), DATA.y] -= 1
    return torch.from_numpy((p.T @ DATA.X / 30).ravel())


def drawn(K, beta, independent, count):
    """Steps of size K eta/K = 2 K along directions that are drawn, with the noise of the mechanism."""
    sources, v, rate, clip = Sources(5, 6), start_gradient(), 2.0, 100.0
    sigma = Z * clip / K**0.5 / 30 / (beta + (1 - beta) * K / D) ** 0.5
    for _ in range(count):
        if independent:
            U = torch.from_numpy(
                np.random.default_rng(int(sources.data.integers(2**60))).standard_normal((D, K))
                / D**0.5
            )
        else:
            U = stiefel(D, K, sources.directions)
        noise = hybrid(U, sigma, beta, rate * K, lambda size: normal(sources.noise, (size,)))
        yield noise - rate * U @ (U.T @ v)


@pytest.mark.parametrize(
    "K, beta, independent",
    [
        (3, 0.5, False),
        (12, 1.0, False),
        (3, 1.0, True),
        proof(1, 1.0, False),
        proof(6, 1.0, False),
        proof(9, 1.0, True),
    ],
)
def test_a_step_has_the_law_of_one_along_directions_that_are_drawn(K, beta, independent):
    """Along the gradient, across it, in length, and of two coordinates together."""
    choice, v = Choice(K, 1, 2.0, 100.0, beta=beta), start_gradient()
    law = ended(DATA, [Run(choice, Z, independent)] * RUNS, 3, dtype=torch.float64).last
    mechanism = torch.stack(list(drawn(K, beta, independent, RUNS)))
    for of in (
        lambda w: w @ v,
        lambda w: w.norm(dim=1),
        lambda w: w[:, 0],
        lambda w: w[:, 2] * w[:, 9],
    ):
        assert ks_2samp(of(law).numpy(), of(mechanism).numpy()).pvalue > 1e-3


@pytest.mark.parametrize("model", ["logistic", "softmax"])
def test_along_all_directions_without_noise_it_is_gradient_descent(model):
    task = small_task(model)
    choice = Choice(task.d, 7, 0.8, 1e300, batch=None)
    made = choice.made(task, "non-private", 1.0)
    (job,) = SweepPlan(task, (made,), (0,), Accounting()).jobs
    ours = ended(task.data, [Run(choice, 0.0)], 0, ridge=task.ridge, dtype=torch.float64)
    state = job.advance(None, 1e9)
    assert torch.allclose(ours.last, state.w, atol=1e-12)
    assert accuracy(task.data, ours.last)[0] == pytest.approx(state.accuracy[-1][0])
    shorter = [
        ended(
            task.data,
            [Run(Choice(task.d, T, 0.8, 1e300), 0.0)],
            0,
            ridge=task.ridge,
            dtype=torch.float64,
        )
        for T in range(4, 8)
    ]
    assert torch.allclose(ours.average, sum(end.last for end in shorter) / 4, atol=1e-12)


@pytest.mark.parametrize("K", [4, proof(1), proof(9)])
def test_whole_runs_end_where_the_engines_do(K):
    """With a clip that acts on every record, batches and a ball; of K derivatives the length is not
    exact.
    """
    task = small_task("softmax", n=80)
    part = 0.3 * np.sqrt(K / task.d) * (2 if K == 1 else 1)
    choice = Choice(K, 40, 0.8 * task.d / K, part, batch=20, ridge=task.ridge)
    made = choice.made(task, "aggzo", 8.0, hidden=False)
    count = times(30)
    seeds = tuple(range(count))
    lengths = [Job(task, (made,), (seed,), (40,)).advance(None, 1e9).w.norm() for seed in seeds]
    z = multiplier(80, 20, 40, 8.0, task.delta)
    assert made.setting.noise_multiplier == pytest.approx(z, rel=1e-6)
    ends = [
        ended(task.data, [Run(choice, z)] * 10, seed, R=task.R).last.norm(dim=1)
        for seed in range(count // 2)
    ]
    ours, theirs = torch.cat(ends), torch.stack(lengths)
    error = ((ours.var() / (count // 2) + theirs.var() / count) ** 0.5).item()
    assert abs(ours.mean() - theirs.mean()) < 4 * error + 0.02 * theirs.mean()


def test_runs_of_all_kinds_come_back_in_the_order_that_they_were_given():
    task = small_task("logistic")
    runs = [
        Run(Choice(K, T, 0.5, 1e300, batch=batch), 0.0)
        for K, T, batch in ((8, 9, None), (1, 3, None), (8, 2, 20), (3, 9, None), (8, 1, None))
    ]
    together = ended(task.data, runs, 0, dtype=torch.float64)
    for i in (0, 4):
        alone = ended(task.data, [runs[i]], 0, dtype=torch.float64)
        assert torch.allclose(together.last[i], alone.last[0], atol=1e-12)


@pytest.mark.parametrize("one, batch", [(False, None), (False, 48), (True, None)])
def test_runs_on_several_splits_at_once_train_on_their_own_records_alone(one, batch):
    """Without noise, along all directions or one, and in batches that have every record a run may
    see.
    """
    task, n = small_task("softmax", n=60), 60
    K = 1 if one else task.d
    choice = Choice(K, 6, 0.9, 0.2 * np.sqrt(K / task.d), batch=batch)
    runs = [Run(choice, 0.0, fold=fold) for fold in (3, 4, 3)]
    together = ended(task.data, runs, 5, dtype=torch.float64).last
    data = task.data
    for i, run in enumerate(runs):
        _, held_out = parted(n, run.fold)
        X, y = data.X.copy(), data.y.copy()
        X[held_out], y[held_out] = 0.0, 0  # others in their places
        blind = Data(X, y, data.X_test, data.y_test, data.classes)
        assert torch.allclose(
            ended(blind, runs, 5, dtype=torch.float64).last[i], together[i], atol=1e-12
        )
        part = split(task, run.fold)
        assert validated(data, runs, together)[i] == accuracy(part, together[i : i + 1])[0]
        if not one:
            alone = ended(part, [replace(run, fold=None)], 5, dtype=torch.float64).last
            assert torch.allclose(alone[0], together[i], atol=1e-12)


def test_runs_that_share_their_directions_take_steps_of_their_own_along_them():
    """The first step is as if each were alone; later on the generator has given a number of noise
    to each.
    """
    task = small_task("softmax")
    runs = [Run(Choice(1, 1, rate, 0.3), 0.0) for rate in (0.5, 0.9, 0.5)]
    together = ended(task.data, runs, 0, dtype=torch.float64, common=True).last
    for run, w in zip(runs, together, strict=True):
        assert torch.allclose(
            ended(task.data, [run], 0, dtype=torch.float64).last[0], w, atol=1e-12
        )
    longer = [replace(run, choice=replace(run.choice, T=9)) for run in runs]
    first, other, again = ended(task.data, longer, 0, dtype=torch.float64, common=True).last
    assert torch.equal(first, again) and not torch.allclose(first, other)
