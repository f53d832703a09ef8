"""Elements of training's results: utility against privacy."""

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import holoviews as hv

from zoexplore.bounds import BOUNDS
from zoexplore.methods import look_of
from zoexplore.plots.look import FRAME, MUTED, epsilon_at, style, with_legend
from zoexplore.training import METHODS

if TYPE_CHECKING:
    from zoexplore.training import Frontier

_ACCURACY = hv.Dimension("accuracy", label="accuracy on held-out data")


def frontier(found: "Frontier", *, bounds: Sequence[str] = ("composition", "sharp")) -> hv.Overlay:
    """The price of privacy: accuracy against epsilon, a marker a method, a colour a bound. A
    method without a finite epsilon is a horizontal line.

    Args:
        found: what `zoexplore.training.frontier` returned.
        bounds: ids of `BOUNDS`.
    """
    x, parts = hv.Dimension("epsilon", label=epsilon_at(found.delta)), []
    frame = FRAME | {"logx": True, "padding": 0.06}
    given = [
        (p.epsilon[bound], bound, p)
        for p in found.points
        for bound in bounds
        if 0 < p.epsilon[bound] < inf
    ]
    given.sort(key=lambda each: each[0])
    ends = (given[0][0], given[-1][0]) if given else (0.1, 10.0)
    methods = {p.method: p for p in found.points}
    several = sum(METHODS[method].noisy for method in methods) > 1
    for method, last in methods.items():
        title, own = METHODS[method].title, [(e, by, p) for e, by, p in given if p.method == method]
        for bound in (each for each in bounds if any(by == each for _, by, _ in own)):
            rows, line = [(e, *_utility(p)) for e, by, p in own if by == bound], style(bound)
            mark = {
                "size": 9,
                "marker": look_of(method).marker,
                "color": line["color"],
                "line_color": line["color"],
            }
            label = f"{title}, {BOUNDS[bound].title}" if several else BOUNDS[bound].title
            parts += marked(rows, (x, _ACCURACY), label, line, mark, frame)
        if not own:
            level = hv.Curve(
                [(end, last.mean("accuracy")) for end in ends], x, _ACCURACY, label=title
            )
            parts.append(level.opts(color=MUTED, line_dash="dotted", line_width=1.5, **frame))
    return with_legend(hv.Overlay(parts), "top").opts(legend_cols=3, backend="bokeh")


def _utility(point: Any) -> tuple[float, float]:
    return point.mean("accuracy"), point.error("accuracy")


def marked(
    rows: Sequence[tuple[float, float, float]],
    dims: tuple[Any, Any],
    label: str,
    line: dict[str, Any],
    mark: dict[str, Any],
    frame: dict[str, Any],
) -> list[hv.Element]:
    """A line through rows of a place, a mean and a standard error, which may be nan; their error
    bars, without heads, which Bokeh draws in black on any ground; and their marks. The last three
    are options.
    """
    (x, y), places = dims, [row[:2] for row in rows]
    bars = {"line_color": line["color"], "upper_head": None, "lower_head": None}
    return [
        hv.Curve(places, x, y, label=label).opts(**line, **frame),
        hv.ErrorBars([row for row in rows if isfinite(row[2])], x, [y, "error"]).opts(
            **bars, **frame
        ),
        hv.Scatter(places, x, y, label=label).opts(tools=["hover"], **mark, **frame),
    ]
