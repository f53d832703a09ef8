"""The story: six steps, one control each, each with an address; a guess, and then what the accountant says."""

import re

import pytest

from zoexplore import Accounting, guarantee
from zoexplore.formatting import format_number, format_percent
from zoexplore.presets import DEMONSTRATION
from zoexplore.views import Explorer
from zoexplore.views.panels.story import STEPS


@pytest.fixture(scope="module")
def explorer():
    page = Explorer(search="")
    page.__panel__()
    return page


def test_a_stranger_is_invited_and_may_decline():
    page = Explorer(search="?")
    assert page.story.panel.visible and "New here?" in page.story.words.object
    page.story.buttons["skip"].clicks += 1
    assert not page.story.panel.visible and page.story.step == ""
    assert not Explorer(search="?T=9").story.panel.visible
    assert not Explorer().story.panel.visible


@pytest.mark.parametrize("step", [step for step in STEPS if step != "6"])
def test_every_step_has_an_address_one_control_and_an_answer_by_the_accountant(explorer, step):
    explorer.address.read(f"?story={step}")
    told, story = STEPS[step], explorer.story
    assert story.step == step and explorer.tabs.selected == told.view
    assert explorer.controls.sole == told.control and not explorer.tabs.switch.visible
    assert explorer.state.setting == DEMONSTRATION.replace(**told.run)
    assert f"story={step}" in explorer.address.search()
    assert "<b>" not in story.answer.object, "no answer before a guess"
    story.guesses[1].clicks += 1
    assert f"You said: {told.guesses[1]}" in story.answer.object.replace("&#x27;", "'")
    assert explorer.state.setting == DEMONSTRATION.replace(**told.run | told.then)
    now = explorer.state.setting
    by = "composition" if step == "2" else "sharp"
    assert format_number(guarantee(now, by).epsilon) in story.answer.object
    assert all(button.disabled for button in story.guesses)


@pytest.mark.parametrize("step", [number for number, told in STEPS.items() if told.reveals])
def test_nothing_shows_the_answer_before_the_guess(step):
    page = Explorer(search=f"?story={step}")
    page.__panel__()
    before, after = (
        guarantee(DEMONSTRATION.replace(**STEPS[step].run | changes), bound).epsilon
        for changes, bound in (({}, "composition"), (STEPS[step].then, "sharp"))
    )

    def said():
        return page.readouts.verdict.object

    assert "sharp" in page.curves.legend.muted and "composition" not in page.curves.legend.muted
    assert f"= {format_number(before)} " in said() and f"= {format_number(after)} " not in said()
    page.story.guesses[0].clicks += 1
    assert "sharp" not in page.curves.legend.muted and f"= {format_number(after)} " in said()


def test_the_guesses_have_the_answer_among_them():
    """Which one it is follows from the accountant's numbers."""

    def ratio(step, bound):
        told = STEPS[step]
        runs = (DEMONSTRATION.replace(**told.run), DEMONSTRATION.replace(**told.run | told.then))
        before, after = (guarantee(run, bound, Accounting()).epsilon for run in runs)
        return after / before

    assert 0.1 < ratio("1", "sharp") < 0.9
    assert 10 < ratio("2", "composition") < 30
    assert guarantee(DEMONSTRATION, "sharp").epsilon < guarantee(DEMONSTRATION, "composition").epsilon / 5
    assert ratio("4", "sharp") < 1.001
    assert ratio("5", "sharp") < 0.5


def test_steps_follow_one_another_and_end(explorer):
    story = explorer.story
    story.step = "1"
    story.buttons["next"].clicks += 1
    assert story.step == "2"
    story.buttons["back"].clicks += 1
    assert story.step == "1" and story.buttons["back"].disabled
    story.buttons["skip"].clicks += 1
    assert story.step == "" and not story.panel.visible
    assert explorer.controls.sole == "" and explorer.tabs.switch.visible and explorer.tabs.selected == "curves"


def test_a_step_shows_the_curves_that_it_tells_of_and_their_number(explorer):
    explorer.address.read("?story=2")
    curves = explorer.curves
    drawn = {name for name, line in curves.lines.items() if line.visible}
    assert drawn == {"composition"} and not curves.legend.visible and not curves.annotations.data["label"]
    g = guarantee(DEMONSTRATION.replace(**STEPS["2"].run), "composition")
    assert format_number(g.epsilon) in explorer.readouts.verdict.object
    assert "gives less here" not in explorer.readouts.verdict.object, "other bounds do"
    assert "T*" not in curves.meaning.object
    assert format_percent(float(g.true_positive_rate(0.01))) in explorer.attacker.pane.object
    explorer.address.read("?story=3")
    assert {name for name, line in curves.lines.items() if line.visible} == {"composition"}
    explorer.story.guesses[0].clicks += 1
    assert {name for name, line in curves.lines.items() if line.visible} == {"composition", "sharp"}
    explorer.story.buttons["skip"].clicks += 1
    assert all(line.visible for line in curves.lines.values()) and curves.legend.visible and "T*" in curves.meaning.object
    assert "gives the smallest" in explorer.readouts.verdict.object


def test_the_steps_are_short():
    for told in STEPS.values():
        words = re.findall(r"\w+", told.summary)
        assert len(words) < 60 and told.question.endswith("?") and len(told.guesses) == 3
