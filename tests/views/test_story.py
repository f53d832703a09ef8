"""The story: six steps, one control each, each with an address; a guess, and then what the accountant says, right or wrong."""

import re

import pytest

from zoexplore import Accounting
from zoexplore.compute.computations import guarantees
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Explorer
from zoexplore.views.panels.story import STEPS


@pytest.fixture(scope="module")
def explorer():
    page = Explorer(search="")
    page.__panel__()
    return page


def answered(step):
    """The right guess of a step, and why, by the accountant."""
    runs = DEMONSTRATION.replace(**step.run), DEMONSTRATION.replace(**step.run | step.then)
    return step.tells(*(guarantees(run, Accounting()) for run in runs))


def test_nobody_is_stopped_by_the_story_and_it_can_always_be_begun(explorer):
    assert not explorer.story.panel.visible and explorer.story.step == ""
    assert any(getattr(button, "label", "") == "Story" for button in explorer.tools.more)


@pytest.mark.parametrize("number", STEPS)
def test_every_step_has_an_address_one_control_and_an_answer_by_the_accountant(explorer, number):
    explorer.address.read(f"?story={number}")
    step, story = STEPS[number], explorer.story
    assert story.step == number and explorer.tabs.selected == step.view
    assert explorer.controls.sole == step.control and not explorer.tabs.bar.visible and not explorer.tabs.parts.visible
    assert explorer.state.setting == DEMONSTRATION.replace(**step.run)
    assert f"story={number}" in explorer.address.search() and story.answer.object == "", "no answer before a guess"
    right, why = answered(step)
    wrong = (right + 1) % 3
    story.guesses[wrong].clicks += 1
    kinds = [button.css_classes[-1] for button in story.guesses]
    assert (kinds[right], kinds[wrong], kinds.count("zx-other")) == ("zx-right", "zx-wrong", 1)
    assert "Not quite" in story.answer.object
    assert explorer.state.setting == DEMONSTRATION.replace(**step.run | step.then)
    assert len(why) > 60
    story.guesses[right].clicks += 1
    assert story.guess == wrong, "a second guess counts nothing"


def test_a_right_guess_is_called_right(explorer):
    explorer.address.read("?story=3")
    right, _ = answered(STEPS["3"])
    explorer.story.guesses[right].clicks += 1
    assert "Right." in explorer.story.answer.object and explorer.publish.publish == "last"


def test_nothing_shows_the_answer_before_the_guess():
    page = Explorer(search="?story=3")
    page.__panel__()
    last = format_number(page.publish.epsilons["last"])
    said = [page.headline.number.object.partition("→")[0], *page.publish.names.source.data["text"]]
    assert page.publish.only == "every" and not any(last in text for text in said)
    page.story.guesses[0].clicks += 1
    assert last in page.headline.number.object and page.publish.only == ""


def test_an_answer_shows_nothing_of_what_the_next_step_asks():
    page = Explorer(search="?story=2")
    page.__panel__()
    page.story.guesses[0].clicks += 1
    assert page.publish.only == "every" and page.publish.switch.disabled
    page.story.go(3)
    page.story.guesses[0].clicks += 1
    assert page.publish.only == "" and not page.publish.switch.disabled


def test_buttons_stand_still_and_steps_follow_one_another_and_end(explorer):
    story = explorer.story
    story.go(1)
    row = story.panel[0]
    for place in range(1, len(STEPS) + 1):
        assert story.step == str(place) and all(button.visible for button in row)
        story.buttons["next"].clicks += 1
    assert story.step == str(len(STEPS)), "a click too many ends nothing"
    story.buttons["back"].clicks += 1
    assert story.step == str(len(STEPS) - 1)
    story.buttons["end"].clicks += 1
    assert story.step == "" and not story.panel.visible
    assert explorer.controls.sole == "" and explorer.tabs.bar.visible and explorer.tabs.selected == "publish"
    assert explorer.curves.along == "T" and explorer.state.setting == DEMONSTRATION, "as it was before the story"


def test_the_steps_are_short():
    for step in STEPS.values():
        assert len(re.findall(r"\w+", step.summary)) < 60 and step.question.endswith("?") and len(step.guesses) == 3


def test_a_story_that_a_link_began_ends_in_a_plain_address():
    explorer = Explorer(search="?story=6")
    explorer.story.go(0)
    assert explorer.bridge.search == "" and explorer.tabs.selected == "publish" and explorer.tabs["train"].hidden
