"""Under every figure: save it as PNG or as SVG. Works in a notebook cell as it does on the page."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import panel as pn
import param

from zoexplore.views import theme


class Saves(pn.custom.JSComponent):
    """Two buttons that ask for the picture when they are pressed; a browser turns the SVG into a PNG."""

    title = param.String("the figure", doc="what is saved, for screen readers")
    name_of_file = param.String("zoexplore", doc="the file's name without its ending")

    _esm = Path(__file__).parent / "saves.js"

    def __init__(self, draw: Callable[[], str], **params: Any) -> None:
        """`draw` returns the figure as SVG."""
        self.draw = draw
        super().__init__(**{"stylesheets": [theme.css("saves")], **theme.STRETCH, **params})

    def _handle_msg(self, data: Any) -> None:
        self._send_msg({"kind": data, "svg": self.draw()})
