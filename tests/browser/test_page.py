"""The page in a real browser: every control moves the curves and the read-outs, at any width, light and dark."""

import re

import pytest

from zoexplore import BOUNDS, Accounting, Setting, curve, guarantee
from zoexplore.views.controls import LABELS, SLIDERS
from zoexplore.views.trace import T_VALUES
from zoexplore.views.words import digits

COLUMN = """name => {
  const data = Bokeh.documents[0].get_model_by_name("curves").data;
  const values = data.get ? data.get(name) : data[name];
  return Array.from(values, x => isFinite(x) ? x : null);
}"""
IDLE = "() => window.Bokeh && Bokeh.documents.length > 0 && Bokeh.documents[0].is_idle"


@pytest.fixture
def explorer(page, app_url):
    """The page, loaded and drawn."""
    return opened(page, app_url)


def opened(page, url):
    page.goto(url)
    page.wait_for_function(IDLE)
    page.locator("canvas").first.wait_for()
    page.locator(".noUi-handle[aria-label]").first.wait_for()
    return page


def column(page, name):
    return page.evaluate(COLUMN, name)


def readouts(page):
    """Title -> number, as the table shows them."""
    rows = page.locator("table tr:has(td.number)")
    return {row.locator("th").inner_text(): row.locator("td.number").inner_text() for row in rows.all()}


def settled(page, change, what):
    """Do something, and wait until what it shows is another than before."""
    before = what()
    change()
    for _ in range(100):
        if what() != before:
            return what()
        page.wait_for_timeout(50)
    pytest.fail(f"nothing changed: {before!r}")


def type_in(page, field, text):
    box = page.get_by_label(LABELS[field], exact=True).and_(page.locator("input"))
    box.fill(text)
    box.press("Enter")
    return box


def open_fold(page):
    page.get_by_text("Everything else").click()
    page.get_by_label(LABELS["delta"], exact=True).wait_for()


