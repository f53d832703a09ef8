"""The figure of curves as SVG: the frame that is shown, the legend and the setting, for a paper or a slide."""

from html import escape
from math import ceil, floor, isfinite, log10

import numpy as np

from zoexplore.bounds import BOUNDS
from zoexplore.export import every_field
from zoexplore.views import theme
from zoexplore.views.controls import LABELS
from zoexplore.views.curves import REFERENCE_TITLE, Curves
from zoexplore.views.pinned import COLOURS, PinnedCurves
from zoexplore.views.pins import LETTERS
from zoexplore.views.trace import REFERENCE, guarantees
from zoexplore.views.words import power

WIDTH, PLOT, LEFT, TOP, RIGHT = 800, 440, 72, 16, 20
_ROW = 19
_INK, _MUTED, _RULE = (theme.colour(name, False) for name in ("ink", "muted", "rule"))


class Frame:
    """From data to the page, on two log axes."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        self.x, self.y = x, y

    def across(self, x):
        """How far from the left."""
        return LEFT + (WIDTH - LEFT - RIGHT) * np.log10(x / self.x[0]) / log10(self.x[1] / self.x[0])

    def down(self, y):
        """How far from the top."""
        return TOP + PLOT * np.log10(self.y[1] / y) / log10(self.y[1] / self.y[0])

    def path(self, x: np.ndarray, y: np.ndarray) -> str:
        """A curve as SVG's path data, with gaps where it is nan."""
        parts, pen = [], "M"
        for right, below in zip(self.across(x), self.down(y), strict=True):
            if isfinite(below):
                parts.append(f"{pen}{right:.1f} {below:.1f}")
            pen = "L" if isfinite(below) else "M"
        return "".join(parts)


def svg(curves: Curves, pinned: PinnedCurves | None = None) -> str:
    """What the figure shows, in its light colours."""
    x, y = curves.figure.x_range, curves.figure.y_range
    frame = Frame((x.start, x.end), (y.start, y.end))
    pins = pinned.pins.pins if pinned else []
    drawn = [_curve(frame, curves.source.data["x"], curves.source.data[name], style) for name, style in _styles(curves)]
    for place in range(len(pins)):
        style = theme.Style(COLOURS[place], (7, 2), 1.7)
        xs, ys = pinned.source.data["xs"][place], pinned.source.data["ys"][place]
        drawn.append(_curve(frame, xs, ys, style) + _letter(frame, xs, ys, place))
    below = TOP + PLOT + 58
    legend, rows = _legend(curves, [pin.name for pin in pins], below)
    caption, lines = _caption(curves, below + _ROW * rows + 8)
    height = below + _ROW * rows + 15 * lines + 12
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="{escape(theme.FONT)}" font-size="13"><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<clipPath id="frame"><rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{PLOT}"/></clipPath>'
        f'{_axes(frame, curves)}<g clip-path="url(#frame)" fill="none">{"".join(drawn)}{_now(frame, curves)}</g>'
        f"{legend}{caption}</svg>"
    )


def _styles(curves: Curves) -> list[tuple[str, theme.Style]]:
    order = {bound: place for place, bound in enumerate(BOUNDS)}
    return [(REFERENCE, theme.REFERENCE), *((bound, theme.style_of(bound, at)) for bound, at in order.items())]


def _curve(frame: Frame, x: np.ndarray, y: np.ndarray, style: theme.Style) -> str:
    return f'<path d="{frame.path(np.asarray(x), np.asarray(y))}" {_stroke(style)}/>'


def _stroke(style: theme.Style) -> str:
    dash = f' stroke-dasharray="{" ".join(map(str, style.dash))}"' if style.dash else ""
    return f'stroke="{style.colour[theme.LIGHT]}" stroke-width="{style.width}" stroke-linejoin="round"{dash}'


def _letter(frame: Frame, xs: np.ndarray, ys: np.ndarray, place: int) -> str:
    at = np.flatnonzero(np.isfinite(ys))[-1:]
    if not at.size:
        return ""
    right, below = float(frame.across(xs[at])[0]) - 4, float(frame.down(ys[at])[0]) - 4
    colour = COLOURS[place][theme.LIGHT]
    return _text(right, below, LETTERS[place], f'text-anchor="end" fill="{colour}" font-weight="700"')


