"""A figure's dotted line at the current value, and the handle that drags it; a click in the figure sets the value, too."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import panel as pn
import param
from bokeh.events import Tap
from bokeh.models import LogAxis
from bokeh.plotting import figure

from zoexplore.views.figures.parts import mark
from zoexplore.views.style import theme

# A tick that the handle would cover has no label. A letter of the handle's is some 7 pixels wide.
_BESIDE_HANDLE = """
const place = (x) => log ? Math.log(x) : x, {start, end} = fig.x_range;
const share = Math.abs(place(tick) - place(line.location)) / Math.abs(place(end) - place(start));
const wide = fig.properties.inner_width.is_unset ? 600 : fig.inner_width;
if (line.location != null && share * wide < 42 + 3.6 * String(line.tags[0] ?? "").length) return "";
"""


class Handle(pn.custom.JSComponent):
    """A pill below a figure, at the current value. The reader sets `asked` and `held`."""

    drawn = param.String(doc="the name of the figure")
    at = param.Number(1.0, allow_None=True, doc="where the line is, on the figure's x axis")
    label = param.String("", doc="the handle's text, as T = 200")
    title = param.String("", doc="the name of what it moves, for screen readers")
    asked = param.Number(None, allow_None=True, doc="where the reader wants the line")
    held = param.Boolean(False, doc="whether it is dragged")

    _esm = Path(__file__).with_name("handle.js")

    def __init__(self, fig: figure, moved: Callable[[float, bool], Any], **look: Any) -> None:
        """`moved` is called with a place on the axis and whether the handle is still held; `look` has the line's properties."""
        super().__init__(drawn=fig.name, stylesheets=[theme.css("handle")], **theme.STRETCH)
        self._moved, self.figure = moved, fig
        self.line = mark(fig, 1, **look)
        self.give_way()
        self.param.watch(self._follow, "asked")
        self.param.watch(self._let_go, "held")
        fig.on_event(Tap, self._tapped)

    def give_way(self) -> None:
        """Leave out the labels of ticks that the handle would cover; once the axis has its formatter."""
        axis = self.figure.xaxis[0]
        formatter = axis.formatter
        if "line" not in formatter.args:
            formatter.args = {**formatter.args, "line": self.line, "fig": self.figure, "log": isinstance(axis, LogAxis)}
            formatter.code = _BESIDE_HANDLE + formatter.code

    def put(self, at: float | None, label: str, title: str) -> None:
        """Put the line and its handle at a value, if there is one."""
        self.line.update(location=at, tags=[label])
        self.param.update(at=at, label=label, title=title)

    def _follow(self, event: Any) -> None:
        if event.new is not None:
            self._moved(float(event.new), self.held)

    def _let_go(self, event: Any) -> None:
        if not event.new and self.asked is not None:
            self._moved(float(self.asked), False)

    def _tapped(self, event: Tap) -> None:
        if event.x is not None:
            self._moved(float(event.x), False)