def test_it_starts_by_making_its_point(explorer):
    shown = readouts(explorer)
    for bound in BOUNDS:
        g = guarantee(Setting(), bound)
        assert shown[g.title] == digits(g.epsilon)
    composition, theorem = column(explorer, "composition"), column(explorer, "theorem")
    assert composition[-1] > 1000 * theorem[-1]
    assert theorem[-1] == theorem[len(theorem) // 2]


def test_the_figure_is_given_the_accountants_numbers(explorer):
    for bound, values in curve(Setting(), "T", T_VALUES).items():
        assert column(explorer, bound) == pytest.approx(list(values), rel=1e-12)


@pytest.mark.parametrize("field", SLIDERS)
def test_a_slider_moves_by_the_keyboard_and_everything_with_it(explorer, field):
    handle = explorer.locator(f'.noUi-handle[aria-label="{LABELS[field]}"]')
    handle.focus()
    sentence = explorer.locator("p.epsilon")
    told = sentence.inner_text()
    before_curve, before_text = column(explorer, "composition"), handle.get_attribute("aria-valuetext")
    settled(explorer, lambda: [handle.press("ArrowLeft") for _ in range(3)], lambda: readouts(explorer))
    explorer.wait_for_timeout(300)
    box = explorer.get_by_label(LABELS[field], exact=True).and_(explorer.locator("input"))
    value = float(box.input_value())
    assert value < getattr(Setting(), field)
    assert handle.get_attribute("aria-valuetext") != before_text
    setting = Setting().replace(**{field: value})
    assert readouts(explorer)["Composition"] == digits(guarantee(setting, "composition").epsilon)
    expected = curve(setting, "T", T_VALUES, ["composition"])["composition"]
    assert column(explorer, "composition") == pytest.approx(list(expected), rel=1e-12)
    if field == "T":
        assert column(explorer, "composition") == before_curve
        assert sentence.inner_text() != told
    else:
        assert column(explorer, "composition") != before_curve


def test_the_slider_can_be_dragged(explorer):
    handle = explorer.locator(f'.noUi-handle[aria-label="{LABELS["sigma"]}"]')
    at = handle.bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    explorer.mouse.move(x, y)
    explorer.mouse.down()
    settled(explorer, lambda: explorer.mouse.move(x + 40, y, steps=8), lambda: readouts(explorer))
    explorer.mouse.up()
    explorer.wait_for_timeout(300)
    sigma = float(explorer.get_by_label(LABELS["sigma"], exact=True).and_(explorer.locator("input")).input_value())
    assert sigma > 1e-3
    assert readouts(explorer)["Composition"] == digits(guarantee(Setting(sigma=sigma), "composition").epsilon)


@pytest.mark.parametrize("regime", ["convex", "non-convex"])
def test_the_regime(explorer, regime):
    settled(explorer, lambda: explorer.get_by_text(regime, exact=True).click(), lambda: readouts(explorer))
    assert readouts(explorer)["Closed form"] == "∞"
    assert set(column(explorer, "corollary")) == {None}
    g = guarantee(Setting(regime=regime), "theorem")
    assert readouts(explorer)[g.title] == digits(g.epsilon)
    assert explorer.get_by_text("the step does not contract").count() > 0


def test_the_number_beside_a_slider_is_taken_exactly(explorer):
    settled(explorer, lambda: type_in(explorer, "T", "23456"), lambda: readouts(explorer))
    assert readouts(explorer)["Composition"] == digits(guarantee(Setting(T=23456), "composition").epsilon)


def test_the_fold_has_the_rest_and_it_works(explorer):
    open_fold(explorer)
    settled(explorer, lambda: type_in(explorer, "delta", "1e-6"), lambda: readouts(explorer))
    label = "Bokeh.documents[0].get_model_by_name('epsilon-against-T').left[0].axis_label"
    assert explorer.evaluate(label) == "ε at δ = 10⁻⁶"
    for name, option in (("conversion", "Rényi, Mironov"), ("noise share", "the best β")):
        select = explorer.get_by_label(name, exact=True)
        settled(explorer, lambda s=select, o=option: s.select_option(o), lambda: readouts(explorer))
    accounting = Accounting(conversion="mironov", schedule="optimal")
    for bound in BOUNDS:
        g = guarantee(Setting(delta=1e-6), bound, accounting)
        assert readouts(explorer)[g.title] == digits(g.epsilon)
    expected = curve(Setting(delta=1e-6), "T", T_VALUES, ["theorem"], accounting)["theorem"]
    assert column(explorer, "theorem") == pytest.approx(list(expected), rel=1e-12)


def test_what_cannot_be_is_refused_in_words_and_the_page_stays_usable(explorer):
    before = readouts(explorer)
    box = type_in(explorer, "K", "600")
    explorer.get_by_text("K = 600 is not allowed: give a whole number from 1 to d = 520").wait_for()
    assert box.input_value() == "260"
    assert readouts(explorer) == before
    settled(explorer, lambda: type_in(explorer, "K", "100"), lambda: readouts(explorer))
    assert explorer.get_by_text("not allowed").count() == 0


def test_k_is_held_at_d_aloud(explorer):
    settled(explorer, lambda: type_in(explorer, "d", "100"), lambda: readouts(explorer))
    explorer.get_by_text("K is held at d = 100").wait_for()
    box = explorer.get_by_label(LABELS["K"], exact=True).and_(explorer.locator("input"))
    assert box.input_value() == "100"


def test_an_absent_bound_says_why_where_the_curves_are_and_in_the_table(explorer):
    explorer.set_viewport_size({"width": 1000, "height": 900})
    settled(explorer, lambda: type_in(explorer, "K", "300"), lambda: readouts(explorer))
    assert readouts(explorer)["Hidden-state theorem"] == "∞"
    assert "absent: 2K = 600 exceeds d = 520" in explorer.locator(".zx-legend ul").inner_text()
    assert explorer.locator(".zx-table").get_by_text("2K = 600 exceeds d = 520").count() > 0


def test_hover_shows_every_bound_at_that_t(explorer):
    settled(explorer, lambda: type_in(explorer, "K", "300"), lambda: readouts(explorer))
    at = explorer.locator("canvas").first.bounding_box()
    explorer.mouse.move(at["x"] + at["width"] * 0.6, at["y"] + at["height"] * 0.5)
    tip = explorer.locator(".bk-Tooltip table")
    tip.wait_for()
    text = tip.inner_text()
    assert all(bound.title in text for bound in BOUNDS.values())
    assert "∞" in text and "NaN" not in text and "???" not in text


def test_the_figure_is_never_rebuilt(explorer):
    explorer.evaluate("window.first = Bokeh.documents[0].get_model_by_name('epsilon-against-T')")
    settled(explorer, lambda: type_in(explorer, "sigma", "0.01"), lambda: readouts(explorer))
    assert explorer.evaluate("window.first === Bokeh.documents[0].get_model_by_name('epsilon-against-T')")


def test_sessions_share_nothing(explorer, browser, app_url):
    context = browser.new_context()
    other = opened(context.new_page(), app_url)
    before = readouts(other)
    settled(explorer, lambda: type_in(explorer, "sigma", "0.01"), lambda: readouts(explorer))
    other.wait_for_timeout(300)
    assert readouts(other) == before
    context.close()


@pytest.mark.parametrize("width", [390, 820, 1280, 1920])
def test_no_width_scrolls_sideways(explorer, width):
    explorer.set_viewport_size({"width": width, "height": 844})
    open_fold(explorer)
    explorer.get_by_text("What is assumed").click()
    explorer.wait_for_timeout(400)
    assert explorer.evaluate("document.documentElement.scrollWidth") <= width
    wide = """w => { const out = []; const walk = r => { for (const e of r.querySelectorAll('*')) {
      const b = e.getBoundingClientRect();
      const seen = b.width > 0 && b.height > 0 && !/GlyphRenderer|noUi-connect/.test(e.className);
      if (seen && b.right > w + 1) out.push(e.className + ' ' + b.right);
      if (e.shadowRoot) walk(e.shadowRoot); } }; walk(document.body); return out }"""
    assert explorer.evaluate(wide, width) == []


def test_on_a_phone_the_figure_stays_while_the_sliders_are_used(explorer):
    explorer.set_viewport_size({"width": 390, "height": 844})
    explorer.wait_for_timeout(600)
    before = column(explorer, "composition")
    handle = explorer.locator(f'.noUi-handle[aria-label="{LABELS["d"]}"]')
    handle.focus()
    explorer.wait_for_timeout(300)
    figure, thumb = explorer.locator("canvas").first.bounding_box(), handle.bounding_box()
    assert -20 < figure["y"] and figure["y"] + figure["height"] < thumb["y"] < 844
    settled(explorer, lambda: handle.press("ArrowRight"), lambda: column(explorer, "composition"))
    assert column(explorer, "composition") != before


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def lightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


AXIS = "Bokeh.documents[0].get_model_by_name('epsilon-against-T').left[0].axis_label_text_color"


def test_the_browsers_preference_for_dark_is_followed(page, app_url):
    page.emulate_media(color_scheme="dark")
    opened(page, app_url)
    page.wait_for_timeout(500)
    assert lightness(background(page)) < 60
    assert page.evaluate(AXIS) == "#e8e6e1"
    page.get_by_role("button", name="Light").wait_for()


def test_dark_is_a_button_away_and_back(explorer):
    assert lightness(background(explorer)) > 200
    settled(explorer, explorer.get_by_role("button", name="Dark").click, lambda: explorer.evaluate(AXIS))
    assert lightness(background(explorer)) < 60
    settled(explorer, explorer.get_by_role("button", name="Light").click, lambda: explorer.evaluate(AXIS))
    assert lightness(background(explorer)) > 200


def test_every_control_has_a_name(explorer):
    open_fold(explorer)
    nameless = """() => { const out = []; const walk = r => { for (const e of r.querySelectorAll('*')) {
      if (e.matches('input, select, button, .noUi-handle')) {
        const name = e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.closest('label')?.textContent
          || e.textContent || e.title || e.querySelector('*')?.shadowRoot?.textContent;
        if (!name?.trim()) out.push(e.outerHTML.slice(0, 200));
      }
      if (e.shadowRoot) walk(e.shadowRoot); } }; walk(document.body); return out }"""
    unnamed = explorer.evaluate(nameless)
    assert [html for html in unnamed if "card-header" not in html] == []
