"""HoloViews elements of training's results: accuracy against epsilon."""

from collections.abc import Sequence
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

import holoviews as hv

from zoexplore.bounds import BOUNDS
from zoexplore.methods import look_of
from zoexplore.plots.look import FRAME, MUTED, epsilon_at, style, with_legend
from zoexplore.training import METHODS

if TYPE_CHECKING:
    from zoexplore.training import Frontier, Point

_ACCURACY = hv.Dimension("accuracy", label="accuracy on held-out data")


def frontier(found: "Frontier", *, bounds: Sequence[str] = ("composition", "sharp")) -> hv.Overlay:
    """Draw accuracy against epsilon, with a marker for each method and a colour for each bound. A
    method without a finite epsilon is a horizontal line.

    Args:
        found: what `zoexplore.training.frontier` returns.
        bounds: ids of `BOUNDS`.
    """
    dims = hv.Dimension("epsilon", label=epsilon_at(found.delta)), _ACCURACY
    frame, parts = FRAME | {"logx": True, "padding": 0.06}, []
    every = [p.epsilon[bound] for p in found.points for bound in bounds]
    finite = [e for e in every if 0 < e < inf] or [0.1, 10.0]
    methods = dict.fromkeys(p.method for p in found.points)
    several = sum(METHODS[method].noisy for method in methods) > 1
    for method in methods:
        own, title = [p for p in found.points if p.method == method], METHODS[method].title
        charged = [bound for bound in bounds if any(0 < p.epsilon[bound] < inf for p in own)]
        for bound in charged:
            label = f"{title}, {BOUNDS[bound].title}" if several else BOUNDS[bound].title
            parts += _marked(own, bound, dims, label, frame)
        if not charged:
            ends = [(end, own[-1].mean("accuracy")) for end in (min(finite), max(finite))]
            look = {"color": MUTED, "line_dash": "dotted", "line_width": 1.5}
            parts.append(hv.Curve(ends, *dims, label=title).opts(**look, **frame))
    return with_legend(hv.Overlay(parts), "top").opts(legend_cols=3, backend="bokeh")


def _marked(
    points: Sequence["Point"], bound: str, dims: tuple[Any, Any], label: str, frame: dict[str, Any]
) -> list[hv.Element]:
    """Draw a method's line, marks and error bars by a bound. The bars have no heads, because Bokeh
    draws heads in black on any background.
    """
    (x, y), look = dims, style(bound)
    rows = sorted((p.epsilon[bound], p.mean("accuracy"), p.error("accuracy")) for p in points)
    rows = [row for row in rows if 0 < row[0] < inf]
    places, bars = [row[:2] for row in rows], [row for row in rows if isfinite(row[2])]
    mark = {"size": 9, "marker": look_of(points[0].method).marker, "color": look["color"]}
    thin = {"line_color": look["color"], "upper_head": None, "lower_head": None}
    return [
        hv.Curve(places, x, y, label=label).opts(**look, **frame),
        hv.ErrorBars(bars, x, [y, "error"]).opts(**thin, **frame),
        hv.Scatter(places, x, y, label=label).opts(tools=["hover"], **mark, **frame),
    ]
