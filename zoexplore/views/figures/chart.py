"""A figure of curves, which the browser draws (`chart.js`) from what is given here."""

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
    """Join scripts of this folder by name, after the numbers' own: what draws, then the component
    made of it.
    """
    return "\n".join(
        (Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8")
        for name in ("numbers", *names)
    )


def line(
    key: str, x: ArrayLike, y: ArrayLike, style: Style, name: str = "", **more: Any
) -> dict[str, Any]:
    """Return a curve with a gap where a value is not finite.

    `more` may have `note`, below the name; `bold`, `alpha`; `plays`, whether it follows the clouds;
    `aloud`, whether its values are spoken; `reads`, false for a curve whose values nobody asks.
    """
    name = name.removesuffix(" (as printed)")  # what the table says already
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
    """Return how a curve is drawn."""
    light, dark = style.colour
    return {"light": light, "dark": dark, "dash": list(style.dash), "width": style.width}


def dot(key: str, x: float, y: float, style: Style, **more: Any) -> dict[str, Any]:
    """Return a mark on a curve, an arrow if above the frame; `more` may have `hollow`, `size` and
    `name`.
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
    """Return an axis: its ends, and its ticks, or about how many `parts` the browser's ticks make.
    `more` may have `log`, whether the axis is logarithmic; for the x axis also `title` and
    `symbol`.
    """
    pairs = [[float(at), text] for at, text in ticks.items()] if ticks else None
    return {"start": float(start), "end": float(end), "parts": parts, "ticks": pairs, **more}


def field_span(axis: FieldAxis, ends: tuple[float, float]) -> dict[str, Any]:
    """Return an x axis along a field, on the scale of the field's `place`s; a share's is even."""
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
        """Call `moved` with a place on the x axis and whether the handle is still held; `draws` is
        code that draws the same figure from `setting` and `accounting`.
        """
        super().__init__(view=view, of=f"{view}-{next(_COUNTED)}", offers=state is not None)
        self.state, self._moved, self.draws, self._writing = state, moved, draws, SessionTask()
        self.param.watch(self._followed, "asked")
        self.param.watch(lambda _: setattr(self, "_writing", SessionTask(self._write)), "wants")

    def put(
        self, title: str, said: str, across: dict[str, Any], up: dict[str, Any], **more: Any
    ) -> None:
        """Give all but the lines.

        Args:
            title: what the y axis shows.
            said: the figure in one sentence, for screen readers and files.
            across, up: the axes, results of `span`.
            more: `handle`, with `at`, `label` and `title`; `dots`; `levels`, dashed lines across the figure with `y`, `name`, `light` and `dark`; `values`, the true
                values at the lines' places; `missing`, what stands in place of the figure, as HTML.
        """
        self.given = {"title": title, "said": said, "across": across, "up": up, **more}

    def _followed(self, event: Any) -> None:
        x, held, _ = event.new
        if self._moved and isinstance(x, (int, float)):
            self._moved(float(x), bool(held))

    async def _write(self) -> None:
        """Write the code of the state's run, with a comment that tells each answer from the one
        before.
        """
        if self.state:
            run = await ask(to_python, *self.state.run)
            self.code = f"{run}\n# The figure.\nfrom zoexplore import plots\n\n{self.draws}\n# {self.wants}\n"


def handle(axis: FieldAxis, value: Any) -> dict[str, Any] | None:
    """Return the handle at a field's value; None if the field has no value."""
    if value is None:
        return None
    said = format_count(value) if axis.whole else format_short(value)
    return {"at": float(axis.place(value)), "label": f"{axis.symbol} = {said}", "title": axis.title}


def dragged(state: State, field: str) -> Callable[[float, bool], Any]:
    """Return a function that sets a field to three digits from a place on its axis."""

    def moved(place: float, held: bool) -> None:
        axis = AXES[field]
        value: Any = axis.value(place)
        value = value if axis.linear else type(value)(float(f"{value:.3g}"))
        (state.slide if held else state.ask)(**{field: value})

    return moved
