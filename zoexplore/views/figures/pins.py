"""Pins: lines in the figure of curves, and rows of its table."""

from typing import Any

import numpy as np
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS
from zoexplore.bounds.bound import Style
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import CurveSet, curve_set, guarantees, smallest
from zoexplore.palette import PINS
from zoexplore.run.axes import AXES, drawable
from zoexplore.run.formatting import format_number
from zoexplore.views.figures.legend import entry
from zoexplore.views.figures.parts import empty
from zoexplore.views.pins import Pins

WIDTH, DASH = 1.7, (7, 2)


def styles(pins: Pins) -> dict[str, tuple[str, Style]]:
    """The key of a pin's row in the table -> the pin's name, and how its line is drawn."""
    return {f"pin {place}": (pin.name, Style(PINS[place], DASH, WIDTH)) for place, pin in enumerate(pins.pins)}


def least(curves: CurveSet, bound: str = "") -> np.ndarray:
    """A pin's epsilon along its curves' values, by one bound or the least at each; inf where none applies."""
    taken = [values for name, values in curves.epsilon.items() if (name == bound if bound else BOUNDS[name].of_this_run)]
    return np.minimum.reduce(taken)


class PinnedCurves:
    """The pins in the figure of curves, in a source that changes only with the pins."""

    def __init__(self, fig: figure, pins: Pins) -> None:
        self.pins = pins
        self.source = empty("pins", "xs", "ys", "colour")
        fig.multi_line("xs", "ys", source=self.source, line_color="colour", line_width=WIDTH, line_dash=DASH)
        self.epsilons: list[float] = []  # of each pin's own run
        self._drawn: tuple = ()
        self._found: list[CurveSet] = []  # of each pin
        self._found_for: tuple = ((), "")  # which pins, and over which field

    async def find(self, along: str) -> None:
        """Compute every pin's curves over a field."""
        pins = tuple(self.pins.pins)
        found = [await ask(curve_set, pin.setting, pin.accounting, along) for pin in pins]
        given = [await ask(guarantees, pin.setting, pin.accounting) for pin in pins]
        self.epsilons = [(each.get(self.pins.compare) or smallest(each)).epsilon for each in given]
        self._found, self._found_for = found, (pins, along)

    def draw(self, along: str, dark: bool) -> None:
        """Draw the current pins, unless they are drawn already or not yet computed."""
        wanted = (*self.pins.pins, self.pins.compare, along)
        if wanted == self._drawn or self._found_for != (tuple(self.pins.pins), along):
            return
        self._drawn = wanted
        xs = [AXES[along].place(curves.values) for curves in self._found]
        ys = [drawable(least(curves, self.pins.compare)) for curves in self._found]
        self.source.data = {"xs": xs, "ys": ys, "colour": [style.hue(dark) for _, style in styles(self.pins).values()]}

    def ends(self, dark: bool) -> dict[str, tuple[float, str, bool]]:
        """The labels at the ends of curves: a pin's name -> its value there, its colour, and that it is not bold."""
        drawn = zip(styles(self.pins).values(), self.source.data["ys"], strict=False)
        return {name: (float(y[-1]), style.hue(dark), False) for (name, style), y in drawn if np.isfinite(y[-1])}

    def entries(self) -> list[dict[str, Any]]:
        """A row of the table for each, with the place of its pin."""
        rows = zip(styles(self.pins).items(), self.epsilons, strict=False)
        said = f"Pinned runs, {BOUNDS[self.pins.compare].short}" if self.pins.compare else "Pinned runs"
        return [
            entry(key, name, style, format_number(e), group=said, pin=place)
            for place, ((key, (name, style)), e) in enumerate(rows)
        ]
