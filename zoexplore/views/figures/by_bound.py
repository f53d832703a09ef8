"""What figures of all bounds share: for each bound a line, and a row of the table."""

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import numpy as np

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.compute.computations import smallest
from zoexplore.palette import style_of
from zoexplore.views.figures.chart import line
from zoexplore.views.figures.legend import entry
from zoexplore.views.html import written

STYLES = {bound: style_of(bound) for bound in BOUNDS}
IN_SHORT = {  # what each bound counts, as a row of the table says it
    "composition": "every step is published",
    "output-perturbation": "only the last noise counts",
    "corollary": "the theorem as a short formula",
    "theorem": "what early steps leak wears off",
    "sharp": "with less slack",
    "noisy-gd": "what exact gradients would pay",
}
OTHERS = "For comparison"  # the heading of bounds that are not of this run


def told_of(bound: str) -> dict[str, Any]:
    """Return what a row says of its bound: `says`, a line that fits beside a figure, and `tip`, a
    tooltip.
    """
    summary = BOUNDS[bound].summary
    return {"says": IN_SHORT.get(bound, summary), "tip": summary}


def lack(g: Guarantee) -> str:
    """Return the first reason why a bound gives no guarantee; an empty text if it gives one."""
    if g.valid:
        return ""
    return next((c.shortfall for c in g.checks if c.shortfall), g.reason).partition(";")[0]


def missing(found: dict[str, Guarantee]) -> str:
    """Return the HTML that replaces a figure if no bound is valid; else an empty text."""
    return "" if smallest(found).valid else written("figures", "missing")


def lines_of(
    found: dict[str, Guarantee], x: np.ndarray, y: Mapping[str, np.ndarray]
) -> list[dict[str, Any]]:
    """Return a line for each bound over the same places `x`, with the least bound's line in bold."""
    best = smallest(found).bound
    return [
        line(
            bound,
            x,
            values,
            STYLES[bound],
            found[bound].title,
            bold=bound == best,
            aloud=bound in ("composition", best),
        )
        for bound, values in y.items()
    ]


def rows_of(found: dict[str, Guarantee], numbers: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a row for each bound with its number and a remark; bounds of other runs come last."""
    best, rows = smallest(found), []
    for bound, g in found.items():
        least = "below the log axis" if g.epsilon == 0 else "the least" if g is best else ""
        group = "" if BOUNDS[bound].of_this_run else OTHERS
        told = told_of(bound) | {"why": lack(g) or least, "absent": not g.valid, "group": group}
        rows.append(entry(bound, g.title, STYLES[bound], numbers[bound], best=g is best, **told))
    return sorted(rows, key=itemgetter("group"))
