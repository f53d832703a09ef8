"""A figure of curves: this module prepares the data, and `chart.js` draws them in the browser."""

from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import param
from numpy.typing import ArrayLike

from zoexplore.bounds.words import Style
from zoexplore.compute.ask import ask
from zoexplore.compute.session_task import SessionTask
from zoexplore.questions.export import to_python
from zoexplore.run.axes import AXES, FieldAxis
from zoexplore.run.formatting import format_count, format_short
from zoexplore.views.component import Script
from zoexplore.views.state import State

_COUNTED = count()
BRIEF = {  # short forms of names, for a phone
    "Noisy gradient descent": "Noisy GD",
    "Hidden-state theorem": "Theorem",
}


def script(*names: str) -> str:
    """Join `numbers.js` and scripts of this folder by name. Name what draws before the component
    that uses it.
    """
    return "\n".join(
        (Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8")
        for name in ("numbers", *names)
    )


def line(
    key: str, x: ArrayLike, y: ArrayLike, style: Style, name: str = "", **more: Any
) -> dict[str, Any]:
    """Return a curve with a gap where a value is not finite.

    `more` may have `note`, a text below the name; `bold` and `alpha`; `plays`, whether the curve
    moves with the clouds; `aloud`, whether its values are spoken; and `reads`, false if the pointer
    does not read its values.
    """
    name = name.removesuffix(" (as printed)")  # the table says so already
    return {
        "key": key,
        "x": np.asarray(x, float),
        "y": np.asarray(y, float),
        "name": name,
        "brief": BRIEF.get(name, name),
        **look_of(style),
        **more,
    }


def look_of(style: Style) -> dict[str, Any]:
    """Return a style as the browser's curves take it: `light` and `dark` colour, `dash`, `width`."""
    light, dark = style.colour
    return {"light": light, "dark": dark, "dash": list(style.dash), "width": style.width}


def dot(key: str, x: float, y: float, style: Style, **more: Any) -> dict[str, Any]:
    """Return a dot on a curve, which becomes an arrow above the frame; `more` may have `hollow`,
    `size` and `name`.
    """
    return {
        "key": key,
        "x": float(x),
        "y": float(y),
        "light": style.colour[0],
        "dark": style.colour[1],
        **more,
    }


def span(
    start: float,
    end: float,
    parts: float = 4.0,
    ticks: Mapping[float, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return an axis from `start` to `end`. Without `ticks`, the browser chooses ticks that divide
    the axis into about `parts` parts.

    `more` may have `log`, whether the axis is logarithmic; for the x axis also `title` and
    `symbol`.
    """
    pairs = [[float(at), text] for at, text in ticks.items()] if ticks else None
    return {"start": float(start), "end": float(end), "parts": parts, "ticks": pairs, **more}


def field_span(axis: FieldAxis, ends: tuple[float, float]) -> dict[str, Any]:
    """Return an x axis along a field, on the scale of `axis.place`: even for a share, logarithmic
    for other fields.
    """
    ticks = axis.ticks() if axis.linear else None
    return span(*ends, ticks=ticks, log=not axis.linear, title=axis.title, symbol=axis.symbol)


class Chart(Script):
    """Lines and dots over two axes, and a handle below them that the reader drags."""

    view = param.String(doc="of which view it is, by which its files are named")
    of = param.String(doc="its own name, by which parts of the page speak of it")
    lines = param.List([], item_type=dict, doc="results of `line`")
    given = param.Dict({}, doc="everything else that is drawn: see `put`")
    muted = param.List([], item_type=str, doc="the keys of lines that are not drawn")
    draws_on = param.Boolean(False, doc="whether the reader draws a curve")
    drew = param.List([], doc="the places and values of the curve that was drawn")
    asked = param.List(
        [], doc="where the reader wants the handle, whether it is still held, and the time"
    )
    run = param.String("", doc="the run, at the foot of a saved picture")
    offers = param.Boolean(False, doc="whether there is code that draws the figure")
    wants = param.Integer(0, doc="how often the reader has asked for that code")
    code = param.String("", doc="the code")

    kind, sheets = "chart", ("chart", "export", "figure")
    _esm = script("chart", "export", "figure")

    def __init__(
        self,
        view: str,
        state: State | None = None,
        moved: Callable[[float, bool], Any] | None = None,
        draws: str = "",
    ) -> None:
        """Make an empty chart.

        Args:
            view: the name of the view, by which saved files are named.
            state: the run of the figure's code; without a state the chart offers no code.
            moved: called with a place on the x axis, and with whether the handle is still held.
            draws: code that draws the same figure from `setting` and `accounting`.
        """
        super().__init__(view=view, of=f"{view}-{next(_COUNTED)}", offers=state is not None)
        self.state, self._moved, self.draws, self._writing = state, moved, draws, SessionTask()
        self.param.watch(self._followed, "asked")
        self.param.watch(lambda _: setattr(self, "_writing", SessionTask(self._write)), "wants")

    def put(
        self, title: str, said: str, across: dict[str, Any], up: dict[str, Any], **more: Any
    ) -> None:
        """Set everything in the figure but the lines.

        Args:
            title: what the y axis shows.
            said: the figure in one sentence, for screen readers and files.
            across, up: the x and y axis, results of `span`.
            more: `handle`, with `at`, `label` and `title`; `dots`, results of `dot`; `levels`,
                dashed lines across the figure with `y`, `name`, `light` and `dark`; `values`, the
                field's values at the lines' places; `missing`, HTML that replaces the figure;
                `unnamed`, whether the lines' names are left out.
        """
        self.given = {"title": title, "said": said, "across": across, "up": up, **more}

    def _followed(self, event: Any) -> None:
        x, held, _ = event.new
        if self._moved and isinstance(x, (int, float)):
            self._moved(float(x), bool(held))

    async def _write(self) -> None:
        """Write the code of the state's run. Its last comment differs each time, so that the
        browser sees a change even if the code is the same.
        """
        if self.state:
            run = await ask(to_python, *self.state.run)
            self.code = f"{run}\n# The figure.\nfrom zoexplore import plots\n\n{self.draws}\n# {self.wants}\n"


def handle(axis: FieldAxis, value: Any) -> dict[str, Any] | None:
    """Return the handle at a field's value; None if the value is None."""
    if value is None:
        return None
    said = format_count(value) if axis.whole else format_short(value)
    return {"at": float(axis.place(value)), "label": f"{axis.symbol} = {said}", "title": axis.title}


def dragged(state: State, field: str) -> Callable[[float, bool], Any]:
    """Return a function that sets a field from a place on its axis, rounded to three digits unless
    the axis is linear.
    """

    def moved(place: float, held: bool) -> None:
        axis = AXES[field]
        value: Any = axis.value(place)
        value = value if axis.linear else type(value)(float(f"{value:.3g}"))
        (state.slide if held else state.ask)(**{field: value})

    return moved
