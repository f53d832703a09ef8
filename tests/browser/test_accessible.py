"""axe finds nothing serious on the page, light or dark, closed or open, wide or narrow."""

import re

import pytest

from tests.browser.acts import (
    VISIT,
    becomes,
    narrow_enough,
    open_export,
    open_fold,
    show,
    visit,
)
from tests.browser.axe import DESK, PHONE, look, serious
from tests.effort import proof
from zoexplore.views.tabs import VIEWS


def test_a_curve_that_is_waited_for_is_announced(explorer, usual):
    """Also where it ends by itself, and nobody cancels it or asks for something else."""
    status = explorer.locator(".zx-status[role=status]")
    with usual.held():
        explorer.evaluate(VISIT, "?delta=0.00007")
        status.get_by_text("Computing …").wait_for()
    status.get_by_text("No longer computing.").wait_for()
    becomes(explorer, explorer.locator("[aria-busy=true]").count, 0)


@pytest.mark.parametrize(("width", "scheme"), [DESK, proof(*PHONE)])
def test_nothing_serious_with_all_that_opens(explorer, axe, width, scheme):
    visit(explorer, "K=300&pin=K:20~fewer&printed=1&T=x")
    open_export(explorer)
    open_fold(explorer)
    assert not explorer.get_by_role("button", name="Copy text").is_visible()
    explorer.get_by_text(re.compile("^More: why, what is assumed")).click()
    explorer.get_by_text("Read it here").click()
    explorer.get_by_label("statement of the guarantee").wait_for()
    look(explorer, width, scheme)
    assert serious(explorer, axe) == "[]"


# fourteen views, each looked through
@pytest.mark.parametrize(("width", "scheme"), [proof(*PHONE), proof(*DESK)])
def test_nothing_serious_in_any_view_and_nothing_beyond_its_edge(explorer, axe, width, scheme):
    look(explorer, width, scheme)
    for tab in VIEWS:
        show(explorer, tab)
        assert serious(explorer, axe, ".zx-answer") == "[]", tab
        narrow_enough(explorer, width)
