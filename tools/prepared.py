"""Prepares a notebook's kernel before its own cells are run, so that its outputs can move on pages
without a kernel.
"""

from collections.abc import Callable
from html import escape
from typing import Any

import panel as pn

from zoexplore.compute import ask
from zoexplore.compute.computations import timed
from zoexplore.run.setting import Setting
from zoexplore.views import Curves, Dial, Explorer, Readouts
from zoexplore.views.component import STILL, Component
from zoexplore.views.lesson import page

HEIGHT = 880  # pixels of a lesson


async def _at_once(function: Callable[..., Any], args: tuple[Any, ...], urgent: bool) -> Any:
    return timed(function, *args)


def framed(setting: Setting, sliders: tuple[str, ...], link: str = "") -> str:
    """Return a lesson as a frame for a page."""
    look = f"width:100%;height:{HEIGHT}px;border:0"
    return f'<iframe title="a lesson" style="{look}" srcdoc="{escape(page.html(setting, sliders, link=link))}"></iframe>'


class Drawn:
    """Draws components for pages without a kernel: dials as a lesson, a player with all its steps,
    and the rest as a picture that says so.
    """

    def __init__(self) -> None:
        self.parts: list[Any] = []  # the components of the cell that is drawn
        self.live = pn.Column._repr_mimebundle_
        for kind in (Dial, Curves, Readouts):
            self._note(kind)

    def _note(self, kind: Any) -> None:
        """Remember components as they become parts of a column."""
        made = kind.__panel__

        def noted(part: Any) -> Any:
            self.parts.append(part)
            return made(part)

        kind.__panel__ = noted

    def column(self, column: pn.Column, *given: Any, **named: Any) -> Any:
        """Return the output of a column, in place of Panel's."""
        parts, self.parts = self.parts, []
        widgets = list(column.select(pn.widgets.Widget))
        if [type(widget) for widget in widgets] == [pn.widgets.Player]:
            steps = list(range(widgets[0].start, widgets[0].end + 1))
            return column.embed(progress=False, states={widgets[0]: steps})._repr_mimebundle_()
        dials = [part.field for part in parts if isinstance(part, Dial)]
        if dials:
            return {"text/html": framed(parts[0].state.setting, *_as_lesson(dials, parts))}, {}
        still = list(column.select(Component))
        return self.live(
            pn.Column(pn.pane.HTML(STILL), column) if still else column, *given, **named
        )

    @staticmethod
    def explorer(explorer: Explorer, *_: Any, **__: Any) -> Any:
        """Return the output of the whole explorer."""
        return {"text/html": framed(explorer.state.setting, ("sigma", "T", "K"))}, {}


def _as_lesson(dials: list[str], parts: list[Any]) -> tuple[tuple[str, ...], str]:
    """Return the sliders and the link of a lesson that replaces dials and the parts below them. If
    curves run over a field other than T, that field moves together with a dial's.
    """
    along = next((part.along for part in parts if isinstance(part, Curves)), "")
    if not along:
        return tuple(dials), "?show=publish,verdict"
    alone = [name for name in dials if name not in ("T", along)]
    sliders = ["+".join([*alone[:1], along]), *alone[1:]] if along != "T" else alone
    return (*sliders, *(["T"] if "T" in dials else [])), f"?show=curves,table&against={along}"


def prepare() -> None:
    """Make the kernel compute slow answers at once, so that a page has them, and draw components
    that move without a kernel.
    """
    ask._by_the_pool = _at_once
    drawn = Drawn()
    pn.Column._repr_mimebundle_ = lambda column, *given, **named: drawn.column(
        column, *given, **named
    )
    Explorer._repr_mimebundle_ = Drawn.explorer
