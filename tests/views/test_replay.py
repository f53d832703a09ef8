"""The player shows the bound's own trajectory, frame by frame."""

import numpy as np
import pytest

from zoexplore import guarantee
from zoexplore.presets import DEMONSTRATION
from zoexplore.views import Replay, State
from zoexplore.views.figures.inside import Inside
from zoexplore.views.figures.replay import MOST_FRAMES, legs

RUNS = {
    "short": DEMONSTRATION.replace(T=40),
    "few directions": DEMONSTRATION.replace(T=40, K=52),
    "every direction": DEMONSTRATION.replace(T=10, K=520),
}


@pytest.mark.parametrize("setting", RUNS.values(), ids=RUNS)
def test_what_is_left_of_the_two_legs_is_the_next_distance(setting):
    g = guarantee(setting, "sharp")
    path, (along, across) = g.trajectory, legs(g)
    if path.alpha is not None:
        left = np.hypot((1 - path.pi) * along, (1 - path.alpha) * across)
        np.testing.assert_allclose(left[:-1], path.z[1:-1], rtol=1e-9)
    assert path.z[-1] == pytest.approx(0, abs=1e-12)


def test_the_theorems_second_leg_is_what_is_hidden_and_what_is_left():
    g = guarantee(DEMONSTRATION.replace(T=40), "theorem")
    np.testing.assert_allclose(legs(g)[1], g.trajectory.a + g.trajectory.z[1:])
    assert (legs(g)[1] > 0).all()


@pytest.mark.parametrize("bound", ["sharp", "theorem"])
def test_the_last_frame_has_spent_the_whole_budget(bound):
    view = Replay(State(DEMONSTRATION.replace(T=40)), bound=bound)
    view.player.value = view.player.end
    g = guarantee(DEMONSTRATION.replace(T=40), bound)
    assert view.sources["paid"].data["y"][0] == pytest.approx(g.rho, rel=1e-6)
    assert view.sources["now"].data["x"][0] == 40
    assert "100\u202f% of the budget" in view.words.object


def test_of_a_long_run_the_last_steps_are_played():
    view = Replay(State(DEMONSTRATION.replace(T=500)))
    assert view.player.end == MOST_FRAMES - 1 and f"the last {MOST_FRAMES} steps" in view.words.object
    assert view.frames[-1] == 499


def test_a_bound_that_does_not_apply_has_nothing_to_play():
    state = State(DEMONSTRATION.replace(T=40))
    view = Replay(state, bound="theorem")
    state.ask(K=300)
    assert view.player.disabled and "2K = 600 exceeds d = 520" in view.words.object
    state.ask(K=260)
    assert not view.player.disabled and "of 40" in view.words.object


def test_the_replay_leads_inside_the_bound_and_follows_sliders_and_choice():
    view = Inside(State(DEMONSTRATION.replace(T=20)))
    assert "of 20." in view.replay.words.object
    view.state.ask(T=12)
    assert "of 12." in view.replay.words.object
    view.bound = "theorem"
    assert view.replay.bound == "theorem"
    view.active = False
    before = view.replay.words.object
    view.state.ask(T=15)
    assert view.replay.words.object == before, "asleep with the view"
