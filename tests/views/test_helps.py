"""When hiding helps: the map is the accountant's gain, this run and the published ones stand on it, and a click sets the run."""

from html import escape
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from tests.effort import proof
from zoexplore import BOUNDS, Accounting
from zoexplore.questions.hiding import ALONG_ALL, gain_map
from zoexplore.run.axes import AXES
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.published import RUNS
from zoexplore.views import State
from zoexplore.views.figures.helps import OVER, POINTS, WHEN, Helps, places, tips


def test_it_says_by_how_much_and_why_not():
    view = Helps(State())
    here = gain_map(DEMONSTRATION, "T", "beta", [DEMONSTRATION.T], [DEMONSTRATION.beta], Accounting())
    before, now = format_number(float(here.composition[0, 0])), format_number(float(here.least[0, 0]))
    assert before in view.words.object and now in view.words.object
    view.state.ask(beta=1.0)
    assert "÷ 1" in view.words.object and ALONG_ALL in view.words.object


def test_moving_on_the_map_computes_no_other_map():
    view = Helps(State())
    before = view.cells.data
    view.state.ask(T=5000, beta=0.9)
    assert view.cells.data["tip"] == before["tip"]
    assert view.here.data == {"x": [pytest.approx(np.log10(5000))], "y": [pytest.approx(places("beta", 0.9))]}


@pytest.mark.parametrize("changes", [{}, proof({"n": 1000, "sigma": 1e-3}), {"lipschitz": inf, "ridge": 0.25}])
def test_pointing_at_a_cell_tells_what_the_accountant_says_of_that_run(changes):
    run, (x, y) = DEMONSTRATION.replace(**changes), OVER
    view = Helps(State(run))
    xs, ys = (AXES[field].values(run, POINTS) for field in (x, y))
    cells, gain = view.cells.data, gain_map(run, x, y, xs, ys)
    assert cells["tip"] == tips(gain)
    for field, ends, values in ((x, ("left", "right"), np.tile(xs, len(ys))), (y, ("bottom", "top"), np.repeat(ys, len(xs)))):
        assert np.all((cells[ends[0]] <= places(field, values)) & (places(field, values) <= cells[ends[1]]))
    won = [(tip, by) for tip, by, why in zip(cells["tip"], gain.winner.ravel(), gain.why.ravel(), strict=True) if not why]
    assert won and all(tip.startswith(f"<b>{BOUNDS[by].title}</b>") for tip, by in won)


def test_grey_is_where_an_assumption_fails():
    view = Helps(State())
    top = places("beta", 1.0)
    assert len(view.failing.data["top"]) == POINTS and set(view.failing.data["top"]) == {top}, "all of β = 1, and nothing else"
    assert {tip for tip, at in zip(view.cells.data["tip"], view.cells.data["top"], strict=True) if at == top} == {ALONG_ALL}
    view.state.ask(M=inf, m=0.0, ridge=0.0, regime="non-convex", eta=300.0)
    assert len(view.failing.data["top"]) == POINTS**2 and "M-smooth" in view.cells.data["tip"][0]


def test_published_runs_stand_apart_and_a_click_takes_one_and_tells_it_fairly():
    view = Helps(State())
    at, span = view.runs.data, view.figure.x_range
    assert sorted(at["text"]) == [str(number) for number in range(1, len(RUNS) + 1)]
    for height in set(at["y"]):
        row = np.sort([x for x, y in zip(at["x"], at["y"], strict=True) if y == height])
        assert np.all(np.diff(row) > 0.04 * (span.end - span.start)) and span.start <= row[0] and row[-1] <= span.end + 1e-9
    for number, run in enumerate(RUNS.values(), start=1):
        place = view.runs.data["text"].index(str(number))
        assert run.difference in view.runs.data["tip"][place]
        view._tapped(SimpleNamespace(x=view.runs.data["x"][place], y=view.runs.data["y"][place]))
        assert view.state.setting == run.setting and view.state.accounting == Accounting()
        assert view.here.data["x"] == [view.runs.data["x"][view.runs.data["text"].index(str(number))]]
        assert f"claimed ε = {run.claimed:g}" in view.beside.object and run.difference in view.beside.object


def test_a_click_elsewhere_sets_both_fields():
    view = Helps(State())
    view._tapped(SimpleNamespace(x=3.0, y=2.0))
    assert (view.state.T, view.state.beta) == (1000, 0.99)
    view._tapped(SimpleNamespace(x=2.0, y=6.9))
    assert (view.state.T, view.state.beta) == (100, 1.0)
    view.handle.param.update(held=True, asked=np.log10(2345.0))
    assert (view.state.T, view.state.beta, view.state.moving) == (2350, 1.0, True)
    assert view.handle.line.location == pytest.approx(np.log10(2350))


def test_it_says_in_a_sentence_when_hiding_helps():
    assert Helps(State()).__panel__().select(lambda part: escape(WHEN) in str(getattr(part, "object", "")))


def test_it_is_painted_dark_in_other_colours():
    view = Helps(State())
    light = list(view.fill.data["colour"])
    view.paint(True)
    assert not set(light) & set(view.fill.data["colour"])
