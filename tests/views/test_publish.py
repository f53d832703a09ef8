"""First sight: two curves and two clouds of the same run, and what moves between them; and the
game.
"""

import numpy as np
import pytest
from scipy.optimize import brentq

from tests.views.drawn import at, drag, ends, lines, y
from zoexplore import Accounting, curve, guarantee
from zoexplore.bounds import BOUNDS
from zoexplore.bounds.conversion import delta_of
from zoexplore.compute.computations import guarantees, smallest
from zoexplore.run.axes import T_VALUES, nice
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import State
from zoexplore.views.figures.game import Game
from zoexplore.views.figures.publish import PICTURES, Publish, gaussian_of


@pytest.fixture
def view():
    return Publish(State())


def test_the_two_curves_are_composition_and_the_least_of_the_run(view):
    own = [bound for bound in BOUNDS if BOUNDS[bound].of_this_run]
    found = curve(DEMONSTRATION, "T", T_VALUES, own)
    T = lines(view)["every"]["x"]
    shown, known = np.isin(T, T_VALUES), np.isin(T_VALUES, T)
    np.testing.assert_array_equal(y(view, "every")[shown], found["composition"][known])
    np.testing.assert_array_equal(
        y(view, "last")[shown], np.minimum.reduce(list(found.values()))[known]
    )
    assert [float(y(view, kind)[T == 200][0]) for kind in ("every", "last")] == list(
        view.epsilons.values()
    ), "and the run's own"


def test_the_switch_changes_the_number_and_fades_one_curve_never_its_name(view):
    for kind, other in (("every", "last"), ("last", "every")):
        view.publish = kind
        assert lines(view)[kind]["alpha"] == 1 > lines(view)[other]["alpha"]
        assert view.clouds.shown == kind
        assert {line["name"] for line in view.chart.lines} == {"every step", "only the last"}
    found = guarantees(DEMONSTRATION, Accounting())
    assert view.epsilons == {"every": found["composition"].epsilon, "last": smallest(found).epsilon}
    assert lines(view)["last"]["note"] == f"{format_number(view.epsilons['last'])} at T"


def test_a_held_slider_computes_the_places_in_sight_and_its_release_all(view):
    """From one step to a million are three times as many, of long runs."""
    view.state.slide(sigma=0.0041)
    sketched = view.two.T
    assert len(sketched) < len(T_VALUES) / 10 and sketched[-2] < 400 <= sketched[-1]
    assert lines(view)["every"]["x"][-1] >= ends(view, "across")[1] == 400
    view.state.param.update(moving=False)
    assert len(view.two.T) == len(T_VALUES)
    view.state.slide(sigma=0.0042, T=30_000)  # beyond the axis, which is fitted
    assert ends(view, "across")[1] == 60_000 and view.two.T[-1] == T_VALUES[-1]


def test_the_axis_reaches_twice_the_steps_and_stays_while_a_slider_is_held(view):
    assert ends(view, "across")[1] == nice(2 * DEMONSTRATION.T) == 400
    view.state.slide(T=300)
    assert ends(view, "across")[1] == 400 and at(view) == 300
    view.state.ask(T=300)
    assert ends(view, "across")[1] == 600
    drag(view, 450.0)
    drag(view, 450.0, held=False)
    assert view.state.T == 450


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 40.0])
def test_clouds_are_as_far_apart_as_the_gaussian_mechanism_of_that_epsilon(epsilon):
    expected = brentq(lambda mu: delta_of(mu * mu / 2, epsilon) - 1e-5, 1e-4, 60)
    assert gaussian_of(np.array([epsilon]), 1e-5)[0] == pytest.approx(expected, rel=1e-3)


def test_clouds_move_with_the_curves_and_are_together_at_first(view):
    assert len(view.clouds.every) == len(view.clouds.last) == PICTURES + 1
    assert view.clouds.every[0] == view.clouds.last[0] < 1e-3
    assert all(a <= b + 1e-4 for a, b in zip(view.clouds.last, view.clouds.every, strict=True))
    assert view.clouds.last[-1] == pytest.approx(
        float(gaussian_of(np.array([view.epsilons["last"]]), 1e-5)[0]), abs=1e-3
    )
    view.state.ask(sigma=0.002)
    assert view.clouds.last[-1] == pytest.approx(
        float(gaussian_of(np.array([view.epsilons["last"]]), 1e-5)[0]), abs=1e-3
    )


UNUSUAL = [
    {"T": 1},
    {"sigma": 1e-8},
    {"sigma": 1e6},
    {"T": 10**9},
    {"beta": 1.0},
    {"records_per_person": 3, "batch": 100},
]


@pytest.mark.parametrize("changes", UNUSUAL, ids=str)
def test_every_run_is_drawn(changes):
    view = Publish(State(DEMONSTRATION.replace(**changes)))
    assert ends(view, "up")[1] > 0 and ends(view, "across")[1] >= 2
    assert np.isfinite(view.clouds.every).all() and np.isfinite(view.clouds.last).all()


def test_the_games_ceiling_is_the_bounds_and_its_clouds_are_that_far_apart():
    from scipy.special import ndtr

    view = Game(State())
    for bound, ceiling, apart in zip(
        ("composition", "sharp"),
        view.board.ceilings,
        (view.board.every, view.board.last),
        strict=True,
    ):
        g = guarantee(DEMONSTRATION, bound)
        assert ceiling == pytest.approx((1 + g.advantage) / 2) and ndtr(apart / 2) == pytest.approx(
            ceiling, abs=1e-6
        )
    view.state.ask(sigma=0.3 * DEMONSTRATION.sigma)
    assert view.board.ceilings[1] == pytest.approx(
        (1 + guarantee(view.state.setting, "sharp").advantage) / 2
    )
