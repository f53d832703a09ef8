"""The parts share one state, explorers share none, and failures are told."""

import logging

import panel as pn
import pytest

import zoexplore
from zoexplore import Accounting
from zoexplore.presets import DEMONSTRATION
from zoexplore.views import Controls, Curves, Explorer, Readouts
from zoexplore.views.app import report, told_of


def test_the_parts_share_one_state():
    explorer = Explorer()
    explorer.controls.dials["T"].text.value = "50"
    assert explorer.curves.now.location == 50
    assert "after 50 steps" in explorer.readouts.verdict.object


def test_explorers_share_nothing():
    one, other = Explorer(), Explorer()
    before = other.readouts.table.object
    one.state.ask(sigma=0.1, K=7)
    assert other.state.setting == DEMONSTRATION
    assert other.readouts.table.object == before


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


def test_a_reader_is_told_of_no_file_of_the_servers():
    with pytest.raises(OSError, match="/nowhere") as raised:
        open("/nowhere/at/all")
    assert told_of(raised.value) == "No such file or directory"
    assert told_of(ValueError("no luck")) == "no luck"
