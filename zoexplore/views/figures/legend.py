"""The table of curves, with a switch for each."""

from pathlib import Path
from typing import Any

import param

from zoexplore.bounds.words import Style
from zoexplore.views.component import Script
from zoexplore.views.figures.chart import look_of

UNASKED = ["output-perturbation", "corollary"]  # curves that are off at first


class Legend(Script):
    """A row for each curve with its number and its switch. `muted` lists the curves that the figure
    hides.
    """

    of = param.String(
        "", doc="the name of the chart whose numbers it has, so that it shows what is read there"
    )
    entries = param.List([], item_type=dict, doc="results of `entry`, in order, groups together")
    muted = param.List([], item_type=str, doc="the keys of the curves that are switched off")
    title = param.String("", doc="of the table")
    symbol = param.String("ε", doc="of the numbers")
    asked = param.List(
        [], doc="an action on a pin: 'use' or 'remove', its place, and the time of the click"
    )

    kind, sheets = "table", ("legend",)
    _esm = Path(__file__).with_name("legend.js")


def entry(key: str, title: str, style: Style, number: str = "", **more: Any) -> dict[str, Any]:
    """Return a row: the curve's key, title and number.

    `more` may have `why`, a remark such as the reason why there is no curve; `absent`, whether
    there is none; `group`, the heading above the row; `best`, whether the number is the least;
    `says`, a line of text; `tip`, a tooltip; and `pin`, the place of a pin.
    """
    told = {"key": key, "title": title, "number": number, "why": "", "absent": False, "group": ""}
    return told | look_of(style) | more
