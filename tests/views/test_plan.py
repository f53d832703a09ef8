"""The plan: answers meet the target, refusals say why, and nothing moves before it is applied."""

import asyncio

import numpy as np
import panel as pn
import pytest

from tests.compute import jobs
from zoexplore import curve, epsilon
from zoexplore.compute.ask import ask
from zoexplore.compute.pool import Pool
from zoexplore.questions import SOLVABLE_FIELDS
from zoexplore.run.axes import AXES
from zoexplore.run.formatting import format_number, format_short
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Planner, State
from zoexplore.views.panels.planner import _safe


@pytest.fixture
def planner(monkeypatch):
    """A planner that computes here and now rather than in another process."""

    async def here(call, *args):
        return call(*args)

    monkeypatch.setattr("zoexplore.views.panels.planner.ask", here)
    return Planner(State(DEMONSTRATION.replace(T=50)), bound="theorem")


def press(planner, name):
    planner.buttons[name].clicks += 1


@pytest.mark.parametrize("field", SOLVABLE_FIELDS)
def test_the_answer_meets_the_target_and_can_be_applied(planner, field):
    planner.param.update(field=field, target=2.0 if field != "beta" else 4.0)
    press(planner, "solve")
    if planner.answer is None:
        assert "Out of reach" in planner.words.object
        return
    found = planner.answer
    assert planner.state.setting == DEMONSTRATION.replace(T=50)
    assert epsilon(found, "theorem") <= planner.target
    press(planner, "apply")
    assert getattr(planner.state.setting, field) == pytest.approx(getattr(found, field))
    assert not planner.buttons["apply"].visible


def test_the_answer_is_rounded_to_the_safe_side():
    assert (_safe("sigma", 0.123456789), _safe("R", 0.123456789)) == ("0.12346", "0.12345")
    assert _safe("T", 12345678) == "12345678"


def test_what_cannot_be_met_is_drawn_too(monkeypatch):
    """A refusal ends the search, and yet the figure has to be of the field that it is about."""

    async def later(call, *args):
        await asyncio.sleep(0)
        return call(*args)

    monkeypatch.setattr("zoexplore.views.panels.planner.ask", later)

    async def refused():
        planner = Planner(State(DEMONSTRATION.replace(T=50)), bound="theorem")
        planner.param.update(field="R", target=1e-9)
        press(planner, "solve")
        while "Out of reach" not in planner.words.object:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        return planner

    drawn = asyncio.run(asyncio.wait_for(refused(), 60)).drawn
    assert drawn.figure.tags == [f"ε against {AXES['R'].title}, and the target"]
    assert np.isfinite(drawn.curve.data["y"]).any() and drawn.level.location == 1e-9


def test_an_answer_that_is_asked_for_again_and_applied_at_once_is_applied(monkeypatch):
    """The browser still shows the button of the last answer when the search for the next one begins."""
    held = asyncio.Event()

    async def once_allowed(call, *args):
        await held.wait()
        return call(*args)

    async def applied():
        planner = Planner(State(DEMONSTRATION.replace(T=50)), bound="theorem", target=2.0)
        while not planner.buttons["apply"].visible:
            await asyncio.sleep(0.01)
        found = planner.answer.sigma
        held.clear()
        press(planner, "solve")
        press(planner, "apply")
        assert planner.state.sigma == DEMONSTRATION.sigma
        held.set()
        while planner.state.sigma == DEMONSTRATION.sigma:
            await asyncio.sleep(0.01)
        held.clear()
        planner.target = 1.0
        press(planner, "apply")
        press(planner, "cancel")
        held.set()
        await asyncio.sleep(0.05)
        return found, planner.state.sigma

    held.set()
    monkeypatch.setattr("zoexplore.views.panels.planner.ask", once_allowed)
    found, applied_once = asyncio.run(asyncio.wait_for(applied(), 60))
    assert applied_once == pytest.approx(found)  # and what was cancelled is not applied


