"""Under every figure: save it as PNG or as SVG. Works in a notebook cell as it does on the page."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import panel as pn
import param

from zoexplore.views.compute.task import Task
from zoexplore.views.style import theme


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
