"""Figures as vectors, by HoloViews' Matplotlib backend."""

from importlib import import_module
from pathlib import Path
from typing import Any

import holoviews as hv

_DASHES = {"solid": "-", "dashed": "--", "dotted": ":"}
_MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle": "^",
    "diamond": "D",
    "inverted_triangle": "v",
    "star": "*",
    "hex": "h",
    "plus": "P",
}
_STYLES = {  # element -> Bokeh's name of an option -> Matplotlib's
    "Curve": {"color": "color", "line_width": "linewidth", "line_dash": "linestyle"},
    "Scatter": {"color": "color", "marker": "marker", "size": "s", "line_color": "edgecolors"},
    "ErrorBars": {"line_color": "ecolor"},
    "QuadMesh": {"cmap": "cmap"},
    "Contours": {"color": "color", "line_width": "linewidth"},
    "HLine": {"color": "color", "line_dash": "linestyle", "line_width": "linewidth"},
}
_POINTS = 0.75  # of a pixel
_SIZES = {"labels": 10, "ticks": 9, "legend": 9, "title": 10}  # points
# by the same names in both
_FRAME = ("logx", "logy", "xlim", "ylim", "title", "invert_xaxis", "padding", "show_grid", "xticks")


def save(drawn: Any, file: str | Path) -> None:
    """Write a figure as vectors with Matplotlib, in the look that it has here: SVG or PDF, by the
    file's ending.

    Raises:
        ImportError: Matplotlib is not installed.
    """
    import_module("holoviews.plotting.mpl")  # large, and needed for files alone
    vector = drawn.map(_in_matplotlib, [hv.Element])
    if isinstance(drawn, hv.Overlay):
        place = hv.Store.lookup_options("bokeh", drawn, "plot").kwargs.get(
            "legend_position", "top_left"
        )
        look = {
            "fig_inches": (7.0, 4.4),
            "aspect": "auto",
            "hooks": [_ticks],
            "legend_position": place,
            "fontsize": _SIZES,
        }
        vector = vector.opts({"Overlay": look}, backend="matplotlib")
    # text, which is searchable and small, not outlines
    with import_module("matplotlib").rc_context({"svg.fonttype": "none"}):
        hv.save(
            vector, file, backend="matplotlib", fmt=Path(file).suffix.removeprefix(".") or "svg"
        )


def _ticks(plot: Any, element: hv.Overlay) -> None:
    """No other ticks on an axis with given ones."""
    axis = plot.handles["axis"].xaxis
    if hv.Store.lookup_options("bokeh", element.values()[0], "plot").kwargs.get("xticks"):
        axis.set_minor_locator(import_module("matplotlib.ticker").NullLocator())


def _in_matplotlib(element: hv.Element) -> hv.Element:
    """An element with its Bokeh options translated for Matplotlib."""
    look = hv.Store.lookup_options("bokeh", element, "style").kwargs
    plot = hv.Store.lookup_options("bokeh", element, "plot").kwargs
    names = _STYLES.get(type(element).__name__, {})
    made: dict[str, Any] = {names[name]: value for name, value in look.items() if name in names}
    if "linewidth" in made:
        made["linewidth"] *= _POINTS
    if dash := made.pop("linestyle", None):
        made["linestyle"] = (0, tuple(dash)) if isinstance(dash, list) else _DASHES[dash]
    if marker := made.pop("marker", None):
        made |= {"marker": _MARKERS[marker], "s": (_POINTS * made["s"]) ** 2}
    made |= {"aspect": "auto", "fontsize": _SIZES} | {
        name: plot[name] for name in _FRAME if name in plot
    }
    made |= {"logz": True, "colorbar": True} if isinstance(element, hv.QuadMesh) else {}
    return element.opts(backend="matplotlib", clone=True, **made)
