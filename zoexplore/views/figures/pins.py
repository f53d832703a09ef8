"""Pins: lines in the figure of curves, and rows of its table."""

from typing import Any

import numpy as np

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.words import Style
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import CurveSet, curve_set, guarantees, smallest
from zoexplore.palette import PINS
from zoexplore.questions.export import every_field
from zoexplore.run.axes import AXES
from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import format_number
from zoexplore.views.figures.chart import line
from zoexplore.views.figures.legend import entry
from zoexplore.views.html import written
from zoexplore.views.panels.readouts import times
from zoexplore.views.pins import Pin, Pins, grouped

WIDTH, DASH = 1.7, (7, 2)


def styles(pins: Pins) -> dict[str, tuple[str, Style]]:
    """The key of a pin's row in the table -> the pin's name, and how its line is drawn."""
    return {
        f"pin {place}": (pin.name, Style(PINS[place], DASH, WIDTH))
        for place, pin in enumerate(pins.pins)
    }


def least(curves: CurveSet, bound: str = "") -> Any:
    """A pin's epsilon along its curves' values, by one bound or the least at each; inf where none
    applies.
    """
    if bound:
        return curves.epsilon[bound]
    return np.min([x for name, x in curves.epsilon.items() if BOUNDS[name].of_this_run], axis=0)


class PinnedCurves:
    """The pins as lines of the figure of curves, and as rows of its table; none before they are
    computed.
    """

    def __init__(self, pins: Pins) -> None:
        self.pins = pins
        # each pin's curves, and guarantees of its own run
        self._found: dict[Pin, tuple[CurveSet, dict[str, Guarantee]]] = {}

    async def find(self, along: str) -> None:
        """Compute every pin's curves over a field."""
        runs = {pin: (pin.setting, pin.accounting) for pin in self.pins.pins}
        self._found = {
            pin: (await ask(curve_set, *run, along), await ask(guarantees, *run))
            for pin, run in runs.items()
        }

    def _known(self) -> list[tuple[str, str, Style, CurveSet, dict[str, Guarantee]]]:
        """Each pin's key, name and look, with what is computed of it."""
        if not all(pin in self._found for pin in self.pins.pins):
            return []
        looks = styles(self.pins).items()
        return [
            (key, *look, *self._found[pin])
            for (key, look), pin in zip(looks, self.pins.pins, strict=True)
        ]

    def lines(self, along: str) -> list[dict[str, Any]]:
        """A line for each pin."""
        return [
            line(
                key, AXES[along].place(curves.values), least(curves, self.pins.compare), style, name
            )
            for key, name, style, curves, _ in self._known()
        ]

    def entries(self) -> list[dict[str, Any]]:
        """A row of the table for each, with the place of its pin."""
        by = self.pins.compare
        said = f"Pinned runs, {BOUNDS[by].short}" if by else "Pinned runs"
        return [
            entry(
                key,
                name,
                style,
                format_number((given.get(by) or smallest(given)).epsilon),
                group=said,
                pin=place,
            )
            for place, (key, name, style, _, given) in enumerate(self._known())
        ]

    def differences(self, now: dict[str, Guarantee]) -> str:
        """A table of what differs, a column a run: fields first, then epsilon both ways, and the
        last against the first's.
        """
        known = self._known()
        every = [*(given for *_, given in known), now]
        if not known:
            return ""
        runs = [
            every_field(g.setting, g.accounting)
            for g in (next(iter(each.values())) for each in every)
        ]
        lasts = [smallest(each).epsilon for each in every]
        rows = {
            FIELDS[name].noun if name in FIELDS else name: [
                grouped(run[name]) or "–" for run in runs
            ]
            for name in runs[0]
            if len({run[name] for run in runs}) > 1
        }
        rows["ε, every step"] = [format_number(each["composition"].epsilon) for each in every]
        rows["ε, only the last"] = [format_number(last) for last in lasts]
        rows["against the first"] = ["–", *(times(lasts[0], last) or "=" for last in lasts[1:])]
        return written("figures", "pins", [*(name for _, name, *_ in known), "now"], rows)
