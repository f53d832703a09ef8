"""The parts share one state, explorers share none, and failures are reported."""

import asyncio
import logging
from collections import Counter
from functools import partial

import panel as pn
import pytest
from bokeh.document import Document
from panel.io.notifications import NotificationArea
from panel.io.state import set_curdoc

import zoexplore
from zoexplore import Accounting, epsilon
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.views import Controls, Curves, Explorer, Readouts, app
from zoexplore.views.app import LONGEST_TOLD, MOST_TOLD, reader_message, report


def test_the_parts_share_one_state():
    explorer = Explorer()
    explorer.controls.dials["T"].text.value = "50"
    assert explorer.publish.chart.given["handle"]["at"] == 50
    assert (
        format_number(epsilon(DEMONSTRATION.replace(T=50), "sharp"))
        in explorer.headline.number.object
    )


def test_the_paper_and_the_licence_stand_below_the_theory_alone():
    explorer = Explorer()
    last = explorer.__panel__()[-1]
    assert not last.visible
    explorer.tabs.selected = "inside"
    assert last.visible
    explorer.tabs.selected = "plan"
    assert not last.visible


def test_explorers_share_nothing():
    one, other = Explorer(), Explorer()
    before = other.headline.number.object
    one.state.ask(sigma=0.1, K=7)
    assert other.state.setting == DEMONSTRATION
    assert other.headline.number.object == before


@pytest.mark.parametrize("part", [Controls, Curves, Readouts, Explorer])
def test_every_part_renders_alone(part):
    assert pn.panel(part()).get_root() is not None


def test_explore_opens_at_a_setting():
    explorer = zoexplore.explore(DEMONSTRATION.replace(T=9), Accounting(conversion="mironov"))
    assert explorer.state.setting == DEMONSTRATION.replace(T=9)
    assert explorer.controls.options["conversion"].value == "mironov"


def test_a_failure_is_logged(caplog):
    with caplog.at_level(logging.ERROR, logger="zoexplore"):
        report(RuntimeError("no luck"))
    assert "no luck" in caplog.text


def test_of_many_failures_a_page_keeps_the_latest(monkeypatch):
    area, document = NotificationArea(), Document()
    monkeypatch.setitem(app._areas, document, area)
    with set_curdoc(document):
        for i in range(30):
            report(RuntimeError(f"failure {i} " + "x" * 700))
    assert len(area.notifications) == MOST_TOLD and "failure 29" in area.notifications[-1].message
    assert all(len(one.message) <= LONGEST_TOLD for one in area.notifications)


def test_a_page_that_is_made_in_stages_is_the_page_that_is_made_at_once():
    def kinds(page, document):
        page.server_doc(document, location=False)
        return Counter(type(model).__name__ for model in document.models)

    in_stages, at_once = Document(), Document()
    with set_curdoc(in_stages):
        assert sum(1 for _ in app.begin()) > 2
        found = kinds(app._begun[in_stages], in_stages)
    with set_curdoc(at_once):
        assert found == kinds(pn.panel(Explorer(search="")), at_once)
    assert found["ReactiveESM"] > 4 and found["Slider"] > 3


def test_a_reader_sees_no_file_name_of_the_servers():
    with pytest.raises(OSError, match="/nowhere") as raised:
        open("/nowhere/at/all")
    assert reader_message(raised.value) == "No such file or directory"
    assert reader_message(ValueError("no luck")) == "no luck"


def test_a_pages_changes_and_clicks_run_under_its_lock_and_a_download_does_not():
    async def coroutine():
        pass

    executed = []
    execute = app.under_lock(executed.append)
    execute(partial(coroutine))
    execute(coroutine)
    assert [getattr(each, "lock", False) for each in executed] == [True, False]
    assert all(asyncio.iscoroutinefunction(each) for each in executed)
