"""Legends: of what a reader can switch off, beside a figure; and of what else is drawn, on its canvas."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import panel as pn
import param
from bokeh.models import Legend as CanvasLegend
from bokeh.plotting import figure

from zoexplore.bounds.bound import Style
from zoexplore.views.style import theme


def plain_legend(legend: CanvasLegend) -> None:
    """A legend without a box."""
    legend.background_fill_color = legend.border_line_color = None
    legend.label_text_color, legend.label_text_font = theme.colour("ink"), theme.FONT
    legend.label_text_font_size, legend.padding, legend.margin, legend.spacing = "12px", 0, 4, 14


def add_legend(fig: figure, items: Sequence[Any]) -> None:
    """Put a legend of `LegendItem`s above a figure."""
    legend = CanvasLegend(items=list(items), orientation="horizontal", location="top_left")
    plain_legend(legend)
    fig.add_layout(legend, "above")


class Legend(pn.custom.JSComponent):
    """Entries by a key, of which those in `muted` are not drawn; what that means is the figure's affair."""

    entries = param.List([], item_type=dict, doc="key, title, why it is absent or what else it is, and how it is drawn")
    muted = param.List([], item_type=str, doc="the keys of the entries that a reader has switched off")

    _esm = Path(__file__).with_name("legend.js")

    def __init__(self) -> None:
        super().__init__(css_classes=["zx-legend"], stylesheets=[theme.css("legend")], **theme.STRETCH)


def entry(key: str, title: str, style: Style, why: str = "", absent: bool = False) -> dict[str, Any]:
    """One entry of a legend."""
    light, dark = style.colour
    look = {"light": light, "dark": dark, "dash": list(style.dash), "width": style.width}
    return {"key": key, "title": title, "why": why, "absent": absent, **look}
