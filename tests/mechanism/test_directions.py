"""Directions are orthonormal and uniform on the Stiefel manifold, by whichever factorisation they
come.
"""

import numpy as np
import pytest
import torch
from scipy import stats

from zoexplore.mechanism import Sources, directions, stiefel

MANY = 6000
# 2K <= d takes the Cholesky factor, the others Householder's
SIZES = [(8, 3), (8, 4), (8, 6), (5, 5), (2, 1)]
LEAST_P = 1e-3  # of tests whose draws are fixed


def draws(d, K, seed=0, runs=MANY):
    return stiefel(d, K, Sources(seed, 99).directions, runs=(runs,))


@pytest.mark.parametrize("d, K", [*SIZES, (1, 1), (300, 150), (300, 300)])
def test_columns_are_orthonormal(d, K):
    U = draws(d, K, runs=5)
    assert U.shape == (5, d, K)
    assert (U.mT @ U - torch.eye(K)).abs().max() < 1e-12


@pytest.mark.parametrize("d, K", [(8, 3), (8, 4), (8, 6), (2, 1)])
def test_squared_length_of_a_row_has_the_beta_law(d, K):
    U = draws(d, K)
    for row in (0, d - 1):
        squared = U[:, row].square().sum(-1)
        assert stats.kstest(squared, stats.beta(K / 2, (d - K) / 2).cdf).pvalue > LEAST_P


@pytest.mark.parametrize("d, K", [(8, 3), (8, 6), (5, 5)])
def test_moments_are_those_of_the_haar_measure(d, K):
    """The fourth moments tell columns apart that are each uniform, but not jointly so."""
    U = draws(d, K, runs=60_000)
    moments = {
        "first": (U[:, 0, 0], 0),
        "diagonal": (U[:, K - 1, K - 1], 0),
        "second": (U[:, 0, 0] ** 2, 1 / d),
        "fourth": (U[:, 0, 0] ** 4, 3 / (d * (d + 2))),
        "two in a row": (U[:, 0, 0] ** 2 * U[:, 0, 1] ** 2, 1 / (d * (d + 2))),
        "two in a column": (U[:, 0, 0] ** 2 * U[:, 1, 0] ** 2, 1 / (d * (d + 2))),
        "two apart": (U[:, 0, 0] ** 2 * U[:, 1, 1] ** 2, (d + 1) / ((d - 1) * d * (d + 2))),
        "a rectangle": (
            U[:, 0, 0] * U[:, 0, 1] * U[:, 1, 0] * U[:, 1, 1],
            -1 / ((d - 1) * d * (d + 2)),
        ),
    }
    for name, (sample, expected) in moments.items():
        error = float(sample.std()) / len(sample) ** 0.5
        assert abs(float(sample.mean()) - expected) < 4.5 * error, name


@pytest.mark.parametrize("d, K", SIZES)
def test_rotations_on_either_side_change_nothing(d, K):
    left, right = (
        torch.from_numpy(stats.ortho_group.rvs(k, random_state=3)) if k > 1 else -torch.eye(1)
        for k in (d, K)
    )
    one, other = draws(d, K, seed=1), left.double() @ draws(d, K, seed=2) @ right.double()
    entries = (lambda U: U[:, 0, 0], lambda U: U[:, -1, -1], lambda U: U.sum((-1, -2)))
    for statistic in (*entries, lambda U: U[:, :K].det().round(decimals=9)):
        assert stats.ks_2samp(statistic(one), statistic(other)).pvalue > LEAST_P


def test_with_all_directions_both_orientations_are_as_likely():
    signs = draws(4, 4).det().sign()
    assert abs(float(signs.mean())) < 4 / MANY**0.5


def test_nearly_parallel_columns_are_made_orthonormal_all_the_same(monkeypatch):
    G = np.ones((40, 5)) + 1e-9 * np.random.default_rng(0).standard_normal((40, 5))
    monkeypatch.setattr(directions, "normal", lambda *_, **__: torch.from_numpy(G))
    U = stiefel(40, 5, None)
    assert (U.mT @ U - torch.eye(5)).abs().max() < 1e-12


def test_float32_is_orthonormal_to_its_own_precision():
    U = stiefel(200, 50, Sources(0, 1).directions, dtype=torch.float32)
    assert U.dtype == torch.float32
    assert (U.mT @ U - torch.eye(50)).abs().max() < 1e-5


@pytest.mark.parametrize("K", [0, 4])
def test_more_directions_than_dimensions_are_refused(K):
    with pytest.raises(
        ValueError, match=f"K = {K} is not allowed: give a whole number from 1 to d = 3"
    ):
        stiefel(3, K, Sources(0, 1).directions)
