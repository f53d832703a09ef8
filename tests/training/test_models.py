"""The constants stated of each model, against derivatives of its loss at random and at extreme
points.
"""

from math import log, sqrt

import pytest
import torch
from torch.func import grad, hessian

from zoexplore.training.models import MODELS

CLASSES = {"logistic": 2, "softmax": 4}


def record_loss(name, x, y):
    """One record's loss as a function of w, from scores and labels of shape (1, c) and (1,)."""
    model, c = MODELS[name], MODELS[name].scores(CLASSES[name])
    return lambda w: model.losses((x @ w.view(c, -1).T).view(1, c), y.view(1)).squeeze(0)


def draws(name, count, scale):
    generator = torch.Generator().manual_seed(7)
    f, c = 3, MODELS[name].scores(CLASSES[name])
    for _ in range(count):
        x = torch.randn(f, generator=generator, dtype=torch.float64)
        y = torch.randint(CLASSES[name], (1,), generator=generator)
        yield x / x.norm(), y, scale * torch.randn(c * f, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("scale", [0.0, 0.3, 3.0, 30.0])
def test_hessian_lies_between_m_and_M_and_gradient_within_the_lipschitz_constant(name, scale):
    ridge = 0.1
    known = MODELS[name].constants(ridge)
    for x, y, w in draws(name, 40, scale):
        loss = record_loss(name, x, y)
        eigenvalues = torch.linalg.eigvalsh(hessian(loss)(w)) + ridge
        assert known.m - 1e-12 <= eigenvalues.min() and eigenvalues.max() <= known.M + 1e-12
        assert grad(loss)(w).norm() <= known.lipschitz + 1e-12


def test_constants_are_reached():
    """None of them could be smaller: logistic at w = 0 and far away; softmax between two classes
    alone, and at its limit.
    """
    x, y = torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64), torch.tensor([1])
    zero = torch.zeros(3, dtype=torch.float64)
    assert torch.linalg.eigvalsh(
        hessian(record_loss("logistic", x, y))(zero)
    ).max() == pytest.approx(0.25)
    assert grad(record_loss("logistic", x, y))(-40 * x).norm() == pytest.approx(1)
    two = torch.zeros(4, 3, dtype=torch.float64)
    two[:, 0] = torch.tensor([0.0, 0.0, -50.0, -50.0])
    assert torch.linalg.eigvalsh(
        hessian(record_loss("softmax", x, y))(two.flatten())
    ).max() == pytest.approx(0.5)
    wrong = torch.zeros(4, 3, dtype=torch.float64)
    wrong[0, 0] = 50.0
    assert grad(record_loss("softmax", x, y))(wrong.flatten()).norm() == pytest.approx(sqrt(2))


@pytest.mark.parametrize("name", CLASSES)
def test_without_a_ridge_the_loss_is_convex_only(name):
    assert MODELS[name].constants(0.0).regime == "convex"
    assert MODELS[name].constants(0.1).regime == "strongly-convex"


@pytest.mark.parametrize("name", CLASSES)
def test_residual_is_the_derivative_by_the_scores(name):
    model, c = MODELS[name], MODELS[name].scores(CLASSES[name])
    z = torch.randn(2, 5, c, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    y = torch.tensor([0, 1, 1, 0, 1])
    expected = grad(lambda z: model.losses(z, y).sum())(z)
    torch.testing.assert_close(model.residual(z, y), expected)


def test_losses_at_equal_scores_are_log_classes():
    for name, c in CLASSES.items():
        z = torch.zeros(1, c if name == "softmax" else 1, dtype=torch.float64)
        assert MODELS[name].losses(z, torch.tensor([1])).item() == pytest.approx(log(c))
