"""The plan: answers meet the target, refusals say why, and nothing moves before it is applied."""

import asyncio
import re
import time
from math import inf

import numpy as np
import panel as pn
import pytest

from tests.compute import jobs
from tests.views.drawn import dots, lines, y
from tests.waiting import PATIENCE, soon
from zoexplore import curve, epsilon
from zoexplore.compute.ask import ask, pool
from zoexplore.compute.pool import Pool
from zoexplore.questions import SOLVABLE_FIELDS
from zoexplore.run.axes import AXES
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Planner, State
from zoexplore.views.panels.planner import _found


@pytest.fixture
def planner(monkeypatch):
    """A planner that computes here and now rather than in another process."""

    async def here(call, *args):
        return call(*args)

    monkeypatch.setattr("zoexplore.views.panels.planner.ask", here)
    return Planner(State(DEMONSTRATION.replace(T=50)), bound="theorem")


def use(planner):
    planner.use.clicks += 1


def recommend(planner):
    planner.whole = "run"


def put(planner, name, text):
    """Put a text into a blank."""
    planner.sentence.asked = [name, text, (planner.sentence.asked or [0])[-1] + 1]


@pytest.mark.parametrize("field", SOLVABLE_FIELDS)
def test_the_answer_meets_the_target_and_can_be_applied(planner, field):
    planner.param.update(field=field, target=2.0 if field != "beta" else 4.0)
    if planner.answer is None:
        assert "Out of reach" in planner.words.object
        return
    found = planner.answer
    assert planner.state.setting == DEMONSTRATION.replace(T=50)
    assert epsilon(found, "theorem") <= planner.target
    use(planner)
    assert getattr(planner.state.setting, field) == pytest.approx(getattr(found, field))
    assert not planner.use.visible


def test_the_answer_is_rounded_to_the_safe_side():
    assert (_found("sigma", 0.123456789), _found("R", 0.123456789)) == ("0.124", "0.123")
    assert _found("T", 12345678) == "12\u202f345\u202f678"


def test_what_cannot_be_met_is_drawn_too(monkeypatch):
    """A refusal ends the search, and yet the figure has to be of the field that it is about."""

    async def later(call, *args):
        await asyncio.sleep(0)
        return call(*args)

    monkeypatch.setattr("zoexplore.views.panels.planner.ask", later)

    async def refused():
        planner = Planner(State(DEMONSTRATION.replace(T=50)), bound="theorem")
        planner.param.update(field="R", target=1e-9)
        while "Out of reach" not in planner.words.object:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        return planner

    planner = asyncio.run(asyncio.wait_for(refused(), 60))
    assert planner.chart.given["said"].startswith(f"ε against {AXES['R'].title}, and the target")
    assert np.isfinite(y(planner, "last")).any() and planner.chart.given["levels"][0]["y"] == 1e-9


def test_what_cannot_be_met_says_why(planner):
    planner.param.update(field="R", target=1e-9)
    assert planner.answer is None and "Out of reach" in planner.words.object
    assert not planner.use.visible


def test_a_recommended_run_has_reasons(planner):
    planner.bound = "composition"
    recommend(planner)
    assert epsilon(planner.answer, "composition") <= 1
    assert "Why" in planner.words.object and "2KTb/n" in planner.words.object
    steps = f"{planner.answer.T} steps, {planner.answer.K} direction"
    assert (
        steps in planner.found.object and "even if every step is published" in planner.found.object
    )
    rows = re.findall(r"</i> (.*?)</th><td><b>(.*?)</b></td><td>(.*?)</td>", planner.words.object)
    assert ("steps", str(planner.answer.T), "50") in rows, "the plan beside the sliders"
    assert ("directions a step", str(planner.answer.K), "260") in rows
    assert any(name == "privacy loss" and float(found) <= 1 for name, found, _ in rows)


def test_the_least_bound_that_applies_is_the_usual_one_and_is_named(planner):
    planner.param.update(bound=Planner.param.bound.default, field="sigma")
    assert "sharper bound" in planner.words.object and epsilon(planner.answer, "best") <= 1
    planner.state.ask(beta=1.0)
    assert (
        "composition" in planner.words.object.lower()
        and epsilon(planner.answer, "composition") <= 1
    )


def test_noise_that_drowns_the_steps_comes_before_all_else(planner):
    planner.state.ask(
        n=1000, d=1000, K=1, T=50_000, regime="non-convex", m=0.0, ridge=0.0, lipschitz=float("inf")
    )
    planner.param.update(bound="composition", target=0.1, passes=100_000.0)
    recommend(planner)
    assert planner.words.object.startswith('<p class="warn" role="alert">The noise drowns the step')
    assert planner.words.object.count("drowns") == 1


def test_what_is_typed_wrongly_stays_and_is_marked_and_changes_nothing(planner):
    put(planner, "target", "3")
    put(planner, "delta", "1e-6")
    put(planner, "bound", "composition")
    assert (planner.target, planner.state.delta, planner.bound) == (3, 1e-6, "composition")
    wrong = {
        "target": ("-1", "above 0"),
        "n": ("0", "whole number"),
        "delta": ("2", "δ = 2"),
        "T": ("x", "number"),
    }
    for name, (text, said) in wrong.items():
        put(planner, name, text)
        assert (
            planner.sentence.blanks[name] | {"wrong": True, "text": text}
            == planner.sentence.blanks[name]
        ), name
        assert said in planner.words.object and planner.answer is None
    assert (planner.target, planner.state.delta, planner.state.n) == (3, 1e-6, DEMONSTRATION.n)
    put(planner, "T", "60")
    assert planner.state.T == 60 and not any(
        each["wrong"] for each in planner.sentence.blanks.values()
    )


