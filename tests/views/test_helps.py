"""When hiding helps: the map is the accountant's gain, this run and the published ones stand on it, and a click sets the run."""

from types import SimpleNamespace

import numpy as np
import pytest

from zoexplore import Accounting
from zoexplore.formatting import format_number
from zoexplore.planning.hiding import ALONG_ALL, gain_map
from zoexplore.presets import DEMONSTRATION
from zoexplore.published import RUNS
from zoexplore.views import State
from zoexplore.views.figures.helps import SHARES, STEPS, Helps, height


def test_it_says_by_how_much_and_why_not():
    view = Helps(State())
    here = gain_map(DEMONSTRATION, "T", "beta", [DEMONSTRATION.T], [DEMONSTRATION.beta], Accounting())
    before, now = format_number(float(here.composition[0, 0])), format_number(float(here.least[0, 0]))
    assert before in view.words.object and now in view.words.object and "helps here" in view.words.object
    view.state.ask(beta=1.0)
    assert "÷ 1" in view.words.object and ALONG_ALL in view.words.object


def test_moving_on_the_map_computes_no_other_map():
    view = Helps(State())
    before = view.fill.data
    view.state.ask(T=5000, beta=0.9)
    assert [list(map(len, one)) for one in view.fill.data["xs"]] == [list(map(len, one)) for one in before["xs"]]
    assert view.here.data == {"x": [pytest.approx(np.log10(5000))], "y": [pytest.approx(height(0.9))]}


def test_published_runs_stand_apart_and_a_click_sets_the_run():
    view = Helps(State())
    x = np.sort(view.runs.data["x"])
    assert len(x) == len(RUNS) and np.diff(x).min() > 0.27 and set(view.runs.data["y"]) == {height(1.0)}
    view._tapped(SimpleNamespace(x=3.0, y=4.0))
    assert (view.state.T, view.state.beta) == (1000, 0.99)
    view._tapped(SimpleNamespace(x=2.0, y=-0.5))
    assert (view.state.T, view.state.beta) == (100, 1.0)
    assert len(STEPS) > 20 and max(SHARES) < 1


def test_it_is_painted_dark_in_other_colours():
    view = Helps(State())
    light = list(view.fill.data["colour"])
    view.paint(True)
    assert not set(light) & set(view.fill.data["colour"])
