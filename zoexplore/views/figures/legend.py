"""The legend of a figure of curves: what is drawn, what is absent and why, and a button a curve that hides it."""

from pathlib import Path
from typing import Any

import panel as pn
import param

from zoexplore.bounds.bound import Style
from zoexplore.views.style import theme


class Legend(pn.custom.JSComponent):
    """Entries by a key, of which those in `muted` are not drawn; what that means is the figure's affair."""

    entries = param.List([], item_type=dict, doc="key, title, why it is absent or what else it is, and how it is drawn")
    muted = param.List([], item_type=str, doc="the keys of the entries that a reader has switched off")

    _esm = Path(__file__).with_suffix(".js")

    def __init__(self, **params: Any) -> None:
        look = {"css_classes": ["zx-legend"], "stylesheets": [theme.css("legend")], **theme.STRETCH}
        super().__init__(**{**look, **params})

    @property
    def words(self) -> list[str]:
        """What it says, a line an entry."""
        return [" ".join(filter(None, (entry["title"], entry["why"]))) for entry in self.entries]


def entry(key: str, title: str, style: Style, why: str = "", absent: bool = False) -> dict[str, Any]:
    """One entry of a legend."""
    light, dark = style.colour
    look = {"light": light, "dark": dark, "dash": list(style.dash), "width": style.width}
    return {"key": key, "title": title, "why": why, "absent": absent, **look}
