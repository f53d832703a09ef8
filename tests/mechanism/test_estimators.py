"""Both estimators agree with every record's gradient: forward derivatives, and two points as xi
goes to 0.
"""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.mechanism.problems import (
    FREE,
    classes,
    optimiser,
    over,
    run,
)
from zoexplore.mechanism import Sources, stiefel
from zoexplore.mechanism.slopes import derivative, quotient

N, D, K = 9, 11, 6


def along(losses, w, U, xi):
    """Every record's slope along each column of U."""
    if xi == 0:
        return torch.stack([derivative(losses, w, u)[0] for u in U.T], 1)
    return torch.stack([quotient(losses(w + xi * u), losses(w - xi * u), xi) for u in U.T], 1)


@pytest.fixture
def problem():
    """Losses that curve in every direction, their gradients by autograd, a point and directions."""
    generator = torch.Generator().manual_seed(0)
    X, A = (
        torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((N, D), (D, D))
    )
    w = torch.randn(D, generator=generator, dtype=torch.float64)
    U = stiefel(D, K, Sources(0, 1).directions)

    def losses(w):
        return F.softplus(X @ w) + torch.cos(X @ (A @ w))

    return losses, w, U, torch.autograd.functional.jacobian(losses, w) @ U


def test_directional_derivatives_are_the_gradients_along_the_directions(problem):
    losses, w, U, expected = problem
    assert torch.allclose(along(losses, w, U, 0.0), expected, rtol=1e-12, atol=1e-12)


def test_two_points_approach_them_quadratically(problem):
    losses, w, U, expected = problem
    errors = [float((along(losses, w, U, xi) - expected).abs().max()) for xi in (1e-2, 1e-3)]
    assert errors[1] < 1e-3
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.05)


def test_float32_two_points_are_mostly_rounding_error_where_xi_is_small(problem):
    """Why the optimiser refuses them: the limit of the derivative needs xi small, and 7 digits need
    it large.
    """
    losses, w, U, expected = problem

    def in_float32(w):
        return losses(w.double()).float()

    error = (along(in_float32, w.float(), U.float(), 1e-7).double() - expected).abs().max()
    assert error > 0.1 * expected.abs().max()
    assert (along(losses, w, U, 1e-7) - expected).abs().max() < 1e-6


def test_an_infinite_loss_shows_even_where_its_derivative_is_finite(problem):
    _, w, U, _ = problem

    def losses(w):
        return w.sum().expand(N) + torch.tensor(float("inf"), dtype=w.dtype)

    assert along(losses, w, U, 0.0).isnan().all()
    assert not along(losses, w, U, 1e-3).isfinite().any()


class TestLossesOfOtherKinds:
    @pytest.mark.parametrize("directions", ["dense", "streamed"])
    @pytest.mark.parametrize("xi", [0.0, 1e-3])
    def test_a_loss_that_does_not_depend_on_the_parameters_moves_by_noise_alone(
        self, xi, directions
    ):
        made = run(
            optimiser(
                FREE.replace(xi=xi), loss=lambda w, batch: 2.0 * batch[1], directions=directions
            ),
            2,
        )
        assert made.steps == 2 and made.counts.clipped == 0

    def test_a_layer_without_forward_derivatives_says_what_to_do(self):
        class Recurrent(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn, self.last = nn.LSTM(6, 4, batch_first=True), nn.Linear(4, 3)

            def forward(self, X):
                return self.last(self.rnn(X.unsqueeze(1))[0][:, -1])

        X, y = classes()
        with pytest.raises(
            ValueError,
            match=r"xi = 0 is not allowed here: torch has no forward-mode derivative of \S+; give",
        ):
            run(over(Recurrent(), xi=0.0), 1, (X.float(), y))
