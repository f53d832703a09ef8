"""A figure of the page as a picture for a paper or a slide: the frame that is shown, its legend, and the setting in small print;
and the buttons that save it, which work in a notebook cell as on the page.

Not Bokeh's own export: on the server that drives a browser, and in the browser it knows neither the legend, which is not on the
canvas, nor the setting, and draws in dark colours on a dark page.
"""

from collections.abc import Awaitable, Callable, Iterable
from html import escape
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.models import ColorBar, FixedTicker, Span
from bokeh.plotting import figure

from zoexplore.export import every_field
from zoexplore.fields import FIELDS
from zoexplore.formatting import format_power
from zoexplore.views.compute.task import Task
from zoexplore.views.figures.glyphs import Axis, Frame, Mark, Stroke, drawn, horizontal, shape, text, vertical
from zoexplore.views.state import State
from zoexplore.views.style import theme

WIDTH, PLOT, LEFT, RIGHT = 800, 440, 72, 20
_BAR, _ROW = 66, 19  # the room for a colour bar; the height of a row of the legend
_INK, _MUTED, _RULE = (theme.colour(name, False) for name in ("ink", "muted", "rule"))


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
    frame = _frame(fig, WIDTH - RIGHT - _BAR * len(bars), top)
    own = [(Stroke.of(i.renderers[0].glyph), i.label.value) for b in fig.legend for i in b.items if i.visible]
    entries = [*own, *legend]
    below = top + PLOT + 58
    written = below + _ROW * ceil(len(entries) / 2)
    caption = _caption(state, set(without)) if caption is None else caption
    height = written + 15 * len(caption) + 12
    order = sorted(fig.renderers, key=lambda renderer: renderer.level == "overlay")
    under = "".join(drawn(renderer, frame) for renderer in order if renderer.level != "overlay")
    over = "".join(drawn(renderer, frame) for renderer in order if renderer.level == "overlay")
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


def _frame(fig: figure, right: float, top: float) -> Frame:
    def axis(span, scale, first: float, last: float) -> Axis:
        return Axis(span.start, span.end, first, last, type(scale).__name__ == "LogScale")

    return Frame(axis(fig.x_range, fig.x_scale, LEFT, right), axis(fig.y_range, fig.y_scale, top + PLOT, top))


def _marked(fig: figure, frame: Frame) -> str:
    """The lines that mark what is set now."""
    draw = {"height": vertical, "width": horizontal}
    spans = [span for span in fig.center if isinstance(span, Span)]
    return "".join(draw[span.dimension](frame, span.location, Stroke.of(span)) for span in spans)


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
    """A tick's number: decades that are far from 1 as powers."""
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
    axis = Axis(mapper.low, mapper.high, frame.y.first, frame.y.last, log=False)
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
    said = [f"{FIELDS[name].symbol if name in FIELDS else name} = {value}" for name, value in fields.items()]
    said += ["linear model"] if state.setting.linear else []
    said += ["as printed: not a guarantee"] if state.accounting.printed else []
    return [", ".join(said[at : at + 9]) for at in range(0, len(said), 9)]


class Saves(pn.custom.JSComponent):
    """Two buttons that ask for the picture when they are pressed; a browser turns the SVG into a PNG."""

    title = param.String("the figure", doc="what is saved, for screen readers")
    name_of_file = param.String("zoexplore", doc="the file's name without its ending")
    asked = param.String("", doc="the kind of picture that the browser asks for, and a number that is new each time")

    _esm = Path(__file__).parent / "saves.js"

    def __init__(self, draw: Callable[[], Awaitable[str]], **params: Any) -> None:
        """`draw` returns the figure as SVG."""
        self.draw = draw
        super().__init__(**{"stylesheets": [theme.css("saves")], **theme.STRETCH, **params})

    @param.depends("asked", watch=True)
    def _answer(self) -> None:
        kind = self.asked.partition(" ")[0]

        async def save() -> None:
            self._send_msg({"kind": kind, "svg": await self.draw()})

        if kind in ("png", "svg"):
            Task(save)
