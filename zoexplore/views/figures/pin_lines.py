"""What is pinned, as lines: every pin's name, colour and smallest epsilon, for all figures that draw the pins."""

from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, GlyphRenderer
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS
from zoexplore.bounds.bound import Style
from zoexplore.views.compute.ask import ask
from zoexplore.views.compute.curve_set import CurveSet, curve_set, of_this_run
from zoexplore.views.figures.axes import AXES, drawable
from zoexplore.views.figures.axes import rows as rows_of
from zoexplore.views.figures.glyphs import Stroke
from zoexplore.views.state import LETTERS, Pins
from zoexplore.views.style import theme

WIDTH, DASH = 1.7, (7, 2)
_APART, _ASIDE = 0.3, 14  # decades between letters above each other; how far to the left the next one stands else, in pixels


def lines(fig: figure, source: ColumnDataSource, xs: str = "xs", ys: str = "ys") -> GlyphRenderer:
    """The pins' lines in a figure, from a source with their colours in "colour"."""
    return fig.multi_line(xs, ys, source=source, line_color="colour", line_width=WIDTH, line_dash=DASH)


def styles(pins: Pins) -> dict[str, tuple[str, Style]]:
    """The name of a pin's column in a figure's data -> its letter and name, and how its line is drawn."""
    return {
        f"pin {LETTERS[place]}": (f"{LETTERS[place]}: {pin.name}", Style(theme.PINS[place], DASH, WIDTH))
        for place, pin in zip(pins.places(), pins.pins, strict=True)
    }


def rows(pins: Pins) -> dict[str, tuple[str, Style]]:
    """The rows of a hover that tells of every bound and every pin, by the names of their columns."""
    return {bound: (BOUNDS[bound].title, theme.style_of(bound)) for bound in BOUNDS} | styles(pins)


def colours(pins: Pins, dark: bool) -> list[str]:
    """Of every pin."""
    return [style.hue(dark) for _, style in styles(pins).values()]


def key(pins: Pins) -> list[tuple[Stroke, str]]:
    """Every pin's line and name, for the legend of a picture."""
    return [(Stroke(s.colour[theme.LIGHT], s.width, s.dash), name) for name, s in styles(pins).values()]


def least(curves: CurveSet, bound: str = "") -> np.ndarray:
    """A pin's epsilon along its curves' values: of one bound, or of the smallest of its run at each; inf where none applies."""
    taken = [values for name, values in curves.epsilon.items() if (name == bound if bound else of_this_run(name))]
    return np.minimum.reduce(taken)


class PinnedCurves:
    """The pins in the figure of curves, from a source of their own that changes with the pins alone."""

    def __init__(self, fig: figure, pins: Pins) -> None:
        self.pins = pins
        self.source = ColumnDataSource({"xs": [], "ys": [], "colour": []}, name="pins")
        self.ends = ColumnDataSource({"x": [], "y": [], "dx": [], "letter": [], "colour": []})
        lines(fig, self.source)
        fig.text(
            "x", "y", "letter", source=self.ends, text_color="colour", text_align="right", text_baseline="bottom",
            x_offset="dx", y_offset=-1, text_font={"value": theme.FONT}, text_font_size="13px", text_font_style="bold",
        )  # fmt: skip
        self.room = 0  # pixels that the letters take at the right end
        self._drawn: tuple = ()
        self._found: list[CurveSet] = []  # of each pin
        self._found_for: tuple = ((), "")  # which pins, and over which field

    async def find(self, along: str) -> None:
        """Compute every pin's curves over a field."""
        pins = tuple(self.pins.pins)
        found = [await ask(curve_set, pin.setting, pin.accounting, along) for pin in pins]
        self._found, self._found_for = found, (pins, along)

    def columns(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """For the hover, every pin's epsilon at the values that its own curve has, too; nan at others: none is made up."""
        found = {}
        for name, curves in zip(styles(self.pins), self._found, strict=False):
            place = np.clip(np.searchsorted(curves.values, values), 0, curves.values.size - 1)
            found[name] = np.where(curves.values[place] == values, least(curves, self.pins.compare)[place], np.nan)
        return found

    def draw(self, along: str, dark: bool) -> None:
        """Draw what is pinned now, unless that is what is drawn, or is not computed yet."""
        wanted = (*self.pins.pins, *self.pins.places(), self.pins.compare, along)
        if wanted == self._drawn or self._found_for != (tuple(self.pins.pins), along):
            return
        self._drawn = wanted
        xs = [AXES[along].place(curves.values) for curves in self._found]
        ys = [drawable(least(curves, self.pins.compare)) for curves in self._found]
        self.source.data = {"xs": xs, "ys": ys, "colour": colours(self.pins, dark)}
        ends: dict[int, Any] = dict.fromkeys(
            range(len(LETTERS)), (np.nan, np.nan)
        )  # a row for every letter, always, as among marks
        for place, x, y in zip(self.pins.places(), xs, ys, strict=True):
            for last in np.flatnonzero(np.isfinite(y))[-1:]:
                ends[place] = x[last], y[last]
        seen = {place: y for place, (_, y) in ends.items() if np.isfinite(y)}
        aside = dict(zip(seen, rows_of(list(seen.values()), _APART), strict=True))
        self.room = _ASIDE * (1 + max(aside.values())) if aside else 0
        self.ends.data = {
            "x": [float(x) for x, _ in ends.values()],
            "y": [float(y) for _, y in ends.values()],
            "dx": [-3 - _ASIDE * aside.get(place, 0) for place in ends],
            "letter": list(LETTERS),
            "colour": [pair[dark] for pair in theme.PINS],
        }
