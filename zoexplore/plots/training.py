"""Elements of training's results: utility against privacy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import holoviews as hv
from bokeh.models import GlyphRenderer, Text

from zoexplore.columns import extent, labels, lines, look_of, placed_apart, short_of, ways
from zoexplore.palette import FONT
from zoexplore.plots.look import FRAME, MUTED, epsilon_at, style, with_legend

if TYPE_CHECKING:
    from zoexplore.training import Frontier

_BETWEEN = 0.064  # of the axis, between names
_MARGIN = 104  # pixels for names beside the frame


def frontier(found: "Frontier", *, bounds: Sequence[str] = ("composition", "sharp")) -> hv.Overlay:
    """The price of privacy: accuracy against epsilon, a marker a method, a colour a bound; hollow where the data
    are supposed to be as the bounds need them. A method with a single point has the course of its training, step by step. A
    method without a finite epsilon is a horizontal line.

    Args:
        found: what `zoexplore.training.frontier` returned.
        bounds: ids of `BOUNDS`.
    """
    x, y = hv.Dimension("epsilon", label=epsilon_at(found.delta)), hv.Dimension("accuracy", label="accuracy on held-out data")
    frame = FRAME | {"logx": True, "padding": 0.06}
    drawn, parts = ways(found, bounds), []
    for way, label in zip(drawn, labels(drawn), strict=True):
        look = style(way.bound) if way.bound else {"color": MUTED, "line_dash": "dotted", "line_width": 1.5}
        parts.append(hv.Curve(way.line, x, y, **({} if way.bound else {"label": label})).opts(**look, **frame))
        if way.bound:
            bars = [(e, a, (high - low) / 2) for e, a, (low, high) in zip(way.x, way.y, way.bars, strict=True) if high > low]
            edge = {"line_color": look["color"]}
            parts.append(error_bars(bars, look["color"], x, y, frame))
            fill = {"size": 9, "marker": look_of(way.method).marker, "color": "white" if way.hollow else look["color"]}
            parts.append(hv.Scatter((way.x, way.y), x, y, label=label).opts(tools=["hover"], **fill, **edge, **frame))
    return with_legend(hv.Overlay(parts), "top").opts(legend_cols=3, backend="bokeh")


def comparison(found: "Frontier") -> hv.Overlay:
    """Methods at their best: accuracy against epsilon by each method's best account.

    Args:
        found: a frontier of methods that were tuned for the same epsilons.
    """
    drawn = lines(found)
    ticks = sorted({p.target for p in found.points if p.target is not None})
    least, most = (end(x for line in drawn for x in line.x) for end in (min, max))
    high = _BETWEEN * extent([end for line in drawn for ends in line.bars for end in ends])  # of a name
    last = [line.y[-1] for line in drawn]
    ends = [at + high / 2 for at in placed_apart(last, [high] * len(last), max(last) + high / 2)]
    x, y = hv.Dimension("epsilon", label=epsilon_at(found.delta)), hv.Dimension("accuracy", label="accuracy on held-out data")
    frame: dict[str, Any] = FRAME | {"logx": True, "height": 440, "padding": 0.06}
    frame |= {"xlim": (least / 1.2, 1.2 * most), "xticks": [(x, f"{x:g}") for x in ticks]}
    parts: list[Any] = []
    for line, end in zip(drawn, ends, strict=True):
        look, hue = look_of(line.method), {"color": line.colour}
        reach = line.x or list(frame["xlim"])
        curve_of = hv.Curve((reach, line.y if line.x else [line.y[-1]] * 2), x, y)
        parts.append(curve_of.opts(line_width=2.4, line_dash="solid" if line.x else "dashed", **hue, **frame))
        if line.x:
            errors = [
                (*at, (ends[1] - ends[0]) / 2) for at, ends in zip(zip(line.x, line.y, strict=True), line.bars, strict=True)
            ]
            parts.append(error_bars(errors, line.colour, x, y, frame))
            parts.append(hv.Scatter((line.x, line.y), x, y).opts(size=8, marker=look.marker, tools=["hover"], **hue, **frame))
        parts.append(_word(1.25 * most, end, short_of(line.method), line.colour, x, y, frame))
    return hv.Overlay(parts).opts(hooks=[_beside], backend="bokeh")


def _beside(plot: Any, element: hv.Overlay) -> None:
    """Give the names at the ends of curves a margin of their own."""
    plot.state.min_border_right = _MARGIN
    for words in plot.state.select({"type": GlyphRenderer}):
        if isinstance(words.glyph, Text):
            words.level, words.glyph.text_font = "overlay", {"value": FONT}


def error_bars(at: Sequence[tuple[Any, ...]], hue: Any, x: hv.Dimension, y: hv.Dimension, frame: dict[str, Any]) -> hv.ErrorBars:
    """Error bars without heads, which Bokeh draws in black on any ground."""
    return hv.ErrorBars(at, x, [y, "error"]).opts(line_color=hue, upper_head=None, lower_head=None, **frame)


def _word(x: float, y: float, text: str, hue: str, across: hv.Dimension, up: hv.Dimension, frame: dict[str, Any]) -> hv.Labels:
    look = {"text_color": hue, "text_align": "left", "text_baseline": "middle", "text_font_size": "12px"}
    return hv.Labels([(x, y, text)], [across, up], "words").opts(**look, **frame)
