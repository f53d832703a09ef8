"""The figure explains itself: names at the ends of curves, nothing hidden, a line to drag, and redraws while a slider is held."""

import asyncio

import numpy as np
import panel as pn
import pytest
from bokeh.core.properties import value

from tests.waiting import until
from zoexplore import BOUNDS, Accounting
from zoexplore.compute.process import Answer
from zoexplore.compute.questions import annotations
from zoexplore.presets import BEFORE, DEMONSTRATION, PAPER_CONVENTION
from zoexplore.views import Curves, State
from zoexplore.views.figures.pins import _ratios
from zoexplore.views.pins import Pins
from zoexplore.views.style import theme
from zoexplore.views.view import View


@pytest.fixture(scope="module")
def view():
    return Curves(State(BEFORE, PAPER_CONVENTION))


def named(view):
    rows = zip(view.marks.data["bound"], view.marks.data["name"], view.marks.data["end_y"], strict=True)
    return {bound: (name, y) for bound, name, y in rows}


def test_every_curve_in_the_frame_has_its_name_at_its_end(view):
    names = named(view)
    low, high = view.figure.y_range.start, view.figure.y_range.end
    highest = high * (low / high) ** 0.23  # where a name still has room below the label of what is above the frame
    for bound in ("composition", "corollary", "theorem", "sharp", "noisy-gd"):
        name, y = names[bound]
        assert name == BOUNDS[bound].title and highest * 1.1 > y >= min(view.source.data[bound][-1], highest)
    assert names["output-perturbation"][0] == "", "it is above the frame"
    assert view.marks.data["end_x"][0] == view.source.data["x"][-1]


def test_names_keep_apart(view):
    y = np.sort([y for name, y in named(view).values() if name])
    low, high = view.figure.y_range.start, view.figure.y_range.end
    assert (np.diff(np.log(y)) >= 0.0449 * np.log(high / low)).all()


def test_a_name_without_room_above_its_curve_stands_below_all_that_it_is_as_wide_as():
    view = Curves(State(BEFORE, PAPER_CONVENTION))
    view.legend.muted = [bound for bound in view.lines if bound != "composition"]
    (_, y), curve = named(view)["composition"], view.source.data["composition"]
    low, high = view.figure.y_range.start, view.figure.y_range.end
    assert curve[-1] > high * (low / high) ** 0.09, "there is no room above"
    assert y * (high / low) ** 0.0449 <= curve[-curve.size // 10]


def test_curves_that_coincide_share_a_name_and_stay_visible():
    view = Curves(State(BEFORE.replace(beta=1.0), PAPER_CONVENTION))
    names = [name for name, _ in named(view).values() if name]
    assert "Composition = Hidden-state theorem\n= Sharper bound" in names, "no line is longer than a phone has room for"
    widths = [line.glyph.line_width for line in view.lines.values()]
    assert widths == sorted(widths, reverse=True), "thick lines are drawn first"


def test_a_curve_that_meets_a_higher_one_at_its_very_end_is_named_where_it_comes_from():
    """Along beta, at whose end no noise is isotropic and all bounds say the same."""
    view = Curves(State(BEFORE, PAPER_CONVENTION), along="beta")
    names = named(view)
    assert names["composition"][0] == "Composition" and names["sharp"][0] == "Sharper bound"
    sharp = view.source.data["sharp"]
    assert sharp[-1] > 0.99 * view.source.data["composition"][-1] and names["sharp"][1] < 1.5 * sharp[sharp.size // 2]


def test_names_leave_room_for_the_letters_of_pins():
    state, pins = State(), Pins()
    view = Curves(state, pins=pins)
    alone = view.names.glyph.x_offset
    pins.add(state)
    assert view.names.glyph.x_offset <= alone - 14
    pins.remove(0)
    assert view.names.glyph.x_offset == alone


def test_no_threshold_is_marked_where_curves_agree():
    assert annotations(DEMONSTRATION.replace(beta=1.0), Accounting(), "T") == ()
    assert len(annotations(DEMONSTRATION, Accounting(), "T")) == 2


def test_the_line_of_the_current_value_can_be_dragged():
    view = Curves(State())
    view.now.location = 1234.5
    assert view.state.T == 1230 and view.now.location == 1230
    view.now.location = 0.001
    assert view.state.T == 1 == view.now.location
    view.along = "beta"
    place = float(view.abscissa.place(0.25))
    view.now.location = place
    assert view.state.beta == pytest.approx(0.25)


def test_the_hover_stands_on_the_frame_and_has_a_line(view):
    assert (view.hover.point_policy, view.hover.attachment) == ("snap_to_data", "above")
    assert view.probe.glyph.y == value(view.figure.y_range.end)
    assert view.cross.dimension == "height"


def test_differences_are_ratios():
    assert _ratios([1.0, 2.0, float("inf")]) == ["1.00", "2.00 (×\u202f2)", "∞"]


class Slow(View):
    """A view whose answers come when they are given."""

    def build(self):
        self.asked, self.drawn = [], []

    async def refresh(self):
        T, answer = self.state.T, Answer()
        self.asked.append(answer)
        await answer
        self.drawn.append(T)


def test_a_slow_view_redraws_while_a_slider_is_held_and_ends_with_the_last():
    async def drag():
        state = State()
        view = Slow(state)
        for T in (10, 20, 30):
            state.slide(T=T)
        assert len(view.asked) == 1, "what is on its way is not dropped while the slider is held"
        view.asked[0].set_result(None)
        await until(lambda: len(view.asked) == 2)
        assert view.drawn == [200] and view.waiting
        view.asked[1].set_result(None)
        await until(lambda: not view.waiting)
        assert view.drawn == [200, 30]
        state.ask(T=40)
        state.ask(T=50)
        assert len(view.asked) == 4, "what nobody waits for is dropped otherwise"

    asyncio.run(drag())


def test_a_part_that_waits_says_so_without_a_change_that_lays_the_page_out():
    view, part = View(State()), pn.pane.HTML(css_classes=["kind"])
    view.veil(part)
    assert part.styles == {theme.STATE: "shown"}
    view.waiting = True
    assert part.styles == {theme.STATE: theme.WAITING} and part.css_classes == ["kind"]
    assert f'[style*="{theme.WAITING}"]' in theme.css("waiting")
    view.waiting = False
    assert part.styles == {theme.STATE: "shown"}
