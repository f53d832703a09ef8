"""A figure of the page as a picture for a paper or a slide: the frame that is shown, its legend, and the setting in small print.

Not Bokeh's own export: on the server that drives a browser, and in the browser it knows neither the legend, which is not on the
canvas, nor the setting, has the width of the reader's window, and draws in dark colours on a dark page. Glyphs are drawn as far
as the page's figures have them, in their light colours.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from itertools import chain
from math import ceil, cos, floor, isfinite, log10, pi, sin
from typing import Any

import numpy as np
from bokeh.models import ColorBar, FixedTicker, GlyphRenderer, LinearColorMapper, LogScale, Range1d, Scale, Span
from bokeh.plotting import figure

from zoexplore.export import every_field
from zoexplore.fields import symbol_of
from zoexplore.formatting import format_power
from zoexplore.views.state import State
from zoexplore.views.style import theme

WIDTH, PLOT, LEFT, RIGHT = 800, 440, 72, 20
_BAR, _ROW = 66, 19  # the room for a colour bar; the height of a row of the legend
_INK, _MUTED, _RULE = (theme.colour(name, False) for name in ("ink", "muted", "rule"))


@dataclass(frozen=True)
class Axis:
    """From data between `start` and `end` to places on the page between `first` and `last`; it may run backwards."""

    start: float
    end: float
    first: float
    last: float
    log: bool = False

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
            seen = isfinite(right) and isfinite(below)
            parts.append(f"{pen}{right:.1f} {below:.1f}" if seen else "")
            pen = "L" if seen else "M"
        return "".join(parts)

    def line(self, xs: Any, ys: Any, stroke: "Stroke") -> str:
        """A curve."""
        return f'<path d="{self.path(xs, ys)}" {stroke}/>'

    def span(self, dimension: str, at: float | None, stroke: "Stroke") -> str:
        """A line over the whole of the figure: its "height" at a place on the x axis, or its "width"."""
        if dimension == "height":
            return self.line([at, at], [self.y.start, self.y.end], stroke)
        return self.line([self.x.start, self.x.end], [at, at], stroke)

    def area(self, rings: Iterable[tuple[Any, Any]], look: str) -> str:
        """What is within closed curves, and not within two of them."""
        path = "".join(self.path(xs, ys) + "Z" for xs, ys in rings)
        return f'<path d="{path}" {look} fill-rule="evenodd"/>'


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
    return frame.line(data[glyph.x], data[glyph.y], Stroke.of(glyph))


def _multi_line(glyph: Any, data: Any, frame: Frame) -> str:
    look = glyph.line_width, tuple(glyph.line_dash)
    lines = _each(glyph, data, "xs", "ys", "line_color")
    return "".join(frame.line(xs, ys, Stroke(theme.light(colour), *look)) for xs, ys, colour in lines)


def _spans(glyph: Any, data: Any, frame: Frame) -> str:
    return "".join(frame.span("height", x, Stroke.of(glyph)) for x in data[glyph.x])


def _polygons(glyph: Any, data: Any, frame: Frame) -> str:
    parts = []
    for xs, ys, colour in _each(glyph, data, "xs", "ys", "fill_color"):
        rings = zip(chain.from_iterable(xs), chain.from_iterable(ys), strict=True)
        parts.append(frame.area(rings, f'fill="{colour}" stroke="{colour}" stroke-width="0.5"'))
    return "".join(parts)


def _quads(glyph: Any, data: Any, frame: Frame) -> str:
    colour = theme.light(glyph.fill_color)
    look = f'fill="{colour}" fill-opacity="{glyph.fill_alpha}" stroke="{colour}"'
    boxes = _each(glyph, data, "left", "right", "top", "bottom")
    corners = (([left, left, right, right], [bottom, top, top, bottom]) for left, right, top, bottom in boxes if top > bottom)
    return "".join(frame.area([ring], look) for ring in corners)


def _scatter(glyph: Any, data: Any, frame: Frame) -> str:
    parts = []
    for x, y, size, marker, fill, line in _each(glyph, data, "x", "y", "size", "marker", "fill_color", "line_color"):
        right, below = float(frame.x.place(x)), float(frame.y.place(y))
        if isfinite(right) and isfinite(below):
            look = f'fill="{theme.light(fill)}" stroke="{theme.light(line)}" stroke-width="{glyph.line_width}"'
            parts.append(shape(marker, right, below, size / 2, look))
    return "".join(parts)


# Corners of markers, as multiples of the radius, to the right and downwards.
_CORNERS: dict[str, list[tuple[float, float]]] = {
    "triangle": [(-1, 1), (1, 1), (0, -1)],
    "inverted_triangle": [(-1, -1), (1, -1), (0, 1)],
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "diamond": [(0, -1.2), (0.85, 0), (0, 1.2), (-0.85, 0)],
    "star": [(r * sin(pi * i / 5), -r * cos(pi * i / 5)) for i in range(10) for r in (0.5 if i % 2 else 1.25,)],
    "hex": [(cos(pi * i / 3), sin(pi * i / 3)) for i in range(6)],
    "plus": [
        (s * x, s * y) for s in (1, -1) for x, y in ((-0.35, 1), (0.35, 1), (0.35, 0.35), (1, 0.35), (1, -0.35), (0.35, -0.35))
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


def svg(
    fig: figure, state: State, legend: Iterable[tuple[Stroke | Mark, str]] = (), without: Iterable[str] = (), title: str = "",
    caption: list[str] | None = None,
) -> str:  # fmt: skip
    """What a figure shows, in light colours.

    Args:
        fig: any figure of the page; where it has a legend of its own, that comes first.
        state: the setting is written below the figure.
        legend: what the lines beside the figure's own legend are.
        without: the fields that the figure runs over, whose values in the setting do not matter.
        title: words above the figure.
        caption: lines of small print in place of the setting.
    """
    bars = [bar for bar in fig.right if isinstance(bar, ColorBar)]
    top = 36 if title else 16
    x = _axis(fig.x_range, fig.x_scale, LEFT, WIDTH - RIGHT - _BAR * len(bars))
    frame = Frame(x, _axis(fig.y_range, fig.y_scale, top + PLOT, top))
    own = [(Stroke.of(i.renderers[0].glyph), i.label.value) for b in fig.legend for i in b.items if i.visible]
    entries = [*own, *legend]
    below = top + PLOT + 58
    written = below + _ROW * ceil(len(entries) / 2)
    caption = _caption(state, set(without)) if caption is None else caption
    height = written + 15 * len(caption) + 12
    under = "".join(drawn(renderer, frame) for renderer in fig.renderers if renderer.level != "overlay")
    over = "".join(drawn(renderer, frame) for renderer in fig.renderers if renderer.level == "overlay")
    small, bold = f'font-size="11" fill="{_MUTED}"', f'font-weight="700" fill="{_INK}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="{escape(theme.FONT)}" font-size="13"><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<clipPath id="frame"><rect x="{LEFT}" y="{top}" width="{frame.x.last - LEFT}" height="{PLOT}"/></clipPath>'
        f"{text(LEFT, 22, title, bold) if title else ''}{_axes(fig, frame)}"
        f'<g clip-path="url(#frame)">{under}{_marked(fig, frame)}</g>{over}{"".join(_bar(bar, frame) for bar in bars)}'
        f"{_legend(entries, below)}"
        + "".join(text(LEFT, written + 8 + 15 * row, line, small) for row, line in enumerate(caption))
        + "</svg>"
    )


def _axis(span: Range1d, scale: Scale, first: float, last: float) -> Axis:
    return Axis(span.start, span.end, first, last, isinstance(scale, LogScale))


def _marked(fig: figure, frame: Frame) -> str:
    """The lines that mark what is set now."""
    spans = [span for span in fig.center if isinstance(span, Span)]
    return "".join(frame.span(span.dimension, span.location, Stroke.of(span)) for span in spans)


def _axes(fig: figure, frame: Frame) -> str:
    bottom, end, top = frame.y.first, frame.x.last, frame.y.last
    ticks = [(float(frame.x.place(x)), label) for x, label in _ticks(fig.xaxis[0], frame.x).items()]
    rows = [(float(frame.y.place(y)), label) for y, label in _ticks(fig.yaxis[0], frame.y).items()]
    rules = [f'<path d="M{x:.1f} {top}V{bottom}"/>' for x, _ in ticks]
    rules += [f'<path d="M{LEFT} {y:.1f}H{end}"/>' for y, _ in rows]
    parts = [f'<g stroke="{_RULE}">{"".join(rules)}</g>']
    parts += [text(x, bottom + 18, label, f'text-anchor="middle" fill="{_MUTED}"') for x, label in ticks]
    parts += [text(LEFT - 8, y + 4, label, f'text-anchor="end" fill="{_MUTED}"') for y, label in rows]
    ink = f'text-anchor="middle" fill="{_INK}"'
    parts.append(text((LEFT + end) / 2, bottom + 40, fig.xaxis[0].axis_label or "", ink))
    middle = (top + bottom) / 2
    turned = f'{ink} transform="rotate(-90 18 {middle})"'
    return "".join([*parts, text(18, middle, fig.yaxis[0].axis_label or "", turned)])


def _ticks(axis, along: Axis) -> dict[float, str]:
    """Where an axis has ticks, and what they say: as its formatter was told, else decades or round numbers."""
    if not axis.visible:
        return {}
    told = {float(x): label for x, label in axis.formatter.args.get("texts") or ()}
    if isinstance(axis.ticker, FixedTicker):
        at = {float(x): told.get(float(x)) or written(x) for x in axis.ticker.ticks}
    else:
        at = decades(along.start, along.end) if along.log else _round_numbers(along.start, along.end)
    return {x: label for x, label in at.items() if along.has(x)}


def written(x: float) -> str:
    """A tick's number: decades that are far from 1 as powers. `parts.TICKS` says the same in a browser."""
    e = round(log10(x)) if x > 0 else 0
    return format_power(e) if x > 0 and abs(x / 10.0**e - 1) < 1e-9 and not -4 < e < 4 else f"{x:g}"


