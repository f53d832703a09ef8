"""All bounds: epsilon of each against a field, in one figure that is built once and then only gets new data."""

from math import inf, nan
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.core.properties import value as fixed
from bokeh.events import Reset
from bokeh.models import CrosshairTool, Span
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import (
    REFERENCE,
    REFERENCE_TITLE,
    CurveSet,
    curve_set,
    guarantees,
    public_epsilon,
    sketched,
    smallest,
)
from zoexplore.run.axes import AXES, drawable
from zoexplore.run.formatting import format_count, format_delta, format_number
from zoexplore.run.setting import Accounting, Setting
from zoexplore.views.figures import pins
from zoexplore.views.figures.abscissa import Abscissa
from zoexplore.views.figures.ghost import Ghost
from zoexplore.views.figures.legend import UNASKED, Legend, entry
from zoexplore.views.figures.names import Names
from zoexplore.views.figures.parts import FittedRange, blank, empty, hover, stroke, tooltip
from zoexplore.views.pins import MOST_PINS
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

STYLES = {REFERENCE: theme.REFERENCE, **{bound: theme.style_of(bound) for bound in BOUNDS}}


def columns(curves: CurveSet, field: str = "T") -> dict[str, np.ndarray]:
    """The figure's data: the field's values and their places, every bound by its id, and composition at beta = 1.

    Values that are not positive and finite are nan, which a log axis leaves out.
    """
    drawn = {name: drawable(epsilon) for name, epsilon in (*curves.epsilon.items(), (REFERENCE, curves.reference))}
    return {"x": AXES[field].place(curves.values), "value": curves.values, **drawn}


