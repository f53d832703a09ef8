"""The story and what is taken from the page: steps in a browser, large type for a hall, links, frames and statements to copy."""

import json

import pytest

from tests.browser.acts import becomes, drawn, handle_of, open_export, opened, until, visit
from tests.browser.axe import serious
from zoexplore.presets import DEMONSTRATION
from zoexplore.statement import statement
from zoexplore.views.panels.story import STEPS


def test_a_reader_is_invited_and_led_through_six_steps_with_one_slider_each_and_axe_finds_nothing_serious(
    page, app_url, axe_if_any
):
    opened(page, app_url)
    invited_at_once(page)
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Begin").click()
    for number, step in STEPS.items():
        page.emulate_media(color_scheme="dark" if int(number) % 2 else "light")
        page.get_by_role("heading", name=step.title).wait_for()
        handle_of(page, step.control).wait_for()
        handles = page.locator('.noUi-handle[aria-label]:not([aria-label="step"]):visible')  # but for a player's
        until(page, lambda handles=handles: handles.count() == 1)
        assert page.get_by_text("You said").count() == 0 and f"story={number}" in page.url
        page.get_by_role("button", name=step.guesses[0]).click()
        page.get_by_text(f"You said: {step.guesses[0]}.").wait_for()
        becomes(page, page.locator("[aria-busy=true]").count, 0)  # a veil takes the colours of what is below it
        assert not axe_if_any or serious(page, axe_if_any) == "[]", step.title
        last = number == list(STEPS)[-1]
        page.get_by_role("button", name="Explore on your own" if last else "Next", exact=True).click()
    page.get_by_role("heading", name=STEPS["6"].title).wait_for(state="detached")
    handle_of(page, "K").wait_for()
    assert "story=" not in page.url


def invited_at_once(page):
    """A laptop shows the invitation, the sliders and the figure without scrolling."""
    page.get_by_role("button", name="Begin").wait_for()
    page.locator(".zx-said b, .zx-said p").first.wait_for()
    parts = (page.locator("canvas").first, handle_of(page, "T"), page.get_by_role("button", name="Begin"))
    words = page.locator(".zx-band .zx-words:visible")

    def middle(part):
        at = part.bounding_box()
        return at["y"] + at["height"] / 2

    for width, height in ((1280, 800), (1280, 900), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        for part in parts:
            until(page, lambda part=part, end=height: (at := part.bounding_box())["y"] >= 0 and at["y"] + at["height"] <= end, 20)
        until(page, lambda: abs(middle(words) - middle(parts[-1])) < 2, 20, "one line for text and button")


@pytest.fixture
def clipboard(explorer):
    """What a button has copied."""
    page = explorer
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    def copied(button):
        page.evaluate("navigator.clipboard.writeText('')")
        page.get_by_role("button", name=button, exact=True).click()
        until(page, lambda: page.evaluate("navigator.clipboard.readText()"), told=f"what {button!r} copies")
        return page.evaluate("navigator.clipboard.readText()")

    return copied


def test_what_is_copied_is_what_is_shown(explorer, clipboard):
    page = visit(explorer, "T=57&pin=K:52~few&compare=sharp")
    run = DEMONSTRATION.replace(T=57)
    assert clipboard("Copy link") == page.url and "T=57" in page.url and "pin=K:52" in page.url
    open_export(page)
    address = page.url.replace("&", "&amp;")
    assert clipboard("Copy frame") == (
        f'<iframe src="{address}" title="zoexplore" width="100%" height="640" loading="lazy"></iframe>'
    )
    assert "T=57" in clipboard("Copy code")
    page.get_by_role("button", name="Export").click()
    page.get_by_text("Statement to copy").click()
    page.get_by_label("statement of the guarantee").wait_for()
    told = statement(run, "sharp")
    assert clipboard("Copy text") == str(told)
    assert json.loads(clipboard("Copy JSON")) == json.loads(json.dumps(told.as_dict()))


SIZE = "el => parseFloat(getComputedStyle(el).fontSize)"


def test_a_hall_has_large_type(explorer):
    page = visit(explorer, "T=57")
    title, fold = (page.get_by_role("heading", name=name) for name in ("zoexplore", "Everything else"))
    small, small_fold = title.evaluate(SIZE), fold.evaluate(SIZE)
    open_export(page)
    page.get_by_role("button", name="Present", exact=True).click()
    page.wait_for_url("**present=1**")
    drawn(page)
    assert title.evaluate(SIZE) > 1.3 * small and fold.evaluate(SIZE) > 1.3 * small_fold
    page.get_by_role("button", name="Ordinary type").click()
    page.wait_for_url(lambda url: "present" not in url and "T=57" in url)
    drawn(page)
    assert title.evaluate(SIZE) == small
