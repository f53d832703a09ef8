"""The curves: every bound's epsilon against a field, in one figure that is built once and only ever given new data."""

from math import isnan, log10, nan
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.core.properties import value as fixed
from bokeh.events import Reset
from bokeh.models import CrosshairTool, CustomJSTickFormatter, LogTicker, Span
from bokeh.plotting import figure

from zoexplore.axes import AXES, FieldAxis, drawable, label_rows
from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import (
    REFERENCE,
    REFERENCE_TITLE,
    Annotation,
    CurveSet,
    annotations,
    curve_set,
    guarantees,
    sketched,
)
from zoexplore.formatting import format_count, format_delta, format_number
from zoexplore.setting import Accounting, Setting
from zoexplore.views.figures import names, pins
from zoexplore.views.figures.legend import Legend, entry
from zoexplore.views.figures.parts import (
    LOG_TICKS,
    FittedRange,
    blank,
    empty,
    fixed_ticks,
    hover,
    mark,
    stroke,
    tooltip,
    words,
)
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

# What the names stand for, by the field that they are on.
MEANINGS = {
    "T": "T*: from this step on a bound for hidden iterates is below composition at the same β. Composition at "
    "β\u00a0=\u00a01 has all noise along the directions.",
    "K": "Kₘᵢₙ: what the paper asks of K for its closed form; fewer may do. 2K = d: the most that the theorem allows.",
    "d": "2K = d: the fewest parameters with which the theorem allows so many directions.",
}
_LABEL = 0.45  # of the axis's decades: annotations nearer to each other have their labels in rows of their own

_ANNOTATED = ("x", "y", "dx", "dy", "align", "label")
_MARKS = (*_ANNOTATED, "bound", "epsilon", "marker", "colour", "end_x", "end_y", "name")


def columns(curves: CurveSet, field: str = "T") -> dict[str, np.ndarray]:
    """The figure's data: the field's values and their places, every bound by its id, and composition at beta = 1.

    What is not positive and finite is nan, which a log axis leaves out.
    """
    drawn = {name: drawable(epsilon) for name, epsilon in (*curves.epsilon.items(), (REFERENCE, curves.reference))}
    return {"x": AXES[field].place(curves.values), "value": curves.values, **drawn}


