"""The map: one row is one curve, contours are where epsilon is what they say, and a click sets the state."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import panel as pn
import pytest

from tests.effort import usually
from zoexplore import Accounting, curve, epsilon
from zoexplore.axes import AXES
from zoexplore.columns import bands, heights, level_lines
from zoexplore.compute.questions import SIZE, Sheet, row
from zoexplore.presets import BEFORE, DEMONSTRATION
from zoexplore.views import Map, State
from zoexplore.views.figures.map import EDGES
from zoexplore.views.pins import Pin, Pins
from zoexplore.views.style import theme


def sheet(x="K", y="sigma", bound="composition", setting=None):
    return Sheet(setting or DEMONSTRATION, Accounting(), bound, x, y)


ROWS = ["K", "delta", "lipschitz", "sigma"]  # whole numbers, small ones, one that may be none, and noise


@pytest.mark.parametrize("y", usually(ROWS, of=AXES))
def test_a_row_is_a_curve(y):
    for x in sorted(set(AXES) - {y}):
        drawn = sheet(x, y, setting=DEMONSTRATION.replace(xi=1e-9))
        at = drawn.rows[len(drawn.rows) // 2]
        found = row(drawn, at)
        assert found.shape == drawn.columns.shape
        finite = np.flatnonzero(np.isfinite(found))
        assert finite.size, x
        i = finite[finite.size // 2]
        setting = DEMONSTRATION.replace(xi=1e-9).replace(**{x: drawn.columns[i], y: at})
        assert found[i] == pytest.approx(epsilon(setting, "composition"), rel=1e-9), x


def test_it_has_a_hundred_points_a_side():
    assert len(sheet("sigma", "beta").columns) >= 100 and len(sheet("sigma", "beta").rows) >= 100 == SIZE - 1


def test_level_lines_are_where_they_say():
    x, y = np.linspace(0, 1, 50), np.linspace(0, 2, 60)
    z = x[None, :] + y[:, None] - 1
    found = level_lines(x, y, z, [1.0, 10.0])
    for xs, ys, target in zip(found["xs"], found["ys"], found["target"], strict=True):
        np.testing.assert_allclose(xs + ys - 1, np.log10(target), atol=1e-9)


def test_bands_leave_out_what_does_not_apply():
    z = heights(np.array([[1.0, 1.0, np.inf], [1.0, 1.0, np.inf]]))
    made = bands(np.arange(3.0), np.arange(2.0), z, EDGES)
    assert made["band"] and max(ring.max() for polygons in made["xs"] for rings in polygons for ring in rings) <= 1


def computed(**params):
    """A map computed here and now rather than in another process."""

    async def here(call, *args):
        return call(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zoexplore.views.figures.map.ask", here)
        view = Map(State(), bound="composition", **params)
        view.__panel__()  # a script computes nothing that is not shown
        return view


def test_the_map_is_the_accountants(small):
    view = computed(x="T", y="beta")
    assert view.done == 1 and view.epsilon.shape[0] == 25
    i = 12
    values = replace(sheet("T", "beta"), points=25)
    expected = curve(DEMONSTRATION.replace(beta=values.rows[i]), "T", values.columns, ["composition"])["composition"]
    np.testing.assert_allclose(view.epsilon[i], expected)
    assert view.fill.data["band"] and "ε = 1" in view.lines.data["label"]
    assert view.progress.css_classes == ["zx-progress", "zx-idle"]


def test_rows_are_asked_for_one_at_a_time_and_cancel_asks_for_no_more(monkeypatch, small):
    asked = []

    async def cancelled():
        async def compute(call, *args):
            asked.append(args)
            if len(asked) == 3:
                view.stop()
            await asyncio.sleep(0)
            return call(*args)

        monkeypatch.setattr("zoexplore.views.figures.map.ask", compute)
        view = Map(State(), bound="composition", x="T", y="beta")
        while len(asked) < 3:
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        return view

    view = asyncio.run(cancelled())
    assert len(asked) == 3 and "Cancelled" in view.note.object and view.epsilon is None


def test_what_nobody_looks_at_is_not_computed_and_goes_on_when_somebody_does(monkeypatch, small):
    asked = []

    async def left():
        async def compute(call, *args):
            asked.append(args)
            if len(asked) == 3:
                view.active = False
            await asyncio.sleep(0)
            return call(*args)

        monkeypatch.setattr("zoexplore.views.figures.map.ask", compute)
        view = Map(State(), bound="composition", x="T", y="beta")
        for _ in range(1000):
            await asyncio.sleep(0)
        assert len(asked) == 3 and view.epsilon is None
        view.active = True
        for _ in range(1000):
            await asyncio.sleep(0)
        return view

    view = asyncio.run(left())
    assert view.epsilon.shape[0] == 25 and view.done == 1 and not view.bar.visible


def test_a_first_row_that_takes_long_is_shown_as_progress_and_can_be_cancelled_and_asked_for_again(monkeypatch, small):
    async def slow():
        async def never(*_):
            await asyncio.Event().wait()

        async def here(call, *args):
            return call(*args)

        monkeypatch.setattr("zoexplore.views.figures.map.ask", never)
        view = Map(State(), bound="composition", x="T", y="beta")
        while "0\u202f%" not in view.note.object:
            await asyncio.sleep(0.01)
        assert view.cancel.visible and view.bar.visible and theme.BUSY in view.progress.css_classes
        view.cancel.clicks += 1
        assert "Cancelled." in view.note.object and view.again.visible and not view.cancel.visible
        assert theme.BUSY not in view.progress.css_classes
        monkeypatch.setattr("zoexplore.views.figures.map.ask", here)
        view.again.clicks += 1
        while view.epsilon is None:
            await asyncio.sleep(0.01)
        return view

    view = asyncio.run(slow())
    assert view.done == 1 and not view.again.visible and view.progress.css_classes == ["zx-progress", "zx-idle"]


def test_a_map_that_is_cancelled_says_what_is_drawn(monkeypatch, small):
    view = computed(x="T", y="beta")

    async def overtaken(rows):
        asked = []

        async def compute(call, *args):
            await asyncio.sleep(0)
            asked.append(args)
            if len(asked) == rows:
                view.stop()
                await asyncio.sleep(0)
            return call(*args)

        monkeypatch.setattr("zoexplore.views.figures.map.ask", compute)
        view.state.sigma *= 2
        while view._wanted:
            await asyncio.sleep(0)

    asyncio.run(overtaken(3))
    assert "Cancelled: the map is of an earlier setting." in view.note.object
    asyncio.run(overtaken(12))
    assert "Cancelled: the map is coarse." in view.note.object and view.epsilon.shape[0] == 4


def test_a_click_sets_both_sliders(small):
    view = computed(x="T", y="beta")
    view._tapped(SimpleNamespace(x=3.0, y=np.log10(AXES["beta"].place(0.25))))
    assert (view.state.T, view.state.beta) == (1000, 0.25)
    assert view.here.data["x"] == [pytest.approx(3.0)]


def test_targets_are_typed_and_nonsense_is_put_back(small):
    view = computed(x="T", y="sigma")
    view.levels.text.value = "2, 0.5"
    assert view.targets == [0.5, 2.0] and set(view.lines.data["label"]) <= {"ε = 0.5", "ε = 2"}
    view.levels.text.value = "many"
    assert view.levels.text.value == "0.5, 2" and view.targets == [0.5, 2.0]
    assert "decimal point" in view.note.object


def test_two_fields_are_needed():
    view = computed(x="T", y="T")
    assert "two different fields" in view.note.object


def test_it_renders_alone(small):
    assert pn.panel(computed(x="T", y="n")).get_root() is not None


def test_moving_along_the_map_computes_nothing(small):
    view = computed(x="K", y="sigma")
    drawn = view.epsilon
    view.state.ask(K=17, sigma=0.3)
    assert view.epsilon is drawn
    assert view.here.data == {"x": [pytest.approx(np.log10(17))], "y": [pytest.approx(np.log10(0.3))]}


def test_the_dot_can_be_dragged_and_the_rest_of_the_map_cannot(small):
    view = computed(x="T", y="beta")
    x, y = view._place(DEMONSTRATION)
    moved = []
    view.state.param.watch(lambda event: moved.append(event.new.T), "setting")
    view._taken(SimpleNamespace(x=x + 1, y=y))
    view._dragged(SimpleNamespace(x=3.0, y=y))
    view._let_go()
    assert moved == []
    view._taken(SimpleNamespace(x=x + 0.01, y=y))
    view._dragged(SimpleNamespace(x=3.0, y=y))
    assert moved == [1000] and view.state.moving and view.here.data["x"] == [3.0]
    view._let_go()
    view._dragged(SimpleNamespace(x=4.0, y=y))
    assert moved == [1000] and not view.state.moving


def test_pins_are_on_the_map():
    pins = Pins(pins=[Pin("late", BEFORE.replace(T=1000), Accounting(), "C")])
    view = Map(State(BEFORE), x="T", y="beta", pins=pins)
    assert (view.pinned.data["letter"], view.pinned.data["x"]) == (["C"], [3.0])
    view.x = "lipschitz"  # which is not set
    assert np.isnan(view.pinned.data["x"][0]) and np.isnan(view.here.data["x"][0])
    pins.pins = []
    assert view.pinned.data["letter"] == []
