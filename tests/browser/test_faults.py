"""What goes wrong is said and the page stays usable; what is typed, loaded or linked is text and
never runs.
"""

from urllib.parse import quote

import pytest

from tests.browser.acts import (
    HTML,
    VISIT,
    becomes,
    box_of,
    drawn,
    handle_of,
    harmless,
    open_export,
    opened,
    readouts,
    reads,
    settled,
    type_in,
    until,
)
from zoexplore import guarantee
from zoexplore.run.formatting import format_exact, format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views.panels.story import STEPS


def notice(page):
    return " ".join(page.locator(".zx-notice p").all_inner_texts())


def message(page, text):
    """A notification that says so; what is read to the blind is there a second time."""
    return page.locator(".notyf__message", has_text=text)


@pytest.fixture(scope="module")
def app_url(usual):
    """Where the page is that tests share."""
    return usual.faulty_url


def test_nothing_that_is_typed_is_run(explorer):
    settled(explorer, lambda: type_in(explorer, "T", HTML), lambda: notice(explorer))
    assert "T = " in notice(explorer) and harmless(explorer)


def test_a_callback_that_fails_is_reported_and_logged_and_the_page_goes_on(explorer, usual):
    page = explorer
    type_in(page, "T", "13")
    message(page, "is one too many").wait_for()
    message(page, "may not match the controls").wait_for()
    assert harmless(page)
    until(page, lambda: "RuntimeError: thirteen" in usual.log.read_text())
    assert "Traceback" in usual.log.read_text()
    settled(page, lambda: type_in(page, "T", "14"), lambda: readouts(page))
    reads(page, "Composition", guarantee(DEMONSTRATION.replace(T=14), "composition").epsilon)


def test_what_is_moved_while_the_server_is_held_up_is_not_lost(explorer):
    page = explorer
    type_in(page, "T", "15")
    handle = handle_of(page, "sigma")
    handle.focus()
    before = float(handle.get_attribute("aria-valuenow"))
    for _ in range(5):
        handle.press("ArrowRight")
        page.wait_for_timeout(150)  # more than Panel gathers into one message
    left = handle.get_attribute("aria-valuenow")
    assert float(left) > before
    type_in(page, "K", "100")
    box = box_of(page, "sigma")

    def follows():
        run = DEMONSTRATION.replace(T=15, K=100, sigma=float(box.input_value()))
        return readouts(page)["Composition"] == format_number(guarantee(run, "composition").epsilon)

    until(page, follows)
    page.wait_for_timeout(1000)  # nothing that was sent earlier comes after
    assert follows() and handle.get_attribute("aria-valuenow") == left
    sigma = float(box.input_value())
    assert (
        sigma > DEMONSTRATION.sigma
        and f"sigma={format_exact(sigma)}" in page.url
        and "K=100" in page.url
    )


@pytest.mark.proof  # a callback that fails is seen each time
def test_what_cannot_be_saved_is_reported_and_the_page_goes_on(explorer):
    page = explorer
    full = message(page, "No space left on device")
    open_export(page)
    page.get_by_role("button", name="YAML").or_(page.get_by_text("YAML", exact=True)).first.click()
    becomes(page, full.count, 1)
    settled(page, lambda: type_in(page, "T", "14"), lambda: readouts(page))
    reads(page, "Composition", guarantee(DEMONSTRATION.replace(T=14), "composition").epsilon)


def test_nothing_in_an_address_is_run_and_it_brings_back_a_lost_page(page, usual, console_errors):
    html = quote(HTML)
    fields = f"K={html}&n={html}&{html}={html}&regime={html}&conversion={html}&T=9"
    others = f"tab={html}&against={html}&compare={html}&show={html}&lock={html}&pin=K:{html}~{html}&pin={html}&pin=K:20~{html}"
    opened(page, f"http://127.0.0.1:{usual.line.port}/app?{fields}&{others}")
    page.locator(".zx-notice").get_by_text("In this link").wait_for()
    said = notice(page)
    assert all(
        f"{name} = " in said
        for name in ("K", "n", "regime", "conversion", "tab", "against", "compare")
    )
    assert HTML in said and harmless(page)
    page.get_by_role("button", name="All bounds").click()
    becomes(page, page.get_by_role("button", name=f"Use {HTML}").count, 2)
    assert harmless(page)
    reads(page, "Composition", guarantee(DEMONSTRATION.replace(T=9), "composition").epsilon)

    page.evaluate(VISIT, "?story=2&T=9")
    shown_step = page.get_by_role("heading", name=STEPS["2"].title)
    shown_step.wait_for()
    usual.line.cut()
    message(page, "The connection to the server is lost").wait_for()
    console_errors.clear()  # Bokeh logs that it cannot connect
    usual.line.mend()
    with page.expect_navigation(wait_until="commit"):
        message(page, "The connection").get_by_role("link", name="Load the page again").click()
    drawn(page)
    shown_step.wait_for()
    console_errors.clear()
