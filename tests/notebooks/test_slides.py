"""Slides in windows of several sizes: nothing of one is outside, and figures stand at their true size, as the mouse needs it."""

import nbformat
import pytest
from bokeh.embed import components
from bokeh.plotting import figure
from bokeh.resources import INLINE

from tests.notebooks.conftest import SERIES
from tools import executed, handouts

WINDOWS = [(1280, 800), (1920, 1080), (1024, 768)]
SCROLL = ("The whole explorer", "With widgets")  # slides that show more than one has room for
OUTSIDE = """() => {
  const slide = Reveal.getCurrentSlide(), outside = [];
  const look = (element) => {
    if (element.closest(".katex") || getComputedStyle(element).visibility === "hidden") return;
    const box = element.getBoundingClientRect();
    const beyond = Math.max(box.right - innerWidth, -box.left, -box.top, box.bottom - innerHeight);
    if (box.width > 1 && box.height > 1 && beyond > 1) outside.push(`${element.tagName} ${element.className}: ${beyond}`);
    if (element.classList.contains("bk-Figure")) {
      if (Math.abs(box.width - element.offsetWidth) > 1) outside.push(`a figure is scaled by ${box.width / element.offsetWidth}`);
    } else for (const child of [...element.children, ...(element.shadowRoot?.children ?? [])]) look(child);
  };
  look(slide);
  if (slide.scrollHeight > slide.clientHeight + 1) outside.push(`${slide.scrollHeight - slide.clientHeight} pixels to scroll`);
  return [location.hash, slide.innerText.trim().split("\\n")[0], outside];
}"""
FITTED = "Reveal.getCurrentSlide().dataset.fitted === `${innerWidth} x ${innerHeight}`"


def outside(page, file, window):
    """What is not inside of the window, slide by slide: its place, its first line, and what."""
    page.set_viewport_size(dict(zip(("width", "height"), window, strict=True)))
    page.goto("about:blank")
    page.goto(file.as_uri())
    found = {}
    while True:
        page.wait_for_function(f"() => window.Reveal && Reveal.isReady() && {FITTED}")
        place, title, beyond = page.evaluate(OUTSIDE)
        if place in found:
            return list(found.values())
        found[place] = (place, title, beyond)
        page.keyboard.press("Space")


@pytest.fixture
def file(tmp_path):
    """Slides with little text, a figure beside some, too much of it, and a figure of a fixed size."""
    new, drawn = nbformat.v4, []
    for given in ({"sizing_mode": "stretch_width"}, {"width": 300}):
        plot = figure(height=300, **given)
        plot.line([1, 2, 3], [3, 1, 2])
        drawn.append("".join(components(plot)))
    drawn[0] = f"<script>{INLINE.js_raw[0]}</script>{drawn[0]}"  # BokehJS, without what Panel would add
    shown = [new.new_output("execute_result", {"text/html": html}) for html in drawn]
    cells = [
        new.new_markdown_cell("# Slides"),
        new.new_markdown_cell("## Some text\n\n" + "word " * 80), new.new_code_cell("a", outputs=shown[:1]),
        new.new_markdown_cell("## Much of it\n\n" + "- an item\n" * 20), new.new_code_cell("b", outputs=[]),
        new.new_markdown_cell("## Square"), new.new_code_cell("c", outputs=shown[1:]),
    ]  # fmt: skip
    path = tmp_path / "slides.html"
    path.write_text(handouts.page(new.new_notebook(cells=cells), "slides"), encoding="utf-8")
    return path


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_a_slide_is_as_large_as_its_window(window, file, page, console_errors):
    found = outside(page, file, window)
    assert [title for _, title, _ in found] == ["Slides", "Some text", "Much of it", "Square"]
    assert [beyond for *_, beyond in found if beyond] == [] and console_errors == []


def test_figures_take_what_the_text_leaves(file, page):
    """More of a larger window, with little of it left over; a square one stays square. Text that is too much gets smaller."""
    tall = []
    for window in WINDOWS[:2]:
        outside(page, file, window)
        width, height, below = drawn_on(page, 1)
        assert below < 0.15 * window[1]
        tall.append(height)
        width, height, _ = drawn_on(page, 3)
        assert width == pytest.approx(height, abs=2)
        page.evaluate("Reveal.slide(2)")
        page.wait_for_function("Number(Reveal.getCurrentSlide().style.getPropertyValue('--smaller')) < 1")
    assert tall[1] > tall[0] > 300


def drawn_on(page, number):
    """A slide's figure: its width, height and how far its end is from the window's."""
    page.evaluate(f"Reveal.slide({number})")
    page.wait_for_timeout(500)  # until it has its height
    return page.evaluate("""() => {
        const box = Reveal.getCurrentSlide().querySelector(".bk-Figure").getBoundingClientRect();
        return [box.width, box.height, innerHeight - box.bottom];
    }""")


@pytest.mark.proof
@pytest.mark.parametrize("path", SERIES, ids=lambda path: path.stem)
def test_nothing_of_the_series_is_cut(path, tmp_path, page):
    """All notebooks as they are: runs each once."""
    file = tmp_path / "slides.html"
    file.write_text(handouts.page(executed.executed(path), "slides"), encoding="utf-8")
    for window in WINDOWS:
        for place, title, beyond in outside(page, file, window):
            assert beyond == [] or title in SCROLL, (window, place, title)
