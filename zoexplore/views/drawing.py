"""A small figure to draw by hand in a notebook, in the explorer's colours."""

from typing import Any

from bokeh.models import CustomJSTickFormatter
from bokeh.plotting import figure

from zoexplore.views import theme
from zoexplore.views.canvas import TICKS, blank, dress, dress_legend, plain

# A small figure may span less than a decade, so what is not one is written too, where that is short.
_LOG_TICKS = f"if (tick >= 0.01 && tick < 1000) return String(Number(tick.toPrecision(3)));{TICKS}"


def sketch(x: str, y: str, *, title: str = "", x_log: bool = False, y_log: bool = False, **params: Any) -> figure:
    """An empty Bokeh figure with labelled axes; show it with `pn.Row(fig)`, after `legend(fig)` if its lines have labels.

    Args:
        x, y: what the axes say.
        title: above the figure.
        x_log, y_log: whether an axis is logarithmic.
        params: more for `bokeh.plotting.figure`, such as height=300 or x_range=(0, 1).
    """
    kinds = {"x_axis_type": "log" if x_log else "linear", "y_axis_type": "log" if y_log else "linear"}
    given = {"height": 320, "max_width": 900, "stylesheets": [], "title": title or None, **kinds, **params}
    fig = blank("sketch", **given)
    for axis, label, log in ((fig.xaxis, x, x_log), (fig.yaxis, y, y_log)):
        axis.axis_label = label
        if log:
            axis.formatter = CustomJSTickFormatter(code=_LOG_TICKS)
        else:
            plain(axis)
    dress(fig, dark=False)
    fig.background_fill_color = fig.border_fill_color = theme.colour("surface", dark=False)  # whatever the notebook's is
    return fig


def pen(bound: str) -> dict[str, Any]:
    """How the explorer draws a bound's curve, as arguments for a figure's `line`."""
    style = theme.style_of(bound)
    return {"line_color": style.colour[theme.LIGHT], "line_width": style.width, "line_dash": list(style.dash)}


def hue(bound: str) -> str:
    """A bound's colour."""
    return theme.style_of(bound).colour[theme.LIGHT]


def legend(fig: figure, location: str = "top_left", side: str = "") -> figure:
    """Place and dress the legend of a figure whose renderers have labels; beside the figure where a side is named."""
    dress_legend(fig, dark=False)
    fig.legend.location = location
    fig.legend.click_policy = "hide"
    if side:
        fig.add_layout(fig.legend[0], side)
    return fig
