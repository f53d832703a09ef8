"""The look of the explorer's figures, as options of HoloViews elements."""

from typing import Any

import holoviews as hv
import holoviews.plotting.bokeh  # registers the options that the elements carry
from bokeh.themes import Theme

from zoexplore.palette import FONT, LIGHT, colour, style_of
from zoexplore.run.formatting import format_delta

INK, MUTED, RULE = (colour(name) for name in ("ink", "muted", "rule"))

THEME = Theme(
    json={
        "attrs": {
            "Plot": {
                "outline_line_color": None,
                "background_fill_color": "white",
                "border_fill_color": "white",
            },
            "Grid": {"grid_line_color": RULE},
            "Axis": {
                "axis_line_color": MUTED,
                "major_tick_line_color": MUTED,
                "minor_tick_line_color": None,
                "major_label_text_color": MUTED,
                "axis_label_text_color": INK,
                "axis_label_text_font_style": "normal",
                "axis_label_text_font": FONT,
                "major_label_text_font": FONT,
            },
            "BasicTickFormatter": {"power_limit_low": -6},  # Bokeh's own writes 0.003 as 3.000e-3
            "Legend": {
                "label_text_color": INK,
                "label_text_font": FONT,
                "border_line_color": None,
                "background_fill_alpha": 0.7,
                "click_policy": "hide",
            },
            "Title": {
                "text_color": INK,
                "text_font": FONT,
                "text_font_style": "bold",
                "text_font_size": "13px",
            },
        }
    }
)

FRAME: dict[str, Any] = {
    "responsive": True,
    "height": 340,
    "bgcolor": "white",
    "show_grid": True,
    "gridstyle": {"grid_line_color": RULE},
    "fontsize": {"labels": "14px", "ticks": "12px", "legend": "12px", "title": "13px"},
    "autohide_toolbar": True,
    "active_tools": [],
    "backend": "bokeh",
}


def use() -> None:
    """Give this module's theme, and a frame as wide as the page, to every HoloViews figure of this
    process.

    Call this in the first cell of a notebook, after `hv.extension("bokeh")`. An element's own
    `.opts` take precedence.
    """
    hv.Store.set_current_backend("bokeh")
    renderer, options = hv.renderer("bokeh"), hv.Store.options("bokeh")
    renderer.theme, renderer.webgl = THEME, False  # WebGL leaves barbs where a line has many points
    for kind in (
        "Curve",
        "Scatter",
        "Points",
        "Histogram",
        "Area",
        "Bars",
        "ErrorBars",
        "Rectangles",
        "Labels",
        "Path",
    ):
        options[kind] = hv.Options(
            "plot", **{name: value for name, value in FRAME.items() if name != "backend"}
        )
    options.Labels = hv.Options("style", text_color=INK)


def style(bound: str) -> dict[str, Any]:
    """Return how the explorer draws a bound, as options of `hv.Curve`: color, line_width,
    line_dash.

    >>> style("sharp")["line_width"]
    4.0
    """
    drawn = style_of(bound)
    return {
        "color": drawn.colour[LIGHT],
        "line_width": drawn.width,
        "line_dash": list(drawn.dash) or "solid",
    }


def with_legend(drawn: hv.Overlay, corner: str) -> hv.Overlay:
    """Put a figure's legend in a corner, if Bokeh draws it."""
    return drawn.opts({"Overlay": {"legend_position": corner}}, backend="bokeh")


def epsilon_at(delta: float) -> str:
    """Write an axis label: epsilon, and the delta at which it holds."""
    return f"ε at δ = {format_delta(delta)}"