def test_an_answer_that_comes_late_does_not_replace_why_a_text_is_refused():
    async def types():
        planner = Planner(State(DEMONSTRATION.replace(T=51)))
        planner.take("target", "-3")
        deadline = time.monotonic() + PATIENCE
        while sum(pool().counts()) and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.1)
        return planner

    planner = asyncio.run(types())
    assert "-3 is not allowed" in planner.words.object and planner.answer is None


def test_the_sought_fields_blank_reads_its_symbol(planner):
    planner.field = "n"
    assert (
        planner.sentence.blanks["n"]["text"] == "n"
        and planner.sentence.blanks["d"]["text"] == "520"
    )
    planner.whole = "run"
    assert (
        "{passes}" in planner.sentence.said
        and planner.sentence.blanks["n"]["text"] == "20\u202f000"
    )
    assert planner.sentence.blanks["batch"]["text"] == "all" and not planner.drawing.visible
    put(planner, "batch", "2000")
    put(planner, "passes", "20")
    assert planner.state.batch == 2000 and planner.answer.batch == 2000
    assert 2 * planner.answer.K * planner.answer.T * 2000 / planner.answer.n <= 20 * 1.01


def test_it_answers_at_once_and_follows_the_sliders_when_they_are_let_go(planner):
    first = planner.answer
    assert first.T == 50 and epsilon(first, "theorem") <= 1
    now = epsilon(DEMONSTRATION.replace(T=50), "theorem")
    assert f"Now ε = {format_number(now)}" in planner.words.object
    assert (dots(planner)["yours"]["y"], dots(planner)["last"]["y"]) == (
        now,
        epsilon(first, "theorem"),
    )
    assert planner.chart.given["levels"][0]["y"] == 1
    x = lines(planner)["last"]["x"]
    np.testing.assert_array_equal(
        y(planner, "last"), curve(DEMONSTRATION.replace(T=50), "sigma", x, ["theorem"])["theorem"]
    )
    public = dots(planner)["every"]
    assert (
        public["hollow"]
        and epsilon(DEMONSTRATION.replace(T=50, sigma=public["x"]), "composition")
        == public["y"]
        <= 1
    )
    assert f"{format_number(public['x'] / first.sigma, 2)} times" in planner.found.object
    planner.state.slide(T=60)
    assert planner.answer is None and not planner.use.visible
    planner.state.moving = False
    assert planner.answer.T == 60 and planner.use.visible


AFTER = {
    "no longer in sight": lambda planner: planner.param.update(active=False),
    "overtaken by a moved slider": lambda planner: planner.state.slide(T=60),
    "overtaken by another question": lambda planner: planner.param.update(whole="run"),
}


@pytest.mark.parametrize("after", AFTER)
def test_nothing_goes_on_for_a_question_that_is(after, monkeypatch):
    """The call is dropped, so that its process is free again though it would have gone on for
    minutes.
    """
    dropped, drop = [], Pool.drop
    monkeypatch.setattr("zoexplore.views.panels.planner.solved", jobs.endless_answer)
    monkeypatch.setattr(
        Pool,
        "drop",
        lambda pool, call: (dropped.append(call), setattr(pool, "grace", 0.0), drop(pool, call)),
    )

    async def asked():
        planner = Planner(State(DEMONSTRATION.replace(T=50)), bound="theorem")
        AFTER[after](planner)
        return await ask(abs, -1)

    assert asyncio.run(asked()) == 1
    assert dropped[0].args[0] is jobs.endless_answer
    soon(dropped[0].answer.cancelled)


def test_it_renders_alone():
    assert pn.panel(Planner()).get_root() is not None


def test_a_cool_down_is_offered_where_it_needs_less_and_applied_with_the_answer():
    planner = Planner(State(DEMONSTRATION.replace(beta=1.0)))
    found = planner.answer
    assert found is not None and not found.cooldown and planner.cooler.visible
    assert "With β = ½ in the last step and β = 1 until then, σ = <b>" in planner.found.object
    planner.cooler.clicks += 1
    cooled = planner.state.setting
    assert cooled.cooldown == 1 and cooled.sigma < 0.5 * found.sigma
    assert cooled.sigma == float(f"{cooled.sigma:.3g}"), "the number that is read"
    assert epsilon(cooled, "best") <= planner.target and not planner.cooler.visible
    planner.state.ask(cooldown=0, beta=0.5)
    assert not planner.cooler.visible and "in the last step" not in planner.found.object


def test_a_cool_down_that_takes_more_noise_is_not_offered():
    """Of this run's plan, composition with all noise along the directions needs less."""
    planner = Planner(State(DEMONSTRATION), whole="run")
    assert planner.answer.beta == 1 and not planner.cooler.visible


def test_a_whole_run_says_what_training_finds_and_where_composition_is_the_truth():
    run = DEMONSTRATION.replace(
        d=10**9, batch=64, regime="non-convex", m=0.0, ridge=0.0, M=inf, R=inf, lipschitz=inf
    )
    planner = Planner(State(run), whole="run")
    said = planner.words.object
    assert "<li>Clip: " in said and "Nothing to tune.</li>" in said
    assert "KT ≪ d: composition is the truth" in said
