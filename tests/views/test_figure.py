"""The figure explains itself: names at the ends of curves, nothing hidden, a line to drag, and
redraws while a slider is held.
"""

import asyncio

import panel as pn

from tests.convention import DEMONSTRATION as BEFORE
from tests.views.drawn import lines
from tests.waiting import until
from zoexplore import BOUNDS
from zoexplore.compute.pool import Answer
from zoexplore.views import Curves, State
from zoexplore.views.style import stylesheets
from zoexplore.views.view import View


def test_the_table_says_that_a_curve_is_below_the_axis():
    view = Curves(State(BEFORE.replace(sigma=1e9)))
    assert not (lines(view)["sharp"]["y"] > 0).any()
    whys = [
        each["why"]
        for each in view.legend.entries
        if each["key"] in BOUNDS and each["number"] == "0"
    ]
    assert whys and all("below the log axis" in why for why in whys)


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
    assert part.styles == {stylesheets.STATE: "shown"}
    view.waiting = True
    assert part.styles == {stylesheets.STATE: stylesheets.WAITING} and part.css_classes == ["kind"]
    assert f'[style*="{stylesheets.WAITING}"]' in stylesheets.css("waiting")
    view.waiting = False
    assert part.styles == {stylesheets.STATE: "shown"}
