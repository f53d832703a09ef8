"""The page in a real browser: every control moves the curves and the read-outs, at any width, light
and dark.
"""

import re
from math import inf

import pytest

from tests.browser.acts import (
    CLOSE,
    FIGURE,
    WIDER,
    background,
    becomes,
    box_of,
    column,
    data,
    handle_of,
    narrow_enough,
    open_fold,
    opened,
    press,
    readouts,
    reads,
    rested,
    settled,
    show,
    steady,
    type_in,
    until,
)
from tests.browser.conftest import new_page
from tests.effort import proof, usually
from zoexplore import BOUNDS, Accounting, curve, guarantee
from zoexplore.compute.computations import smallest
from zoexplore.run.axes import T_VALUES
from zoexplore.run.formatting import format_number, parse_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views.explorer import QUESTION
from zoexplore.views.panels.controls import SLIDERS
from zoexplore.views.panels.story import STEPS
from zoexplore.views.tabs import VIEWS

# The paragraphs of the answer that end above its figure.
ABOVE = """() => {
  const found = [], figures = [], walk = (root) => {
    for (const e of root.querySelectorAll("*")) {
      const box = e.getBoundingClientRect();
      if (e.closest(".zx-controls, .zx-header") || !box.height) continue;
      if (e.matches(".bk-Canvas, canvas, .frame > svg, .box > svg, .claims")) figures.push(box.top);
      if (e.matches("p, h1, h2, li")) found.push([box.bottom, e.innerText]);
      if (e.shadowRoot) walk(e.shadowRoot);
    }
  };
  walk(document.body);
  return found.filter(([bottom]) => bottom <= Math.min(...figures) + 1).map(([, text]) => text);
}"""
# How often the page gives its figure another size in half a second.
RESIZED = """(figure) => new Promise((done) => {
  let times = -1; // the first is of the present size
  const watch = new ResizeObserver(() => { times += 1; });
  watch.observe(figure);
  setTimeout(() => { watch.disconnect(); done(times); }, 500);
})"""


@pytest.fixture
def phone(browser, console_errors):
    """A fresh page, small and under a finger."""
    with new_page(
        browser,
        console_errors,
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
    ) as page:
        yield page


