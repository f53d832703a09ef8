"""A figure's x axis along one field of the run: its ticks, the line at the current value, and the handle that drags it."""

from math import isfinite, nan
from typing import Any

from bokeh.models import CustomJSTickFormatter, LogTicker
from bokeh.plotting import figure

from zoexplore.run.axes import AXES, FieldAxis
from zoexplore.run.formatting import format_count, format_short
from zoexplore.views.figures.handle import Handle
from zoexplore.views.figures.parts import LOG_TICKS, FittedRange, fixed_ticks
from zoexplore.views.state import State


class Abscissa:
    """A logarithmic x axis; shares have a scale of their own on it."""

    def __init__(self, fig: figure, state: State) -> None:
        self.figure, self.state = fig, state
        self.over = ""  # the field
        self.range = FittedRange(fig.x_range)
        self.handle = Handle(fig, self._dragged, line_width=1.6)

    @property
    def axis(self) -> FieldAxis:
        return AXES[self.over]

    def run_along(self, field: str) -> bool:
        """Show a field on the axis. Returns whether the field changed."""
        if field == self.over:
            return False
        self.over, axis = field, self.figure.xaxis[0]
        if self.axis.linear:
            fixed_ticks(axis, self.axis.ticks())
        else:
            axis.ticker, axis.formatter = LogTicker(), CustomJSTickFormatter(code=LOG_TICKS)
        self.handle.give_way()
        return True

    def now(self) -> float:
        """The place of the current value; nan if there is none."""
        value = getattr(self.state.setting, self.over)
        return nan if value is None else float(self.axis.place(value))

    def mark(self) -> None:
        """Put the line and its handle at the current value, if there is one."""
        at = now if isfinite(now := self.now()) else None
        value = getattr(self.state.setting, self.over)
        said = "" if value is None else format_count(value) if self.axis.whole else format_short(value)
        self.handle.put(at, f"{self.axis.symbol} = {said}", self.axis.title)

    def fit(self, fresh: bool = False) -> None:
        """Show the field's range, unless the reader has zoomed or panned."""
        self.range.show(self.axis.frame(self.state.setting), fresh)

    def _dragged(self, place: float, held: bool) -> None:
        """Set the value after a drag of the handle or a click."""
        value: Any = self.axis.value(place)
        if not self.axis.linear:
            value = type(value)(float(f"{value:.3g}"))
        (self.state.slide if held else self.state.ask)(**{self.over: value})
