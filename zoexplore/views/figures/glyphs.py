"""Bokeh's glyphs as SVG, as far as the page's figures have them, in their light colours. Places come from a `Frame`."""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from math import cos, isfinite, pi, sin
from typing import Any

import numpy as np
from bokeh.models import GlyphRenderer, LinearColorMapper

from zoexplore.views.style import theme


class Axis:
    """From data to places on the page, along one axis of a figure; it may run backwards."""

    def __init__(self, start: float, end: float, first: float, last: float, log: bool) -> None:
        self.log = log
        self.start, self.end, self.first, self.last = start, end, first, last

    def place(self, values: Any) -> np.ndarray:
        """How far from the left, or from the top."""
        start, end, x = self.start, self.end, np.asarray(values, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.log(x / start) / np.log(end / start) if self.log else (x - start) / (end - start)
        return self.first + (self.last - self.first) * part

    def has(self, value: float) -> bool:
        """Whether a value is within the axis's ends."""
        low, high = sorted((self.start, self.end))
        return low - 1e-9 * abs(low) <= value <= high + 1e-9 * abs(high)


@dataclass(frozen=True)
class Frame:
    """Both axes of a figure."""

    x: Axis
    y: Axis

    def path(self, xs: Any, ys: Any) -> str:
        """A curve as SVG's path data, with gaps where it is nan."""
        parts, pen = [], "M"
        for right, below in zip(self.x.place(xs), self.y.place(ys), strict=True):
            if isfinite(right) and isfinite(below):
                parts.append(f"{pen}{right:.1f} {below:.1f}")
                pen = "L"
            else:
                pen = "M"
        return "".join(parts)


@dataclass(frozen=True)
class Stroke:
    """How a line is drawn."""

    colour: str
    width: float = 2.0
    dash: tuple[float, ...] = ()
    alpha: float = 1.0

    @classmethod
    def of(cls, glyph: Any) -> "Stroke":
        """A line glyph's; of a filled one its colour, as wide as a sample of it in a legend."""
        if hasattr(glyph, "fill_color"):
            return cls(theme.light(glyph.fill_color), 11.0, (), glyph.fill_alpha)
        return cls(theme.light(glyph.line_color), glyph.line_width, tuple(glyph.line_dash), glyph.line_alpha)

    def __str__(self) -> str:
        dash = f' stroke-dasharray="{" ".join(map(str, self.dash))}"' if self.dash else ""
        alpha = f' stroke-opacity="{self.alpha}"' if self.alpha != 1 else ""
        return f'stroke="{self.colour}" stroke-width="{self.width}" stroke-linejoin="round" fill="none"{dash}{alpha}'


@dataclass(frozen=True)
class Mark:
    """A marker of a colour, for a legend."""

    marker: str
    colour: str


def drawn(renderer: GlyphRenderer, frame: Frame) -> str:
    """A renderer's glyphs; empty where it is not to be seen.

    Raises:
        KeyError: the page has no figure with such a glyph.
    """
    glyph = renderer.glyph
    if not renderer.visible or getattr(glyph, "line_alpha", 1) == 0:
        return ""
    return _DRAW[type(glyph).__name__](glyph, renderer.data_source.data, frame)


def text(x: float, y: float, words: str, style: str) -> str:
    """A line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(str(words))}</text>'


def _each(glyph: Any, data: Any, *names: str) -> Any:
    """The properties of every glyph: a column of the source where they name one, else the same for all."""
    size = len(next(iter(data.values())))
    return zip(*(_column(getattr(glyph, name), data, size) for name in names), strict=True)


def _column(spec: Any, data: Any, size: int) -> Any:
    if isinstance(spec, str) and spec in data:
        return data[spec]
    transform = getattr(spec, "transform", None)
    if isinstance(transform, LinearColorMapper):
        scale = len(transform.palette) / (transform.high - transform.low)
        places = np.clip(np.floor((np.asarray(data[spec.field]) - transform.low) * scale), 0, len(transform.palette) - 1)
        return [transform.palette[int(place)] for place in places]
    return [getattr(spec, "value", spec)] * size


def _line(glyph: Any, data: Any, frame: Frame) -> str:
    return f'<path d="{frame.path(data[glyph.x], data[glyph.y])}" {Stroke.of(glyph)}/>'


def _multi_line(glyph: Any, data: Any, frame: Frame) -> str:
    lines = _each(glyph, data, "xs", "ys", "line_color")
    look = glyph.line_width, tuple(glyph.line_dash)
    return "".join(f'<path d="{frame.path(x, y)}" {Stroke(theme.light(colour), *look)}/>' for x, y, colour in lines)


def _polygons(glyph: Any, data: Any, frame: Frame) -> str:
    def ring(x: Any, y: Any) -> str:
        return frame.path(x, y) + "Z"

    return "".join(
        f'<path d="{"".join(ring(x, y) for p, q in zip(xs, ys, strict=True) for x, y in zip(p, q, strict=True))}" '
        f'fill="{colour}" stroke="{colour}" stroke-width="0.5" fill-rule="evenodd"/>'
        for xs, ys, colour in _each(glyph, data, "xs", "ys", "fill_color")
    )


def _quads(glyph: Any, data: Any, frame: Frame) -> str:
    parts, colour = [], theme.light(glyph.fill_color)
    for left, right, top, bottom in _each(glyph, data, "left", "right", "top", "bottom"):
        (x0, x1), (y0, y1) = frame.x.place([left, right]), frame.y.place([top, bottom])
        parts.append(f'<rect x="{x0:.1f}" y="{y0:.1f}" width="{x1 - x0:.1f}" height="{max(y1 - y0, 0):.1f}"/>')
    return f'<g fill="{colour}" fill-opacity="{glyph.fill_alpha}" stroke="{colour}">{"".join(parts)}</g>'


def _spans(glyph: Any, data: Any, frame: Frame) -> str:
    stroke = Stroke.of(glyph)
    return "".join(vertical(frame, x, stroke) for x in data[glyph.x])


def vertical(frame: Frame, value: float, stroke: Stroke) -> str:
    """A line from the bottom of a figure to its top."""
    x = float(frame.x.place(value))
    return f'<path d="M{x:.1f} {frame.y.first:.1f}V{frame.y.last:.1f}" {stroke}/>' if isfinite(x) else ""


def horizontal(frame: Frame, value: float, stroke: Stroke) -> str:
    """A line from the left of a figure to its right."""
    y = float(frame.y.place(value))
    return f'<path d="M{frame.x.first:.1f} {y:.1f}H{frame.x.last:.1f}" {stroke}/>' if isfinite(y) else ""


def _scatter(glyph: Any, data: Any, frame: Frame) -> str:
    parts = []
    for x, y, size, marker, fill, line in _each(glyph, data, "x", "y", "size", "marker", "fill_color", "line_color"):
        right, below = float(frame.x.place(x)), float(frame.y.place(y))
        if isfinite(right) and isfinite(below):
            look = f'fill="{theme.light(fill)}" stroke="{theme.light(line)}" stroke-width="{glyph.line_width}"'
            parts.append(shape(marker, right, below, size / 2, look))
    return "".join(parts)


# Corners of markers, as multiples of the radius, to the right and downwards.
_STAR = [(r * sin(pi * i / 5), -r * cos(pi * i / 5)) for i in range(10) for r in (1.25 if i % 2 == 0 else 0.5,)]
_CORNERS: dict[str, list[tuple[float, float]]] = {
    "triangle": [(-1, 1), (1, 1), (0, -1)],
    "inverted_triangle": [(-1, -1), (1, -1), (0, 1)],
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "diamond": [(0, -1.2), (0.85, 0), (0, 1.2), (-0.85, 0)],
    "star": _STAR,
    "hex": [(cos(pi * i / 3), sin(pi * i / 3)) for i in range(6)],
    "plus": [
        (x, y)
        for s in (1, -1)
        for x, y in ((-0.35 * s, s), (0.35 * s, s), (0.35 * s, 0.35 * s), (s, 0.35 * s), (s, -0.35 * s), (0.35 * s, -0.35 * s))
    ],
}


def shape(marker: str, right: float, below: float, radius: float, look: str) -> str:
    """A marker; any that has no corners here is a circle."""
    if marker not in _CORNERS:
        return f'<circle cx="{right:.1f}" cy="{below:.1f}" r="{radius}" {look}/>'
    points = " ".join(f"{right + radius * x:.1f},{below + radius * y:.1f}" for x, y in _CORNERS[marker])
    return f'<polygon points="{points}" {look}/>'


_ANCHOR = {"left": "start", "center": "middle", "right": "end"}
_BASELINE = {"top": 1.0, "middle": 0.35, "bottom": -0.2, "alphabetic": 0.0}


def _texts(glyph: Any, data: Any, frame: Frame) -> str:
    """Words, line by line; where they have a background, a halo in its place."""
    parts, size = [], float(getattr(glyph.text_font_size, "value", glyph.text_font_size).removesuffix("px"))
    halo = ' stroke="#ffffff" stroke-width="4" paint-order="stroke" stroke-linejoin="round"'
    halo = halo if glyph.background_fill_color else ""
    names = ("x", "y", "text", "x_offset", "y_offset", "text_align", "text_baseline", "text_color")
    for x, y, words, dx, dy, align, baseline, colour in _each(glyph, data, *names):
        right, below = float(frame.x.place(x)) + dx, float(frame.y.place(y)) + dy + _BASELINE[baseline] * size
        if not (words and isfinite(right) and isfinite(below)):
            continue
        bold = ' font-weight="700"' if glyph.text_font_style == "bold" else ""
        style = f'font-size="{size:g}" text-anchor="{_ANCHOR[align]}" fill="{theme.light(colour)}"{bold}{halo}'
        lines = words.split("\n")
        above = len(lines) - 1 if baseline == "bottom" else 0
        parts += [text(right, below + 1.25 * size * (row - above), line, style) for row, line in enumerate(lines)]
    return "".join(parts)


_DRAW: dict[str, Callable[[Any, Any, Frame], str]] = {
    "Line": _line,
    "MultiLine": _multi_line,
    "MultiPolygons": _polygons,
    "Quad": _quads,
    "VSpan": _spans,
    "Scatter": _scatter,
    "Text": _texts,
}
