"""DP-SGD by Opacus: its update, its noise, and its epsilon against another accountant's."""

from math import sqrt

import dp_accounting
import pytest
import torch
from dp_accounting import pld
from torch.func import grad, vmap

from tests.training.small import small_task
from zoexplore.bounds import BOUNDS
from zoexplore.training import frontier, train
from zoexplore.training.dpsgd import SgdJob, epsilon, multiplier
from zoexplore.training.engine import Configuration, Seed, problem_of
from zoexplore.training.models import MODELS


def step(task, setting, monkeypatch=None):
    job = SgdJob(task, (Configuration("dp-sgd", setting, own_basis=True),), (Seed(0, 2**32),), (1,))
    start = job.begin().w[0].clone()
    return start, job.advance(None, 1e9)


@pytest.mark.parametrize("model", ["logistic", "softmax", "perceptron"])
@pytest.mark.parametrize("clip", [0.1, 5.0])
@pytest.mark.parametrize("block", [20_000_000, 100])
def test_without_noise_it_is_clipped_gradient_descent(monkeypatch, model, clip, block):
    monkeypatch.setattr("zoexplore.training.dpsgd.CHUNK", block)
    task = small_task(model, clip=clip, R=3.0)
    setting = task.setting(1e-12, K=task.d, beta=0.0)
    start, state = step(task, setting)
    problem = problem_of(task)
    if model != "perceptron":
        c = problem.width
        at = lambda w, x, y: problem.model.losses((x @ w.view(c, -1).T).view(1, c), y.view(1))[0]  # noqa: E731
    else:
        at = lambda w, x, y: problem.model.losses(problem.model.forward(w, x[None], problem.classes), y[None])[0]  # noqa: E731
    each = vmap(grad(at), (None, 0, 0))(start, problem.X, problem.y)
    clipped = each * (clip / (each.norm(dim=1, keepdim=True) + 1e-6)).clamp(max=1)
    moved = start - setting.eta / setting.d * (clipped.mean(0) + setting.ridge * start)
    torch.testing.assert_close(state.w[0], moved * min(1, setting.R / float(moved.norm())), rtol=1e-6, atol=1e-9)
    assert state.clipped[0] == int((each.norm(dim=1) > clip).sum())


def test_the_noise_has_the_energy_of_noisy_gradient_descent():
    task = small_task("softmax", f=100, R=float("inf"))
    setting = task.setting(50.0, K=task.d, beta=0.0)
    start, state = step(task, setting)
    energy = float((state.w[0] - start).square().sum())
    assert energy == pytest.approx((setting.eta * setting.sigma) ** 2, rel=6 * sqrt(2 / setting.d))


@pytest.mark.parametrize("sigma", [0.01, 0.1, 1.0])
def test_epsilon_is_that_of_another_accountant_for_replacing_a_record(sigma):
    task = small_task("logistic")
    setting = task.setting(sigma, K=task.d, beta=0.0)
    steps = [1, 10, 100]
    for count, found in zip(steps, epsilon(setting, steps), strict=True):
        other = pld.PLDAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
        other.compose(dp_accounting.GaussianDpEvent(multiplier(setting)), count)
        exact = other.get_epsilon(setting.delta)
        assert exact <= found <= 1.35 * exact  # Opacus converts from Renyi divergences, which costs some


def test_only_composition_is_claimed_and_by_whom():
    point = train(small_task(), "dp-sgd", 0.1)
    assert point.epsilon["composition"] == epsilon(small_task().setting(0.1, K=8, beta=0.0), [12])[0]
    assert all(point.epsilon[b] == float("inf") and "Opacus" in point.reason[b] for b in set(BOUNDS) - {"composition"})
    assert point.setting is None


def test_less_noise_learns_as_gradient_descent_does():
    task = small_task("softmax", n=200)
    exact, private = frontier(task=task, methods=("non-private", "dp-sgd"), sigmas=(1e-5,), seeds=1, T=30).points
    assert private.mean("loss") == pytest.approx(exact.mean("loss"), rel=1e-3)
    assert MODELS["softmax"].constants(0.2).lipschitz == pytest.approx(sqrt(2))
