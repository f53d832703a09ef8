"""Parts of the figures that Bokeh draws: the canvas in the page's colours, and number formats of the axes."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from bokeh.events import Tap
from bokeh.model import Model
from bokeh.models import (
    ColumnDataSource,
    CustomJS,
    CustomJSTickFormatter,
    FixedTicker,
    GlyphRenderer,
    LogAxis,
    Span,
)
from bokeh.plotting import figure

from zoexplore.views.style import theme

# Log axes write whole decades only, as `axes.decades` does.
TICKS = """
const e = Math.round(Math.log10(tick));
if (Math.abs(tick / 10 ** e - 1) > 1e-6) return "";
if (e >= -3 && e < 4) return String(Number((10 ** e).toPrecision(3)));
const up = "⁰¹²³⁴⁵⁶⁷⁸⁹";
return "10" + [...String(e)].map(c => c == "-" ? "⁻" : up[Number(c)]).join("");
"""
_SHORT = "return String(Number(tick.toPrecision(3))).replace('-', '−')"  # linear axes
_TOLD = "return texts.find(([x]) => Math.abs(tick - x) <= 1e-9 * (Math.abs(x) || 1))?.[1] ?? ''"

# Lifting a finger leaves the figure and closes its tooltip. So a move follows each tap, and the tooltip stays until the
# next touch.
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


def blank(name: str, bare: bool = False, **params: Any) -> figure:
    """An empty figure in the page's style and light colours: short numbers or decades at its axes, no logo, and a toolbar
    that hides; if `bare`, it only saves. A finger on the figure scrolls the page.
    """
    tools = {"tools": "save" if bare else "pan,wheel_zoom,box_zoom,reset,save", "toolbar_location": "above"}
    look = {"height": 500, "sizing_mode": "stretch_width", "stylesheets": [theme.css("canvas", "figure")], "min_border_right": 18}
    fig = figure(name=name, active_drag=None, active_scroll=None, **{**tools, **look, **params})
    return dressed(fig)


def dressed(fig: figure) -> figure:
    """Apply the page's light colours and type to a figure."""
    fig.toolbar.logo = None
    fig.toolbar.autohide = True
    ink = theme.colour("ink")
    fig.background_fill_color = fig.border_fill_color = fig.outline_line_color = None
    for grid in fig.grid:
        grid.grid_line_color = theme.colour("rule")
    for axis in fig.axis:
        if not isinstance(axis.ticker, FixedTicker):
            axis.formatter = CustomJSTickFormatter(code=TICKS if isinstance(axis, LogAxis) else _SHORT)
        axis.minor_tick_line_color = None
        axis.axis_line_color = axis.major_tick_line_color = theme.colour("edge")
        axis.major_label_text_color, axis.axis_label_text_color = theme.colour("muted"), ink
        axis.axis_label_text_font_size, axis.major_label_text_font_size = "14px", "12.5px"
        axis.major_label_text_font = axis.axis_label_text_font = theme.FONT
        axis.axis_label_text_font_style = "normal"
    if fig.title:
        fig.title.update(text_font_size="13px", text_color=ink, text_font=theme.FONT, text_font_style="bold")
    for legend in fig.legend:
        legend.update(label_text_color=ink, label_text_font=theme.FONT, background_fill_color=None, border_line_color=None)
    fig.js_on_event(Tap, CustomJS(code=TAP))
    return fig


def empty(name: str, *columns: str) -> ColumnDataSource:
    """A source of these columns without rows."""
    return ColumnDataSource({column: [] for column in columns}, name=name)


def fill(source: ColumnDataSource, rows: Sequence[Mapping[str, Any]] = ()) -> None:
    """Replace a source's rows; empty it if there are none."""
    source.data = {name: [row[name] for row in rows] for name in source.data}


def mark(fig: figure, at: float, dimension: str = "height", **look: Any) -> Span:
    """A line across a figure at the current value; "height" marks a value of the x axis."""
    look = {"line_color": theme.colour("muted"), "line_width": 1.2, "line_dash": [2, 3], **look}
    span = Span(location=at, dimension=dimension, **look)
    fig.add_layout(span)
    return span


def words(fig: figure, x: str, y: str, text: str, source: ColumnDataSource, **look: Any) -> GlyphRenderer:
    """Words at places of a source, above everything else."""
    look = {"level": "overlay", "text_font": {"value": theme.FONT}, "text_font_size": "12px", **look}
    return fig.text(x, y, text, source=source, **look)


def paint(fig: figure, dark: bool) -> None:
    """Replace all colours of a figure, also in its data, by their partners in a scheme (`theme.partner`)."""
    for model in _drawn(fig):
        if isinstance(model, ColumnDataSource):
            columns = {name: values for name, values in model.data.items() if _are_colours(values)}
            if columns:
                model.data = {**model.data, **{n: [theme.partner(c, dark) for c in values] for n, values in columns.items()}}
        for name in _coloured(type(model)):  # type: ignore[arg-type]
            colour = getattr(model, name)
            if isinstance(colour, str) and (partner := theme.partner(colour, dark)) != colour:
                setattr(model, name, partner)


def _drawn(fig: figure) -> Iterator[Model]:
    """The models of a figure that may have colours, found faster than by following all references."""
    yield fig
    yield from (fig.title,) if fig.title else ()
    for side in (fig.left, fig.right, fig.above, fig.below, fig.center):
        yield from side
    for renderer in fig.renderers:
        glyphs = renderer.glyph, renderer.nonselection_glyph, renderer.muted_glyph, renderer.selection_glyph
        yield from (glyph for glyph in glyphs if isinstance(glyph, Model))
        yield renderer.data_source
    yield from (tool.overlay for tool in fig.tools if isinstance(getattr(tool, "overlay", None), Model))


@cache
def _coloured(kind: type[Model]) -> list[str]:
    """The names of a model's properties that are colours."""
    return [name for name in kind.properties() if name.endswith("color")]


def _are_colours(values: Sequence[Any]) -> bool:
    return len(values) > 0 and isinstance(values[0], str) and values[0].startswith("#")


def fixed_ticks(axis, texts: dict[float, str]) -> None:
    """Set an axis's ticks and their labels.

    It keeps its models from then on, since a notebook that missed a new one could not follow.
    """
    if not isinstance(axis.ticker, FixedTicker):
        axis.update(ticker=FixedTicker(ticks=[]), formatter=CustomJSTickFormatter(code=_TOLD, args={"texts": []}))
    axis.ticker.ticks = [float(x) for x in texts]
    axis.formatter.args = {**axis.formatter.args, "texts": [[float(x), text] for x, text in texts.items()]}
