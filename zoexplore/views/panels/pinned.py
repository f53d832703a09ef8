"""The pins on the page: rows to rename, use or remove them, and a table of what differs."""

from html import escape
from math import inf
from typing import Any

import panel as pn

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.export import every_field
from zoexplore.formatting import THIN, format_number, format_short
from zoexplore.views.compute.ask import ask
from zoexplore.views.compute.curve_set import guarantees
from zoexplore.views.state import LETTERS, Pin, Pins, State, symbol_of
from zoexplore.views.style import theme, widgets
from zoexplore.views.style.markup import region
from zoexplore.views.view import View

_EMPTY = {"eta": "K/M", "batch": "all", "lipschitz": "≤ Δ"}


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
        return region("differences", f"<table>{head}{''.join(rows)}</table>")

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
