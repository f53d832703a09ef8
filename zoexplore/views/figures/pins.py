"""Pins: lines in the figure of curves, and rows of its table."""

from typing import Any

import numpy as np

from zoexplore.bounds import BOUNDS
from zoexplore.bounds.bound import Style
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import CurveSet, curve_set, guarantees, smallest
from zoexplore.palette import PINS
from zoexplore.run.axes import AXES
from zoexplore.run.formatting import format_number
from zoexplore.views.figures.chart import line
from zoexplore.views.figures.legend import entry
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
    """The pins as lines of the figure of curves, and as rows of its table."""

    def __init__(self, pins: Pins) -> None:
        self.pins = pins
        self.epsilons: list[float] = []  # of each pin's own run
        self._found: list[CurveSet] = []  # of each pin
        self._found_for: tuple = ((), "")  # which pins, and over which field

    async def find(self, along: str) -> None:
        """Compute every pin's curves over a field."""
        pins = tuple(self.pins.pins)
        found = [await ask(curve_set, pin.setting, pin.accounting, along) for pin in pins]
        given = [await ask(guarantees, pin.setting, pin.accounting) for pin in pins]
        self.epsilons = [(each.get(self.pins.compare) or smallest(each)).epsilon for each in given]
        self._found, self._found_for = found, (pins, along)

    def lines(self, along: str) -> list[dict[str, Any]]:
        """A line for each pin; none before they are computed."""
        if self._found_for != (tuple(self.pins.pins), along):
            return []
        drawn = zip(styles(self.pins).items(), self._found, strict=True)
        return [
            line(key, AXES[along].place(curves.values), least(curves, self.pins.compare), style, name)
            for (key, (name, style)), curves in drawn
        ]

    def entries(self) -> list[dict[str, Any]]:
        """A row of the table for each, with the place of its pin."""
        rows = zip(styles(self.pins).items(), self.epsilons, strict=False)
        said = f"Pinned runs, {BOUNDS[self.pins.compare].short}" if self.pins.compare else "Pinned runs"
        return [
            entry(key, name, style, format_number(e), group=said, pin=place)
            for place, ((key, (name, style)), e) in enumerate(rows)
        ]
