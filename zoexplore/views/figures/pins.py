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
from zoexplore.views.pins import Pins, grouped

WIDTH, DASH = 1.7, (7, 2)


def least(curves: CurveSet, bound: str = "") -> Any:
    """Return epsilon along the curves' values: by one bound, or at each value the least of all
    bounds; inf where no bound applies.
    """
    if bound:
        return curves.epsilon[bound]
    return np.min([x for name, x in curves.epsilon.items() if BOUNDS[name].of_this_run], axis=0)


class Known(NamedTuple):
    """A pin with its key in the figure and the table, its line's style, and what is computed of its
    run.
    """

    key: str
    name: str
    style: Style
    curves: CurveSet
    given: dict[str, Guarantee]


async def find(pins: Pins, along: str) -> list[Known]:
    """Compute each pin's curves along a field, and the guarantees of its run."""
    found = []
    for place, pin in enumerate(list(pins.pins)):
        run = pin.setting, pin.accounting
        given = await ask(curve_set, *run, along), await ask(guarantees, *run)
        found.append(Known(f"pin {place}", pin.name, Style(PINS[place], DASH, WIDTH), *given))
    return found


def lines_of(known: list[Known], along: str, by: str) -> list[dict[str, Any]]:
    """Return a line for each pin: epsilon by one bound, or by the least bound if `by` is empty."""
    place = AXES[along].place
    return [
        line(pin.key, place(pin.curves.values), least(pin.curves, by), pin.style, pin.name)
        for pin in known
    ]


def rows_of(known: list[Known], by: str) -> list[dict[str, Any]]:
    """Return a row of the table for each pin, with its place among the pins."""
    group, rows = f"Pinned runs, {BOUNDS[by].short}" if by else "Pinned runs", []
    for place, pin in enumerate(known):
        number = format_number((pin.given.get(by) or smallest(pin.given)).epsilon)
        rows.append(entry(pin.key, pin.name, pin.style, number, group=group, pin=place))
    return rows


def differences(known: list[Known], now: dict[str, Guarantee]) -> str:
    """Return an HTML table with a column for each run: the fields that differ, epsilon for both
    ways of publishing, and its ratio to the first run's epsilon.
    """
    if not known:
        return ""
    every = [*(pin.given for pin in known), now]
    least, composed = [smallest(each) for each in every], [each["composition"] for each in every]
    runs = [every_field(g.setting, g.accounting) for g in composed]
    fields = {
        FIELDS[name].noun if name in FIELDS else name: [grouped(run[name]) or "–" for run in runs]
        for name in runs[0]
        if len({run[name] for run in runs}) > 1
    }
    names = [*(pin.name for pin in known), "now"]
    return written("figures", "pins", names, fields, composed, least, times)
