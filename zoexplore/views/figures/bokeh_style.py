"""What every figure's canvas has in common: its colours, and how its axes write numbers."""

from html import escape

from bokeh.events import Tap
from bokeh.models import CustomJS, CustomJSHover, CustomJSTickFormatter, GlyphRenderer, HoverTool
from bokeh.plotting import figure

from zoexplore.views.style import theme

# Only whole decades are written.
TICKS = """
const e = Math.round(Math.log10(tick));
if (Math.abs(tick / 10 ** e - 1) > 1e-6) return "";
if (e >= -3 && e < 4) return String(Number((10 ** e).toPrecision(3)));
const up = "⁰¹²³⁴⁵⁶⁷⁸⁹";
return "10" + [...String(e)].map(c => c == "-" ? "⁻" : up[Number(c)]).join("");
"""
# Where an axis may span less than a decade, what is not one is written too, if that is short.
LOG_TICKS = f"if (tick >= 0.01 && tick < 1000) return String(Number(tick.toPrecision(3)));{TICKS}"
# The name of a column comes as the format: Bokeh would print a missing value as NaN before any formatter sees it.
# Rounded up, like everything that may be a privacy loss; what is hovered over, by the column "value", to the nearest.
DIGITS = """
value = source.data[format]?.[special_vars.index];
if (format.startsWith("pin ") && !(value <= Infinity)) return "–";
if (!isFinite(value)) return absent;
if (format == "value" && Number.isInteger(value)) return value.toLocaleString("en").replaceAll(",", "\u202f");
if (value == 0) return "0";
let [mantissa, e] = value.toExponential(2).split("e");
if (format != "value" && Number(mantissa + "e" + e) < value) mantissa = (Number(mantissa) + 0.01).toFixed(2);
if (mantissa == "10.00") [mantissa, e] = ["1.00", Number(e) + 1];
e = Number(e);
if (e >= -4 && e < 5) return Number(mantissa + "e" + e).toFixed(Math.max(2 - e, 0));
const up = "⁰¹²³⁴⁵⁶⁷⁸⁹";
return mantissa + " × 10" + [...String(e)].map(c => c == "-" ? "⁻" : up[Number(c)]).join("");
"""

# A finger that is lifted has left the figure, and with it goes what hovering shows. So a tap is followed by a move, which stays
# until something else is touched.
TAP = """
const area = Bokeh.index.find_one(cb_obj.origin)?.canvas_view.ui_event_bus.hit_area;
if (!area) return;
const {left, top} = area.getBoundingClientRect();
const at = {view: window, isPrimary: true, clientX: left + cb_obj.sx, clientY: top + cb_obj.sy};
const leave = (event) => {
  if (event.composedPath().includes(area)) return;
  area.dispatchEvent(new PointerEvent("pointerout", at));
  document.removeEventListener("pointerdown", leave, true);
};
setTimeout(() => {
  area.dispatchEvent(new PointerEvent("pointermove", at));
  document.addEventListener("pointerdown", leave, true);
}, 60);
"""


def hover(
    probe: GlyphRenderer, caption: str, rows: dict[str, tuple[str, theme.Style]], absent: str = "∞", above: bool = False
) -> HoverTool:
    """A hover with a table of every curve at one abscissa.

    Args:
        probe: an invisible line through the places that can be pointed at; its source has the numbers.
        caption: what stands above the table, with columns as `@{x}{name}`.
        rows: column -> what it is and how it is drawn.
        absent: what is said where a column has no finite number.
        above: whether the table stands on the probe, which at the top of the frame covers no curve.
    """
    return HoverTool(
        renderers=[probe],
        mode="vline",
        tooltips=tooltip(caption, rows),
        formatters={"@{x}": CustomJSHover(args={"source": probe.data_source, "absent": absent}, code=DIGITS)},
        point_policy="snap_to_data" if above else "follow_mouse",
        attachment="above" if above else "horizontal",
        visible=False,
    )


def tooltip(caption: str, rows: dict[str, tuple[str, theme.Style]]) -> str:
    """The table of a hover."""
    cells = "".join(
        f"<tr><td>{theme.swatch(style, 26)}</td><td>{escape(title)}</td><td>@{{x}}{{{name}}}</td></tr>"
        for name, (title, style) in rows.items()
    )
    return f"<div><style>{theme.css('tooltip')}</style><table><caption>{caption}</caption>{cells}</table></div>"


def blank(name: str, sheet: str = "figure", **params) -> figure:
    """An empty figure as the page has them: no logo, a toolbar that hides, and a finger on it scrolls the page."""
    fig = figure(
        **{
            "height": 500,
            "sizing_mode": "stretch_width",
            "tools": "pan,wheel_zoom,box_zoom,reset,save",
            "active_drag": None,
            "active_scroll": None,
            "toolbar_location": "above",
            "name": name,
            "stylesheets": [theme.css(sheet)],
            "min_border_right": 18,
            **params,
        }
    )
    fig.toolbar.logo = None
    fig.toolbar.autohide = True
    for axis in fig.axis:
        axis.minor_tick_line_color = None
        axis.axis_label_text_font_size, axis.major_label_text_font_size = "14px", "12.5px"
    if fig.title:
        fig.title.text_font_size = "13px"
    fig.js_on_event(Tap, CustomJS(code=TAP))
    return fig


def enlarge(fig: figure, times: float) -> None:
    """Let all words of a figure be so many times as large, and the room for those above its frame."""
    fig.min_border_top = round(times * (fig.min_border_top or 0))
    for model in fig.references():
        for name in model.properties():
            if name.endswith("text_font_size"):
                size = getattr(model, name)
                size = getattr(size, "value", size)
                if isinstance(size, str) and size.endswith("px"):
                    setattr(model, name, f"{float(size.removesuffix('px')) * times:g}px")


def decades(axis) -> None:
    """Let a log axis write its decades."""
    axis.formatter = CustomJSTickFormatter(code=TICKS)


def dress(fig: figure, dark: bool) -> None:
    """Give a figure's frame, axes and grid the colours and fonts of a scheme."""
    ink, muted, rule = (theme.colour(name, dark) for name in ("ink", "muted", "rule"))
    fig.background_fill_color = fig.border_fill_color = None
    fig.outline_line_color = None
    for grid in fig.grid:
        grid.grid_line_color = rule
    for axis in fig.axis:
        axis.axis_line_color = axis.major_tick_line_color = theme.colour("edge", dark)
        axis.major_label_text_color, axis.axis_label_text_color = muted, ink
        axis.major_label_text_font = axis.axis_label_text_font = theme.FONT
        axis.axis_label_text_font_style = "normal"
    if fig.title:
        fig.title.text_color, fig.title.text_font = ink, theme.FONT
        fig.title.text_font_style = "bold"


def plain(axis) -> None:
    """Let a linear axis write its numbers as short as they are."""
    axis.formatter = CustomJSTickFormatter(code="return String(Number(tick.toPrecision(3)))")


def dress_legend(fig: figure, dark: bool) -> None:
    """A figure's legends without boxes, in the colours of a scheme."""
    for legend in fig.legend:
        legend.background_fill_color = legend.border_line_color = None
        legend.label_text_color, legend.label_text_font = theme.colour("ink", dark), theme.FONT
        legend.label_text_font_size, legend.padding, legend.margin, legend.spacing = "12px", 0, 4, 14
