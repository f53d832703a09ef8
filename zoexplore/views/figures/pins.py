"""What is pinned: lines in the figures that draw the pins, and rows to rename, use or remove them over a table of differences."""

from html import escape
from math import inf
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, GlyphRenderer
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.bound import Style
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import CurveSet, curve_set, guarantees, smallest
from zoexplore.questions.export import every_field
from zoexplore.run.axes import AXES, drawable
from zoexplore.run.fields import FIELDS, symbol_of
from zoexplore.run.formatting import THIN, format_number, format_short
from zoexplore.run.setting import supposition
from zoexplore.views.figures.legend import entry
from zoexplore.views.figures.parts import empty
from zoexplore.views.pins import LETTERS, Pin, Pins, grouped
from zoexplore.views.style import theme, widgets
from zoexplore.views.style.widgets import region
from zoexplore.views.view import View

WIDTH, DASH = 1.7, (7, 2)


def lines(fig: figure, source: ColumnDataSource, xs: str = "xs", ys: str = "ys") -> GlyphRenderer:
    """The pins' lines in a figure, from a source with their colours in "colour"."""
    return fig.multi_line(xs, ys, source=source, line_color="colour", line_width=WIDTH, line_dash=DASH)


def styles(pins: Pins) -> dict[str, tuple[str, Style]]:
    """The name of a pin's column in a figure's data -> its letter and name, and how its line is drawn."""
    return {
        f"pin {LETTERS[place]}": (f"{LETTERS[place]}: {pin.name}", Style(theme.PINS[place], DASH, WIDTH))
        for place, pin in zip(pins.places(), pins.pins, strict=True)
    }


def hover_rows(pins: Pins, **more: tuple[str, Style]) -> dict[str, tuple[str, Style]]:
    """The rows of a hover that tells of every bound, of what `more` there is and of every pin, by the names of their columns."""
    return {bound: (BOUNDS[bound].title, theme.style_of(bound)) for bound in BOUNDS} | more | styles(pins)


def colours(pins: Pins, dark: bool) -> list[str]:
    """Of every pin."""
    return [style.hue(dark) for _, style in styles(pins).values()]


def least(curves: CurveSet, bound: str = "") -> np.ndarray:
    """A pin's epsilon along its curves' values: of one bound, or of the smallest of its run at each; inf where none applies."""
    taken = [values for name, values in curves.epsilon.items() if (name == bound if bound else BOUNDS[name].of_this_run)]
    return np.minimum.reduce(taken)


