"""The figure explains itself: names at the ends of curves, nothing hidden, a line to drag, and redraws while a slider is held."""

import asyncio
from types import SimpleNamespace

import numpy as np
import panel as pn
import pytest
from bokeh.core.properties import value

from tests.convention import DEMONSTRATION as BEFORE
from tests.waiting import until
from zoexplore import BOUNDS, guarantee
from zoexplore.columns import placed_apart
from zoexplore.compute.process import Answer
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION, PAPER_CONVENTION
from zoexplore.views import Curves, State
from zoexplore.views.figures.names import fitted
from zoexplore.views.style import theme
from zoexplore.views.view import View


@pytest.fixture(scope="module")
def view():
    return Curves(State(BEFORE, PAPER_CONVENTION))


def test_names_stand_in_a_margin_and_keep_apart():
    rng = np.random.default_rng(3)
    for _ in range(300):
        count = rng.integers(1, 9)
        wanted, heights = rng.uniform(-50, 450, count), rng.choice([17, 34, 51], count)
        starts = np.array(placed_apart(wanted, heights, 500.0))
        order = np.argsort(starts)
        ends = (starts + heights)[order]
        assert (starts[order][1:] >= ends[:-1] - 1e-9).all() and starts.min() >= -1e-9
        if heights.sum() <= 500:
            assert ends.max() <= 500 + 1e-9
            assert (np.diff(np.asarray(wanted)[order]) >= -1e-9).all(), "in the order of their curves"


def test_every_drawn_curve_has_its_name_in_its_colour_at_its_end(view):
    names = view.names.source.data
    said = dict(zip(names["text"], names["colour"], strict=True))
    drawn = [bound for bound in BOUNDS if bound not in view.legend.muted]
    assert {BOUNDS[bound].title for bound in drawn} <= {line.removesuffix(" ↑") for text in said for line in text.split("\n")}
    assert said["Sharper bound"] == theme.style_of("sharp").colour[theme.LIGHT]
    assert set(np.array(names["x"])[np.array(names["text"]) != ""]) == {view.figure.x_range.end}
    assert view.figure.min_border_right >= 100


def test_curves_that_end_together_share_a_place_and_stay_visible():
    view = Curves(State(BEFORE.replace(beta=1.0), PAPER_CONVENTION))
    (text,) = (text for text in view.names.source.data["text"] if "Hidden-state theorem" in text)
    assert len(text.split("\n")) > 1, "one of them is beside the other"
    widths = [line.glyph.line_width for line in view.lines.values()]
    assert widths == sorted(widths, reverse=True), "thick lines are drawn first"


def test_curves_at_0_have_their_names_below_the_frame_and_the_table_says_why():
    view = Curves(State(BEFORE.replace(sigma=1e9)))
    assert not np.isfinite(view.source.data["sharp"]).any()
    said = [line for text in view.names.source.data["text"] for line in text.split("\n") if line]
    assert said and all(line.endswith(" ↓") for line in said)
    whys = [each["why"] for each in view.legend.entries if each["key"] in BOUNDS and each["number"] == "0"]
    assert whys and all("below the log axis" in why for why in whys)


@pytest.mark.parametrize(("title", "narrow", "said"), [
    ("Hidden-state theorem (as printed)", False, "Hidden-state theorem"), ("Hidden-state theorem (as printed)", True, "Theorem"),
    ("A: the training default", True, "A: the trainin…"), ("Sharper bound", True, "Sharper bound"),
    (f"{format_number(1.34e12)} at T", True, f"{format_number(1.34e12)} at T"),
])  # fmt: skip
def test_a_name_is_shortened_to_what_its_margin_has_room_for(title, narrow, said):
    assert fitted(title, narrow) == said


def test_the_handle_drags_the_value_and_a_click_sets_it():
    view = Curves(State())
    view.handle.param.update(held=True, asked=1234.5)
    assert view.state.T == 1230 and view.handle.line.location == 1230 and view.state.moving
    view.handle.held = False
    assert not view.state.moving and view.handle.label == "T = 1\u202f230"
    view.handle._tapped(SimpleNamespace(x=0.001))
    assert view.state.T == 1 == view.handle.line.location
    view.along = "beta"
    view.handle._tapped(SimpleNamespace(x=float(view.abscissa.axis.place(0.25))))
    assert view.state.beta == pytest.approx(0.25)


def test_a_change_leaves_a_ghost_and_another_supposition_none():
    view = Curves(State())
    before = np.array(view.source.data["sharp"])
    view.state.ask(sigma=0.002)
    np.testing.assert_array_equal(view.ghost.source.data["y"], before)
    assert view.ghost.before == guarantee(DEMONSTRATION, "sharp").epsilon
    view.state.ask(regime="convex")
    assert view.ghost.before is None and len(view.ghost.source.data["y"]) == 0


def test_while_a_slider_is_held_the_ghost_is_of_before_the_drag():
    view = Curves(State())
    for sigma in (0.002, 0.003, 0.004):
        view.state.slide(sigma=sigma)
        assert view.ghost.before == guarantee(DEMONSTRATION, "sharp").epsilon
    view.state.moving = False
    view.state.ask(sigma=0.005)
    assert view.ghost.before == guarantee(DEMONSTRATION.replace(sigma=0.004), "sharp").epsilon


def test_the_hover_stands_on_the_frame_and_has_a_line(view):
    assert (view.hover.point_policy, view.hover.attachment) == ("snap_to_data", "above")
    assert view.probe.glyph.y == value(view.figure.y_range.end)
    assert view.cross.dimension == "height"


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
