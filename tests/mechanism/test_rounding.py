"""What is rounded is rounded after the noise is in it, and no rounding takes the noise away."""

from math import inf

import numpy as np
import pytest
import torch
from torch import nn

from tests.mechanism.problems import FREE, classes, cross_entropy, optimiser, run
from tests.mechanism.test_report import step_of
from zoexplore.mechanism import NoisyZOGD, Sources
from zoexplore.mechanism.directions import Dense, Streamed
from zoexplore.mechanism.noise import apply, noisy
from zoexplore.mechanism.parameters import Parameters
from zoexplore.mechanism.rng import normal

SINGLE = torch.finfo(torch.float32).eps


def moved(make, mean, beta, K=3, d=100):
    """A step from so near where it leads, without noise, that of the sum only digits far below
    single precision are left.
    """
    step, ends = step_of(FREE.replace(d=d, K=K, sigma=1e-12, beta=beta, eta=float(K))), []
    for start in (torch.zeros(d), None):
        parameters = Parameters([torch.zeros(d) if start is not None else -ends[0]])
        frame = make(parameters, K, Sources(1, 2).directions)
        released = noisy(
            step, mean if start is None else torch.ones(K), d, np.random.default_rng(3)
        )
        apply(parameters, frame, step, released, Sources(1, 2), None)
        ends.append(parameters.vector())
    return ends[1].double()


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("make", [Dense, Streamed])
def test_in_single_precision_a_step_is_summed_up_in_double_until_the_noise_is_in_it(make, beta):
    """Two means that single precision cannot tell apart move a step as far apart as they are: no
    neighbour is rounded further away than it is, before the noise.
    """
    near = torch.ones(3, dtype=torch.float64)
    close = near + 1e-10 * torch.tensor([1.0, -2.0, 2.0])
    assert torch.equal(near.float(), close.float())
    apart = (moved(make, close, beta) - moved(make, near, beta)).norm()
    assert float(apart) == pytest.approx(3e-10, rel=1e-3)


@pytest.mark.parametrize("d, K", [(20_000, 64), (1_200_000, 4)])
def test_streamed_directions_are_orthonormal_to_the_last_digits_of_single_precision(d, K):
    frame = Streamed(Parameters([torch.zeros(d)]), K, Sources(1, 2).directions)
    U = torch.stack([torch.cat([x.clone() for x in frame.combined(e)]) for e in torch.eye(K)], 1)
    assert torch.linalg.matrix_norm(U.T @ U - torch.eye(K), 2) < 8 * SINGLE


class TestSmallNumbers:
    def test_noise_does_not_vanish_where_its_square_would(self):
        """A step of hardly any learning rate, from 0, shows all its digits."""
        ends = []
        for seed in (2, 3):
            made = optimiser(FREE, seeds=(1, seed))
            made.param_groups[0]["lr"] = 1e-170
            ends.append(run(made, 1).w)
        assert ((ends[0] - ends[1]) / 3e-170).norm() > 0.5

    @pytest.mark.parametrize(
        "lr, sigma", [(1e-300, 1.0), (1.0, 1e-290), (1e-200, 1e-100), (1e300, 1e10)]
    )
    def test_noise_that_doubles_do_not_hold_is_refused(self, lr, sigma):
        made = optimiser(FREE.replace(sigma=sigma))
        made.param_groups[0]["lr"] = lr
        with pytest.raises(
            ValueError, match=r"lr = .* with sigma = .* is not allowed: the noise would be lost"
        ):
            run(made, 1)
        assert made.steps == 0

    @pytest.mark.parametrize("lr", [-1e-3, -inf, inf, float("nan")])
    def test_so_is_a_learning_rate_that_is_none(self, lr):
        made = optimiser(FREE)
        made.param_groups[0]["lr"] = lr
        with pytest.raises(
            ValueError, match=r"lr = .* is not allowed: give a finite number of at least 0"
        ):
            run(made, 1)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_noise_has_its_digits_whatever_kind_is_the_default(kind):
    torch.set_default_dtype(kind)
    try:
        drawn = normal(Sources(1, 2).noise, (20_000,), dtype=torch.float32)
    finally:
        torch.set_default_dtype(torch.float32)
    assert drawn.dtype == torch.float32
    assert drawn.unique().numel() > 19_900


class TestHalfPrecision:
    @staticmethod
    def module(kind):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3)).to(kind)

    @pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("options", [{}, {"directions": "streamed"}])
    def test_derivatives_leave_the_parameters_where_the_update_takes_them(self, kind, options):
        X, y = classes()
        made = NoisyZOGD(
            self.module(kind),
            cross_entropy,
            FREE.replace(d=43, xi=0.0),
            sources=Sources(1, 2),
            **options,
        )
        assert run(made, 3, (X.to(kind), y)).steps == 3

    def test_a_gradient_just_longer_than_the_clip_is_not_rounded_below_it(self):
        """In bfloat16 the length 1.0026 is 1: a quarter of a hundredth more than a record may say."""
        X = torch.tensor([0.7109375, 0.70703125, 0.0, 0.0]).bfloat16().expand(24, 4)
        assert float(X[0].double().norm()) > 1.0025 and float(X[0].norm()) == 1.0
        start, setting = torch.zeros(4).bfloat16(), FREE.replace(d=4, K=4, clipping="joint")
        made = optimiser(setting, start=start, loss=lambda w, X: X @ w)
        run(made, 1, X)
        assert made.counts.clipped == 24

    def test_losses_that_overflow_count_as_nothing(self):
        X, y = classes()
        X[5] = 6e4 * X[5].sign()
        module = nn.Linear(6, 3).half()
        torch.nn.init.ones_(module.weight)
        made = NoisyZOGD(
            module, cross_entropy, FREE.replace(d=21, xi=0.1, sigma=0.01), sources=Sources(1, 2)
        )
        run(made, 2, (X.half(), y))
        assert 0 < made.counts.not_finite <= 2 * 3
        assert all(p.isfinite().all() for p in module.parameters())