class PinnedCurves:
    """The pins in the figure of curves, from a source of their own that changes with the pins alone."""

    def __init__(self, fig: figure, pins: Pins) -> None:
        self.pins = pins
        self.source = empty("pins", "xs", "ys", "colour")
        lines(fig, self.source)
        self.epsilons: list[float] = []  # of each pin's own run
        self._drawn: tuple = ()
        self._found: list[CurveSet] = []  # of each pin
        self._found_for: tuple = ((), "")  # which pins, and over which field

    async def find(self, along: str) -> None:
        """Compute every pin's curves over a field."""
        pins = tuple(self.pins.pins)
        found = [await ask(curve_set, pin.setting, pin.accounting, along) for pin in pins]
        given = [await ask(guarantees, pin.setting, pin.accounting) for pin in pins]
        self.epsilons = [(each.get(self.pins.compare) or smallest(each)).epsilon for each in given]
        self._found, self._found_for = found, (pins, along)

    def columns(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """For the hover, every pin's epsilon at the values that its own curve has, too; nan at others: none is made up."""
        found = {}
        for name, curves in zip(styles(self.pins), self._found, strict=False):
            place = np.clip(np.searchsorted(curves.values, values), 0, curves.values.size - 1)
            found[name] = np.where(curves.values[place] == values, least(curves, self.pins.compare)[place], np.nan)
        return found

    def draw(self, along: str, dark: bool) -> None:
        """Draw what is pinned now, unless that is what is drawn, or is not computed yet."""
        wanted = (*self.pins.pins, *self.pins.places(), self.pins.compare, along)
        if wanted == self._drawn or self._found_for != (tuple(self.pins.pins), along):
            return
        self._drawn = wanted
        xs = [AXES[along].place(curves.values) for curves in self._found]
        ys = [drawable(least(curves, self.pins.compare)) for curves in self._found]
        self.source.data = {"xs": xs, "ys": ys, "colour": colours(self.pins, dark)}

    def ends(self, dark: bool) -> dict[str, tuple[float, str, bool]]:
        """What stands at the end of each curve: letter and name -> its value there, its colour, and that it is not bold."""
        drawn = zip(styles(self.pins).values(), self.source.data["ys"], strict=False)
        return {name: (float(y[-1]), style.hue(dark), False) for (name, style), y in drawn if np.isfinite(y[-1])}

    def entries(self) -> list[dict[str, Any]]:
        """A row of the table for each."""
        rows = zip(styles(self.pins).items(), self.epsilons, strict=False)
        said = f"Pinned, {BOUNDS[self.pins.compare].short}" if self.pins.compare else "Pinned, the least of each"
        return [entry(key, name, style, format_number(e), group=said) for (key, (name, style)), e in rows]


class Pinned(View):
    """The pins as rows to rename, use or remove, and a table of the fields and numbers in which they differ."""

    def build(self) -> None:
        names = {"each run's smallest": "", **{BOUNDS[b].title: b for b in BOUNDS}}
        self.compare = widgets.select("curves of", names, "along", of=self.pins.param.compare)
        self.rows = widgets.stack()
        self.table = pn.pane.HTML("", stylesheets=[theme.root("text", "table", "pinned", "waiting")], **theme.STRETCH)
        self.veil(self.table)
        title = widgets.short("<h2>Pinned</h2>")
        self.board = widgets.component("pinned", title, self.compare, self.rows, self.table, sheet="board")
        self._list()
        self.pins.param.watch(self._list, "pins")

    def _list(self, *_: Any) -> None:
        self.rows[:] = [self._row(place, pin) for place, pin in enumerate(self.pins.pins)]
        self.board.visible = bool(self.pins.pins)
        self.changed()

    def _row(self, place: int, pin: Pin) -> pn.Row:
        at = self.pins.places()[place]
        letter, (light, dark) = LETTERS[at], theme.PINS[at]
        colour = f"label::first-letter{{color:light-dark({light},{dark})}}"
        name = widgets.field(letter, value=pin.name, stylesheets=[theme.css("field", "symbol", "name"), colour])
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
        rows = [_line(symbol_of(name), [grouped(text[name]) or FIELDS[name].left_out for text in texts]) for name in differ]
        known = [supposition(run.setting, run.accounting) for run in runs]
        rows += [_line("supposed", known)] if len(set(known)) > 1 else []
        rows += [_line(bound.title, _ratios([f[name].epsilon for f in found], known)) for name, bound in BOUNDS.items()]
        heads = "".join(f'<th scope="col">{head}</th>' for head in ("now", *(LETTERS[place] for place in self.pins.places())))
        head = f'<thead><tr><th scope="col">what differs, and ε</th>{heads}</tr></thead>'
        return region("differences", f"<table>{head}{''.join(rows)}</table>")

    def __panel__(self) -> pn.viewable.Viewable:
        return self.board


def _ratios(epsilons: list[float], known: list[str]) -> list[str]:
    """Every epsilon, and how many times the present one it is, of runs of which the same is supposed."""
    now, said = epsilons[0], [format_number(e) for e in epsilons]
    alike = [of == known[0] and 0 < now < inf and 0 < e < inf for of, e in zip(known, epsilons, strict=True)]
    times = [f" (×{THIN}{format_short(e / now)})" if same else "" for same, e in zip(alike, epsilons, strict=True)]
    return [said[0], *map("".join, zip(said[1:], times[1:], strict=True))]


def _line(head: str, cells: list[str]) -> str:
    body = "".join(f'<td class="value">{escape(cell)}</td>' for cell in cells)
    return f'<tr><th scope="row">{escape(head)}</th>{body}</tr>'