def decades(low: float, high: float) -> dict[float, str]:
    """Whole decades, some of them where there are many."""
    exponents = range(ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9) + 1)
    every = ceil(len(exponents) / 12)
    return {10.0**e: written(10.0**e) for e in exponents if e % every == 0}


def _round_numbers(low: float, high: float) -> dict[float, str]:
    """Three to seven multiples of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / 6
    tens = 10.0 ** floor(log10(rough))
    step = next(m * tens for m in (1, 2, 5, 10) if m * tens >= rough * 0.999)
    return {x: f"{x:.6g}" for x in (k * step for k in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1))}


def _bar(bar: ColorBar, frame: Frame) -> str:
    """A colour bar to the right of a figure."""
    mapper, x = bar.color_mapper, frame.x.last + 16
    steps = np.linspace(mapper.low, mapper.high, len(mapper.palette) + 1)
    axis = Axis(mapper.low, mapper.high, frame.y.first, frame.y.last)
    parts = [
        f'<rect x="{x}" y="{axis.place(high):.1f}" width="14" height="{axis.place(low) - axis.place(high) + 0.5:.1f}" '
        f'fill="{colour}"/>'
        for low, high, colour in zip(steps[:-1], steps[1:], mapper.palette, strict=True)
    ]
    parts += [text(x + 19, float(axis.place(e)) + 4, written(10.0**e), f'fill="{_MUTED}"') for e in bar.ticker.ticks]
    return "".join([*parts, text(x + 2, frame.y.last - 6, "ε", f'fill="{_INK}"')])


def _legend(entries: list[tuple[Stroke | Mark, str]], top: float) -> str:
    """In two columns."""
    parts = []
    for at, (sample, title) in enumerate(entries):
        x, y = LEFT + (at % 2) * 340, top + _ROW * (at // 2)
        if isinstance(sample, Mark):
            parts.append(shape(sample.marker, x + 17, y - 4, 5, f'fill="{sample.colour}"'))
        else:
            parts.append(f'<path d="M{x} {y - 4}h34" {sample}/>')
        parts.append(text(x + 42, y, title, f'fill="{_INK}"'))
    return "".join(parts)


def _caption(state: State, without: set[str]) -> list[str]:
    """The setting in lines of small print."""
    fields = every_field(state.setting, state.accounting)
    fields = {name: value for name, value in fields.items() if value and name not in without | {"linear", "printed"}}
    said = [f"{symbol_of(name)} = {value}" for name, value in fields.items()]
    said += ["linear model"] if state.setting.linear else []
    said += ["as printed: not a guarantee"] if state.accounting.printed else []
    return [", ".join(said[at : at + 9]) for at in range(0, len(said), 9)]