def test_what_cannot_be_met_says_why(planner):
    planner.param.update(field="R", target=1e-9)
    press(planner, "solve")
    assert planner.answer is None and "Out of reach" in planner.words.object
    assert not planner.buttons["apply"].visible


def test_a_recommended_run_has_reasons(planner):
    planner.bound = "composition"
    press(planner, "recommend")
    assert epsilon(planner.answer, "composition") <= 1
    assert "Why" in planner.words.object and "2KTb/n" in planner.words.object


def test_the_least_bound_that_applies_is_the_usual_one_and_is_named(planner):
    planner.param.update(bound=Planner.param.bound.default, field="sigma")
    press(planner, "solve")
    assert "sharper bound" in planner.words.object and epsilon(planner.answer, "best") <= 1
    planner.state.ask(beta=1.0)
    press(planner, "solve")
    assert "composition" in planner.words.object.lower() and epsilon(planner.answer, "composition") <= 1


def test_noise_that_drowns_the_steps_comes_before_all_else(planner):
    planner.state.ask(n=1000, d=1000, K=1, T=50_000, regime="non-convex", m=0.0, ridge=0.0, lipschitz=float("inf"))
    planner.param.update(bound="composition", target=0.1)
    press(planner, "recommend")
    assert planner.words.object.startswith('<p class="warn" role="alert">The noise drowns the step')
    assert planner.words.object.count("drowns") == 1


def test_delta_and_target_are_texts(planner):
    target, delta = (planner.texts[name].text for name in ("target", "delta"))
    target.value, delta.value = "3", "1e-6"
    assert (planner.target, planner.state.delta) == (3, 1e-6)
    target.value, delta.value = "-1", "2"
    assert (target.value, delta.value) == ("3", "1e-6")


def test_it_answers_at_once_and_follows_the_sliders_when_they_are_let_go(planner):
    first = planner.answer
    assert first.T == 50 and epsilon(first, "theorem") <= 1
    assert f"Now ε = {format_number(epsilon(DEMONSTRATION.replace(T=50), 'theorem'))}" in planner.words.object
    assert planner.drawn.marks.data["y"] == [epsilon(DEMONSTRATION.replace(T=50), "theorem"), epsilon(first, "theorem")]
    assert planner.drawn.level.location == 1 and planner.drawn.handle.label == f"σ = {format_short(DEMONSTRATION.sigma)}"
    drawn = planner.drawn.curve.data
    expected = curve(DEMONSTRATION.replace(T=50), "sigma", drawn["x"], ["theorem"])["theorem"]
    np.testing.assert_array_equal(drawn["y"], np.where((expected > 0) & np.isfinite(expected), expected, np.nan))
    planner.state.slide(T=60)
    assert planner.answer is None and not planner.buttons["apply"].visible
    planner.state.moving = False
    assert planner.answer.T == 60 and planner.buttons["apply"].visible


AFTER = {
    "cancelled": lambda planner: press(planner, "cancel"),
    "overtaken by a moved slider": lambda planner: planner.state.slide(T=60),
    "overtaken by another question": lambda planner: planner.ask(planner._recommend),
}


@pytest.mark.parametrize("after", AFTER)
def test_nothing_goes_on_for_a_question_that_is(after, monkeypatch):
    """The call is dropped, so that its process is free again though it would have gone on for minutes."""
    dropped, drop = [], Pool.drop
    monkeypatch.setattr("zoexplore.views.panels.planner.solved", jobs.endless_answer)
    monkeypatch.setattr(Pool, "drop", lambda pool, call: (dropped.append(call), setattr(pool, "grace", 0.0), drop(pool, call)))

    async def asked():
        state = State(DEMONSTRATION.replace(T=50))
        state.moving = True  # so that it asks nothing by itself
        planner = Planner(state, bound="theorem")
        planner.ask(planner._solve)
        AFTER[after](planner)
        return await ask(abs, -1)

    assert asyncio.run(asked()) == 1
    assert dropped[0].args[0] is jobs.endless_answer and dropped[0].answer.cancelled()


def test_it_renders_alone():
    assert pn.panel(Planner()).get_root() is not None