class Curves(View):
    """Epsilon against a field for every bound and every pin, with the current value marked."""

    along = param.Selector(default="T", objects=list(AXES), doc="the field that the curves run over")
    annotates = param.Boolean(True, doc="whether what is worth it along the axis is named")

    def build(self) -> None:
        self._over: str | None = None  # the field that is drawn; the one chosen may still be computed
        self.source = empty("curves", "x", "value", *BOUNDS, REFERENCE)
        self._found: dict[str, Guarantee] = {}  # of the run that is drawn
        self._annotated: tuple[Annotation, ...] = ()

        self.marks, self.annotations = empty("marks", *_MARKS), empty("annotations", *_ANNOTATED)
        self.figure = self._figure()
        self.across, self.up = FittedRange(self.figure.x_range), FittedRange(self.figure.y_range)
        self.pinned = pins.PinnedCurves(self.figure, self.pins)
        self.pane = self.canvas(self.figure)
        self.legend = Legend()
        self.choice = widgets.select("ε against", {a.title: field for field, a in AXES.items()}, "along", of=self.param.along)
        self.meaning = widgets.html("", "says")
        self.pins.param.watch(self.changed, ["pins", "compare"])
        self.param.watch(self.changed, "along")
        self.legend.param.watch(self._mute, "muted")
        self.param.watch(self._mute, "annotates")

    @property
    def abscissa(self) -> FieldAxis:
        return AXES[self._over or self.along]

    def _figure(self) -> figure:
        fig = blank(
            "epsilon-against-T", x_axis_type="log", y_axis_type="log", x_range=(1, 10), y_range=(1e-2, 1e4), min_border_top=34,
        )  # fmt: skip
        muted, surface = theme.colour("muted"), theme.colour("surface")
        self.now = mark(fig, 1, line_width=1.6, editable=True)
        self.now.on_change("location", self._dragged)
        fig.vspan("x", source=self.annotations, line_color=muted, line_width=1, line_dash=[1, 4])
        styles = {REFERENCE: theme.REFERENCE, **{bound: theme.style_of(bound) for bound in BOUNDS}}
        thick_first = sorted(styles.items(), key=lambda each: -each[1].width)  # so that none hides another
        self.lines = {name: fig.line("x", name, source=self.source, name=name, **stroke(s)) for name, s in thick_first}
        fig.scatter(
            "x", "y", source=self.marks, size=9, marker="marker", fill_color="colour", line_color=surface, line_width=1.5,
            level="overlay",
        )  # fmt: skip
        beside = {"x_offset": "dx", "y_offset": "dy", "text_align": "align"}
        over = {"background_fill_color": surface, "text_font_size": "11.5px"}
        words(fig, "x", "y", "label", self.marks, text_color="colour", text_baseline="top", text_line_height=1.25, **beside)
        self.names = words(
            fig, "end_x", "end_y", "name", self.marks, x_offset=-4, y_offset=-3, text_color="colour", text_align="right",
            text_baseline="bottom", background_fill_alpha=0.7, **over,
        )  # fmt: skip
        self.annotation_words = words(
            fig, "x", "y", "label", self.annotations, text_color=muted, background_fill_alpha=0.8, **beside, **over
        )
        self.probe = fig.line("x", fixed(fig.y_range.end), source=self.source, line_alpha=0, name="probe")
        self.hover = hover(fig, self.probe, above=True)
        self.cross = Span(dimension="height", line_color=muted, line_width=1, line_alpha=0.6)
        fig.add_tools(CrosshairTool(overlay=self.cross, visible=False))
        fig.on_event(Reset, lambda _: self.fit(fresh=True))
        return fig

    def _marks(self) -> dict[str, list[Any]]:
        """The current value on every curve, nan where there is none; off the frame, on its edge and with the number.

        A row for every bound, always. BokehJS makes the labels of new data a little later than their colours, and where the page
        lays itself out in between, as in a notebook, it would look for the colour of a label whose row is gone.
        """
        found = self._found
        drawn = {bound for bound, g in found.items() if g.valid and g.epsilon > 0} - {*self.legend.muted}
        epsilon = {bound: g.epsilon if bound in drawn else np.nan for bound, g in found.items()}
        low, high = self.up.ends
        above = [bound for bound, value in epsilon.items() if value > high]
        start, end = self.abscissa.frame(self.state.setting)
        left = self._now() <= (start * end) ** 0.5 * 3  # is there more room to the right of the mark
        return {
            "bound": list(found),
            "x": [self._now()] * len(found),
            "epsilon": list(epsilon.values()),
            "y": np.clip(list(epsilon.values()), low, high).tolist(),
            "marker": ["triangle" if bound in above else "circle" for bound in found],
            "label": [f"{g.title}\nε = {format_number(g.epsilon)}" if bound in above else "" for bound, g in found.items()],
            "dx": [12 if left else -12] * len(found),
            "dy": [36 * above.index(bound) + 2 if bound in above else 0 for bound in found],
            "align": ["left" if left else "right"] * len(found),
            "colour": [theme.style_of(bound).hue(self.dark) for bound in found],
            **names.columns(self.source.data, self.up.ends, self.legend.muted, taken=names.LABELLED * len(above)),
        }

    def _dragged(self, attr: str, old: Any, new: Any) -> None:
        """The line that marks the current value was dragged: that is the value now."""
        if new is None or new == self._now():
            return
        value = self.abscissa.value(float(new))
        if not self.abscissa.linear:
            value = type(value)(float(f"{value:.3g}"))
        self.state.ask(**{self.abscissa.name: value})
        self._mark_now()

    def _now(self) -> float:
        value = getattr(self.state.setting, self.abscissa.name)
        return nan if value is None else float(self.abscissa.place(value))

    def _mark_now(self) -> None:
        """Put the line where the current value is; nowhere if there is none."""
        self.now.location = None if isnan(self._now()) else self._now()

    def _y_label(self) -> str:
        s = self.state.setting
        held = {"delta": f"δ = {format_delta(s.delta)}", "T": f"T = {format_count(s.T)}"}
        return f"ε at {', '.join(text for field, text in held.items() if field != self.abscissa.name)}"

    def _turn(self) -> None:
        """Run over another field: a new axis on the same figure."""
        self._over = self.along
        axis, a = self.figure.xaxis[0], self.abscissa
        axis.axis_label = a.title
        if a.linear:
            fixed_ticks(axis, a.ticks())
        else:
            axis.ticker, axis.formatter = LogTicker(), CustomJSTickFormatter(code=LOG_TICKS)

    async def refresh(self) -> None:
        """After a change: one replacement of each source's data, and nothing else that is not different.

        On batches curves are sketched first; the exact ones, nowhere higher, follow when no slider is held.
        """
        setting, accounting = self.state.setting, self.state.accounting
        counted = sketched(setting, accounting, self.along)
        self.sketch = counted != accounting
        await self._drawn(setting, counted)
        if self.sketch and not self.state.moving:
            sketch, self.refining, self.waiting = self._curves, True, False
            exact = await ask(curve_set, setting, accounting, self.along)
            await self._drawn(setting, accounting, exact.minimum(sketch))
            self.sketch = self.refining = False

    async def _drawn(self, setting: Setting, accounting: Accounting, curves: CurveSet | None = None) -> None:
        """Draw a run's curves, accounted so, and what belongs to them."""
        found = await ask(guarantees, setting, accounting)
        curves = curves or await ask(curve_set, setting, accounting, self.along)
        annotated = await ask(annotations, setting, accounting, self.along)
        await self.pinned.find(self.along)
        self._found, self._curves, self._annotated = found, curves, annotated
        with pn.io.hold():
            self._draw()
        self.push()

    def _draw(self) -> None:
        if fresh := self._over != self.along:
            self._turn()
        self._draw_lines()
        self.pinned.draw(self.along, self.dark)
        self.names.glyph.x_offset = -4 - self.pinned.room
        rows = pins.hover_rows(self.pins, **{REFERENCE: (REFERENCE_TITLE, theme.REFERENCE)})
        self.hover.tooltips = tooltip(f"<i>ε</i> at {self.abscissa.symbol} = @{{x}}{{value}}", rows)
        self._mark_now()
        self.figure.yaxis.axis_label = self._y_label()
        self.fit(fresh)
        self.marks.data = self._marks()
        self._annotate()
        self.legend.entries = self._entries()

    def _draw_lines(self) -> None:
        """A frame on the wire for each column: what is as it was is not sent."""
        data, drawn = columns(self._curves, self.along) | self.pinned.columns(self._curves.values), self.source.data
        if data.keys() != drawn.keys() or data["x"].shape != np.shape(drawn["x"]):
            self.source.data = data
        elif changed := {k: data[k] for k in data if not np.array_equal(data[k], drawn[k], equal_nan=True)}:
            drawn.update(changed)

    def _annotate(self) -> None:
        """Name what is worth it along the axis, in rows where labels would meet."""
        start, end = self.abscissa.frame(self.state.setting)
        named = [each for each in self._annotated if self.annotates and each.bound not in self.legend.muted]
        places = {each.label: float(self.abscissa.place(each.value)) for each in named}
        shown = {label: x for label, x in places.items() if start <= x <= end}
        height = 1.3 * float(self.annotation_words.glyph.text_font_size.removesuffix("px"))
        rows = []
        for (label, x), row in zip(shown.items(), label_rows(list(shown.values()), _LABEL * log10(end / start)), strict=True):
            late = x > (start * end) ** 0.5  # and so with more room to its left
            beside = {"dx": -4 if late else 4, "dy": -4 - height * row, "align": "right" if late else "left"}
            rows.append({"x": x, "y": self.figure.y_range.end, "label": label, **beside})  # above the frame, where no curve is
        data = {name: [row[name] for row in rows] for name in _ANNOTATED}
        if data != self.annotations.data:  # Bokeh would send it all the same
            self.annotations.data = data
        self.meaning.object = f"<p>{MEANINGS.get(self.abscissa.name, '') if shown else ''}</p>"

    def fit(self, fresh: bool = False) -> None:
        """Show the curves' decades, unless the reader has zoomed or panned."""
        self.across.show(self.abscissa.frame(self.state.setting), fresh)
        drawn = {name: self.source.data[name] for name in self.lines}
        now = [g.epsilon for bound, g in self._found.items() if BOUNDS[bound].of_this_run and 0 < g.epsilon < np.inf]
        self.up.show_decades(drawn, self.pinned.source.data["ys"], now, fresh)
        self.probe.glyph.y = fixed(self.up.ends[1])  # the hover stands on it

    def _entries(self) -> list[dict[str, Any]]:
        """What is drawn, and what is absent and why; the reference last."""
        entries = []
        for bound, g in self._found.items():
            absent = not np.isfinite(self._curves.epsilon[bound]).any()
            lacks = next((c.shortfall for c in g.checks if c.shortfall), g.reason)
            why = f"absent: {lacks.partition(';')[0]}" if absent else ""  # of several reasons the first
            entries.append(entry(bound, g.title, theme.style_of(bound), why, absent))
        return [*entries, entry(REFERENCE, REFERENCE_TITLE, theme.REFERENCE, "every iterate public")]

    def _mute(self, *_: Any) -> None:
        """Draw no curve that the reader has switched off, nor its mark and name. The frame stays as it is."""
        with pn.io.hold():
            for name, line in self.lines.items():
                line.visible = name not in self.legend.muted
            if self._found:
                self.marks.data = self._marks()
                self._annotate()
        self.push()

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("curves", self.choice, self.legend, self.pane, self.meaning)