def _now(frame: Frame, curves: Curves) -> str:
    """The current value, as a line and as points on the curves."""
    marks, right = curves.marks.data, float(frame.across(curves.now.location))
    points = "".join(
        f'<circle cx="{right:.1f}" cy="{frame.down(y):.1f}" r="4" fill="{theme.style_of(bound).colour[theme.LIGHT]}"/>'
        for bound, y in zip(marks["bound"], marks["epsilon"], strict=True)
        if frame.y[0] <= y <= frame.y[1]
    )
    line = f'<line x1="{right:.1f}" x2="{right:.1f}" y1="{TOP}" y2="{TOP + PLOT}" stroke="{_MUTED}"'
    return f'{line} stroke-dasharray="2 3"/>{points}'


def _axes(frame: Frame, curves: Curves) -> str:
    bottom, end = TOP + PLOT, WIDTH - RIGHT
    along = curves.abscissa.ticks() if curves.abscissa.linear else _decades(*frame.x)
    parts = [f'<g stroke="{_RULE}">']
    low, high = frame.x[0] * 0.999, frame.x[1] * 1.001
    ticks = [(float(frame.across(x)), text) for x, text in along.items() if low <= x <= high]
    rows = [(float(frame.down(y)), text) for y, text in _decades(*frame.y).items()]
    parts += [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>' for x, _ in ticks]
    parts += [f'<line x1="{LEFT}" x2="{end}" y1="{y:.1f}" y2="{y:.1f}"/>' for y, _ in rows]
    parts.append("</g>")
    parts += [_text(x, bottom + 18, text, f'text-anchor="middle" fill="{_MUTED}"') for x, text in ticks]
    parts += [_text(LEFT - 8, y + 4, text, f'text-anchor="end" fill="{_MUTED}"') for y, text in rows]
    x_label, y_label = curves.figure.xaxis.axis_label, curves.figure.yaxis.axis_label
    parts.append(_text((LEFT + end) / 2, bottom + 40, x_label, f'text-anchor="middle" fill="{_INK}"'))
    turned = f'text-anchor="middle" fill="{_INK}" transform="rotate(-90 18 {TOP + PLOT / 2})"'
    return "".join([*parts, _text(18, TOP + PLOT / 2, y_label, turned)])


def _decades(low: float, high: float) -> dict[float, str]:
    exponents = range(ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9) + 1)
    every = ceil(len(exponents) / 12)
    return {10.0**e: f"{10.0**e:g}" if -4 < e < 4 else power(e) for e in exponents if e % every == 0}


def _legend(curves: Curves, pins: list[str], top: float) -> tuple[str, int]:
    """The legend in two columns, and how many rows it has."""
    found = guarantees(curves.state.setting, curves.state.accounting)
    items = [
        (style, REFERENCE_TITLE if name == REFERENCE else found[name].title)
        for name, style in _styles(curves)
        if (curves.source.data[name] <= curves.figure.y_range.end).any()
    ]
    items += [(theme.Style(COLOURS[i], (7, 2), 1.7), f"{LETTERS[i]}: {name}") for i, name in enumerate(pins)]
    parts = []
    for at, (style, title) in enumerate(items):
        x, y = LEFT + (at % 2) * 340, top + _ROW * (at // 2)
        parts.append(f'<line x1="{x}" x2="{x + 34}" y1="{y - 4}" y2="{y - 4}" {_stroke(style)}/>')
        parts.append(_text(x + 42, y, title, f'fill="{_INK}"'))
    return "".join(parts), ceil(len(items) / 2)


def _caption(curves: Curves, top: float) -> tuple[str, int]:
    """The setting in small print, and how many lines it takes."""
    fields = every_field(curves.state.setting, curves.state.accounting)
    fields = {name: text for name, text in fields.items() if text and name not in (curves.along, "printed")}
    said = [f"{LABELS.get(name, name).partition(' ')[0]} = {text}" for name, text in fields.items()]
    said += ["as printed: not a guarantee"] if curves.state.accounting.printed else []
    lines = [", ".join(said[at : at + 9]) for at in range(0, len(said), 9)]
    style = f'font-size="11" fill="{_MUTED}"'
    return "".join(_text(LEFT, top + 15 * at, line, style) for at, line in enumerate(lines)), len(lines)


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
