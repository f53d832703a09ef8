"""axe finds nothing serious on the page, light or dark, closed or open, wide or narrow."""

import re

import pytest

from tests.browser.acts import (
    VISIT,
    becomes,
    headline,
    narrow_enough,
    open_export,
    open_fold,
    press,
    rested,
    settled,
    show,
    visit,
)
from tests.browser.axe import DESK, PHONE, look, serious
from tests.effort import proof
from zoexplore.views.tabs import VIEWS


@pytest.mark.parametrize(("width", "scheme"), [DESK, proof(*PHONE)])
def test_nothing_serious_with_all_that_opens(explorer, axe, width, scheme):
    visit(explorer, "K=300&pin=K:20~fewer&printed=1&T=x")
    open_export(explorer)
    open_fold(explorer)
    assert not explorer.get_by_role("button", name="Copy JSON").is_visible()
    explorer.get_by_text(re.compile("^More: why, what is assumed")).click()
    explorer.get_by_text("Statement to copy").wait_for()
    explorer.get_by_label("statement of the guarantee").wait_for()
    look(explorer, width, scheme)
    assert serious(explorer, axe) == "[]"


@pytest.mark.parametrize(("width", "scheme"), [PHONE, proof(*DESK)])
def test_nothing_serious_in_any_view_and_nothing_beyond_its_edge(explorer, axe, width, scheme):
    visit(explorer, "map.bound=composition")  # the map that is soonest drawn
    look(explorer, width, scheme)
    for tab in [tab for tab in VIEWS if tab != "train"]:  # whose own tests ask the same of it, with results
        show(explorer, tab)
        assert serious(explorer, axe, f".zx-{tab}") == "[]", tab
        narrow_enough(explorer, width)


def test_a_map_that_is_computed_is_told_can_be_cancelled_and_leaves_sliders_alone(explorer, usual, axe_if_any):
    visit(explorer, "delta=0.0003")  # whose map no other test has left behind
    rested(explorer)
    told = explorer.locator(".zx-told[role=status]")
    cancel = explorer.get_by_role("button", name="Cancel")
    with usual.held():
        show(explorer, "map")
        told.get_by_text("Computing …").wait_for()
        explorer.get_by_role("progressbar", name="how much of the map is computed").wait_for()
        explorer.locator("[aria-busy=true]").first.wait_for()
        assert not axe_if_any or serious(explorer, axe_if_any, ".zx-answer") == "[]"
        cancel.click()
    told.get_by_text("No longer computing.").wait_for()
    becomes(explorer, explorer.locator("[aria-busy=true]").count, 0)
    explorer.get_by_text(re.compile("^Cancelled")).wait_for()

    explorer.get_by_role("button", name="Draw it").click()
    explorer.get_by_text(re.compile(r"\d s left")).wait_for()
    settled(explorer, lambda: press(explorer, "T", "ArrowRight"), lambda: headline(explorer))
    cancel.click()
    explorer.get_by_text(re.compile("^Cancelled")).wait_for()


@pytest.mark.proof  # a map that is drawn is looked at each time
def test_nothing_serious_where_a_map_was_cancelled(explorer, usual, axe):
    visit(explorer, "delta=0.0004")
    with usual.held():
        show(explorer, "map")
        explorer.get_by_role("button", name="Cancel").click()
    becomes(explorer, explorer.locator("[aria-busy=true]").count, 0)
    assert serious(explorer, axe, ".zx-map") == "[]"


def test_a_curve_that_is_waited_for_is_told(explorer, usual):
    """Also where it ends by itself, and nobody cancels it or asks for something else."""
    told = explorer.locator(".zx-told[role=status]")
    with usual.held():
        explorer.evaluate(VISIT, "?delta=0.00007")
        told.get_by_text("Computing …").wait_for()
    told.get_by_text("No longer computing.").wait_for()
    becomes(explorer, explorer.locator("[aria-busy=true]").count, 0)
