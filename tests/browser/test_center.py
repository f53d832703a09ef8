"""The tabs in a real browser: each shows what it should, by mouse and by keyboard, and what sleeps
costs nothing.
"""

import csv
import re
from pathlib import Path

import pytest

from tests.browser.acts import (
    VISIT,
    becomes,
    box_of,
    column,
    data,
    headline,
    readouts,
    rested,
    settled,
    show,
    type_in,
    until,
    visit,
)
from zoexplore import curve, guarantee
from zoexplore.questions import calibrate
from zoexplore.run.axes import AXES
from zoexplore.run.formatting import format_number, format_short, parse_number, round_up
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.published import RUNS
from zoexplore.views.figures.by_bound import IN_SHORT
from zoexplore.views.tabs import TABS, VIEWS


def test_the_tabs_are_a_named_list_and_move_by_arrow_keys(explorer):
    group = explorer.get_by_role("tablist", name="questions")
    group.wait_for()
    tabs = group.get_by_role("tab")
    assert tabs.all_inner_texts() == list(TABS)
    assert len({round(title.bounding_box()["y"]) for title in tabs.all()}) == 1, (
        "they take one line"
    )
    tabs.first.focus()
    for place in range(list(TABS).index("What ε means")):
        tabs.nth(place).press("ArrowRight")
        becomes(
            explorer, lambda place=place: tabs.nth(place + 1).get_attribute("aria-selected"), "true"
        )
    parts = explorer.get_by_role("tablist", name="parts of this tab").get_by_role("tab")
    becomes(explorer, parts.all_inner_texts, [VIEWS[view][0] for view in TABS["What ε means"]])
    parts.first.focus()
    for place in range(list(TABS["What ε means"]).index("attack")):
        parts.nth(place).press("ArrowRight")
        becomes(
            explorer,
            lambda place=place: parts.nth(place + 1).get_attribute("aria-selected"),
            "true",
        )
    explorer.get_by_text("of outsiders catches at most").wait_for()
    becomes(explorer, explorer.get_by_text("ε against", exact=True).is_hidden, True)


def test_curves_along_other_fields(explorer):
    select = explorer.get_by_label("ε against", exact=True)
    explorer.get_by_text(IN_SHORT["composition"], exact=True).wait_for()
    for field in ("K", "delta"):
        settled(
            explorer,
            lambda field=field: select.select_option(AXES[field].caption),
            lambda: column(explorer, "value"),
        )
        values = column(explorer, "value")
        expected = curve(DEMONSTRATION, field, values, ["composition"])["composition"]
        becomes(
            explorer,
            lambda: column(explorer, "composition"),
            pytest.approx(list(expected), rel=1e-12),
        )
    settled(
        explorer,
        lambda: type_in(explorer, "sigma", "0.01"),
        lambda: column(explorer, "composition"),
    )


@pytest.mark.proof  # the views' own tests have its numbers
def test_inside_the_bound(explorer):
    show(explorer, "inside")
    until(explorer, lambda: data(explorer, "inside-cost", "rho"))
    spent = pytest.approx(guarantee(DEMONSTRATION, "sharp").rho, rel=1e-3)
    becomes(explorer, lambda: sum(data(explorer, "inside-cost", "rho")), spent)
    explorer.get_by_text("half of it in the last").wait_for()
    theorem = explorer.get_by_role("radiogroup").get_by_text("Hidden-state theorem")
    settled(explorer, theorem.click, lambda: data(explorer, "inside-cost", "rho"))
    explorer.get_by_text(re.compile(r"Only the last \d+ of 200")).wait_for()


def test_theory_is_typeset_with_the_current_numbers(explorer):
    show(explorer, "theory")
    explorer.locator("math").first.wait_for()
    until(explorer, lambda: explorer.locator("math").count() >= 12)
    assert explorer.get_by_text("$$").count() == 0
    links = (explorer.locator(f"{part} a").first for part in (".zx-colophon", ".zx-theory"))
    assert len({link.evaluate("link => getComputedStyle(link).color") for link in links}) == 1
    formulas = explorer.get_by_role("math")
    for width in (1280, 390):  # where there is no room, they break
        explorer.set_viewport_size({"width": width, "height": 900})
        becomes(
            explorer,
            lambda: formulas.evaluate_all(
                "all => all.filter((one) => one.scrollWidth > one.clientWidth).length"
            ),
            0,
        )


@pytest.mark.proof
def test_the_papers_printed_constants_are_drawn_where_its_misprints_are_listed(explorer):
    show(explorer, "errata")
    explorer.get_by_label("Draw with the paper's printed constants").check()
    show(explorer, "curves")
    until(explorer, lambda: "Closed form (as printed)" in readouts(explorer))


