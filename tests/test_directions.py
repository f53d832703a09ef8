"""The simulated one-step factors against drawn matrices, exact moments, and the bounds' lines."""

import numpy as np
import pytest
from scipy import stats

from zoexplore.questions.directions import moment_factor, one_step_factors, tail_factor


def drawn(d, K, c, cosine, orthonormal, samples, seed):
    """The factors from matrices of directions, as the definition has them."""
    rng = np.random.default_rng(seed)
    x, y = np.eye(d)[0], cosine * np.eye(d)[0]
    if d > 1:
        y = y + np.sqrt(1 - cosine**2) * np.eye(d)[1]
    U = rng.standard_normal((samples, d, K))
    U = np.linalg.qr(U)[0] if orthonormal else U / np.linalg.norm(U, axis=1, keepdims=True)
    s = np.einsum("sik,i->sk", U, x - c * y)
    return np.linalg.norm(x - np.einsum("sik,sk->si", U, s), axis=1)


@pytest.mark.parametrize("orthonormal", [True, False])
@pytest.mark.parametrize("d, K", [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (12, 4), (12, 12), (40, 1)])
@pytest.mark.parametrize("c, cosine", [(0.4, 1.0), (0.9, 0.3), (1.3, -0.6), (0.0, 1.0)])
def test_the_law_is_that_of_drawn_matrices(d, K, c, cosine, orthonormal):
    cosine = cosine if d > 1 else np.sign(cosine)
    got = one_step_factors(d, K, c, 8000, 1, orthonormal, cosine)
    want = drawn(d, K, c, cosine, orthonormal, 8000, 2)
    assert got.shape == (8000,)
    if want.std() < 1e-9:
        assert got == pytest.approx(want, abs=1e-7)
    else:
        assert stats.ks_2samp(got, want).pvalue > 1e-4


@pytest.mark.parametrize("d, K", [(50, 5), (50, 40), (10**9, 10**8), (10**6, 3)])
def test_means_of_squares(d, K):
    c, count = 0.3, 200_000 if K < 10**6 else 1000
    factors = one_step_factors(d, K, c, count, 3)
    assert np.mean(factors**2) == pytest.approx(1 - (1 - c**2) * K / d, abs=5 * np.std(factors**2) / np.sqrt(count) + 1e-12)
    assert moment_factor(d, K, c, 1) ** 2 == pytest.approx(1 - (1 - c**2) * K / d, rel=1e-9)
    if K <= 40:
        free = one_step_factors(d, K, c, count, 4, orthonormal=False)
        mean = 1 - 2 * (1 - c) * K / d + (1 - c) ** 2 * (K / d + K * (K - 1) / d**2)
        assert np.mean(free**2) == pytest.approx(mean, abs=5 * np.std(free**2) / np.sqrt(count))


def test_one_direction_is_orthonormal_to_itself():
    one, other = (one_step_factors(30, 1, 0.5, 20_000, seed, seed == 5) for seed in (5, 6))
    assert stats.ks_2samp(one, other).pvalue > 1e-4


def test_independent_directions_contract_less_and_can_move_apart():
    orthonormal = one_step_factors(100, 100, 0.5, 20_000, 7)
    independent = one_step_factors(100, 100, 0.5, 20_000, 7, orthonormal=False)
    assert orthonormal == pytest.approx(0.5)
    assert independent.min() > 0.5
    assert np.mean(one_step_factors(4, 4, 0.0, 20_000, 7, orthonormal=False) > 1) > 0.1


@pytest.mark.parametrize("d, K, c", [(40, 10, 0.5), (40, 20, 1.2), (1000, 300, 0.9)])
@pytest.mark.parametrize("cosine", [1.0, 0.0, -1.0])
def test_the_lines_are_bounds(d, K, c, cosine):
    factors = one_step_factors(d, K, c, 200_000, 8, cosine=cosine)
    for failure in (0.3, 0.05, 0.01):
        assert np.mean(factors > tail_factor(d, K, c, failure)) <= failure
    for order in (1, 3, 10):
        assert np.mean(factors ** (2 * order)) ** (0.5 / order) <= moment_factor(d, K, c, order) * 1.001


def test_lines_where_there_is_nothing_to_say():
    assert tail_factor(10, 6, 0.5, 0.1) == np.inf
    assert tail_factor(10**6, 5 * 10**5, 0.5, 1e-9) == pytest.approx(np.sqrt(0.625), rel=0.02)
    assert moment_factor(10, 10, 0.5, 7) == pytest.approx(0.5)


def test_the_same_seed_gives_the_same_factors():
    assert (one_step_factors(50, 5, 0.5, 10, 9) == one_step_factors(50, 5, 0.5, 10, 9)).all()
    assert (one_step_factors(50, 5, 0.5, 10, 9) != one_step_factors(50, 5, 0.5, 10, 10)).any()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: one_step_factors(10, 11, 0.5, 5, 0), "K = 11 is not allowed: give a whole number from 1 to d = 10"),
        (lambda: one_step_factors(10, 1, -0.5, 5, 0), "c = -0.5"),
        (lambda: one_step_factors(10, 1, 0.5, 0, 0), "samples = 0"),
        (lambda: one_step_factors(10, 1, 0.5, 5, 0, cosine=1.1), "cosine = 1.1"),
        (lambda: one_step_factors(1, 1, 0.5, 5, 0, cosine=0.5), "cosine = 0.5"),
        (lambda: tail_factor(10, 1, 0.5, 1.0), "failure = 1.0"),
        (lambda: moment_factor(10, 1, 0.5, 1.5), "order = 1.5"),
    ],
)
def test_values_that_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
