"""The static lesson, opened from a file: no kernel, no server, no network, and the player moves the figures."""

import re

import pytest

from tests.browser.acts import steady
from tests.notebooks.lab import LOOK, canvases
from tools.lesson import RUN, html
from zoexplore import guarantee
from zoexplore.formatting import format_number


@pytest.mark.parametrize("bound", ["sharp", "theorem"])
def test_the_player_moves_the_figures_of_a_file(bound, tmp_path, page):
    file = tmp_path / "lesson.html"
    file.write_text(html(bound), encoding="utf-8")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.get_by_text("Why hidden state helps").first.wait_for()
    page.wait_for_function(f"() => ({canvases()})().length >= 3", polling=LOOK)
    told = page.locator("p", has_text="Before it the runs are").first
    words, pictures = told.inner_text(), steady(page, lambda: page.evaluate(canvases()))
    page.locator(".next").first.click()
    redrawn = f"before => ({canvases()})().filter((c, i) => c != before[i]).length >= 3"
    page.wait_for_function(redrawn, arg=pictures, polling=LOOK)
    assert told.inner_text() != words
    page.locator(".last").first.click()
    page.get_by_text(re.compile(r"100\s% of the budget is spent")).wait_for()
    page.get_by_text(f"so that ε = {format_number(guarantee(RUN, bound).epsilon)}").wait_for()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
