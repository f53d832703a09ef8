"""The curves: every bound's epsilon against a field, in one figure that is built once and only ever given new data."""

from html import escape
from math import log10
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.events import Reset
from bokeh.models import (
    ColumnDataSource,
    CustomJSHover,
    CustomJSTickFormatter,
    FixedTicker,
    HoverTool,
    LogTicker,
    Range1d,
    Span,
)  # fmt: skip
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS
from zoexplore.views import theme
from zoexplore.views.abscissa import ABSCISSAE, Abscissa
from zoexplore.views.canvas import DIGITS, blank, decades, dress
from zoexplore.views.frame import frame, steady
from zoexplore.views.guides import guides, rows
from zoexplore.views.state import State
from zoexplore.views.tab import Tab
from zoexplore.views.trace import REFERENCE, guarantees, trace
from zoexplore.views.words import digits, power, whole

REFERENCE_TITLE = "Composition at β = 1"
_LABEL = 0.14  # of the axis's decades: guides nearer to each other have their labels in rows of their own
_INTERVAL = "return texts.find(([x]) => Math.abs(tick / x - 1) < 1e-9)?.[1] ?? ''"


def columns(state: State, field: str = "T") -> dict[str, np.ndarray]:
    """The figure's data: the field's values and their places, every bound by its id, composition at beta = 1, and where
    the hover looks for a point.

    What is not positive and finite is nan, which a log axis leaves out.
    """
    traced = trace(state.setting, state.accounting, field)
    drawn = {**traced.epsilon, REFERENCE: traced.reference}
    data = {name: np.where(np.isfinite(values) & (values > 0), values, np.nan) for name, values in drawn.items()}
    low = np.nanmin(np.vstack([np.full(traced.values.shape, np.inf), *data.values()]), axis=0)
    places = ABSCISSAE[field].place(traced.values)
    return {"x": places, "value": traced.values, **data, "probe": np.where(np.isfinite(low), low, 1.0)}


