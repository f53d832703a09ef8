"""DP-SGD: its update, its noise, and its epsilon against another accountant's."""

from math import sqrt

import dp_accounting
import pytest
import torch
from dp_accounting import pld
from torch.func import grad, vmap

from tests.training.small import small_task
from zoexplore.bounds import BOUNDS
from zoexplore.training import frontier, plan_sweep, train
from zoexplore.training.engine import Configuration, Job, problem_of
from zoexplore.training.models import MODELS


def multiplier(setting):
    """The noise's standard deviation on the sum of gradients, over their clip: of energy (eta
    sigma)^2 in a step of eta/d.
    """
    return setting.sigma * sqrt(setting.d) * (setting.batch or setting.n) / setting.clip


def step(task, setting):
    setting = setting.replace(clipping="joint")
    job = Job(task, (Configuration("dp-sgd", setting, own_basis=True),), (0,), (1,))
    start = job.begin().w[0].clone()
    return start, job.advance(None, 1e9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("clip", [0.1, 5.0])
def test_without_noise_it_is_clipped_gradient_descent(model, clip):
    task = small_task(model, clip=clip, R=3.0)
    setting = task.setting(1e-12, K=task.d, beta=0.0)
    start, state = step(task, setting)
    problem = problem_of(task)
    c = problem.width

    def at(w, x, y):
        return problem.model.losses((x @ w.view(c, -1).T).view(1, c), y.view(1))[0]

    each = vmap(grad(at), (None, 0, 0))(start, problem.X, problem.y)
    clipped = each * (clip / each.norm(dim=1, keepdim=True)).clamp(max=1)
    moved = start - setting.eta / setting.d * (clipped.mean(0) + setting.ridge * start)
    torch.testing.assert_close(
        state.w[0], moved * min(1, setting.R / float(moved.norm())), rtol=1e-6, atol=1e-9
    )


def test_the_noise_has_the_energy_of_noisy_gradient_descent():
    task = small_task("softmax", f=100, R=float("inf"))
    setting = task.setting(50.0, K=task.d, beta=0.0)
    start, state = step(task, setting)
    energy = float((state.w[0] - start).square().sum())
    assert energy == pytest.approx((setting.eta * setting.sigma) ** 2, rel=6 * sqrt(2 / setting.d))


@pytest.mark.parametrize("target", [0.5, 8.0])
@pytest.mark.parametrize("batch", [None, 20])
def test_epsilon_is_that_of_another_accountant(target, batch):
    """One record more or less: exactly, on all records and on Poisson batches."""
    task = small_task("logistic", n=200)
    (made,) = plan_sweep(task, ("dp-sgd",), T=50, epsilons=(target,), batch=batch).configurations
    other = pld.PLDAccountant()
    gaussian = dp_accounting.GaussianDpEvent(multiplier(made.setting))
    event = (
        gaussian if batch is None else dp_accounting.PoissonSampledDpEvent(batch / 200, gaussian)
    )
    other.compose(event, 50)
    assert other.get_epsilon(made.setting.delta) == pytest.approx(target, rel=3e-3)


def test_a_batch_without_records_is_a_step_of_noise(monkeypatch):
    monkeypatch.setattr(
        "zoexplore.training.step.drawn", lambda *_: torch.zeros(0, dtype=torch.long)
    )
    task = small_task("softmax", f=100, R=float("inf"))
    setting = task.setting(50.0, K=task.d, beta=0.0, batch=20, sampling="poisson")
    start, state = step(task, setting)
    energy = float((state.w[0] - start).square().sum())
    assert energy == pytest.approx((setting.eta * setting.sigma) ** 2, rel=6 * sqrt(2 / setting.d))


def test_only_composition_is_claimed_and_why():
    point = train(small_task(), "dp-sgd", 0.1)
    assert point.epsilon["composition"] < float("inf")
    assert all(
        point.epsilon[b] == float("inf") and "released" in point.reason[b]
        for b in set(BOUNDS) - {"composition"}
    )


def test_less_noise_learns_as_gradient_descent_does():
    task = small_task("softmax", n=200)
    exact, private = frontier(
        task=task, methods=("non-private", "dp-sgd"), sigmas=(1e-5,), seeds=1, T=30
    ).points
    assert private.mean("loss") == pytest.approx(exact.mean("loss"), rel=1e-3)
    assert MODELS["softmax"].constants(0.2).lipschitz == pytest.approx(sqrt(2))
