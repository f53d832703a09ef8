"""The handle of a figure's dotted line, which drags the value that a click in the figure sets."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import panel as pn
import param
from bokeh.events import Tap
from bokeh.plotting import figure

from zoexplore.views.style import theme

GUESSED = (680, 420)  # pixels, until a browser has measured the figure


class Handle(pn.custom.JSComponent):
    """A pill below a figure, at the current value. The reader sets `asked` and `held`; `size` is in pixels."""

    drawn = param.String(doc="the name of the figure")
    at = param.Number(1.0, allow_None=True, doc="where the line is, on the figure's x axis")
    label = param.String("", doc="the handle's text, as T = 200")
    title = param.String("", doc="the name of what it moves, for screen readers")
    asked = param.Number(None, allow_None=True, doc="where the reader wants the line")
    held = param.Boolean(False, doc="whether it is dragged")
    size = param.List(list(GUESSED), doc="width of the figure and height of its frame")

    _esm = Path(__file__).with_name("handle.js")

    def __init__(self, fig: figure, moved: Callable[[float, bool], Any]) -> None:
        """`moved` is called with a place on the axis and whether the handle is still held."""
        super().__init__(drawn=fig.name, stylesheets=[theme.css("handle")], **theme.STRETCH)
        self._moved = moved
        self.param.watch(self._follow, "asked")
        self.param.watch(self._let_go, "held")
        fig.on_event(Tap, self._tapped)

    def _follow(self, event: Any) -> None:
        if event.new is not None:
            self._moved(float(event.new), self.held)

    def _let_go(self, event: Any) -> None:
        if not event.new and self.asked is not None:
            self._moved(float(self.asked), False)

    def _tapped(self, event: Tap) -> None:
        if event.x is not None:
            self._moved(float(event.x), False)
