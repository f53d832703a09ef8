"""The pins on the page: their curves in the figure, and a table of what differs."""

from html import escape
from math import inf
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.bound import Style
from zoexplore.export import every_field
from zoexplore.formatting import THIN, format_number, format_short
from zoexplore.views.compute.ask import ask
from zoexplore.views.compute.curve_set import CurveSet, curve_set, guarantees
from zoexplore.views.figures import pin_lines
from zoexplore.views.figures.axes import AXES
from zoexplore.views.figures.curves import Curves
from zoexplore.views.figures.glyphs import Stroke
from zoexplore.views.panels.pins import LETTERS, Pin, Pins, symbol_of
from zoexplore.views.state import State
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

_EMPTY = {"eta": "K/M", "batch": "all", "lipschitz": "≤ Δ"}


def along(curves: CurveSet, field: str, bound: str) -> tuple[np.ndarray, np.ndarray]:
    """A pin's curve over a field, in places on the axis; nan where a log axis has no place for it."""
    least = pin_lines.least(curves, bound)
    return AXES[field].place(curves.values), np.where(np.isfinite(least) & (least > 0), least, np.nan)


class PinnedCurves:
    """Draws the pins into a figure of curves, from a source of its own that changes with the pins alone."""

    def __init__(self, curves: Curves, pins: Pins) -> None:
        self.curves, self.pins = curves, pins
        self.source = ColumnDataSource({"xs": [], "ys": [], "colour": []}, name="pins")
        self.ends = ColumnDataSource({"x": [], "y": [], "letter": [], "colour": []})
        figure = curves.figure
        look = {"line_color": "colour", "line_width": pin_lines.WIDTH, "line_dash": pin_lines.DASH}
        figure.multi_line("xs", "ys", source=self.source, **look)
        figure.text(
            "x", "y", "letter", source=self.ends, text_color="colour", text_align="right", text_baseline="bottom",
            x_offset=-3, y_offset=-1, text_font={"value": theme.FONT}, text_font_size="13px", text_font_style="bold",
        )  # fmt: skip
        self._drawn: tuple = ()
        self._found: list[CurveSet] = []  # of each pin
        self._found_for: tuple = ((), "")  # which pins, and over which field
        curves.guests.append(self)
        if pins.pins:
            curves.changed()
        pins.param.watch(curves.changed, ["pins", "compare"])

    async def find(self) -> None:
        """Compute every pin's curves."""
        pins, along = tuple(self.pins.pins), self.curves.along
        found = [await ask(curve_set, pin.setting, pin.accounting, along) for pin in pins]
        self._found, self._found_for = found, (pins, along)

    def heights(self) -> list[np.ndarray]:
        """The epsilons of every pin's curve."""
        return list(self.source.data["ys"])

    def columns(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Every pin's epsilon at the figure's values, for the hover."""
        names = pin_lines.styles(self.pins)
        return {name: pin_lines.at(curves, self.pins.compare, values) for name, curves in zip(names, self._found, strict=True)}

    def rows(self) -> dict[str, tuple[str, Style]]:
        """Every pin's row in the hover."""
        return pin_lines.styles(self.pins)

    def key(self) -> list[tuple[Stroke, str]]:
        """Every pin's line and name."""
        return [(Stroke(s.colour[theme.LIGHT], s.width, s.dash), name) for name, s in pin_lines.styles(self.pins).values()]

    def draw(self) -> None:
        """Draw what is pinned now, in the colours of the figure's scheme, unless that is what is drawn or not computed yet."""
        if self._found_for != (tuple(self.pins.pins), self.curves.along):
            return
        wanted = (*self.pins.pins, *self.pins.places(), self.pins.compare, self.curves.along, self.curves.dark)
        if wanted == self._drawn:
            return
        self._drawn = wanted
        drawn = [along(curves, self.curves.along, self.pins.compare) for curves in self._found]
        colours = [pair[theme.DARK if self.curves.dark else theme.LIGHT] for pair in theme.PINS]
        last = [np.flatnonzero(np.isfinite(y))[-1:] for _, y in drawn]
        shown = pin_lines.colours(self.pins, self.curves.dark)
        self.source.data = {"xs": [x for x, _ in drawn], "ys": [y for _, y in drawn], "colour": shown}
        ends = {p: (x[at][0], y[at][0]) for p, (x, y), at in zip(self.pins.places(), drawn, last, strict=True) if at.size}
        self.ends.data = {
            # a row for every letter, always, as among the curves' marks
            "x": [float(ends.get(place, (np.nan, np.nan))[0]) for place in range(len(LETTERS))],
            "y": [float(ends.get(place, (np.nan, np.nan))[1]) for place in range(len(LETTERS))],
            "letter": list(LETTERS),
            "colour": colours,
        }


class Pinned(View):
    """The pins as rows to rename, use or remove, and a table of the fields and numbers in which they differ."""

    def __init__(self, state: State | None = None, pins: Pins | None = None, **params: Any) -> None:
        super().__init__(state, pins=pins, **params)
        names = {"each run's smallest": "", **{BOUNDS[b].title: b for b in BOUNDS}}
        self.compare = widgets.select("curves of", names, "along", of=self.pins.param.compare)
        self.rows = widgets.stack()
        self.table = pn.pane.HTML("", stylesheets=[theme.root("text", "table", "pinned", "waiting")], **theme.STRETCH)
        self.veil(self.table)
        title = widgets.short("<h2>Pinned</h2>")
        self.board = widgets.component("pinned", title, self.compare, self.rows, self.table, sheet="board")
        self._list()
        self.pins.param.watch(self._list, "pins")
        self.follow()

    def _list(self, *_: Any) -> None:
        self.rows[:] = [self._row(place, pin) for place, pin in enumerate(self.pins.pins)]
        self.board.visible = bool(self.pins.pins)
        self.changed()

    def _row(self, place: int, pin: Pin) -> pn.Row:
        at = self.pins.places()[place]
        letter, (light, dark) = LETTERS[at], theme.PINS[at]
        colour = f"label::first-letter{{color:light-dark({light},{dark})}}"
        name = widgets.field(letter, value=pin.name, stylesheets=[theme.css("field", "name"), colour])
        name.param.watch(lambda event: self.pins.rename(place, event.new), "value")
        use = widgets.button(f"Use {letter}", lambda: self.state.replace(pin.setting, pin.accounting))
        return widgets.row("pin", name, use, widgets.button(f"Unpin {letter}", lambda: self.pins.remove(place)))

    async def refresh(self) -> None:
        if self.pins.pins:
            runs = [Pin("now", self.state.setting, self.state.accounting), *self.pins.pins]
            found = [await ask(guarantees, run.setting, run.accounting) for run in runs]
            self.table.object = self._differences(runs, found)

    def _differences(self, runs: list[Pin], found: list[dict[str, Guarantee]]) -> str:
        """Only the fields that differ, and epsilon of every bound."""
        texts = [every_field(run.setting, run.accounting) for run in runs]
        differ = [name for name in texts[0] if len({text[name] for text in texts}) > 1]
        rows = [_line(symbol_of(name), [text[name] or _EMPTY[name] for text in texts]) for name in differ]
        rows += [_line(bound.title, _ratios([f[name].epsilon for f in found])) for name, bound in BOUNDS.items()]
        heads = "".join(f'<th scope="col">{head}</th>' for head in ("now", *(LETTERS[place] for place in self.pins.places())))
        head = f'<thead><tr><th scope="col">what differs, and ε</th>{heads}</tr></thead>'
        return f'<div tabindex="0" role="region" aria-label="differences"><table>{head}{"".join(rows)}</table></div>'

    def __panel__(self) -> pn.viewable.Viewable:
        return self.board


def _ratios(epsilons: list[float]) -> list[str]:
    """Every epsilon, and how many times the present one it is."""
    now, *pinned = epsilons
    times = [f" (×{THIN}{format_short(e / now)})" if 0 < now < inf and 0 < e < inf else "" for e in pinned]
    return [format_number(now), *(format_number(e) + ratio for e, ratio in zip(pinned, times, strict=True))]


def _line(head: str, cells: list[str]) -> str:
    body = "".join(f'<td class="value">{escape(cell)}</td>' for cell in cells)
    return f'<tr><th scope="row">{escape(head)}</th>{body}</tr>'
