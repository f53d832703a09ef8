"""The curves: every bound's epsilon against T, in one figure that is built once and only ever given new data."""

from html import escape
from math import log10
from typing import Any

import numpy as np
import panel as pn
from bokeh.events import Reset
from bokeh.models import ColumnDataSource, CustomJSHover, CustomJSTickFormatter, HoverTool, Range1d, Span
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS
from zoexplore.views import theme
from zoexplore.views.frame import frame, steady
from zoexplore.views.state import State
from zoexplore.views.trace import REFERENCE, T_MOST, T_VALUES, guarantees, trace
from zoexplore.views.words import digits, power

REFERENCE_TITLE = "Composition at β = 1"
_TICKS = """
const e = Math.round(Math.log10(tick));
if (Math.abs(tick / 10 ** e - 1) > 1e-6) return "";
if (e >= -3 && e < 4) return String(Number((10 ** e).toPrecision(3)));
const up = "⁰¹²³⁴⁵⁶⁷⁸⁹";
return "10" + [...String(e)].map(c => c == "-" ? "⁻" : up[Number(c)]).join("");
"""
# The name of a column comes as the format: Bokeh would print a missing value as NaN before any formatter sees it.
_DIGITS = """
if (format == "T") return value.toLocaleString("en").replaceAll(",", "\u202f");
const epsilon = source.data[format][special_vars.index];
if (!isFinite(epsilon)) return "∞";
value = epsilon;
const e = Math.floor(Math.log10(value));
if (e >= -4 && e < 5) return e >= 3 ? Math.round(value / 10 ** (e - 2)) * 10 ** (e - 2) + "" : value.toPrecision(3);
const up = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const [mantissa, exponent] = value.toExponential(2).split("e");
const sup = [...String(Number(exponent))].map(c => c == "-" ? "⁻" : up[Number(c)]).join("");
return mantissa + " × 10" + sup;
"""


def columns(state: State) -> dict[str, np.ndarray]:
    """The figure's data: T, every bound by its id, composition at beta = 1, and where the hover looks for a point.

    What is not positive and finite is nan, which a log axis leaves out.
    """
    traced = trace(state.setting, state.accounting)
    drawn = {**traced.epsilon, REFERENCE: traced.reference}
    data = {name: np.where(np.isfinite(values) & (values > 0), values, np.nan) for name, values in drawn.items()}
    low = np.nanmin(np.vstack([np.full(T_VALUES.shape, np.inf), *data.values()]), axis=0)
    return {"T": T_VALUES, **data, "probe": np.where(np.isfinite(low), low, 1.0)}