class Curves(View):
    """Epsilon against a field for every bound and every pin, with the current value marked, and the table of their numbers."""

    along = param.Selector(default="T", objects=list(AXES), doc="the field that the curves run over")

    def build(self) -> None:
        self.source = empty("curves", "x", "value", *BOUNDS, REFERENCE)
        self.found: dict[str, Guarantee] = {}  # of the drawn run
        self.public, self._fitted = inf, 0  # the replaced run that the axes were last fitted to
        self.marks = empty("marks", "bound", "x", "y", "marker", "colour")
        self.figure = self._figure()
        self.abscissa, self.up = Abscissa(self.figure, self.state), FittedRange(self.figure.y_range)
        self.handle = self.abscissa.handle
        self.pinned = pins.PinnedCurves(self.figure, self.pins)
        self.names, self.ghost = Names(self.figure, len(STYLES) + MOST_PINS, log=True), Ghost(self.figure, self.state, self.push)
        self.pane = self.canvas(self.figure)
        self.legend = Legend(muted=list(UNASKED))
        self.choice = widgets.select("ε against", {a.caption: field for field, a in AXES.items()}, "along", of=self.param.along)
        self.pins.param.watch(self.changed, ["pins", "compare"])
        self.param.watch(self.changed, "along")
        self.legend.param.watch(self._mute, "muted")
        self.legend.param.watch(self._of_pin, "asked")

    def _figure(self) -> figure:
        span: dict[str, Any] = {"x_axis_type": "log", "y_axis_type": "log", "x_range": (1, 10), "y_range": (1e-2, 1e4)}
        fig = blank("epsilon-against-T", min_border_top=12, min_border_bottom=34, **span)
        muted, surface = theme.colour("muted"), theme.colour("surface")
        thick_first = sorted(STYLES.items(), key=lambda each: -each[1].width)  # so that none hides another
        self.lines = {
            name: fig.line("x", name, source=self.source, name=name, visible=name not in UNASKED, **stroke(s))
            for name, s in thick_first
        }
        look = {"marker": "marker", "fill_color": "colour", "line_color": surface, "line_width": 1.5, "level": "overlay"}
        fig.scatter("x", "y", source=self.marks, size=9, **look)
        self.probe = fig.line("x", fixed(fig.y_range.end), source=self.source, line_alpha=0, name="probe")
        self.hover = hover(fig, self.probe)
        self.cross = Span(dimension="height", line_color=muted, line_width=1, line_alpha=0.6)
        fig.add_tools(CrosshairTool(overlay=self.cross, visible=False))
        fig.on_event(Reset, lambda _: self.fit(fresh=True))
        return fig

    def _marks(self) -> dict[str, list[Any]]:
        """The current value on every curve, a row each: nan if there is none, on the frame's edge if outside."""
        drawn = {bound for bound, g in self.found.items() if g.valid and g.epsilon > 0} - {*self.legend.muted}
        epsilon = {bound: g.epsilon if bound in drawn else nan for bound, g in self.found.items()}
        low, high = self.up.ends
        return {
            "bound": list(self.found),
            "x": [self.abscissa.now()] * len(self.found),
            "y": np.clip(list(epsilon.values()), low, high).tolist(),
            "marker": ["triangle" if value > high else "circle" for value in epsilon.values()],
            "colour": [theme.style_of(bound).hue(self.dark) for bound in self.found],
        }

    def _y_label(self) -> str:
        s = self.state.setting
        held = {"delta": f"δ = {format_delta(s.delta)}", "T": f"T = {format_count(s.T)}"}
        return f"ε at {', '.join(text for field, text in held.items() if field != self.abscissa.over)}"

    async def refresh(self) -> None:
        """Redraw after a change, with one replacement of each source's data.

        On batches a sketch comes first; the exact curves, nowhere higher, follow when no slider is held.
        """
        setting, accounting = self.state.setting, self.state.accounting
        counted = sketched(setting, accounting, self.along)
        await self._drawn(setting, counted)
        self.sketch = counted != accounting
        if self.sketch and not self.state.moving:
            sketch, self.waiting = self._curves, False
            exact = await ask(curve_set, setting, accounting, self.along)
            await self._drawn(setting, accounting, exact.minimum(sketch))
            self.sketch = False

    async def _drawn(self, setting: Setting, accounting: Accounting, curves: CurveSet | None = None) -> None:
        """Draw a run's curves under an accounting, with marks, names and legend."""
        found = await ask(guarantees, setting, accounting)
        curves = curves or await ask(curve_set, setting, accounting, self.along)
        self.public = await ask(public_epsilon, setting, accounting)
        await self.pinned.find(self.along)
        self.found, self._curves = found, curves
        with pn.io.hold():
            self._draw()
        self.push()

    def _draw(self) -> None:
        fresh = self.abscissa.run_along(self.along) or self._fitted != self.state.replaced
        self._fitted, axis = self.state.replaced, self.abscissa.axis
        self._draw_lines()
        self.pinned.draw(self.along, self.dark)
        titles = {bound: BOUNDS[bound].title for bound in BOUNDS} | {REFERENCE: REFERENCE_TITLE}
        rows = {name: (title, STYLES[name]) for name, title in titles.items()}
        self.hover.tooltips = tooltip(f"<i>ε</i> at {axis.symbol} = @{{x}}{{value}}", rows)
        self.abscissa.mark()
        self.figure.yaxis.axis_label = self._y_label()
        self.figure.tags = [f"{self._y_label()} against {axis.title}"]  # for screen readers: a handle covers the x axis's label
        self.fit(fresh)
        self.marks.data = self._marks()
        self._named()
        self.legend.param.update(title=f"At T = {format_count(self.state.setting.T)}", entries=self._entries())
        best = smallest(self.found)
        self.ghost.follow(
            self.state, f"{best.bound} {self.along}", best.epsilon, self.source.data["x"], self.source.data[best.bound]
        )

    def _draw_lines(self) -> None:
        """Send only the columns that changed, a message each."""
        data, drawn = columns(self._curves, self.along), self.source.data
        if data.keys() != drawn.keys() or data["x"].shape != np.shape(drawn["x"]):
            self.source.data = data
        elif changed := {k: data[k] for k in data if not np.array_equal(data[k], drawn[k], equal_nan=True)}:
            drawn.update(changed)

    def _named(self) -> None:
        """Write the curves' names beside their ends, in the margin."""
        if not self.found:
            return
        best, ends = smallest(self.found).bound, {}
        titles = {bound: g.title for bound, g in self.found.items()} | {REFERENCE: REFERENCE_TITLE}
        for name, title in titles.items():
            values = self._curves.epsilon.get(name, self._curves.reference)
            seen = np.flatnonzero(np.isfinite(values))
            if name not in self.legend.muted and seen.size:
                ends[title] = float(values[seen[-1]]), STYLES[name].hue(self.dark), name == best
        self.names.write(ends | self.pinned.ends(self.dark))

    def fit(self, fresh: bool = False) -> None:
        """Show the curves' decades, unless the reader has zoomed or panned."""
        self.abscissa.fit(fresh)
        drawn = {name: self.source.data[name] for name in self.lines if name not in self.legend.muted}
        now = [g.epsilon for bound, g in self.found.items() if bound in drawn and BOUNDS[bound].of_this_run]
        now = [epsilon for epsilon in now if 0 < epsilon < inf]
        self.up.show_decades(drawn, self.pinned.source.data["ys"], now, fresh)
        self.probe.glyph.y = fixed(self.up.ends[1])  # the hover sits on it

    def _entries(self) -> list[dict[str, Any]]:
        """The curves drawn, those absent with the reason, the comparison, then the pins."""
        best, entries = smallest(self.found), []
        for bound, g in self.found.items():
            lacks = next((c.shortfall for c in g.checks if c.shortfall), g.reason)
            why = lacks.partition(";")[0] if not g.valid else "least that applies" if g is best else ""
            why = ", ".join(filter(None, [why, "below the log axis" if g.epsilon == 0 else ""]))
            group = "" if BOUNDS[bound].of_this_run else "For comparison, other mechanisms"
            more = {"best": g is best, "says": BOUNDS[bound].summary}
            entries.append(entry(bound, g.title, STYLES[bound], format_number(g.epsilon), why, not g.valid, group, **more))
        entries.sort(key=lambda each: each["group"])
        reference = entry(REFERENCE, REFERENCE_TITLE, theme.REFERENCE, format_number(self.public), "every step published")
        return [*entries, reference | {"group": "For comparison, other mechanisms"}, *self.pinned.entries()]

    def _mute(self, *_: Any) -> None:
        """Draw no curve that the reader has switched off, nor its mark and name."""
        with pn.io.hold():
            for name, line in self.lines.items():
                line.visible = name not in self.legend.muted
            if self.found:
                self.fit()
                self.marks.data = self._marks()
                self._named()
        self.push()

    def _of_pin(self, event: Any) -> None:
        """Use a pin's run, or unpin it."""
        verb, place, _ = event.new
        if place < len(self.pins.pins):
            pin = self.pins.pins[place]
            self.state.replace(pin.setting, pin.accounting) if verb == "use" else self.pins.remove(place)

    def repaint(self) -> None:
        super().repaint()
        self._named()

    def __panel__(self) -> pn.viewable.Viewable:
        drawn = widgets.stack(self.choice, self.pane, self.handle, css_classes=["zx-curve"])
        return widgets.component("curves", widgets.row("stage", drawn, self.legend))
