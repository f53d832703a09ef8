"""The noise of runs side by side has the energy (eta sigma)^2 whatever beta and K, and the stated
variance in the span and outside it.
"""

import numpy as np
import pytest
import torch

from zoexplore.mechanism import Sources, stiefel
from zoexplore.mechanism.noise import deviations
from zoexplore.mechanism.rng import normal
from zoexplore.training.step import hybrid

MANY = 20_000


def draw(runs, seed):
    generator = Sources(0, seed).noise
    return lambda size: normal(generator, (runs, size))


def noises(d, K, beta, sigma=0.7, eta=3.0, seed=5):
    U = stiefel(d, K, Sources(0, 1).directions)
    return U, hybrid(U, sigma, beta, eta, draw(MANY, seed))


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("d, K", [(12, 1), (12, 5), (12, 12)])
def test_energy_is_the_same_whatever_beta_and_K(d, K, beta):
    energy = noises(d, K, beta)[1].square().sum(-1)
    assert abs(float(energy.mean()) - (3.0 * 0.7) ** 2) < 4 * float(energy.std()) / MANY**0.5


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_covariance_is_s2_everywhere_and_s1_more_along_the_directions(beta):
    d, K = 8, 3
    U, noise = noises(d, K, beta)
    s1, s2 = np.square(deviations(0.7, beta, 3.0, d, K))
    expected = s2 * torch.eye(d) + s1 * U @ U.T
    found = noise.T @ noise / MANY
    assert (found - expected).abs().max() < 5 * float(expected.diagonal().max()) / MANY**0.5


def test_variances_are_those_of_the_paper():
    assert np.square(deviations(0.5, 0.25, 2.0, d=10, K=4)) == pytest.approx(
        (2.0**2 * 0.25 * 0.5**2 / 4, 2.0**2 * 0.75 * 0.5**2 / 10)
    )


def test_no_isotropic_part_stays_in_the_span():
    U, noise = noises(9, 4, 1.0)
    assert (noise - noise @ U @ U.T).abs().max() < 1e-12


def test_runs_may_share_directions_and_never_noise():
    U = stiefel(6, 2, Sources(0, 1).directions)
    sigma = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    noise = hybrid(U, sigma, 0.5, 1.0, draw(3, 1))
    assert noise.shape == (3, 6)
    assert not torch.equal(noise[0], noise[1])
    assert torch.equal(noise[2], torch.zeros(6, dtype=torch.float64))


def test_runs_with_directions_of_their_own_have_their_noise_along_them():
    U = stiefel(6, 2, Sources(0, 1).directions, runs=(3,))
    noise = hybrid(U, 1.0, 1.0, 1.0, draw(3, 1))
    inside = (U @ (U.mT @ noise.unsqueeze(-1))).squeeze(-1)
    assert noise.shape == (3, 6)
    assert torch.allclose(inside, noise)