class Curves(pn.viewable.Viewer):
    """Epsilon against T for every bound, with the current T marked. `dark` switches the figure's colours."""

    def __init__(self, state: State | None = None, dark: bool = False, **params: Any) -> None:
        super().__init__(**params)
        self.state = state or State()
        self.source = ColumnDataSource(columns(self.state), name="curves")
        self._dark = dark
        self._fitted: tuple[float, float] | None = None  # the frame we chose, and not the reader
        self.marks = ColumnDataSource(self._marks(), name="marks")
        self.figure = self._figure()
        self.pane = pn.pane.Bokeh(self.figure, **theme.STRETCH)
        self.legend = pn.pane.HTML(
            self._legend(), css_classes=["zx-legend"], stylesheets=[theme.css("legend")], **theme.STRETCH
        )
        self._fit()
        self.paint(dark)
        self.state.param.watch(self._update, ["setting", "accounting"])

    def _figure(self) -> figure:
        fig = figure(
            x_axis_type="log",
            y_axis_type="log",
            x_range=Range1d(1, T_MOST),
            y_range=Range1d(1e-2, 1e4),
            height=500,
            sizing_mode="stretch_width",
            tools="pan,wheel_zoom,box_zoom,reset,save",
            active_drag=None,  # a finger on the figure scrolls the page
            active_scroll=None,
            toolbar_location="above",
            name="epsilon-against-T",
            stylesheets=[theme.css("figure")],
            min_border_right=18,
        )
        fig.toolbar.logo = None
        fig.toolbar.autohide = True
        fig.xaxis.axis_label = "T, steps"
        fig.yaxis.axis_label = self._y_label()
        for axis in (fig.xaxis, fig.yaxis):
            axis.formatter = CustomJSTickFormatter(code=_TICKS)
            axis.minor_tick_line_color = None
        self.now = Span(location=self.state.T, dimension="height", line_width=1.2, line_dash=[2, 3])
        fig.add_layout(self.now)
        self.lines = {}
        for name, style in self._styles().items():
            look = {"line_width": style.width, "line_dash": list(style.dash), "line_join": "round"}
            self.lines[name] = fig.line("T", name, source=self.source, name=name, **look)
        self.points = fig.scatter(
            "T", "y", source=self.marks, size=9, marker="marker", fill_color="colour", line_width=1.5, level="overlay"
        )
        fig.text(
            "T", "y", "label", source=self.marks, x_offset="dx", y_offset="dy", text_color="colour", level="overlay",
            text_align="align", text_baseline="top",
            text_font={"value": theme.FONT}, text_font_size="12px", text_line_height=1.25,
        )
        probe = fig.line("T", "probe", source=self.source, line_alpha=0, name="probe")
        fig.add_tools(self._hover(probe))
        fig.on_event(Reset, lambda _: self._fit(fresh=True))
        return fig

    def _styles(self) -> dict[str, theme.Style]:
        """Everything drawn, in drawing order: the reference first, our own bound on top."""
        order = {bound: place for place, bound in enumerate(BOUNDS)}
        return {REFERENCE: theme.REFERENCE, **{bound: theme.style_of(bound, order[bound]) for bound in BOUNDS}}

    def _hover(self, probe: Any) -> HoverTool:
        titles = {**{bound: BOUNDS[bound].title for bound in BOUNDS}, REFERENCE: REFERENCE_TITLE}
        styles = self._styles()
        rows = "".join(
            f"<tr><td>{theme.swatch(styles[name], 26)}</td><td>{escape(title)}</td><td>@{{T}}{{{name}}}</td></tr>"
            for name, title in titles.items()
        )
        caption = "<caption><i>ε</i> after @{T}{T} steps</caption>"
        return HoverTool(
            renderers=[probe],
            mode="vline",
            tooltips=f"<div><style>{theme.css('tooltip')}</style><table>{caption}{rows}</table></div>",
            formatters={"@{T}": CustomJSHover(args={"source": self.source}, code=_DIGITS)},
            point_policy="follow_mouse",
            attachment="horizontal",
            visible=False,
        )

    def _marks(self) -> dict[str, list[Any]]:
        """The current T on every curve; where that is off the frame, on its edge and with the number."""
        found = guarantees(self.state.setting, self.state.accounting)
        shown = {bound: g for bound, g in found.items() if g.valid and g.epsilon > 0}
        low, high = self._fitted or (0.0, np.inf)
        above = [bound for bound, g in shown.items() if g.epsilon > high]
        left = self.state.setting.T <= 3000  # is there more room to the right of the mark
        return {
            "bound": list(shown),
            "T": [self.state.setting.T] * len(shown),
            "epsilon": [g.epsilon for g in shown.values()],
            "y": [min(max(g.epsilon, low), high) for g in shown.values()],
            "marker": ["triangle" if g.epsilon > high else "circle" for g in shown.values()],
            "label": [f"{g.title}\nε = {digits(g.epsilon)}" if bound in above else "" for bound, g in shown.items()],
            "dx": [12 if left else -12] * len(shown),
            "dy": [36 * above.index(bound) + 2 if bound in above else 0 for bound in shown],
            "align": ["left" if left else "right"] * len(shown),
            "colour": [self._colour(bound) for bound in shown],
        }

    def _colour(self, bound: str) -> str:
        return theme.style_of(bound, list(BOUNDS).index(bound)).colour[theme.DARK if self._dark else theme.LIGHT]

    def _y_label(self) -> str:
        delta = self.state.setting.delta
        exponent = round(log10(delta))
        exact = abs(delta / 10.0**exponent - 1) < 1e-9
        return f"ε at δ = {power(exponent) if exact else format(delta, '.3g')}"

    def _update(self, *events: Any) -> None:
        """After a change: one replacement of each source's data, and nothing else that is not different."""
        data = columns(self.state)
        with pn.io.hold():
            if any(not np.array_equal(data[k], self.source.data[k], equal_nan=True) for k in data):
                self.source.data = data
            self.now.location = self.state.setting.T
            if self.figure.yaxis.axis_label != self._y_label():
                self.figure.yaxis.axis_label = self._y_label()
            self._fit()
            self.marks.data = self._marks()
            self.legend.object = self._legend()
        pn.io.push_notebook(self.pane)

    def _fit(self, fresh: bool = False) -> None:
        """Show the curves' decades, unless the reader has zoomed or panned."""
        y = self.figure.y_range
        if not fresh and self._fitted not in (None, (y.start, y.end)):
            return
        self._fitted = steady(self._wanted(), None if fresh else self._fitted)
        if (y.start, y.end) != self._fitted:
            y.start, y.end = self._fitted

    def _wanted(self) -> tuple[float, float]:
        own, others = [], [self.source.data[REFERENCE]]
        for bound in BOUNDS:
            (own if theme.style_of(bound).of_this_run else others).append(self.source.data[bound])
        return frame(*(values[np.isfinite(values)] for values in map(np.concatenate, (own, others))))

    def _legend(self) -> str:
        """What is drawn, and what is absent and why."""
        found = guarantees(self.state.setting, self.state.accounting)
        traced = trace(self.state.setting, self.state.accounting)
        items = []
        for bound, style in self._styles().items():
            if bound == REFERENCE:
                continue
            absent = not np.isfinite(traced.epsilon[bound]).any()
            reason = escape(found[bound].reason.partition(";")[0]) if absent else ""
            note = f' <span class="why" title="{reason}">absent: {reason}</span>' if absent else ""
            title = f"<span>{escape(found[bound].title)}{note}</span>"
            items.append(f'<li class="{"absent" if absent else ""}">{theme.swatch(style)}{title}</li>')
        items.append(f"<li>{theme.swatch(theme.REFERENCE)}<span>{REFERENCE_TITLE}, every iterate public</span></li>")
        return f"<ul>{''.join(items)}</ul>"

    def paint(self, dark: bool) -> None:
        """Give the canvas the colours of a scheme."""
        self._dark = dark
        fig, ink, muted, rule = self.figure, *(theme.colour(name, dark) for name in ("ink", "muted", "rule"))
        fig.background_fill_color = fig.border_fill_color = None
        fig.outline_line_color = None
        for grid in fig.grid:
            grid.grid_line_color = rule
        for axis in fig.axis:
            axis.axis_line_color = axis.major_tick_line_color = theme.colour("edge", dark)
            axis.major_label_text_color, axis.axis_label_text_color = muted, ink
            axis.major_label_text_font = axis.axis_label_text_font = theme.FONT
            axis.axis_label_text_font_style = "normal"
            axis.axis_label_text_font_size, axis.major_label_text_font_size = "14px", "12.5px"
        for name, style in self._styles().items():
            self.lines[name].glyph.line_color = style.colour[theme.DARK if dark else theme.LIGHT]
        self.now.line_color = muted
        self.points.glyph.line_color = theme.colour("surface", dark)
        self.marks.data = self._marks()

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(
            self.legend,
            self.pane,
            css_classes=["zx-curves"],
            stylesheets=[theme.root("curves")],
            **theme.STRETCH,
        )
