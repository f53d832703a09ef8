"""Pages that need no kernel and no server, opened from files: they ask nobody for anything and draw
their formulas.

Of slides, in windows of several sizes, nothing is outside, and figures stand at their true size, as
the mouse needs it.
"""

import nbformat
import pytest
from bokeh.embed import components
from bokeh.plotting import figure
from bokeh.resources import INLINE

from tests.effort import proof
from tests.notebooks.conftest import SERIES
from tests.waiting import soon
from tools import executed, handouts

TITLES = ["Slides", "Some text", "Much of it", "Square", "Frame", "Print", "a line"]
FRAME = '<iframe style="width:100%;height:2000px;border:0" srcdoc="<p>a lesson</p>"></iframe>'
EXERCISES = SERIES[4]  # its figures are not needed here: nothing is run
WINDOWS = [(1920, 1080), (1024, 768), (1280, 800)]
SCROLL = ("With widgets",)  # slides that show more than one has room for
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


# slides are opened below
@pytest.mark.parametrize("kind", ["handouts", proof("slides"), proof("answers")])
def test_a_page_asks_nobody_for_anything(kind, tmp_path, page, console_errors):
    notebook = nbformat.read(EXERCISES, as_version=4)
    file, asked = tmp_path / "page.html", []
    file.write_text(handouts.page(executed.with_answers(notebook), kind), encoding="utf-8")
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.locator(".katex").first.wait_for(state="attached")
    if kind == "slides":
        page.locator(".slides section.present").first.wait_for()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("location.hash == '#/1'")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert console_errors == []


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


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """Slides with little text, a figure beside some, too much of it, a figure of a fixed size, a
    frame and a print that are too tall.
    """
    new, drawn = nbformat.v4, []
    for given in ({"sizing_mode": "stretch_width"}, {"width": 300}):
        plot = figure(height=300, **given)
        plot.line([1, 2, 3], [3, 1, 2])
        drawn.append("".join(components(plot)))
    # BokehJS, without what Panel would add
    drawn[0] = f"<script>{INLINE.js_raw[0]}</script>{drawn[0]}"
    shown = [new.new_output("execute_result", {"text/html": html}) for html in drawn]
    cells = [
        new.new_markdown_cell("# Slides"),
        new.new_markdown_cell("## Some text\n\n" + "word " * 80),
        new.new_code_cell("a", outputs=shown[:1]),
        new.new_markdown_cell("## Much of it\n\n" + "- an item\n" * 20),
        new.new_code_cell("b", outputs=[]),
        new.new_markdown_cell("## Square"),
        new.new_code_cell("c", outputs=shown[1:]),
        new.new_markdown_cell("## Frame"),
        new.new_code_cell("d", outputs=[new.new_output("execute_result", {"text/html": FRAME})]),
        new.new_markdown_cell("## Print"),
        new.new_code_cell("e", outputs=[new.new_output("stream", text="a line\n" * 200)]),
    ]
    path = tmp_path_factory.mktemp("slides") / "slides.html"
    path.write_text(handouts.page(new.new_notebook(cells=cells), "slides"), encoding="utf-8")
    return path


@pytest.mark.parametrize("windows", [WINDOWS[:2], proof(WINDOWS[2:])], ids=["two", "a third"])
def test_slides_are_as_large_as_their_window_and_figures_take_what_the_text_leaves(
    windows, file, page, console_errors
):
    """More of a larger window, with little of it left over; a square one stays square. Text that is
    too much gets smaller.
    """
    for window in windows:
        found = outside(page, file, window)
        assert [title for _, title, _ in found] == TITLES
        assert [beyond for *_, beyond in found if beyond] == [] and console_errors == []
        if window[0] >= 1280:
            soon(lambda most=0.15 * window[1]: drawn_on(page, 1)[2] < most)
            assert drawn_on(page, 1)[1] > 0.5 * window[1] > 300
            width, height, _ = drawn_on(page, 3)
            assert width == pytest.approx(height, abs=2)
            page.evaluate("Reveal.slide(2)")
            page.wait_for_function(
                "Number(Reveal.getCurrentSlide().style.getPropertyValue('--smaller')) < 1"
            )


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
