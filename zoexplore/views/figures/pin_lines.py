"""What is pinned, as lines: every pin's name, colour and smallest epsilon, for all figures that draw the pins."""

import numpy as np

from zoexplore.bounds import BOUNDS
from zoexplore.bounds.bound import Style
from zoexplore.views.compute.curve_set import CurveSet, of_this_run
from zoexplore.views.panels.pins import LETTERS, Pins
from zoexplore.views.style import theme

WIDTH, DASH = 1.7, (7, 2)


def column(letter: str) -> str:
    """The name of a pin's column in a figure's data."""
    return f"pin {letter}"


def styles(pins: Pins) -> dict[str, tuple[str, Style]]:
    """Column -> a pin's letter and name, and how its line is drawn."""
    return {
        column(LETTERS[place]): (f"{LETTERS[place]}: {pin.name}", Style(theme.PINS[place], DASH, WIDTH))
        for place, pin in zip(pins.places(), pins.pins, strict=True)
    }


def rows(pins: Pins) -> dict[str, tuple[str, Style]]:
    """The rows of a hover that tells of every bound and every pin, by the names of their columns."""
    return {bound: (BOUNDS[bound].title, theme.style_of(bound)) for bound in BOUNDS} | styles(pins)


def colours(pins: Pins, dark: bool) -> list[str]:
    """Of every pin."""
    return [style.hue(dark) for _, style in styles(pins).values()]


def least(curves: CurveSet, bound: str = "") -> np.ndarray:
    """A pin's epsilon along its curves' values: of one bound, or of the smallest of its run at each; inf where none applies."""
    taken = [values for name, values in curves.epsilon.items() if (name == bound if bound else of_this_run(name))]
    return np.minimum.reduce(taken)


def at(curves: CurveSet, bound: str, values: np.ndarray) -> np.ndarray:
    """A pin's epsilon at the values that its own curve has, too; nan at others, since none is made up between two."""
    place = np.clip(np.searchsorted(curves.values, values), 0, curves.values.size - 1)
    return np.where(curves.values[place] == values, least(curves, bound)[place], np.nan)
