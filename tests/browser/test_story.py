"""The story and what is taken from the page: steps in a browser, links, frames and statements to
copy.
"""

import re

import pytest

from tests.browser.acts import (
    FIGURE,
    VIEWPORT,
    VISIT,
    becomes,
    headline,
    open_export,
    steady,
    until,
    visit,
)
from tests.browser.axe import serious
from tests.effort import proof
from zoexplore import Accounting, guarantee
from zoexplore.questions.export import to_python
from zoexplore.questions.statement import statement
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views.panels.story import STEPS

FOCUSED = """() => {
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  return focused?.innerText;
}"""


# seven seconds a step: each time, one test clicks the story through and another looks the page
# through by axe
@pytest.mark.proof
def test_a_step_has_one_slider_and_its_answer_is_marked(explorer, axe_if_any):
    page, steps = explorer, tuple(STEPS)
    page.set_viewport_size({"width": 390, "height": 844})
    for number in steps:
        step = STEPS[number]
        page.evaluate(VISIT, f"?story={number}")
        page.emulate_media(color_scheme="dark" if number == "1" else "light")
        page.get_by_role("heading", name=step.title).wait_for()
        handles = page.locator(".noUi-handle[aria-label]:visible")
        until(page, lambda handles=handles, count=bool(step.control): handles.count() == count)
        if step.guesses:
            page.get_by_role("button", name=step.guesses[0], exact=True).click()
            page.locator(".zx-prompt [role=status] b").wait_for()
            assert page.evaluate(FOCUSED) == step.guesses[0]
        # a veil takes the colours of what is below it
        becomes(page, page.locator("[aria-busy=true]").count, 0)
        if axe_if_any:
            assert serious(page, axe_if_any, ".zx-prompt") == "[]", step.title
    page.get_by_role("button", name="End", exact=True).click()
    page.get_by_role("heading", name=STEPS[steps[-1]].title).wait_for(state="hidden")
    until(page, lambda: "story=" not in page.url)


@pytest.mark.parametrize("first", [3, proof(1)])
def test_the_story_is_clicked_through_without_moving_the_mouse(explorer, first):
    page = explorer
    page.evaluate(VISIT, f"?story={first}")
    page.get_by_role("heading", name=STEPS[str(first)].title).wait_for()
    onward = page.get_by_role("button", name="Next", exact=True)
    at = onward.bounding_box()
    for number in list(STEPS)[first:-1]:
        page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
        until(page, lambda number=number: f"story={number}" in page.url)
        page.get_by_role("heading", name=STEPS[number].title).wait_for()
        assert onward.bounding_box() == at
    page.mouse.click(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    page.get_by_role("button", name="Plan my run").wait_for()
    assert not onward.is_visible(), "no button leads nowhere"
    records = page.get_by_role("textbox", name="records")
    records.fill("7000")
    records.press("Enter")
    page.get_by_role("button", name="Plan my run").click()
    until(page, lambda: "tab=plan" in page.url and "n=7000" in page.url and "story" not in page.url)


def test_a_reader_draws_a_curve_and_sees_how_it_is(explorer):
    explorer.evaluate(VISIT, "?story=3")
    explorer.get_by_role("heading", name=STEPS["3"].title).wait_for()
    figure = explorer.locator(FIGURE).first
    at = steady(explorer, figure.bounding_box)
    last = format_number(guarantee(DEMONSTRATION, "sharp").epsilon)
    assert explorer.get_by_text(last).locator("visible=true").count() == 0
    shown = explorer.locator(".zx-answer").bounding_box()
    below = (
        explorer.evaluate("document.documentElement.scrollHeight") - shown["y"] - shown["height"]
    )
    assert below < 60, "no empty page below the panel"
    # where no slider is below it, the figure is not kept in sight
    explorer.set_viewport_size({"width": 390, "height": 844})
    explorer.wait_for_timeout(600)
    assert explorer.locator(".zx-answer[data-kept]").count() == 0
    explorer.set_viewport_size(VIEWPORT)
    at = steady(explorer, figure.bounding_box)
    explorer.mouse.move(at["x"] + 60, at["y"] + 0.8 * at["height"])
    explorer.mouse.down()
    explorer.mouse.move(at["x"] + 0.75 * at["width"], at["y"] + 0.4 * at["height"], steps=12)
    explorer.mouse.up()
    explorer.get_by_text(re.compile(r"You drew .* at T\s=\s400\. It is")).wait_for()
    explorer.locator('path[data-key="yours"]').wait_for(state="attached")
    becomes(explorer, lambda: headline(explorer), last)


@pytest.mark.proof  # by the other button the same is seen each time
def test_so_does_it_at_the_beginning(explorer):
    explorer.evaluate(VISIT, "?story=2")
    explorer.get_by_role("heading", name=STEPS["2"].title).wait_for()
    explorer.get_by_role("button", name="Back", exact=True).focus()
    explorer.keyboard.press("Enter")
    explorer.get_by_role("heading", name=STEPS["1"].title).wait_for()
    the_focus_stays_on_a_button_that_does_nothing_any_more(explorer, "Back", 1)


def the_focus_stays_on_a_button_that_does_nothing_any_more(page, button, step):
    page.get_by_role("button", name=button, exact=True, disabled=True).wait_for()
    assert page.evaluate(FOCUSED) == button
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)
    assert f"story={step}" in page.url and page.evaluate(FOCUSED) == button
    page.get_by_role("button", name="End", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=STEPS[str(step)].title).wait_for(state="hidden")
    becomes(page, lambda: page.evaluate(FOCUSED), "Story")


@pytest.fixture
def clipboard(explorer):
    """What a button has copied."""
    page = explorer
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def copied(button):
        page.evaluate("navigator.clipboard.writeText('')")
        page.get_by_role("button", name=button, exact=True).click()
        page.get_by_role("button", name="Copied").wait_for()
        page.get_by_role("button", name=button, exact=True).wait_for()
        until(
            page,
            lambda: page.evaluate("navigator.clipboard.readText()"),
            name=f"what {button!r} copies",
        )
        return page.evaluate("navigator.clipboard.readText()")

    return copied


@pytest.mark.proof  # the story is clicked through each time
def test_what_is_copied_is_what_is_shown(explorer, clipboard):
    page = visit(explorer, "T=57&pin=K:52~few&compare=sharp")
    run = DEMONSTRATION.replace(T=57)
    assert clipboard("Copy link") == page.url and "T=57" in page.url and "pin=K:52" in page.url
    open_export(page)
    assert clipboard("Copy code").startswith(to_python(run, Accounting()))
    page.get_by_role("button", name="Export").click()
    page.get_by_text("More: why").click()
    page.get_by_text("Read it here").click()
    page.get_by_label("statement of the guarantee").get_by_text("after 57 steps").wait_for()
    stated = statement(run, "sharp")
    assert clipboard("Copy text") == str(stated)
