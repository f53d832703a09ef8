"""The first words: a still picture before there is a session or a script, in the live page's
places; and what a link shows to whom it is sent.
"""

import re

import pytest

from tests.browser.acts import FIGURE
from tests.browser.conftest import new_page
from zoexplore import Accounting
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views.preview import picture

NEAR = 2  # pixels
PLACES = (
    "h1",
    ".epsilon",
    "p.sentence",
    ".zx-tabs",
    ".zx-switch",
    ".zx-controls",
    ".zx-answer",
    ".frame > svg",
)
CURVES = """svg => [...svg.querySelectorAll("path")].map((path) => path.getAttribute("d"))"""


def places(page):
    """Where what is seen first stands."""
    found = {
        name: page.locator(name).locator("visible=true").first.bounding_box() for name in PLACES
    }
    return {
        name: [box[side] for side in ("x", "y", "width", "height")] for name, box in found.items()
    }


@pytest.mark.parametrize(
    "screen",
    [
        {"viewport": {"width": 1440, "height": 900}},
        {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
    ],
    ids=str,
)
def test_the_still_picture_stands_where_the_live_page_does(
    browser, console_errors, app_url, screen
):
    with new_page(browser, console_errors, **screen) as page:
        page.goto(app_url)  # the picture is kept when a page has been made
        page.route(re.compile(r"\.js"), lambda route: route.abort())
        page.goto(app_url)
        still, drawn = places(page), page.locator(".frame > svg").first.evaluate(CURVES)
        page.unroute(re.compile(r"\.js"))
        console_errors.clear()
        page.goto(app_url)
        page.wait_for_function(
            "() => window.Bokeh?.documents.length && !document.querySelector('.zx-first')"
        )
        live, seen = places(page), page.locator(FIGURE).first.evaluate(CURVES)
        page.wait_for_timeout(500)
    seen_first = {name: box for name, box in still.items() if box[1] < screen["viewport"]["height"]}
    assert len(seen_first) >= len(still) - 1, "on a phone the controls are below the window"
    for name, box in seen_first.items():
        sides = (
            slice(0, 2)
            if name in (".zx-answer", ".zx-controls", ".epsilon", ".zx-tabs")
            else slice(0, 4)
        )
        assert box[sides] == pytest.approx(live[name][sides], abs=NEAR), name
    assert len(drawn) == len(seen) >= 4 and all(drawn)


def test_a_link_shows_its_run_to_whom_it_is_sent(page, app_url):
    """What sites and programs read that show a link: they run no script, and want whole addresses."""
    search = "?K=52&say=%22%3E%3Cscript%3E"
    text = page.request.get(app_url + search).text()
    told = dict(re.findall(r'<meta property="og:(\w+)" content="([^"]*)">', text))
    assert told["image"] == f"{app_url}/preview.png{search}".replace("&", "&amp;") and told[
        "title"
    ].endswith("?")
    assert told["description"].startswith("K = 52, T = 200")
    found = page.request.get(f"{app_url}/preview.png?K=52")
    assert found.headers["content-type"] == "image/png" and found.body() == picture(
        DEMONSTRATION.replace(K=52), Accounting()
    )
    assert page.request.get(f"{app_url}/preview.png?{'x' * 3000}").status == 414
