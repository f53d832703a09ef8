"""Pins: lines in the figure of curves, and rows of its table."""

from typing import Any, NamedTuple

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


def least(curves: CurveSet, bound: str = "") -> Any:
    """A pin's epsilon along its curves' values, by one bound or the least at each; inf where none
    applies.
    """
    if bound:
        return curves.epsilon[bound]
    return np.min([x for name, x in curves.epsilon.items() if BOUNDS[name].of_this_run], axis=0)


class Known(NamedTuple):
    """What is computed of a pin, the key of its row in the table, and how its line is drawn."""

    key: str
    name: str
    style: Style
    curves: CurveSet
    given: dict[str, Guarantee]


class PinnedCurves:
    """The pins as lines of the figure of curves, and as rows of its table; none before they are
    computed.
    """

    def __init__(self, pins: Pins) -> None:
        self.pins = pins
        self._of: list[Pin] = []  # whose curves are known, and by key, name and look these and
        self._found: list[Known] = []  # the guarantees of each pin's own run

    async def find(self, along: str) -> None:
        """Compute every pin's curves over a field."""
        found, of = [], list(self.pins.pins)
        for place, pin in enumerate(of):
            run = pin.setting, pin.accounting
            given = await ask(curve_set, *run, along), await ask(guarantees, *run)
            found.append(Known(f"pin {place}", pin.name, Style(PINS[place], DASH, WIDTH), *given))
        self._of, self._found = of, found

    def _known(self) -> list["Known"]:
        return self._found if self._of == self.pins.pins else []

    def lines(self, along: str) -> list[dict[str, Any]]:
        """A line for each pin."""
        place, by = AXES[along].place, self.pins.compare
        return [
            line(pin.key, place(pin.curves.values), least(pin.curves, by), pin.style, pin.name)
            for pin in self._known()
        ]

    def entries(self) -> list[dict[str, Any]]:
        """A row of the table for each, with the place of its pin."""
        by, rows = self.pins.compare, []
        group = f"Pinned runs, {BOUNDS[by].short}" if by else "Pinned runs"
        for place, pin in enumerate(self._known()):
            number = format_number((pin.given.get(by) or smallest(pin.given)).epsilon)
            rows.append(entry(pin.key, pin.name, pin.style, number, group=group, pin=place))
        return rows

    def differences(self, now: dict[str, Guarantee]) -> str:
        """A table of what differs, a column a run: fields first, then epsilon both ways, and the
        last against the first's.
        """
        known = self._known()
        every = [*(pin.given for pin in known), now]
        if not known:
            return ""
        own = [next(iter(each.values())) for each in every]
        runs = [every_field(g.setting, g.accounting) for g in own]
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
        return written("figures", "pins", [*(pin.name for pin in known), "now"], rows)