class Curves(Tab):
    """Epsilon against a field for every bound, with the current value marked."""

    along = param.Selector(default="T", objects=list(ABSCISSAE), doc="the field that the curves run over")

    def __init__(self, state: State | None = None, dark: bool = False, **params: Any) -> None:
        super().__init__(state, dark, **params)
        self.source = ColumnDataSource(columns(self.state, self.along), name="curves")
        self._fitted: tuple[float, float] | None = None  # the frame we chose, and not the reader
        self._fitted_x: tuple[float, float] | None = None
        self.marks = ColumnDataSource(self._marks(), name="marks")
        self.guides = ColumnDataSource({"x": [], "y": [], "dx": [], "dy": [], "align": [], "label": []}, name="guides")
        self.figure = self._figure()
        self.pane = pn.pane.Bokeh(self.figure, **theme.STRETCH)
        self.legend = pn.pane.HTML(
            self._legend(), css_classes=["zx-legend"], stylesheets=[theme.css("legend")], **theme.STRETCH
        )
        self.choice = pn.widgets.Select.from_param(
            self.param.along,
            options={a.label: field for field, a in ABSCISSAE.items()},
            label="ε against",
            css_classes=["zx-select"],
            stylesheets=[theme.css("select", "along")],
            **theme.STRETCH,
        )
        self.choice.description = None
        self._turn()
        self.paint(dark)
        self.param.watch(self._turn, "along")
        self.follow()

    @property
    def abscissa(self) -> Abscissa:
        """What the curves run over."""
        return ABSCISSAE[self.along]

    def _figure(self) -> figure:
        ranges = {"x_range": Range1d(1, 10), "y_range": Range1d(1e-2, 1e4)}
        fig = blank("epsilon-against-T", x_axis_type="log", y_axis_type="log", **ranges)
        decades(fig.yaxis)
        self.now = Span(location=1, dimension="height", line_width=1.2, line_dash=[2, 3])
        fig.add_layout(self.now)
        self.guide_lines = fig.vspan("x", source=self.guides, line_width=1, line_dash=[1, 4])
        self.lines = {}
        for name, style in self._styles().items():
            look = {"line_width": style.width, "line_dash": list(style.dash), "line_join": "round"}
            self.lines[name] = fig.line("x", name, source=self.source, name=name, **look)
        self.points = fig.scatter(
            "x", "y", source=self.marks, size=9, marker="marker", fill_color="colour", line_width=1.5, level="overlay"
        )
        words = {"level": "overlay", "text_font": {"value": theme.FONT}}
        fig.text(
            "x", "y", "label", source=self.marks, x_offset="dx", y_offset="dy", text_color="colour", text_align="align",
            text_baseline="top", text_font_size="12px", text_line_height=1.25, **words,
        )
        self.guide_words = fig.text(
            "x", "y", "label", source=self.guides, x_offset="dx", y_offset="dy", text_align="align",
            text_font_size="11.5px", **words,
        )
        probe = fig.line("x", "probe", source=self.source, line_alpha=0, name="probe")
        self.hover = self._hover(probe)
        fig.add_tools(self.hover)
        fig.on_event(Reset, lambda _: self._fit(fresh=True))
        return fig

    def _styles(self) -> dict[str, theme.Style]:
        """Everything drawn, in drawing order: the reference first, our own bound on top."""
        order = {bound: place for place, bound in enumerate(BOUNDS)}
        return {REFERENCE: theme.REFERENCE, **{bound: theme.style_of(bound, order[bound]) for bound in BOUNDS}}

    def _hover(self, probe: Any) -> HoverTool:
        return HoverTool(
            renderers=[probe],
            mode="vline",
            tooltips=self._tooltip(),
            formatters={"@{x}": CustomJSHover(args={"source": self.source}, code=DIGITS)},
            point_policy="follow_mouse",
            attachment="horizontal",
            visible=False,
        )

    def _tooltip(self) -> str:
        titles = {**{bound: BOUNDS[bound].title for bound in BOUNDS}, REFERENCE: REFERENCE_TITLE}
        styles = self._styles()
        rows = "".join(
            f"<tr><td>{theme.swatch(styles[name], 26)}</td><td>{escape(title)}</td><td>@{{x}}{{{name}}}</td></tr>"
            for name, title in titles.items()
        )
        at = f"{self.abscissa.symbol} = @{{x}}{{value}}"
        caption = f"<caption><i>ε</i> at {at}</caption>"
        return f"<div><style>{theme.css('tooltip')}</style><table>{caption}{rows}</table></div>"

    def _marks(self) -> dict[str, list[Any]]:
        """The current value on every curve; where that is off the frame, on its edge and with the number."""
        found = guarantees(self.state.setting, self.state.accounting)
        shown = {bound: g for bound, g in found.items() if g.valid and g.epsilon > 0}
        low, high = self._fitted or (0.0, np.inf)
        above = [bound for bound, g in shown.items() if g.epsilon > high]
        start, end = self.abscissa.frame(self.state.setting)
        left = self._now() <= (start * end) ** 0.5 * 3  # is there more room to the right of the mark
        return {
            "bound": list(shown),
            "x": [self._now()] * len(shown),
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
        return theme.style_of(bound, list(BOUNDS).index(bound)).colour[theme.DARK if self.dark else theme.LIGHT]

    def _now(self) -> float:
        """The place of the current value."""
        return float(self.abscissa.place(getattr(self.state.setting, self.along)))

    def _y_label(self) -> str:
        s = self.state.setting
        exponent = round(log10(s.delta))
        exact = abs(s.delta / 10.0**exponent - 1) < 1e-9
        delta = f"δ = {power(exponent) if exact else format(s.delta, '.3g')}"
        fixed = {"T": [delta], "delta": [f"T = {whole(s.T)}"]}.get(self.along, [delta, f"T = {whole(s.T)}"])
        return f"ε at {', '.join(fixed)}"

    def _turn(self, *_: Any) -> None:
        """Run over another field: a new axis on the same figure."""
        axis, a = self.figure.xaxis[0], self.abscissa
        with pn.io.hold():
            axis.axis_label = a.label
            if a.linear:
                axis.ticker = FixedTicker(ticks=list(a.ticks()))
                axis.formatter = CustomJSTickFormatter(args={"texts": list(a.ticks().items())}, code=_INTERVAL)
            else:
                axis.ticker = LogTicker()
                decades(axis)
            self.hover.tooltips = self._tooltip()
            self._fitted_x = None
            self.refresh(fresh=True)

    def refresh(self, fresh: bool = False) -> None:
        """After a change: one replacement of each source's data, and nothing else that is not different."""
        data = columns(self.state, self.along)
        with pn.io.hold():
            shapes_differ = any(data[k].shape != self.source.data[k].shape for k in data)
            if shapes_differ or any(not np.array_equal(data[k], self.source.data[k], equal_nan=True) for k in data):
                self.source.data = data
            self.now.location = self._now()
            if self.figure.yaxis.axis_label != self._y_label():
                self.figure.yaxis.axis_label = self._y_label()
            self._fit(fresh)
            self.marks.data = self._marks()
            self._guide()
            self.legend.object = self._legend()
        pn.io.push_notebook(self.pane)

    def _guide(self) -> None:
        """Name what is worth it along the axis, in rows where labels would meet."""
        start, end = self.abscissa.frame(self.state.setting)
        found = guides(self.state.setting, self.state.accounting, self.along)
        shown = {label: float(self.abscissa.place(value)) for label, value in found.items()}
        shown = {label: x for label, x in shown.items() if start <= x <= end}
        row = rows(list(shown.values()), _LABEL * log10(end / start))
        y = [self.figure.y_range.start] * len(shown)
        late = [x > (start * end) ** 0.5 for x in shown.values()]  # and so with more room to its left
        data = {
            "x": list(shown.values()),
            "y": y,
            "dx": [-4 if left else 4 for left in late],
            "dy": [-5 - 15 * r for r in row],
            "align": ["right" if left else "left" for left in late],
            "label": list(shown),
        }
        if data != self.guides.data:
            self.guides.data = data

    def _fit(self, fresh: bool = False) -> None:
        """Show the curves' decades, unless the reader has zoomed or panned."""
        x, y, ends = self.figure.x_range, self.figure.y_range, self.abscissa.frame(self.state.setting)
        if fresh or self._fitted_x in (None, (x.start, x.end)):
            self._fitted_x = ends
            if (x.start, x.end) != ends:
                x.start, x.end = ends
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
        traced = trace(self.state.setting, self.state.accounting, self.along)
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
        super().paint(dark)
        dress(self.figure, dark)
        for name, style in self._styles().items():
            self.lines[name].glyph.line_color = style.colour[theme.DARK if dark else theme.LIGHT]
        muted = theme.colour("muted", dark)
        self.now.line_color = self.guide_lines.glyph.line_color = self.guide_words.glyph.text_color = muted
        self.points.glyph.line_color = theme.colour("surface", dark)
        self.marks.data = self._marks()

    def __panel__(self) -> pn.viewable.Viewable:
        return pn.Column(
            self.choice,
            self.legend,
            self.pane,
            css_classes=["zx-curves"],
            stylesheets=[theme.root("curves")],
            **theme.STRETCH,
        )
