"""When hiding the iterates helps: against the bounds asked one by one, and what is said where it does not."""

from math import inf

import numpy as np
import pytest
from hypothesis import given

from tests.bounds.strategies import settings_of_runs
from tests.effort import examples
from zoexplore import BOUNDS, Accounting, epsilon, guarantee
from zoexplore.questions import gain_along, gain_map
from zoexplore.questions.hiding import LEAST_GAIN
from zoexplore.run.presets import DEMONSTRATION, PAPER_CONVENTION
from zoexplore.run.published import RUNS


@given(settings_of_runs())
@examples(25)
def test_a_gain_is_composition_over_the_least_bound_of_the_same_run(run):
    gain = gain_along(run, "sigma", [run.sigma])
    assert gain.composition[0] == pytest.approx(epsilon(run, "composition"), rel=1e-3)
    assert gain.least[0] == pytest.approx(guarantee(run, "best").epsilon, rel=2e-2)
    assert (gain.why[0] == "") == (gain.winner[0] not in ("composition", ""))
    if gain.why[0]:
        assert not gain.ratio[0] > LEAST_GAIN
    else:
        assert gain.ratio[0] > LEAST_GAIN and BOUNDS[gain.winner[0]].of_this_run


def test_over_two_fields():
    T, beta = [1, 20, 5000], [0.0, 0.5, 1.0]
    gain = gain_map(DEMONSTRATION, "T", "beta", T, beta)
    assert gain.ratio.shape == (3, 3) and (gain.ratio >= 1).all()
    for i, share in enumerate(beta):
        for j, steps in enumerate(T):
            run = DEMONSTRATION.replace(T=steps, beta=share)
            assert gain.least[i, j] == pytest.approx(epsilon(run, "best"), rel=1e-2)
    assert gain.winner[1].tolist() == ["composition", "sharp", "sharp"] and set(gain.winner[2]) == {"composition"}
    assert gain.ratio[1, 2] > 20 and all(why.startswith("β = 1") for why in gain.why[2])


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"beta": 1.0}, "β = 1"),
        (
            {"M": inf, "m": 0.0, "ridge": 0.0, "regime": "non-convex", "eta": 300.0},
            "fails: Every record's loss is M-smooth",
        ),
        ({"batch": 100, "sampling": "shuffled"}, "shuffled"),
        ({"m": 0.0, "ridge": 0.0, "regime": "non-convex", "lipschitz": inf, "R": inf}, "only a ridge outside it"),
        ({"m": 0.0, "ridge": 0.0, "regime": "non-convex", "R": inf}, "does not pull two runs together"),
        ({"T": 1}, "too short"),
    ],
    ids=str,
)
def test_where_nothing_is_gained_it_says_why(changes, words):
    run = DEMONSTRATION.replace(**changes)
    gain = gain_along(run, "T", [run.T])
    assert gain.winner[0] == "composition" and words in gain.why[0]


def test_printed_constants_are_no_gain():
    run, printed = DEMONSTRATION.replace(R=1e-3, beta=0.0), PAPER_CONVENTION.replace(printed=True)
    assert gain_along(run, "T", [10], printed).least[0] == gain_along(run, "T", [10], PAPER_CONVENTION).least[0]


@pytest.mark.parametrize("run", RUNS.values(), ids=lambda run: run.name)
def test_published_runs_are_described_fairly(run):
    """All of their noise is along the directions, so that composition is the least that can be proved."""
    gain = gain_along(run.setting, "T", [run.T], Accounting())
    assert gain.winner[0] == "composition" and gain.ratio[0] == 1 and gain.why[0].startswith("β = 1")
    assert gain.least[0] <= run.ours <= gain.least[0] * 1.001
    if run.shuffled:
        assert run.ours > 2 * run.claimed and "accounted as Poisson" in run.difference
    else:
        assert run.ours <= run.claimed and "agree" in run.difference


def test_nothing_is_nothing_over_nothing():
    assert (gain_along(DEMONSTRATION, "sigma", [10.0]).ratio >= 1).all()
    unknown = DEMONSTRATION.replace(sampling="poisson", batch=10)
    gain = gain_along(unknown, "T", [5])
    assert np.isnan(gain.ratio[0]) and gain.winner[0] == ""
