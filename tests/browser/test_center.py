"""The tabs in a real browser: each shows what it should, by mouse and by keyboard, and what sleeps costs nothing."""

import re

import pytest

from tests.browser.acts import (
    becomes,
    column,
    data,
    headline,
    readouts,
    settled,
    show,
    type_in,
    until,
)
from zoexplore import curve, guarantee
from zoexplore.questions import calibrate
from zoexplore.run.axes import AXES
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views.figures.parts import DIGITS
from zoexplore.views.tabs import TABS, VIEWS


def test_the_tabs_are_a_named_list_and_move_by_arrow_keys(explorer):
    group = explorer.get_by_role("tablist", name="questions")
    group.wait_for()
    tabs = group.get_by_role("tab")
    assert tabs.all_inner_texts() == list(TABS)
    assert len({round(title.bounding_box()["y"]) for title in tabs.all()}) == 1, "they take one line"
    tabs.first.focus()
    for place in range(list(TABS).index("What ε means")):
        tabs.nth(place).press("ArrowRight")
        becomes(explorer, lambda place=place: tabs.nth(place + 1).get_attribute("aria-selected"), "true")
    parts = explorer.get_by_role("tablist", name="parts of this tab").get_by_role("tab")
    becomes(explorer, parts.all_inner_texts, [VIEWS[view][0] for view in TABS["What ε means"]])
    parts.first.focus()
    for place in range(list(TABS["What ε means"]).index("attack")):
        parts.nth(place).press("ArrowRight")
        becomes(explorer, lambda place=place: parts.nth(place + 1).get_attribute("aria-selected"), "true")
    explorer.get_by_text("Who was in the data?").wait_for()
    becomes(explorer, explorer.get_by_text("ε against", exact=True).is_hidden, True)


def test_curves_along_other_fields(explorer):
    select = explorer.get_by_label("ε against", exact=True)
    for field in ("K", "delta"):
        settled(explorer, lambda field=field: select.select_option(AXES[field].caption), lambda: column(explorer, "value"))
        values = column(explorer, "value")
        expected = curve(DEMONSTRATION, field, values, ["composition"])["composition"]
        becomes(explorer, lambda: column(explorer, "composition"), pytest.approx(list(expected), rel=1e-12))
    settled(explorer, lambda: type_in(explorer, "sigma", "0.01"), lambda: column(explorer, "composition"))


def test_hovers_round_up_as_the_tables_do(explorer):
    values = [0.9401, 0.941, 1.5, 9.996, 3.7411, 0.02670001, 7160.3, 99999.0, 2.7551e6, 1e-5, 9.999e-7, 123456.0]
    code = "([code, xs]) => xs.map((x, i) => new Function('value', 'format', 'special_vars', 'source', 'absent', code)"
    code += "(x, 'sharp', {index: i}, {data: {sharp: xs}}, '∞'))"
    said = explorer.evaluate(code, [DIGITS, values])
    assert said == [format_number(x).replace("\u202f×\u202f", " × ").replace("\u202f", "") for x in values]


@pytest.mark.proof  # the views' own tests have its numbers
def test_inside_the_bound(explorer):
    show(explorer, "inside")
    until(explorer, lambda: data(explorer, "inside", "rho"))
    spent = pytest.approx(guarantee(DEMONSTRATION, "sharp").rho, rel=1e-3)
    becomes(explorer, lambda: sum(data(explorer, "inside", "rho")), spent)
    explorer.get_by_text("half of it in the last").wait_for()
    theorem = explorer.get_by_role("radiogroup").get_by_text("Hidden-state theorem")
    settled(explorer, theorem.click, lambda: data(explorer, "inside", "rho"))
    explorer.get_by_text(re.compile(r"Counting starts \d+ steps before the end")).wait_for()


def test_theory_is_typeset_with_the_current_numbers(explorer):
    show(explorer, "theory")
    explorer.locator("mjx-container").first.wait_for()
    until(explorer, lambda: explorer.locator("mjx-container").count() >= 12)
    assert explorer.get_by_text("$$").count() == 0
    links = (explorer.locator(f"{part} a").first for part in (".zx-colophon", ".zx-theory"))
    assert len({link.evaluate("link => getComputedStyle(link).color") for link in links}) == 1
    formulas = explorer.get_by_role("math")
    for width in (1280, 390):  # where there is no room, they break
        explorer.set_viewport_size({"width": width, "height": 900})
        becomes(
            explorer, lambda: formulas.evaluate_all("all => all.filter((one) => one.scrollWidth > one.clientWidth).length"), 0
        )


@pytest.mark.proof
def test_the_papers_printed_constants_are_drawn_where_its_misprints_are_listed(explorer):
    show(explorer, "errata")
    explorer.get_by_label("Draw with the paper's printed constants").check()
    show(explorer, "curves")
    until(explorer, lambda: "Closed form (as printed)" in readouts(explorer))


def test_a_plan_is_found_and_applied(explorer):
    show(explorer, "plan")
    explorer.get_by_role("button", name="Solve").click()
    apply = explorer.get_by_role("button", name="Apply to the sliders")
    apply.click()  # at once: it may be the button of the answer that the page began with
    found = calibrate(DEMONSTRATION, "sigma", epsilon=1.0)
    becomes(explorer, lambda: headline(explorer), format_number(guarantee(found, "sharp").epsilon))
