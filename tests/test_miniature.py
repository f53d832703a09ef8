"""Coupled runs in motion: the simulation is the mechanism's."""

import numpy as np
import pytest

from zoexplore import guarantee
from zoexplore.questions.miniature import frames, miniature, simulate
from zoexplore.run.presets import DEMONSTRATION

FEW = {"runs": 300}


def test_a_miniature_keeps_what_a_step_does():
    small = miniature(DEMONSTRATION)
    assert small.K / small.d == DEMONSTRATION.K / DEMONSTRATION.d
    assert small.eta / small.K == pytest.approx(DEMONSTRATION.eta / DEMONSTRATION.K)
    assert small.R / small.eta == pytest.approx(DEMONSTRATION.R / DEMONSTRATION.eta)
    assert miniature(DEMONSTRATION.replace(M=float("inf"), eta=None, regime="non-convex", m=0, ridge=0)) is None


def test_frames_are_orthonormal_and_uniform():
    U = frames(np.random.default_rng(1), 4000, 6, 2)
    np.testing.assert_allclose(np.einsum("rdk,rdl->rkl", U, U), np.broadcast_to(np.eye(2), (4000, 2, 2)), atol=1e-12)
    np.testing.assert_allclose(np.einsum("rdk,rek->de", U, U) / 4000, np.eye(6) / 3, atol=0.02)


def test_a_step_has_the_noise_of_the_mechanism():
    run = miniature(DEMONSTRATION.replace(T=1, R=float("inf"), n=10**9))
    x = simulate(run, runs=4000).places[1, 0]
    per_coordinate = (run.eta * run.sigma) ** 2 / run.d  # whatever beta is, on average over the directions
    assert x.var() == pytest.approx(per_coordinate, rel=0.2)


def test_what_is_measured_is_no_less_than_what_the_accountant_promises():
    """With room for the error of a few hundred runs."""
    for setting in (DEMONSTRATION.replace(sigma=0.01), DEMONSTRATION.replace(sigma=0.01, beta=0.0), DEMONSTRATION.replace(K=520)):
        run = miniature(setting)
        assert simulate(run, **FEW).overlap[-1] >= 1 - guarantee(run, "sharp").advantage - 0.1


def test_hidden_iterates_level_off_and_public_ones_do_not():
    motion = simulate(miniature(DEMONSTRATION), **FEW)
    assert abs(motion.overlap[10:20].mean() - motion.overlap[-10:].mean()) < 0.08
    assert motion.public[-1] < 0.6 * motion.public[10] and (np.diff(motion.public) <= 0).all()


def test_a_start_is_forgotten():
    run = miniature(DEMONSTRATION)
    apart, together = simulate(run, apart=True, **FEW), simulate(run, **FEW)
    assert apart.overlap[0] == 0 and abs(apart.overlap[-10:].mean() - together.overlap[-10:].mean()) < 0.06


def test_iterates_stay_in_the_ball():
    run = miniature(DEMONSTRATION)
    assert np.linalg.norm(simulate(run, apart=True, **FEW).places, axis=-1).max() <= run.R * (1 + 1e-6)


def test_without_noise_along_or_across_nothing_is_divided_by_zero():
    for setting in (DEMONSTRATION.replace(beta=1.0, T=3), DEMONSTRATION.replace(beta=0.0, T=3), DEMONSTRATION.replace(K=1, T=3)):
        motion = simulate(miniature(setting), **FEW)
        assert np.isfinite(motion.places).all() and np.isfinite(motion.public).all()


@pytest.mark.parametrize("changes", [
    {"sigma": 1e300}, {"sigma": 5e-324}, {"eta": 1e300}, {"R": 5e-324, "clip": 5e-324}, {"R": 1e308, "sigma": 1e308, "M": 1e308},
])  # fmt: skip
def test_numbers_that_no_picture_shows_are_refused(changes):
    with pytest.raises((FloatingPointError, ValueError), match=r"picture|allowed"):
        simulate(miniature(DEMONSTRATION.replace(**changes)))
