"""The story: six steps, one control each, each with an address; a guess, and then what the
accountant says, right or wrong.
"""

import re
from html import escape

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


ASKED = [number for number, step in STEPS.items() if step.guesses]


@pytest.mark.parametrize("number", ASKED)
def test_every_step_has_an_address_one_control_and_an_answer_by_the_accountant(explorer, number):
    explorer.address.read(f"?story={number}")
    step, story = STEPS[number], explorer.story
    assert story.step == number and explorer.tabs.selected == step.view
    assert explorer.controls.sole == (step.control or "none")
    assert not explorer.tabs.bar.visible and not explorer.tabs.parts.visible
    assert explorer.state.setting == DEMONSTRATION.replace(**step.run)
    assert f"story={number}" in explorer.address.search() and story.answer.object == "", (
        "no answer before a guess"
    )
    right, why = answered(step)
    wrong = (right + 1) % 3
    story.guesses[wrong].clicks += 1
    if not step.turned.get("draws"):
        kinds = [button.css_classes[-1] for button in story.guesses]
        assert (kinds[right], kinds[wrong], kinds.count("zx-other")) == ("zx-right", "zx-wrong", 1)
        assert "Not quite" in story.answer.object
        story.guesses[right].clicks += 1
        assert story.guess == wrong, "a second guess counts nothing"
    assert escape(why.partition(" ")[0]) in story.answer.object and len(why) > 60
    assert explorer.state.setting == DEMONSTRATION.replace(**step.run | step.then)


def test_a_right_guess_is_called_right(explorer):
    explorer.address.read("?story=2")
    right, _ = answered(STEPS["2"])
    explorer.story.guesses[right].clicks += 1
    assert "Right." in explorer.story.answer.object


def test_nothing_shows_how_far_the_best_attacker_gets_before_the_guess():
    page = Explorer(search="?story=1")
    page.__panel__()
    assert page.tabs["game"].board.masked and not page.holder.visible
    page.story.guesses[1].clicks += 1
    assert not page.tabs["game"].board.masked and "10.8 of 20" in page.story.answer.object
    page.story.go(0)
    assert not page.tabs["game"].masked


def test_a_reader_draws_where_epsilon_goes_and_sees_nothing_of_it_before():
    page = Explorer(search="?story=3")
    page.__panel__()
    view, last = page.publish, format_number(page.publish.epsilons["last"])
    said = [
        page.headline.number.object,
        view.chart.given["said"],
        *(line["note"] for line in view.chart.lines),
    ]
    assert view.only == "every" and not any(last in text for text in said) and view.chart.draws_on
    for nothing in ([], [[1, "x"], [2, 3]], [[5.0, 1.0]]):
        view.chart.drew = nothing
        assert page.story.guess == -1
    view.chart.drew = [[0.5, 1.0], [200.0, 4.0], [400.0, 4.66]]
    assert (
        page.story.guess >= 0
        and f"You drew 4.7 at T\u00a0=\u00a0400. It is {last}" in page.story.answer.object
    )
    assert {line["name"] for line in view.chart.lines} == {"every step", "only the last", "you"}
    assert last in page.headline.number.object and not view.chart.draws_on
    page.story.go(2)
    assert view.yours == [] and view.publish == "every"


@pytest.mark.parametrize(
    ("place", "said"),
    [(0, "Not quite. It goes flat."), (1, "Not quite. It goes flat."), (2, "Right.")],
)
def test_who_cannot_draw_has_it_drawn(place, said):
    page = Explorer(search="?story=3")
    page.story.guesses[place].clicks += 1
    assert said in page.story.answer.object and len(page.publish.yours) > 20
    assert "You drew" not in page.story.answer.object


def test_the_curve_that_is_asked_for_is_drawn_with_the_answer_and_alone():
    page = Explorer(search="?story=4")
    page.__panel__()
    view, last = page.curves, format_number(page.publish.epsilons["last"])

    def drawn():
        return {line["key"] for line in view.chart.lines} - {*view.chart.muted}

    assert drawn() == set() and not view.choice.visible
    page.story.guesses[2].clicks += 1
    assert drawn() == {"sharp"} and not view.choice.visible and not view.legend.visible
    assert view.ends[0] >= 0.1, "the axis is fitted to it"
    assert f"from {last} to" in page.story.answer.object.replace("\u00a0", " ")
    page.story.go(0)
    assert "composition" in drawn() and view.choice.visible


def test_an_answer_shows_nothing_of_what_the_next_step_asks():
    page = Explorer(search="?story=2")
    page.__panel__()
    page.story.guesses[0].clicks += 1
    assert page.publish.only == "every" and page.publish.switch.disabled
    page.story.go(3)
    page.story.guesses[0].clicks += 1
    assert page.publish.only == "" and not page.publish.switch.disabled


@pytest.mark.parametrize(("place", "view"), [(0, "plan"), (1, "claims")])
def test_the_story_ends_with_the_readers_own_run(place, view):
    page = Explorer(search="?story=6")
    assert page.story.own.visible and not page.story.row.visible
    page.story.yours.asked = ["n", "5000", 1]
    page.story.yours.asked = ["d", "0", 2]
    assert (
        page.state.n == 5000
        and page.story.yours.blanks["d"]["wrong"]
        and page.story.yours.blanks["d"]["text"] == "0"
    )
    assert (
        page.controls.notice in list(page.story.own)
        and "d = 0 is not allowed" in page.controls.notice.object
    )
    page.story.own[-1][place].clicks += 1
    assert (page.story.step, page.tabs.selected) == ("", view) and page.state.n == 5000


def test_a_new_reader_is_invited_once():
    page = Explorer(search="")
    page.__panel__()
    assert not page.invite.visible, "nobody knows yet whether this browser was here"
    page.bridge.ready = True
    assert page.invite.visible and page.invite not in page.side.select(), "it covers no control"
    page.tabs.selected = "plan"
    assert not page.invite.visible
    page.tabs.selected = "publish"
    page.invite[0][1][1].clicks += 1
    assert not page.invite.visible and page.bridge.met


def test_buttons_stand_still_and_steps_follow_one_another_and_end(explorer):
    story = explorer.story
    story.go(1)
    row = story.panel[0]
    for place in range(1, len(STEPS)):
        assert story.step == str(place) and all(button.visible for button in row)
        story.next.clicks += 1
    assert story.step == str(len(STEPS)) and not story.next.visible, "no button leads nowhere"
    story.back.clicks += 1
    assert story.step == str(len(STEPS) - 1)
    story.end.clicks += 1
    assert story.step == "" and not story.panel.visible
    assert (
        explorer.controls.sole == ""
        and explorer.tabs.bar.visible
        and explorer.tabs.selected == "publish"
    )
    assert explorer.curves.along == "T" and explorer.state.setting == DEMONSTRATION, (
        "as it was before the story"
    )


def test_the_steps_are_short():
    for step in STEPS.values():
        assert len(re.findall(r"\w+", step.summary)) < 60
        assert not step.guesses or ("?" in step.question and len(step.guesses) == 3)


def test_a_story_that_a_link_began_ends_in_a_plain_address():
    explorer = Explorer(search="?story=4")
    explorer.story.go(0)
    assert explorer.bridge.search == "" and explorer.tabs.selected == "publish"
