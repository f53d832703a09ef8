"""Presets and reset set the state, and the menu says which preset is shown."""

import pytest

from zoexplore import Accounting
from zoexplore.run.presets import DEMONSTRATION, PRESETS
from zoexplore.views.address import Bridge
from zoexplore.views.panels.toolbar import Toolbar
from zoexplore.views.state import State


@pytest.mark.parametrize("key", PRESETS)
def test_a_preset_is_taken_over_and_said(key):
    tools, preset = (
        Toolbar(State(DEMONSTRATION.replace(n=7, d=9, K=3, batch=2, R=float("inf")))),
        PRESETS[key],
    )
    tools.preset.value = key
    assert (tools.state.setting, tools.state.accounting) == (preset.setting, preset.accounting)
    assert tools.state.note == preset.summary
    assert tools.preset.value == key


def test_the_menu_says_which_preset_is_shown():
    tools = Toolbar()
    assert tools.preset.value == "training"
    tools.state.ask(T=9)
    assert tools.preset.value == ""
    tools.state.ask(T=200)
    assert tools.preset.value == "training"


def test_reset():
    tools = Toolbar(State(DEMONSTRATION.replace(n=7), Accounting(printed=True)))
    tools.reset.clicks += 1
    assert (tools.state.setting, tools.state.accounting) == (DEMONSTRATION, Accounting())


def test_the_scheme_button_follows_what_was_chosen_before():
    tools = Toolbar(bridge=Bridge())
    assert not tools.dark.value
    for scheme in ("dark", "light"):
        tools.bridge.scheme = scheme
        assert tools.dark.value == (scheme == "dark")
