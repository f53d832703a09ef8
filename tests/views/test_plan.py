"""The plan: answers meet the target, refusals say why, and nothing moves before it is applied."""

import asyncio
import os

import panel as pn
import pytest

from tests.views import jobs
from zoexplore import Setting, epsilon
from zoexplore.planning import FIELDS
from zoexplore.views import Planner, State, worker
from zoexplore.views.plan import _safe


@pytest.fixture
def planner(monkeypatch):
    """A planner that computes here and now rather than in another process."""

    async def here(call, *args):
        return call(*args)

    monkeypatch.setattr("zoexplore.views.plan.compute", here)
    return Planner(State(Setting(T=50)), bound="theorem")


def press(planner, name):
    planner.buttons[name].clicks += 1


@pytest.mark.parametrize("field", FIELDS)
def test_the_answer_meets_the_target_and_can_be_applied(planner, field):
    planner.param.update(field=field, target=2.0 if field != "beta" else 4.0)
    press(planner, "solve")
    if planner.answer is None:
        assert "It cannot be" in planner.words.object
        return
    found = planner.answer
    assert planner.state.setting == Setting(T=50)
    assert epsilon(found, "theorem") <= planner.target
    press(planner, "apply")
    assert getattr(planner.state.setting, field) == pytest.approx(getattr(found, field))
    assert not planner.buttons["apply"].visible


def test_the_answer_is_rounded_to_the_safe_side():
    assert (_safe("sigma", 0.123456789), _safe("R", 0.123456789)) == ("0.12346", "0.12345")
    assert _safe("T", 12345678) == "12345678"


def test_what_cannot_be_met_says_why(planner):
    planner.param.update(field="R", target=1e-9)
    press(planner, "solve")
    assert planner.answer is None and "It cannot be" in planner.words.object
    assert not planner.buttons["apply"].visible


def test_a_recommended_run_has_reasons(planner):
    planner.bound = "composition"
    press(planner, "recommend")
    assert epsilon(planner.answer, "composition") <= 1
    assert "Why" in planner.words.object and "Instead" in planner.words.object


def test_delta_and_target_are_texts(planner):
    target, delta = planner.choices[:2]
    target.value, delta.value = "3", "1e-6"
    assert (planner.target, planner.state.delta) == (3, 1e-6)
    target.value, delta.value = "-1", "2"
    assert (target.value, delta.value) == ("3", "1e-6")


def test_a_moved_slider_takes_the_offer_back(planner):
    press(planner, "solve")
    planner.state.T = 60
    assert planner.answer is None and not planner.buttons["apply"].visible


AFTER = {
    "cancelled": lambda planner: press(planner, "cancel"),
    "overtaken by a moved slider": lambda planner: setattr(planner.state, "T", 60),
    "overtaken by another question": lambda planner: planner.ask(planner._recommend),
}


@pytest.mark.skipif(os.name == "nt", reason="a process without a console cannot be interrupted on Windows")
@pytest.mark.parametrize("after", AFTER)
def test_nothing_goes_on_for_a_question_that_is(after, monkeypatch):
    """The shared process answers the next call, though what it was asked before would go on for minutes."""
    monkeypatch.setattr("zoexplore.views.plan.solved", jobs.endless_answer)

    async def asked():
        planner = Planner(State(Setting(T=50)), bound="theorem")
        planner.ask(planner._solve)
        while worker.warm()._computed is None:
            await asyncio.sleep(0.05)
        AFTER[after](planner)
        return await worker.compute(os.getpid)

    pid = worker.warm().pid
    assert asyncio.run(asked()) == pid


def test_it_renders_alone():
    assert pn.panel(Planner()).get_root() is not None
