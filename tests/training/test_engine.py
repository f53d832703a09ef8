"""The batched engine against the update written out record by record, against `NoisyZOGD`, and
against closed forms.
"""

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
import torch
from torch.func import grad

from tests.training.small import small_task
from zoexplore.mechanism import NoisyZOGD, Sources, stiefel
from zoexplore.training.engine import Configuration, Job, problem_of
from zoexplore.training.models import MODELS


def job_of(task, *configurations, T=5, seed=3):
    return Job(task, tuple(configurations), (seed,), tuple(range(1, T + 1)))


def losses(task):
    """All records' losses as a function of a flat vector."""
    model, data = MODELS[task.model], task.data
    X, y = torch.from_numpy(data.X), torch.from_numpy(data.y)

    def at(w, batch=None):
        X_, y_ = (X, y) if batch is None else batch
        return model.losses(X_ @ w.view(model.scores(data.classes), -1).T, y_)

    return at


def reference(task, setting, seed, noise_seed, T):
    """The update of docs/bounds.md, "The mechanism": a loop over directions and records, with
    derivatives of single losses.
    """
    sources, at = Sources(seed, noise_seed), losses(task)
    d, K, n = setting.d, setting.K, setting.n
    w = torch.zeros(d, dtype=torch.float64)
    for _ in range(T):
        rows = range(n)
        if not setting.full_batch:
            rows = sources.data.choice(n, setting.batch, replace=False, shuffle=False)
        U = stiefel(d, K, sources.directions)
        G = (
            torch.from_numpy(sources.noise.standard_normal((1, K)))[0]
            * sqrt(setting.beta)
            * setting.sigma
        )
        everywhere = (
            torch.from_numpy(sources.noise.standard_normal((1, d)))[0]
            * sqrt(1 - setting.beta)
            * setting.sigma
        )
        moved = w + setting.eta / sqrt(d) * everywhere
        for k in range(K):
            u = U[:, k]
            slopes = torch.stack([grad(lambda v, i=i: at(v)[i])(w) @ u for i in range(n)])
            g = sum(max(-setting.clip, min(setting.clip, float(slopes[i]))) for i in rows) / len(
                rows
            )
            g += setting.ridge * float(w @ u)
            moved = moved - setting.eta / K * g * u + setting.eta / sqrt(K) * G[k] * u
        w = moved * min(1.0, setting.R / float(moved.norm()))
    return w


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("clip", [None, 0.2])
@pytest.mark.parametrize("batch", [None, 25])
def test_one_configuration_equals_the_update_written_out(model, clip, batch):
    task = small_task(model, n=40, f=4, clip=clip, R=3.0)
    setting = task.setting(0.05, batch=batch)
    job = job_of(task, Configuration("noisy-zogd", setting))
    state = job.advance(None, 1e9)
    expected = reference(task, setting, 3, job.configurations[0].noise_seed(job.seeds[0]), 5)
    torch.testing.assert_close(state.w[0], expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("clip, batch", [(None, None), (0.2, None), (None, 25)])
def test_equals_the_optimiser_that_people_import(model, clip, batch):
    """With all noise along the directions: in every coordinate the optimiser's comes from a
    generator of its own.
    """
    task = small_task(model, clip=clip, R=3.0)
    setting = task.setting(0.05, batch=batch, beta=1.0)
    sources = Sources(3, Configuration("noisy-zogd", setting).noise_seed(3))
    optimiser = NoisyZOGD(
        torch.zeros(setting.d, dtype=torch.float64), losses(task), setting, sources=sources
    )
    X, y = torch.from_numpy(task.data.X), torch.from_numpy(task.data.y)
    for _ in range(setting.T):
        optimiser.step(optimiser.batch((X, y)))
    state = job_of(task, Configuration("noisy-zogd", setting), T=setting.T).advance(None, 1e9)
    torch.testing.assert_close(state.w[0], optimiser.w, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("model", MODELS)
def test_where_no_gradient_exceeds_the_clip_both_ways_to_the_slopes_agree(model):
    task = small_task(model)
    problem = problem_of(task)
    w = torch.randn(4, problem.d, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    U = stiefel(problem.d, 5, np.random.default_rng(1))
    gradient, longest = problem.gradient(w)
    clip = longest * (1 + 1e-9)
    assert problem.idle(longest, clip).all()
    torch.testing.assert_close(problem.clipped(w, U, clip, "each"), gradient @ U)


def test_many_records_are_taken_in_blocks(monkeypatch):
    task = small_task("softmax")
    problem = problem_of(task)
    w = torch.randn(2, problem.d, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    U, clip = stiefel(problem.d, 5, np.random.default_rng(1)), torch.tensor([0.1, 0.3])
    whole = problem.clipped(w, U, clip, "each")
    monkeypatch.setattr("zoexplore.training.problem.CHUNK", 100)
    torch.testing.assert_close(whole, problem.clipped(w, U, clip, "each"))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rows", [None, torch.tensor([3, 57, 8]), torch.zeros(0, dtype=torch.long)])
def test_a_gradient_is_that_of_torch_in_one_block_and_in_many(monkeypatch, model, rows):
    task = small_task(model, n=60)
    w = torch.randn(4, task.d, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    problem, at = problem_of(task), losses(task)
    batch = problem.records(rows)[:2]
    each = [
        [
            grad(lambda v, one: at(v, one).sum())(v, (x[None], y[None]))
            for x, y in zip(*batch, strict=True)
        ]
        for v in w
    ]
    expected = torch.stack(
        [
            sum(found, torch.zeros(task.d, dtype=torch.float64)) / max(1, len(batch[0]))
            for found in each
        ]
    )
    longest = torch.tensor(
        [max((float(g.norm()) for g in found), default=0.0) for found in each], dtype=torch.float64
    )
    for block in (10**6, 70, 1):
        monkeypatch.setattr("zoexplore.training.problem.BLOCK", block)
        mean, length = problem.gradient(w, rows)
        torch.testing.assert_close(mean, expected)
        torch.testing.assert_close(length, longest)


def test_single_precision_for_large_data_moves_a_step_by_rounding_alone(monkeypatch):
    task = small_task("logistic", n=500)
    setting = task.setting(0.05)
    job = job_of(task, Configuration("noisy-zogd", setting))
    double = job.advance(None, 1e9)
    monkeypatch.setattr("zoexplore.training.engine.LARGE", 10)
    problem_of.cache_clear()
    single = job.advance(None, 1e9)
    problem_of.cache_clear()
    assert not torch.equal(single.w, double.w)
    torch.testing.assert_close(single.w, double.w, rtol=1e-5, atol=1e-6)


def test_every_direction_without_directional_noise_is_noisy_gradient_descent():
    task = small_task("logistic")
    d = task.d
    setting = task.setting(0.05, K=d, beta=0.0)
    own = job_of(task, Configuration("noisy-gd", setting, own_basis=True)).advance(None, 1e9).w[0]
    seed = Configuration("noisy-gd", setting, own_basis=True).noise_seed(3)
    at, w, noise = losses(task), torch.zeros(d, dtype=torch.float64), Sources(3, seed).noise
    for _ in range(5):
        step = grad(lambda v: at(v).mean())(w) + setting.ridge * w
        w = (
            w
            - setting.eta / d * step
            + setting.eta / sqrt(d) * 0.05 * torch.from_numpy(noise.standard_normal((1, d)))[0]
        )
        w = w * min(1.0, setting.R / float(w.norm()))
    torch.testing.assert_close(own, w)


def test_a_run_does_not_depend_on_its_company():
    """Nor on the order, but for rounding: products of other shapes round differently."""
    task = small_task("softmax")
    one = Configuration("noisy-zogd", task.setting(0.05, batch=25))
    others = [
        Configuration("noisy-gd", task.setting(0.05, K=2, batch=25)),
        Configuration("dpzero", task.setting(0.1, K=1, batch=25)),
    ]
    alone, last = (
        job_of(task, one).advance(None, 1e9),
        job_of(task, *others, one).advance(None, 1e9),
    )
    torch.testing.assert_close(last.w[-1], alone.w[0])


def test_configurations_side_by_side_share_directions_but_no_noise():
    """Without noise a configuration does the same in company as alone; with noise, two equal ones
    part.
    """
    task = small_task("softmax")
    setting = task.setting(0.05)
    silent = Configuration("noisy-zogd", setting, noisy=False)
    noisy = Configuration("noisy-zogd", setting.replace(T=7))
    alone = job_of(task, silent).advance(None, 1e9)
    together = job_of(task, silent, noisy, Configuration("noisy-gd", setting.replace(T=7))).advance(
        None, 1e9
    )
    torch.testing.assert_close(together.w[0], alone.w[0])
    assert (together.w[1] - together.w[2]).norm() > 1e-3


def test_two_seeds_share_neither_directions_nor_noise():
    task = small_task("softmax")
    silent = Configuration("noisy-zogd", task.setting(0.05), noisy=False)
    first, second = (job_of(task, silent, seed=seed).advance(None, 1e9).w for seed in (0, 1))
    assert (first - second).norm() > 1e-3


def test_seeds_side_by_side_do_what_each_does_alone():
    task = small_task("softmax")
    configurations = (
        Configuration("noisy-zogd", task.setting(0.05)),
        Configuration("dpzero", task.setting(0.05, K=1, beta=1.0)),
    )
    seeds = 3, 4
    both = Job(task, configurations, seeds, (2, 5)).advance(None, 1e9)
    for i, seed in enumerate(seeds):
        alone = Job(task, configurations, (seed,), (2, 5)).advance(None, 1e9)
        torch.testing.assert_close(both.w[2 * i : 2 * i + 2], alone.w)
        np.testing.assert_allclose([row[2 * i : 2 * i + 2] for row in both.loss], alone.loss)


def test_one_record_moves_a_step_by_no_more_than_its_share():
    """Sensitivity by brute force: |w - w'| <= 2 eta clip / (n sqrt(K)) after a step from the same
    point, and nearly reached.
    """
    task = small_task("logistic", n=10, f=6, clip=0.1, R=100.0)
    setting = task.setting(0.05, K=3)
    bound = 2 * setting.eta * setting.clip / (setting.n * sqrt(setting.K))
    data, largest = task.data, 0.0
    for sign in (1.0, -1.0, 0.0):
        X = data.X.copy()
        X[0] = sign * data.X[0]
        other = replace(task, source=lambda X=X: replace(data, X=X))
        pair = [
            job_of(t, Configuration("noisy-zogd", setting), T=1, seed=seed).advance(None, 1e9).w[0]
            for seed in (0,)
            for t in (task, other)
        ]
        largest = max(largest, float((pair[0] - pair[1]).norm()))
    assert largest <= bound * (1 + 1e-9)
    assert largest > bound / 2


def test_state_goes_on_anywhere():
    import pickle

    task = small_task("softmax")
    job = job_of(task, Configuration("noisy-zogd", task.setting(0.05, batch=25)), T=9)
    at_once = job.advance(None, 1e9)
    state = job.begin()
    while state.t < 9:
        state = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(job)).advance(state, 0.0)))
    assert torch.equal(state.w, at_once.w)
    assert state.accuracy == at_once.accuracy and state.loss == at_once.loss


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("K", [None, 3])
@pytest.mark.parametrize("sampling", ["without-replacement", "poisson"])
def test_a_joint_clip_shortens_each_record_s_derivatives_together(model, K, sampling):
    task, clip = small_task(model, n=40, f=4, R=3.0), 0.2
    d = task.d
    batch = 25 if sampling == "poisson" else None
    setting = task.setting(
        0.05, K=K or d, clip=clip, beta=0.0, batch=batch, sampling=sampling, clipping="joint"
    )
    configuration = Configuration("noisy-gd", setting, noisy=False, own_basis=K is None)
    state = job_of(task, configuration, T=1).advance(None, 1e9)
    sources, at = Sources(3, 11), losses(task)
    start = job_of(task, configuration).begin().w[0]
    rows = range(40) if batch is None else np.flatnonzero(sources.data.random(40) < batch / 40)
    U = torch.eye(d, dtype=torch.float64) if K is None else stiefel(d, K, Sources(3, 11).directions)
    quotients = [grad(lambda v, i=i: at(v)[i])(start) @ U for i in rows]
    mean = sum(q * min(1.0, clip / float(q.norm())) for q in quotients) / (batch or 40)
    moved = start - setting.eta / setting.K * U @ (mean + setting.ridge * U.T @ start)
    torch.testing.assert_close(state.w[0], moved * min(1.0, 3.0 / float(moved.norm())))
    assert any(float(q.norm()) > clip for q in quotients)


def test_a_loss_that_is_not_finite_stops_the_run_and_says_so():
    task = small_task("logistic", R=float("inf"))
    setting = task.setting(0.05, eta=1e300)
    with pytest.raises(
        ValueError,
        match=r"noisy-zogd at sigma = 0\.05 is (nan|inf) after \d+ steps: give a smaller eta",
    ):
        job_of(task, Configuration("noisy-zogd", setting), T=5).advance(None, 1e9)