def test_it_starts_by_making_its_point_with_the_accountants_numbers(phone, app_url, explorer):
    page = opened(phone, app_url)
    page.get_by_role("heading", level=1, name=QUESTION).wait_for()
    for bound in BOUNDS:
        g = guarantee(DEMONSTRATION, bound)
        reads(page, g.title, g.epsilon)
    composition, theorem = column(page, "composition"), column(page, "theorem")
    assert composition[-1] > 500 * theorem[-1]
    assert theorem[-1] == theorem[len(theorem) // 2]
    for bound, values in curve(DEMONSTRATION, "T", T_VALUES).items():
        assert column(page, bound) == pytest.approx(list(values), rel=1e-12)

    before = readouts(page)
    settled(explorer, lambda: type_in(explorer, "sigma", "0.01"), lambda: readouts(explorer))
    page.wait_for_timeout(300)
    assert readouts(page) == before
    a_finger_shows_the_numbers_and_switches_curves_off(page)
    figure_first(page)
    page.get_by_role("button", name="Story", exact=True).click()
    page.get_by_role("heading", name=STEPS["1"].title).wait_for()
    becomes(page, lambda: "story=1" in page.url, True)


def a_finger_shows_the_numbers_and_switches_curves_off(page):
    figure, head = page.locator(FIGURE).first, page.locator(".zx-table thead th").first
    figure.scroll_into_view_if_needed()
    at = steady(page, figure.bounding_box)
    page.touchscreen.tap(at["x"] + 0.5 * at["width"], at["y"] + 0.4 * at["height"])
    until(
        page,
        lambda: (
            head.inner_text().startswith("At T = ")
            and head.inner_text() != f"At T = {DEMONSTRATION.T}"
        ),
    )
    page.get_by_role("switch", name="Hidden-state theorem").tap()
    becomes(page, head.inner_text, f"At T = {DEMONSTRATION.T}")  # a tap outside ends it
    until(page, lambda: "theorem" in page.url)
    assert (
        page.get_by_role("switch", name="Hidden-state theorem").get_attribute("aria-checked")
        == "false"
    )


def figure_first(page):
    """The figure and the sliders lie within the window, without scrolling."""
    page.locator(".zx-said p").first.wait_for()
    figure = page.locator(FIGURE).first
    parts = figure, handle_of(page, "T"), page.locator(".pill:visible").first
    for width, height in ((1280, 800), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("scrollTo(0, 0)")
        for part in parts:
            until(
                page,
                lambda part=part, end=height: (
                    (at := part.bounding_box())["y"] >= 0 and at["y"] + at["height"] <= end
                ),
            )
        becomes(page, lambda: figure.evaluate(RESIZED), 0)


@pytest.mark.parametrize("field", usually(["K"], of=SLIDERS))  # which changes all curves
def test_a_slider_moves_by_the_keyboard_and_everything_with_it(explorer, field):
    handle = handle_of(explorer, field)
    sentence = explorer.locator("p.epsilon")
    before_curve, before_text = (
        column(explorer, "composition"),
        handle.get_attribute("aria-valuetext"),
    )
    explorer.locator(FIGURE).first.evaluate("figure => { window.first = figure; }")
    settled(explorer, lambda: press(explorer, field, "ArrowLeft", 3), lambda: readouts(explorer))
    assert explorer.locator(FIGURE).first.evaluate("figure => window.first === figure"), (
        "the figure is never rebuilt"
    )

    def drawn():
        """Whether the curve is that of the value beside the slider, which a busy machine takes to
        its end step by step.
        """
        value = parse_number(box_of(explorer, field).input_value())
        expected = list(
            curve(DEMONSTRATION.replace(**{field: value}), "T", T_VALUES, ["composition"])[
                "composition"
            ]
        )
        before = getattr(DEMONSTRATION, field) or DEMONSTRATION.n
        return value < before and column(explorer, "composition") == pytest.approx(
            expected, rel=1e-9
        )

    steady(explorer, drawn)
    until(explorer, drawn)
    value = parse_number(box_of(explorer, field).input_value())
    assert handle.get_attribute("aria-valuetext") != before_text
    found = {bound: guarantee(DEMONSTRATION.replace(**{field: value}), bound) for bound in BOUNDS}
    reads(explorer, "Composition", found["composition"].epsilon)
    becomes(explorer, sentence.inner_text, f"ε = {format_number(smallest(found).epsilon)}")
    if field == "T":
        assert column(explorer, "composition") == before_curve
    else:
        assert column(explorer, "composition") != before_curve


@pytest.mark.parametrize("regime", [proof("convex"), "non-convex"])
def test_the_regime(explorer, regime):
    settled(
        explorer,
        lambda: explorer.get_by_text(regime, exact=True).click(),
        lambda: readouts(explorer),
    )
    reads(explorer, "Closed form", inf)
    becomes(explorer, lambda: set(column(explorer, "corollary")), {None})
    g = guarantee(DEMONSTRATION.replace(regime=regime), "theorem")
    reads(explorer, g.title, g.epsilon)
    until(explorer, explorer.get_by_text("the step does not contract").count)


@pytest.mark.proof  # others type a number and read what it gives, too
def test_the_number_beside_a_slider_is_taken_exactly(explorer):
    settled(explorer, lambda: type_in(explorer, "T", "23456"), lambda: readouts(explorer))
    reads(explorer, "Composition", guarantee(DEMONSTRATION.replace(T=23456), "composition").epsilon)


def test_the_fold_has_the_rest_and_it_works(explorer):
    open_fold(explorer)
    settled(explorer, lambda: type_in(explorer, "delta", "1e-6"), lambda: readouts(explorer))
    becomes(explorer, lambda: title_of(explorer), "ε at δ = 10⁻⁶")
    for name, option in (("conversion", "Rényi, Mironov"), ("noise share", "the best β")):
        select = explorer.get_by_label(name, exact=True)
        settled(explorer, lambda s=select, o=option: s.select_option(o), lambda: readouts(explorer))
    accounting = Accounting(conversion="mironov", schedule="optimal")
    for bound in BOUNDS:
        g = guarantee(DEMONSTRATION.replace(delta=1e-6), bound, accounting)
        reads(explorer, g.title, g.epsilon)
    expected = curve(DEMONSTRATION.replace(delta=1e-6), "T", T_VALUES, ["theorem"], accounting)[
        "theorem"
    ]
    becomes(explorer, lambda: column(explorer, "theorem"), pytest.approx(list(expected), rel=1e-12))


def test_what_cannot_be_is_refused_in_words_and_the_page_stays_usable(explorer):
    before = readouts(explorer)
    box = type_in(explorer, "K", "600")
    explorer.get_by_text("K = 600 is not allowed: give a whole number from 1 to d = 520").wait_for()
    becomes(explorer, box.input_value, "260")
    assert readouts(explorer) == before
    settled(explorer, lambda: type_in(explorer, "K", "100"), lambda: readouts(explorer))
    becomes(explorer, explorer.get_by_text("not allowed").count, 0)


def test_k_is_held_at_d_aloud(explorer):
    settled(explorer, lambda: type_in(explorer, "d", "100"), lambda: readouts(explorer))
    explorer.get_by_text("K is held at d = 100").wait_for()
    becomes(explorer, box_of(explorer, "K").input_value, "100")


def test_an_absent_bound_says_why_in_the_table_and_hovering_shows_all(explorer):
    explorer.set_viewport_size({"width": 1000, "height": 900})
    settled(explorer, lambda: type_in(explorer, "K", "300"), lambda: readouts(explorer))
    reads(explorer, "Hidden-state theorem", inf)
    explorer.locator(".zx-table").get_by_text("2K = 600 exceeds d = 520").first.wait_for()
    hovering_shows_every_bound_at_that_t(explorer)


def hovering_shows_every_bound_at_that_t(explorer):
    """In the table, in place: nothing covers the page. The keys do the same, aloud."""
    figure, head = explorer.locator(FIGURE).first, explorer.locator(".zx-table thead th").first
    figure.scroll_into_view_if_needed()
    at = figure.bounding_box()
    explorer.mouse.move(at["x"] + at["width"] * 0.6, at["y"] + at["height"] * 0.5)
    the_table_is_of_what_is_read(explorer, head)
    pill = explorer.locator(".zx-curves .pill").bounding_box()
    explorer.mouse.move(pill["x"] + pill["width"] / 2 + 9, at["y"] + at["height"] * 0.5)
    read = explorer.locator(".zx-curves text.read").bounding_box()
    assert not pill["x"] - read["width"] < read["x"] < pill["x"] + pill["width"], "it is covered"
    explorer.mouse.move(2, 2)
    becomes(explorer, head.inner_text, f"At T = {DEMONSTRATION.T}")
    figure.focus()
    figure.press("ArrowRight")
    T = the_table_is_of_what_is_read(explorer, head)
    spoken = explorer.locator(".zx-curves .chart > .sr").first.text_content
    least = format_number(guarantee(DEMONSTRATION.replace(K=300, T=T), "sharp").epsilon)
    becomes(explorer, lambda: f"T = {T}" in spoken() and f"Sharper bound {least}" in spoken(), True)
    figure.press("Escape")
    becomes(explorer, head.inner_text, f"At T = {DEMONSTRATION.T}")


def the_table_is_of_what_is_read(explorer, head):
    until(explorer, lambda: head.inner_text() not in ("", f"At T = {DEMONSTRATION.T}"))
    T = int(parse_number(head.inner_text().partition("= ")[2]))
    run = DEMONSTRATION.replace(K=300, T=T)
    expected = {
        g.title: format_number(g.epsilon) for g in (guarantee(run, bound) for bound in BOUNDS)
    }
    becomes(
        explorer, lambda: {title: readouts(explorer).get(title) for title in expected}, expected
    )
    assert explorer.locator(".bk-Tooltip").count() == 0
    return T


def title_of(page):
    """What the figure's y axis shows."""
    return page.locator(f"{FIGURE} >> .title").first.text_content()


COUNT_MESSAGES = """() => {
  const doc = Bokeh.documents[0], {apply_json_patch} = doc;
  window.messages = 0;
  doc.apply_json_patch = function(...given) { window.messages += 1; return apply_json_patch.apply(this, given); };
}"""


@pytest.mark.proof
def test_another_scheme_is_drawn_by_few_messages(explorer):
    """Every message has the page laid out anew, and there are hundreds of colours."""
    show(explorer, "attack")
    becomes(explorer, lambda: bool(data(explorer, "attack", "sharp")), True)
    show(explorer, "curves")
    explorer.evaluate(COUNT_MESSAGES)
    explorer.locator(".zx-scheme button").click()
    rested(explorer)
    messages = explorer.evaluate("window.messages")
    settled(explorer, explorer.locator(".zx-scheme button").click, lambda: background(explorer))
    assert messages < 20


@pytest.mark.parametrize("widths", [(1920, 390), proof((1280, 820, 390))])
def test_no_width_scrolls_sideways_and_on_a_phone_the_figure_stays(explorer, widths):
    open_fold(explorer)
    explorer.get_by_text("What is assumed").click()
    for width in widths:
        explorer.set_viewport_size({"width": width, "height": 844})
        explorer.wait_for_timeout(400)
        narrow_enough(explorer, width)
        becomes(explorer, lambda w=width: explorer.evaluate(WIDER, w), [])
    explorer.evaluate(CLOSE)
    the_figure_stays_while_the_sliders_are_used(explorer)


def the_figure_stays_while_the_sliders_are_used(page):
    before = column(page, "composition")
    handle = handle_of(page, "d")
    handle.focus()

    def both_in_sight():
        figure, thumb = page.locator(FIGURE).first.bounding_box(), handle.bounding_box()
        return -20 < figure["y"] and figure["y"] + figure["height"] < thumb["y"] < 844

    until(page, both_in_sight)
    settled(page, lambda: handle.press("ArrowRight"), lambda: column(page, "composition"))
    assert column(page, "composition") != before


@pytest.mark.proof  # every view is opened on a phone
def test_above_a_figure_stand_few_sentences(explorer):
    explorer.set_viewport_size({"width": 390, "height": 844})
    for tab in VIEWS:
        show(explorer, tab)
        # of the odds, which end so
        said = " ".join(explorer.evaluate(ABOVE)).replace("Guessing catches 1.", "")
        # A question is the game's own, and begins it; two curves are said in a sentence, and so are
        # the odds.
        most = {"publish": 2, "plan": 2, "claims": 4}.get(tab, 1)
        assert tab in ("theory", "errata") or len(re.findall(r"[.!](?=\s|$)", said)) <= most, (
            tab,
            said,
        )


@pytest.mark.proof  # each time, axe looks for names among all else
def test_every_control_has_a_name(explorer):
    open_fold(explorer)
    nameless = """() => { const out = []; const walk = r => { for (const e of r.querySelectorAll('*')) {
      if (e.matches('input, select, button, .noUi-handle, .bk-Canvas')) {
        const name = e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.closest('label')?.textContent
          || e.textContent || e.title || e.querySelector('*')?.shadowRoot?.textContent;
        if (!name?.trim() && e.style.display != "none") out.push(e.outerHTML.slice(0, 200));
      }
      if (e.shadowRoot) walk(e.shadowRoot); } }; walk(document.body); return out }"""
    becomes(
        explorer,
        lambda: [html for html in explorer.evaluate(nameless) if "card-header" not in html],
        [],
    )
    until(explorer, explorer.get_by_role("img", name="ε at δ = 10⁻⁵ against T, steps").count)


def test_a_slider_speaks_the_runs_value_not_its_own_rung_and_a_sign_is_named(explorer):
    handle = handle_of(explorer, "K")
    becomes(explorer, lambda: handle.get_attribute("aria-valuetext"), str(DEMONSTRATION.K))
    type_in(explorer, "K", "263")
    becomes(explorer, lambda: handle.get_attribute("aria-valuetext"), "263")
    explorer.get_by_role("button", name="dark colours").wait_for()
    levels = [
        int(each.evaluate("e => e.tagName")[1]) for each in explorer.get_by_role("heading").all()
    ]
    assert levels.count(1) == 1 and {*levels} == {*range(1, max(levels) + 1)}, (
        "the question, and no rank is skipped"
    )
