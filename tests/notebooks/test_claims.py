"""What the notebooks say is what comes out: claims in their prose that no cell of theirs checks."""

import re

import numpy as np
import pytest

from tests.notebooks.conftest import SERIES
from zoexplore import Accounting, guarantee
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.presets import DEMONSTRATION

PROSE = {path.stem.partition("-")[0]: path.read_text(encoding="utf-8") for path in SERIES}


def test_delta_is_nowhere_the_chance_that_the_promise_fails():
    misread = re.compile(r"(probability|chance) (with which|that|by which) (the|a|this) (promise|guarantee) (may |might )?fails?")
    said = {number: [m.group() for m in misread.finditer(text)] for number, text in PROSE.items()}
    assert said["0"] == ["chance that the promise fails"] and '*not* \\"the chance that the promise fails' in PROSE["0"]
    assert not any(found for number, found in said.items() if number != "0")


def test_outcomes_beyond_epsilon_are_several_times_as_likely_as_delta():
    """Notebook 0: five times at mu = 1."""
    epsilon = float(epsilon_of(0.5, 1e-5))
    draws = np.random.default_rng(1).standard_normal(4_000_000) + 1.0  # from the world with the record
    ratio = draws - 0.5  # its logarithm
    assert (ratio > epsilon).mean() == pytest.approx(5.2e-5, rel=0.25)
    assert "are five times as likely as $\\\\delta$" in PROSE["0"]


def test_the_lipschitz_push_is_shorter_by_the_root_of_d():
    """Notebook 6: the distance of two runs falls a little less than sqrt(d) times, epsilon more."""
    run = DEMONSTRATION.replace(T=600, sigma=1e-3)
    by_clip, by_slope = (guarantee(run, "sharp", Accounting(sensitivity=which)) for which in ("clip", "least"))
    nearer = np.sqrt(by_clip.rho / by_slope.rho)
    assert 0.8 * np.sqrt(run.d) < nearer <= np.sqrt(run.d) < by_clip.epsilon / by_slope.epsilon
    assert f"\\\\sqrt d\\\\approx{np.sqrt(run.d):.0f}" in PROSE["6"]


@pytest.mark.parametrize("number", PROSE)
def test_who_wins_is_not_decided_by_one_seed(number):
    seeds = [int(given) for given in re.findall(r"frontier\([^)]*seeds=(\d+)", PROSE[number])]
    assert all(count >= 3 for count in seeds), seeds
