"""The curves: every bound's epsilon against a field, in one figure that is built once and only ever given new data."""

from math import ceil, isnan, log10
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.core.properties import value as fixed
from bokeh.events import Reset
from bokeh.models import CrosshairTool, CustomJSTickFormatter, LogTicker, Range1d, Span
from bokeh.plotting import figure

from zoexplore.axes import AXES, FieldAxis, drawable, frame, label_rows, steady
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
from zoexplore.formatting import format_count, format_number, format_short
from zoexplore.setting import Accounting, Setting
from zoexplore.views.figures import pins
from zoexplore.views.figures.parts import (
    LOG_TICKS,
    FittedRange,
    Legend,
    SaveButtons,
    blank,
    empty,
    entry,
    fixed_ticks,
    hover,
    mark,
    stroke,
    tooltip,
    words,
)
from zoexplore.views.figures.picture import Stroke, svg
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

# What the names stand for, by the field that they are on.
MEANINGS = {
    "T": "T*: from this step on a bound for hidden iterates is below composition at the same β. Composition at "
    "β\u00a0=\u00a01 has all noise along the directions.",
    "K": "Kₘᵢₙ: what the paper asks of K for its closed form; fewer may do. 2K = d: the most that the theorem allows.",
    "d": "2K = d: the fewest parameters with which the theorem allows so many directions.",
}
_APART = 0.045  # of the axis's decades: names at the curves' ends are no nearer to each other
_LABELLED = 3  # lines that the label of what is off the frame takes: on a phone, names reach below it
_LINE = 2  # names that share a place are written so many to a line, which a narrow figure has room for
_SAME = 1e-3  # curves whose ends differ by less share one name
_TENTH = 10  # of a curve, over which its name is written
_LABEL = 0.45  # of the axis's decades: annotations nearer to each other have their labels in rows of their own

Place = tuple[float, float]  # of a figure: x and y

_ANNOTATED = ("x", "y", "dx", "dy", "align", "label")
_MARKS = (*_ANNOTATED, "bound", "epsilon", "marker", "colour", "end_x", "end_y", "name")


def columns(curves: CurveSet, field: str = "T") -> dict[str, np.ndarray]:
    """The figure's data: the field's values and their places, every bound by its id, and composition at beta = 1.

    What is not positive and finite is nan, which a log axis leaves out.
    """
    drawn = {**curves.epsilon, REFERENCE: curves.reference}
    data = {name: drawable(values) for name, values in drawn.items()}
    return {"x": AXES[field].place(curves.values), "value": curves.values, **data}


def _shared(names: list[str]) -> str:
    """The names of curves that coincide, as one."""
    lines = [names[at : at + _LINE] for at in range(0, len(names), _LINE)]
    return "\n= ".join(map(" = ".join, lines))