def test_a_plan_is_found_and_applied(explorer):
    show(explorer, "plan")
    target = explorer.get_by_role("textbox", name="target ε")
    target.fill("-3")
    target.press("Enter")
    explorer.get_by_text("-3 is not allowed").wait_for()
    becomes(
        explorer,
        lambda: (target.input_value(), target.get_attribute("aria-invalid")),
        ("-3", "true"),
    )
    target.fill("2")
    target.press("Enter")
    found = calibrate(DEMONSTRATION, "sigma", epsilon=2.0)
    told = round_up(found.sigma, 3)
    explorer.get_by_text(f"σ = {format_short(told)}").wait_for()
    explorer.get_by_role("button", name="Use this run").click()
    epsilon = guarantee(found.replace(sigma=told), "sharp").epsilon
    becomes(explorer, lambda: headline(explorer), format_number(epsilon))


def test_a_published_run_is_loaded_by_its_row_and_has_an_address(explorer):
    show(explorer, "claims")
    assert explorer.locator(".noUi-handle:visible").count() == 0, "no control changes it"
    rows = explorer.get_by_role("link", name=re.compile("^Load "))
    becomes(explorer, rows.count, len(RUNS))
    run = max(RUNS.values(), key=lambda each: each.ours / each.claimed)
    assert (
        "batch=8" in rows.first.get_attribute("href")
        and format_number(run.ours) in rows.first.inner_text()
    )
    explorer.get_by_role("button", name="Save this figure").locator("visible=true").click()
    with explorer.expect_download() as coming:
        explorer.get_by_role("menuitem", name="CSV").locator("visible=true").click()
    address, *table = Path(coming.value.path()).read_text(encoding="utf-8").splitlines()
    head, *saved = csv.reader(table)
    assert address.startswith("# http") and head == ["run", "claimed", "provable"]
    assert {float(row[2]) for row in saved} == {each.ours for each in RUNS.values()}
    rows.first.focus()
    explorer.keyboard.press("Enter")
    becomes(explorer, lambda: headline(explorer), format_number(run.ours))
    explorer.go_back()
    rows.first.wait_for()


def test_the_ring_moves_the_run_over_the_map(explorer):
    show(explorer, "helps")
    ring = explorer.get_by_role("slider", name="your run on the map")
    ring.focus()
    ring.press("ArrowUp")
    becomes(explorer, box_of(explorer, "beta").input_value, "0.55")
    becomes(explorer, lambda: "β = 0.55" in ring.get_attribute("aria-valuetext"), True)
    at = ring.bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    explorer.mouse.move(x, y)
    explorer.mouse.down()
    explorer.mouse.move(x + 120, y, steps=5)
    explorer.mouse.up()
    until(explorer, lambda: parse_number(box_of(explorer, "T").input_value()) > DEMONSTRATION.T)
    run = DEMONSTRATION.replace(T=int(parse_number(box_of(explorer, "T").input_value())), beta=0.55)
    told = f"becomes {format_number(guarantee(run, 'sharp').epsilon)}"
    becomes(explorer, lambda: told in ring.get_attribute("aria-valuetext"), True)


SAVED = {"PNG": b"\x89PNG", "SVG": b"<svg", "CSV": b"# ", "Python": b"from zoexplore"}


@pytest.mark.parametrize("kind", SAVED)
def test_a_figure_saves_itself(explorer, kind):
    button = explorer.get_by_role("button", name="Save this figure").locator("visible=true").first
    button.focus()
    explorer.keyboard.press("Enter")
    item = explorer.get_by_role("menuitem", name=re.compile(f"^{kind}"))
    for _ in range(list(SAVED).index(kind)):
        explorer.keyboard.press("ArrowDown")
    with explorer.expect_download() as coming:
        explorer.keyboard.press("Enter")
    text = Path(coming.value.path()).read_bytes()
    assert text.startswith(SAVED[kind]) and item.is_hidden()
    said = button.locator("xpath=../p")  # another figure may have said it too
    until(explorer, lambda: said.inner_text() == f"{kind} saved")
    if kind == "SVG":
        assert (
            b">Sharper bound</text>" in text and b"light-dark" not in text and b"var(" not in text
        )
    if kind == "CSV":
        head, first, *_ = [line for line in text.decode().splitlines() if not line.startswith("#")]
        assert head.split(",")[:2] == ["T", "Composition"]
        assert [float(x) for x in first.split(",")[:2]] == [
            1,
            guarantee(DEMONSTRATION.replace(T=1), "composition").epsilon,
        ]


def test_quick_answers_of_the_game_are_all_counted_and_a_seed_deals_the_same_models(explorer):
    def played():
        visit(explorer, "T=150")
        explorer.evaluate(VISIT, "?tab=game&game.seed=7&T=150&sensitivity=least")
        explorer.get_by_role("button", name="Without").wait_for()
        rested(explorer)  # new ceilings deal anew
        explorer.get_by_role("heading", name="With or without the record?").click()
        for _ in range(20):
            explorer.keyboard.press("ArrowLeft")
        said = explorer.get_by_text("You caught")
        said.wait_for()
        return said.inner_text()

    first = played()
    assert "of 20" in first and "nobody can average above" in first
    explorer.get_by_role("button", name="Every step published").click()
    explorer.get_by_text("What all steps of one run add up to").wait_for()
    assert played() == first
