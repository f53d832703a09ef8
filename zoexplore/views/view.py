"""`View`: what all views of a state have in common."""

import asyncio
from math import inf
from typing import Any, ClassVar

import panel as pn
import param

from zoexplore.compute.ask import ask, known
from zoexplore.compute.computations import CurveSet, curve_set, curve_sketch
from zoexplore.compute.session_task import SessionTask, event_loop_is_running
from zoexplore.views.pins import Pins
from zoexplore.views.state import State
from zoexplore.views.style import stylesheets


class View(pn.viewable.Viewer):
    """A view of a state. While `active` is false the view computes nothing; once shown, it catches
    up.

    A subclass makes its components in `build`, and redraws in the coroutine `refresh`, which awaits
    slow calls: `found = await ask(function, *args)`. `pins` holds the state's pins.
    """

    # the names of the params that the reader sets in the view and that an address keeps
    asks: ClassVar[tuple[str, ...]] = ()
    rest: ClassVar[float] = 0.0  # seconds from one redraw to the next while a slider is held
    precedence: ClassVar[int] = 0  # views of lower precedence redraw first

    active = param.Boolean(True, doc="whether the view is in sight")
    opens = param.String("", doc="the view that is to be shown next")
    waiting = param.Boolean(
        False, doc="whether the figure shows an earlier state while the current one is computed"
    )

    def __init__(self, state: State | None = None, pins: Pins | None = None, **params: Any) -> None:
        super().__init__(**params)
        self.state, self.pins = state or State(), pins or Pins()
        self._redrawing = SessionTask()
        self._outdated = False  # whether the state has moved on since the last redraw began
        # `sketch`: whether the last redraw was a sketch, to refine once no slider is held;
        # `_refines`: whether the current redraw only refines a sketch
        self.sketch = self._refines = False
        self.build()
        self.changed()
        self.state.param.watch(self.changed, ["setting", "accounting"], precedence=self.precedence)
        self.state.param.watch(self._rests, "moving", precedence=self.precedence)
        self.param.watch(self._woken, "active")
        if self.asks:
            self.param.watch(self.changed, list(self.asks))

    def build(self) -> None:
        """Make the view's components."""

    def veil(self, part: pn.viewable.Viewable, kind: str = stylesheets.WAITING) -> None:
        """Style a part as outdated while it shows an earlier state.

        The style is a CSS variable, not a class: when a class changes, Bokeh lays out the whole
        page again, which takes longer than drawing the figure.
        """

        def show(*_: Any) -> None:
            part.styles = {stylesheets.STATE: kind if self.waiting else "shown"}

        self.param.watch(show, "waiting")
        show()

    def _rests(self, *_: Any) -> None:
        if self.sketch and not self.state.moving:
            self._outdated = True
            self._redraw(refines=True)

    def changed(self, *_: Any) -> None:
        """Redraw now, or once the view is shown.

        While a slider is held, a redraw under way still draws its earlier state, so that the figure
        keeps moving with the slider. Otherwise that redraw is dropped for the current state.
        """
        self._outdated = True
        # whether the redraw under way only refines a sketch, so that it may be dropped
        refines = self._refines or (self.sketch and not self.waiting)
        if self.state.moving and self.active and self._redrawing.waits and not refines:
            return
        self._redraw()

    def _redraw(self, *, refines: bool = False) -> None:
        """Drop the redraw under way, if any, and begin one if the view is shown."""
        self._redrawing.stop()
        self._refines = refines
        if self.active:
            self._redrawing = SessionTask(
                self._catch_up, lambda _: self.param.update(waiting=False)
            )
            drawn = refines or self.sketch or (self.rest and self.state.moving)
            self.waiting = self._redrawing.waits and not drawn

    async def _catch_up(self) -> None:
        await self._pause(0)  # let quicker redraws go first; the reader waits for them
        while self._outdated:
            self._outdated = self.sketch = False
            await self.refresh()
            self.waiting = self._outdated and not self.rest
            await self._pause(self.rest)

    async def _pause(self, seconds: float) -> None:
        """Wait between two redraws while a slider is held."""
        if self.rest and self.state.moving and event_loop_is_running():
            await asyncio.sleep(seconds)

    def _woken(self, *_: Any) -> None:
        if self.active and self._outdated:
            self.changed()
        elif not self.active and self.waiting:
            self._redrawing.stop()
            self._outdated, self.waiting = True, False

    async def curves(self, along: str, end: float = inf) -> CurveSet:
        """Return the curves along a field. While a slider is held, return a sketch up to `end`
        unless the full curves are known already.
        """
        run = *self.state.run, along
        self.sketch = self.state.moving and not known(curve_set, *run)
        found: CurveSet = await ask(
            *((curve_sketch, *run, end) if self.sketch else (curve_set, *run))
        )
        return found

    async def refresh(self) -> None:
        """Show the current state."""