def _grouped(ends: dict[str, Place], before: dict[str, float]) -> tuple[dict[str, list[str]], dict[str, Place]]:
    """The names of curves that end alike and come alike, by the first of them, and where each is written.

    A curve that meets a higher one at the very end only is named where it comes from.
    """
    at, names = dict(ends), dict[str, list[str]]()
    for bound, (x, value) in ends.items():
        met = [b for b in at if at[b][0] == x and abs(at[b][1] / value - 1) < _SAME]
        same = (b for b in names if b in met and abs(before[b] / before[bound] - 1) < _SAME)
        names.setdefault(next(same, bound), []).append(BOUNDS[bound].title)
        if before[bound] < min(max(before[b] for b in met), value) * (1 - _SAME):
            at[bound] = x, before[bound]
    return names, at


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
        names = {a.label: field for field, a in AXES.items()}
        self.choice = widgets.select("ε against", names, "along", of=self.param.along)
        self.meaning = widgets.html("", "says")
        self.saves = SaveButtons(self.picture, "the curves", "curves")
        self.pins.param.watch(self.changed, ["pins", "compare"])
        self.param.watch(self.changed, "along")
        self.legend.param.watch(self._mute, "muted")
        self.param.watch(self._mute, "annotates")

    @property
    def abscissa(self) -> FieldAxis:
        return AXES[self._over or self.along]

    def _figure(self) -> figure:
        ranges = {"x_range": Range1d(1, 10), "y_range": Range1d(1e-2, 1e4)}
        fig = blank("epsilon-against-T", x_axis_type="log", y_axis_type="log", min_border_top=34, **ranges)
        muted, surface = theme.colour("muted"), theme.colour("surface")
        self.now = mark(fig, 1, line_width=1.6, editable=True)
        self.now.on_change("location", self._dragged)
        fig.vspan("x", source=self.annotations, line_color=muted, line_width=1, line_dash=[1, 4])
        thick_first = sorted(self._styles().items(), key=lambda each: -each[1].width)  # so that none hides another
        self.lines = {name: fig.line("x", name, source=self.source, name=name, **stroke(s)) for name, s in thick_first}
        fig.scatter(
            "x", "y", source=self.marks, size=9, marker="marker", fill_color="colour", line_color=surface, line_width=1.5,
            level="overlay",
        )  # fmt: skip
        beside, over = {"x_offset": "dx", "y_offset": "dy", "text_align": "align"}, {"background_fill_color": surface}
        over["text_font_size"] = "11.5px"
        words(fig, "x", "y", "label", self.marks, text_color="colour", text_baseline="top", text_line_height=1.25, **beside)
        self.names = words(
            fig, "end_x", "end_y", "name", self.marks, x_offset=-4, y_offset=-3, text_color="colour", text_align="right",
            text_baseline="bottom", background_fill_alpha=0.7, **over,
        )  # fmt: skip
        self.annotation_words = words(
            fig, "x", "y", "label", self.annotations, text_color=muted, background_fill_alpha=0.8, **beside, **over
        )
        self.probe = fig.line("x", fixed(fig.y_range.end), source=self.source, line_alpha=0, name="probe")
        self.hover = hover(self.probe, self._caption(), self._rows(), above=True)
        self.cross = Span(dimension="height", line_color=muted, line_width=1, line_alpha=0.6)
        fig.add_tools(self.hover, CrosshairTool(overlay=self.cross, visible=False))
        fig.on_event(Reset, lambda _: self.fit(fresh=True))
        return fig

    def _styles(self) -> dict[str, theme.Style]:
        """Everything drawn, in drawing order: the reference first, our own bound on top."""
        return {REFERENCE: theme.REFERENCE, **{bound: theme.style_of(bound) for bound in BOUNDS}}

    def _rows(self) -> dict[str, tuple[str, theme.Style]]:
        styles = self._styles()
        own = {name: (title, styles[name]) for name, title in self._titles().items()}
        return own | pins.styles(self.pins)

    def _titles(self) -> dict[str, str]:
        return {**{bound: BOUNDS[bound].title for bound in BOUNDS}, REFERENCE: REFERENCE_TITLE}

    def _caption(self) -> str:
        return f"<i>ε</i> at {self.abscissa.symbol} = @{{x}}{{value}}"

    def _marks(self) -> dict[str, list[Any]]:
        """The current value on every curve, nan where there is none; off the frame, on its edge and with the number.

        A row for every bound, always. BokehJS makes the labels of new data a little later than their colours, and where the page
        lays itself out in between, as in a notebook, it would look for the colour of a label whose row is gone.
        """
        found = self._found
        drawn = {bound for bound, g in found.items() if g.valid and g.epsilon > 0} - {*self.legend.muted}
        epsilon = {bound: g.epsilon if bound in drawn else np.nan for bound, g in found.items()}
        low, high = self.up.ends or (0.0, np.inf)
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
            **self._named(_LABELLED * len(above)),
        }

    def _named(self, taken: int = 0) -> dict[str, list[Any]]:
        """A name at the right end of every curve within the frame; curves that come together there share one.

        The uppermost lines of the frame may be `taken`.
        """
        ends, before = self._ends()
        names, at = _grouped(ends, before)
        places = self._spaced(names, at, before, taken)
        none = (np.nan, np.nan)
        return {
            "end_x": [at.get(bound, none)[0] for bound in BOUNDS],
            "end_y": [places.get(bound, np.nan) for bound in BOUNDS],
            "name": [_shared(names.get(bound, [])) for bound in BOUNDS],
        }

    def _ends(self) -> tuple[dict[str, Place], dict[str, float]]:
        """Where every curve ends that ends within the frame, and its value a tenth of the curve before."""
        x, (low, high) = self.source.data["x"], self.up.ends or (0.0, np.inf)
        ends: dict[str, Place] = {}
        before: dict[str, float] = {}
        for bound in (bound for bound in BOUNDS if bound not in self.legend.muted):
            values = np.asarray(self.source.data[bound])
            seen = np.flatnonzero((values >= low) & (values <= high))
            if seen.size and (seen[-1] == values.size - 1 or not np.isfinite(values[seen[-1] + 1])):
                ends[bound] = float(x[seen[-1]]), float(values[seen[-1]])
                before[bound] = float(values[max(seen[-1] - values.size // _TENTH, seen[0])])
        return ends, before

    def _spaced(
        self, names: dict[str, list[str]], ends: dict[str, Place], before: dict[str, float], taken: int
    ) -> dict[str, float]:
        """How high each name stands: from below, each far enough above the last, and below what is `taken` of the frame. One that
        has no room above its curve's end stands half a line below all of the curve that it is as wide as.
        """
        low, high = self.up.ends or (0.0, np.inf)
        least, apart, places = 0.0, (high / low) ** _APART if names else 1.0, dict[str, float]()
        for bound in sorted(names, key=lambda b: ends[b][1]):
            lines = ceil(len(names[bound]) / _LINE)
            highest = high / apart ** (1 + lines + taken)  # above the frame are annotations
            if ends[bound][1] > highest:
                highest = min(highest, before[bound] / apart ** (lines + 0.5))
            places[bound] = max(min(ends[bound][1], highest), least)
            least = places[bound] * apart**lines
        return places

    def _dragged(self, attr: str, old: Any, new: Any) -> None:
        """The line that marks the current value was dragged: that is the value now."""
        if new is None or new == self._now():
            return
        value = self.abscissa.value(float(new))
        if not self.abscissa.linear:
            value = type(value)(float(f"{value:.3g}"))
        if not self.state.ask(**{self.abscissa.field: value}) or self._now() != new:
            self.now.location = None if isnan(self._now()) else self._now()

    def _now(self) -> float:
        value = getattr(self.state.setting, self.abscissa.field)
        return float("nan") if value is None else float(self.abscissa.place(value))

    def _y_label(self) -> str:
        s = self.state.setting
        delta = f"δ = {format_short(s.delta)}"
        steps = f"T = {format_count(s.T)}"
        fixed = {"T": [delta], "delta": [steps]}.get(self.abscissa.field, [delta, steps])
        return f"ε at {', '.join(fixed)}"

    def _turn(self) -> None:
        """Run over another field: a new axis on the same figure."""
        self._over = self.along
        axis, a = self.figure.xaxis[0], self.abscissa
        axis.axis_label = a.label
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
        named = await ask(annotations, setting, accounting, self.along)
        await self.pinned.find(self.along)
        self._found, self._curves = found, curves
        self._draw(named)

    def _draw(self, named: tuple[Annotation, ...]) -> None:
        fresh = self._over != self.along
        with pn.io.hold():
            if fresh:
                self._turn()
            data = columns(self._curves, self.along) | self.pinned.columns(self._curves.values)
            self.pinned.draw(self.along, self.dark)
            if self.names.glyph.x_offset != (beside := -4 - self.pinned.room):
                self.names.glyph.x_offset = beside
            drawn = self.source.data
            if data.keys() != drawn.keys() or data["x"].shape != np.shape(drawn["x"]):
                self.source.data = data
            elif changed := {k: data[k] for k in data if not np.array_equal(data[k], drawn[k], equal_nan=True)}:
                drawn.update(changed)  # a frame on the wire for each column: what is as it was is not sent
            table = tooltip(self._caption(), self._rows())
            if self.hover.tooltips != table:
                self.hover.tooltips = table
            self.now.location = None if isnan(self._now()) else self._now()
            if self.figure.yaxis.axis_label != self._y_label():
                self.figure.yaxis.axis_label = self._y_label()
            self.fit(fresh)
            self.marks.data = self._marks()
            self._annotate(named)
            self.legend.entries = self._entries()
        self.push()

    def _annotate(self, found: tuple[Annotation, ...]) -> None:
        """Name what is worth it along the axis, in rows where labels would meet."""
        self._annotated = found
        start, end = self.abscissa.frame(self.state.setting)
        named = [each for each in found if self.annotates and each.bound not in self.legend.muted]
        places = {each.label: float(self.abscissa.place(each.value)) for each in named}
        shown = {label: x for label, x in places.items() if start <= x <= end}
        row = label_rows(list(shown.values()), _LABEL * log10(end / start))
        y = [self.figure.y_range.end] * len(shown)  # above the frame, where no curve and no name is
        height = 1.3 * float(self.annotation_words.glyph.text_font_size.removesuffix("px"))
        late = [x > (start * end) ** 0.5 for x in shown.values()]  # and so with more room to its left
        data = {
            "x": list(shown.values()),
            "y": y,
            "dx": [-4 if left else 4 for left in late],
            "dy": [-4 - height * r for r in row],
            "align": ["right" if left else "left" for left in late],
            "label": list(shown),
        }
        if data != self.annotations.data:
            self.annotations.data = data
        meaning = f"<p>{MEANINGS.get(self.abscissa.field, '') if shown else ''}</p>"
        if self.meaning.object != meaning:
            self.meaning.object = meaning

    def fit(self, fresh: bool = False) -> None:
        """Show the curves' decades, unless the reader has zoomed or panned."""
        if fresh or self.across.ours:
            self.across.show(self.abscissa.frame(self.state.setting))
        if fresh or self.up.ours:
            self.up.show(steady(self._wanted(), None if fresh else self.up.ends))
            if self.probe.glyph.y != (top := fixed(self.figure.y_range.end)):
                self.probe.glyph.y = top  # the hover stands on it

    def _wanted(self) -> tuple[float, float]:
        own: list[np.ndarray] = []
        others = [self.source.data[REFERENCE]]
        for bound in BOUNDS:
            (own if BOUNDS[bound].of_this_run else others).append(self.source.data[bound])
        own += list(self.pinned.source.data["ys"])
        now = np.array([g.epsilon for bound, g in self._found.items() if BOUNDS[bound].of_this_run and 0 < g.epsilon < np.inf])
        drawn, beside = (np.concatenate(arrays) for arrays in (own, others))
        return frame(drawn[np.isfinite(drawn)], beside[np.isfinite(beside)], now)

    def _entries(self) -> list[dict[str, Any]]:
        """What is drawn, and what is absent and why; the reference last."""
        found, entries = self._found, []
        for bound, style in self._styles().items():
            if bound != REFERENCE:
                absent = not np.isfinite(self._curves.epsilon[bound]).any()
                lacks = next((c.shortfall for c in found[bound].checks if c.shortfall), found[bound].reason)
                why = f"absent: {lacks.partition(';')[0]}" if absent else ""  # of several reasons the first
                entries.append(entry(bound, found[bound].title, style, why, absent))
        return [*entries, entry(REFERENCE, REFERENCE_TITLE, theme.REFERENCE, "every iterate public")]

    def _mute(self, *_: Any) -> None:
        """Draw no curve that the reader has switched off, nor its mark and name. The frame stays as it is."""
        with pn.io.hold():
            for name, line in self.lines.items():
                line.visible = name not in self.legend.muted
            if self._found:
                self.marks.data = self._marks()
                self._annotate(self._annotated)
        self.push()

    async def picture(self) -> str:
        """The figure as SVG, with a legend of what is in the frame."""
        await self.settle()
        titles = self._titles() | {bound: g.title for bound, g in self._found.items()}
        highest = self.figure.y_range.end
        seen = [name for name, line in self.lines.items() if line.visible and (self.source.data[name] <= highest).any()]
        key = [(Stroke.of(self.lines[name].glyph), titles[name]) for name in seen]
        key += pins.key(self.pins)
        return svg(self.figure, self.state, key, without=(self.along,))

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("curves", self.choice, self.legend, self.pane, self.meaning, self.saves)
