"""Two of the series in a real JupyterLab: cells run, widgets appear, and moving them redraws the
figures.
"""

import re

import pytest
from panel.io.resources import DIST_DIR

from tests.browser.acts import FIGURE, becomes, heard, steady
from tests.notebooks.conftest import FOLDER
from tests.notebooks.lab import LOOK, PANEL, SECONDS, canvases, run_all, serve_panel_here, served
from zoexplore import guarantee
from zoexplore.palette import colour
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION

NOTEBOOK = "document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden)')"

INK = "text => getComputedStyle(text).fill"


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with served(FOLDER, tmp_path_factory.mktemp("jupyter")) as url:
        yield url


@pytest.fixture
def notebook_page(page, console_errors):
    """A page that answers Panel's questions for its style sheets from this machine, and holds
    nothing else against it.
    """
    serve_panel_here(page, DIST_DIR)
    page.set_viewport_size({"width": 1280, "height": 1000})
    yield page
    ours = [error for error in console_errors if PANEL not in error and not of_the_splash(error)]
    console_errors[:] = ours


def of_the_splash(error):
    """Whether JupyterLab took its own splash screen away twice: no code but its core's had a part
    in it.
    """
    frames = re.findall(r"^ +at (.*)$", error, re.MULTILINE)
    return (
        "removeChild" in error
        and bool(frames)
        and all("/static/lab/jlab_core." in frame for frame in frames)
    )


def drawn_at(page, part):
    """What all canvases show once a part is scrolled to and nothing moves any more."""
    part.scroll_into_view_if_needed()
    return steady(page, lambda: page.evaluate(canvases(NOTEBOOK)))


def redrawn(page, before, figures):
    """Wait until so many canvases show something else."""
    script = (
        f"before => ({canvases(NOTEBOOK)})().filter((c, i) => c != before[i]).length >= {figures}"
    )
    page.wait_for_function(script, arg=before, polling=LOOK, timeout=SECONDS * 1000)


def test_the_first_notebook_in_a_dark_lab(lab, notebook_page):
    """One run of it for all that it shows: running it takes far longer than looking."""
    page = notebook_page
    run_all(page, lab, "1-start-here.ipynb")
    assert page.evaluate("document.body.dataset.jpThemeLight") == "false"
    page.locator(".zx-explorer .epsilon").wait_for()
    what_is_drawn_shows_on_its_ground(page)
    the_explorer_follows_its_sliders(page)
    a_slider_redraws_the_curves_of_every_cell_that_shares_its_state(page)


def what_is_drawn_shows_on_its_ground(page):
    for part in (".zx-explorer .zx-answer", ".zx-curves >> nth=-1", ".zx-explorer", ".zx-dial"):
        ground = page.locator(part).first.evaluate("e => getComputedStyle(e).backgroundColor")
        assert min(map(int, re.findall(r"\d+", ground)[:3])) > 240, part
    light = colour("muted", dark=False)
    assert (
        page.locator(f"{FIGURE} >> .title").first.evaluate(INK)
        == f"rgb{tuple(int(light[i : i + 2], 16) for i in (1, 3, 5))}"
    )


def the_explorer_follows_its_sliders(page):
    explorer = page.locator(".zx-explorer")
    slider, field = (
        explorer.locator(".zx-slider .noUi-handle").first,
        explorer.locator(".zx-field input").first,
    )
    number, answer = explorer.locator(".epsilon b"), guarantee(DEMONSTRATION, "sharp").epsilon
    before = drawn_at(page, slider)
    assert field.input_value() == str(DEMONSTRATION.K) and number.inner_text() == format_number(
        answer
    )
    heard(page, lambda: slider.press("ArrowRight"), field.input_value)
    redrawn(page, before, 1)
    becomes(page, lambda: number.inner_text() != format_number(answer), True)


def a_slider_redraws_the_curves_of_every_cell_that_shares_its_state(page):
    sliders = page.locator(".zx-slider .noUi-handle")
    assert sliders.count() == 3 + 7  # one at a time, then the explorer's
    becomes(page, page.locator(".zx-slider .noUi-handle[aria-label]").count, 3 + 7)
    sigma, field = (
        page.locator(".zx-dial").nth(2).locator(part)
        for part in (".zx-slider .noUi-handle", ".zx-field input")
    )
    before, was = drawn_at(page, sigma), field.input_value()
    heard(page, lambda: sigma.press("ArrowRight"), field.input_value)
    for _ in range(5):
        sigma.press("ArrowRight")
    redrawn(page, before, 2)  # the curves against T and those against K
    assert float(field.input_value()) > float(was)


@pytest.mark.proof  # the slider of a file is tested each time
def test_the_slider_steps_through_the_bound(lab, notebook_page):
    page = notebook_page
    run_all(page, lab, "4-why-hidden-state-helps.ipynb")
    slider = page.locator(".noUi-handle").first
    before = drawn_at(page, slider)
    heard(page, lambda: slider.press("ArrowRight"), lambda: page.evaluate(canvases(NOTEBOOK)))
    redrawn(page, before, 2)
