"""Elements of what training has shown: utility against privacy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import holoviews as hv
import numpy as np

from zoexplore.bounds import BOUNDS
from zoexplore.columns import COSTS, apart, bar, extent, lines, look_of, name_of, near_costs, rivals, short_of, supposed
from zoexplore.formatting import format_number
from zoexplore.plots.look import FRAME, MUTED, epsilon_at, style, with_legend

if TYPE_CHECKING:
    from zoexplore.training import Frontier

_BETWEEN = 0.064  # of the axis, between names


def frontier(found: "Frontier", *, bounds: Sequence[str] = ("composition", "sharp"), utility: str = "accuracy") -> hv.Overlay:
    """What privacy costs: utility against epsilon, a marker a method, a colour a bound; hollow where a bound rests on what is
    only supposed of the loss. What has no finite epsilon by any of the bounds is a horizontal line.

    Args:
        found: what `zoexplore.training.frontier` returned.
        bounds: ids of `BOUNDS`.
        utility: "accuracy" or "loss".

    Raises:
        ValueError: the utility is unknown.
    """
    if utility not in ("accuracy", "loss"):
        raise ValueError(f"utility = {utility!r} is not allowed: give 'accuracy' or 'loss'")
    x, y = hv.Dimension("epsilon", label=epsilon_at(found.delta)), hv.Dimension(utility, label=f"held-out {utility}")
    frame = FRAME | {"logx": True, "padding": 0.06}
    parts: list[Any] = []
    for method in dict.fromkeys(point.method for point in found.points):
        points, mark = [p for p in found.points if p.method == method], look_of(method).marker
        for bound in bounds:
            finite = sorted((p for p in points if 0 < p.epsilon[bound] < np.inf), key=lambda p: p.epsilon[bound])
            if not finite:
                continue
            look, at = style(bound), [(p.epsilon[bound], p.mean(utility)) for p in finite]
            bars = [(*place, p.error(utility)) for place, p in zip(at, finite, strict=True) if p.error(utility) > 0]
            hollow = any(supposed(p, bound, found.accounting) for p in finite)
            label = f"{name_of(finite[0]).partition(',')[0]}, {BOUNDS[bound].title}"
            parts += [
                hv.Curve(at, x, y).opts(**look, **frame),
                hv.ErrorBars(bars, x, [y, "error"]).opts(line_color=look["color"], **frame),
                hv.Scatter(at, x, y, label=label).opts(
                    size=9, marker=mark, color="white" if hollow else look["color"], line_color=look["color"], **frame
                ),
            ]
        if all(not np.isfinite(p.epsilon[bound]) for p in points for bound in bounds):
            line = hv.HLine(points[0].mean(utility))
            parts.append(line.opts(color=MUTED, line_dash="dotted", line_width=1.5, backend="bokeh"))
    return with_legend(hv.Overlay(parts), "right")


def comparison(found: "Frontier", against: str = "epsilon") -> hv.Overlay:
    """Methods at their best: accuracy against epsilon by each method's best account, or at one epsilon against a cost.

    Args:
        found: a frontier of methods that were tuned for the same epsilons.
        against: "epsilon"; "memory", the numbers that a clipped step keeps of a record; "passes", forward passes of a record.

    Raises:
        ValueError: `against` is unknown, or the frontier has no method by gradients beside one by random directions.
    """
    if against != "epsilon":
        return _costs(found, against)
    drawn = lines(found)
    most = max(x for line in drawn for x in line.x)
    ends = apart([line.y[-1] for line in drawn], _BETWEEN * extent([end for line in drawn for ends in line.bars for end in ends]))
    x, y = hv.Dimension("epsilon", label=epsilon_at(found.delta)), hv.Dimension("accuracy", label="accuracy on held-out data")
    frame = FRAME | {
        "logx": True,
        "height": 440,
        "padding": 0.06,
        "xlim": (min(x for line in drawn for x in line.x) / 1.25, 4 * most),
    }
    parts: list[Any] = []
    for line, end in zip(drawn, ends, strict=True):
        look, hue = look_of(line.method), {"color": line.colour}
        reach = line.x or [frame["xlim"][0], most]
        curve_of = hv.Curve((reach, line.y if line.x else [line.y[-1]] * 2), x, y)
        parts.append(curve_of.opts(line_width=2.4, line_dash="solid" if line.x else "dashed", **hue, **frame))
        if line.x:
            errors = [
                (*at, (ends[1] - ends[0]) / 2) for at, ends in zip(zip(line.x, line.y, strict=True), line.bars, strict=True)
            ]
            parts.append(hv.ErrorBars(errors, x, [y, "error"]).opts(line_color=line.colour, **frame))
            parts.append(hv.Scatter((line.x, line.y), x, y).opts(size=8, marker=look.marker, tools=["hover"], **hue, **frame))
        parts.append(hv.Curve(([most, 1.18 * most], [line.y[-1], end]), x, y).opts(line_width=0.8, **hue, **frame))
        parts.append(_word(1.25 * most, end, short_of(line.method), line.colour, x, y, frame))
    return hv.Overlay(parts)


def _costs(found: "Frontier", against: str) -> hv.Overlay:
    if against not in COSTS:
        raise ValueError(f"against = {against!r} is not allowed: give 'epsilon', {', '.join(map(repr, COSTS))}")
    best = rivals(found)
    if best is None:
        raise ValueError("this frontier has no method by gradients beside one by random directions: costs cannot be compared")
    of, title = COSTS[against]
    points = [p for p in found.points if p.target == best.target]
    at, heights_of = [float(of(p)) for p in points], [p.mean("accuracy") for p in points]
    names = near_costs(at, heights_of, _BETWEEN * extent([end for p in points for end in bar(p, "accuracy")]))
    x, y = hv.Dimension(against, label=title), hv.Dimension("accuracy", label=f"accuracy at ε = {format_number(best.target)}")
    frame = FRAME | {"logx": True, "height": 440, "padding": 0.06, "xlim": (min(at) / 1.5, 6 * max(at))}
    parts: list[Any] = []
    for point, place, height, name in zip(points, at, heights_of, names, strict=True):
        look = look_of(point.method)
        if point.error("accuracy") > 0:
            errors = hv.ErrorBars([(place, height, point.error("accuracy"))], x, [y, "error"])
            parts.append(errors.opts(line_color=look.colour, **frame))
        mark = hv.Scatter([(place, height)], x, y)
        parts.append(mark.opts(size=10, marker=look.marker, color=look.colour, tools=["hover"], **frame))
        parts.append(_word(1.3 * place, name, short_of(point.method), look.colour, x, y, frame))
    return hv.Overlay(parts)


def _word(x: float, y: float, text: str, hue: str, across: hv.Dimension, up: hv.Dimension, frame: dict[str, Any]) -> hv.Labels:
    look = {"text_color": hue, "text_align": "left", "text_baseline": "middle", "text_font_size": "12px"}
    return hv.Labels([(x, y, text)], [across, up], "words").opts(**look, **frame)
