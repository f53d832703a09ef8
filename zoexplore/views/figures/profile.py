"""The privacy profile: for every bound, which delta goes with which epsilon at the current setting."""

from typing import Any

import numpy as np
import panel as pn

from zoexplore.bounds import BOUNDS
from zoexplore.columns import least_deltas
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import CurveSet, curve_set, guarantees
from zoexplore.run.axes import drawable
from zoexplore.run.formatting import format_number
from zoexplore.views.figures import pins
from zoexplore.views.figures.legend import Legend, entry
from zoexplore.views.figures.parts import FittedRange, blank, empty, hover, mark, stroke, tooltip
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

_SAYS = "<p>Each point of a curve is a guarantee of the same run: the smaller δ, the larger ε. Dotted: the δ that is set.</p>"
_POINTED = "<i>δ</i>, at most, at ε = @{x}{value}"
_HOVERED = 160  # epsilons that can be pointed at
_TOP = 0.1  # of the axis of delta


class Profile(View):
    """delta against epsilon, a line a bound and a line a pin: epsilon is asked of the accountant at every delta drawn."""

    def build(self) -> None:
        self.source = empty("profile", "delta", *BOUNDS)
        self.figure = blank(
            "delta-against-epsilon", x_axis_type="log", y_axis_type="log", x_range=(1e-2, 1e2), y_range=(1e-12, _TOP),
            x_axis_label="ε", y_axis_label="δ",
        )  # fmt: skip
        self.across = FittedRange(self.figure.x_range)
        self.now = mark(self.figure, self.state.setting.delta, "width")
        self.lines = {
            bound: self.figure.line(bound, "delta", source=self.source, name=bound, **stroke(theme.style_of(bound)))
            for bound in BOUNDS
        }
        self.pinned_source = empty("profile-pins", "xs", "ys", "colour")
        pins.lines(self.figure, self.pinned_source)
        self.pointed = empty("profile-hover", "x", "value", "probe", *BOUNDS)
        probe = self.figure.line("value", "probe", source=self.pointed, line_alpha=0)
        self.hover = hover(self.figure, probe, absent="–")
        self.pane = self.canvas(self.figure)
        self.words = widgets.html(_SAYS, "words")
        self.legend = Legend(symbol="")
        self.legend.param.watch(self._mute, "muted")
        self.pins.param.watch(self.changed, ["pins", "compare"])

    def _pointed(self, curves: CurveSet, pinned: list[CurveSet]) -> dict[str, np.ndarray]:
        """What the hover says: along epsilon, every bound's delta, and every pin's."""
        epsilons = np.geomspace(self.figure.x_range.start, self.figure.x_range.end, _HOVERED)
        deltas = {b: least_deltas(epsilons, values, curves.values) for b, values in curves.epsilon.items()}
        of_pins = {
            name: least_deltas(epsilons, pins.least(of_pin, self.pins.compare), of_pin.values)
            for name, of_pin in zip(pins.styles(self.pins), pinned, strict=True)
        }
        return {"x": epsilons, "value": epsilons, "probe": np.full(_HOVERED, _TOP), **deltas, **of_pins}

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        self._found = await ask(guarantees, *run)
        curves = await ask(curve_set, *run, "delta")
        pinned = [await ask(curve_set, pin.setting, pin.accounting, "delta") for pin in self.pins.pins]
        shown = {b: drawable(e) for b, e in curves.epsilon.items()}
        shown_pins = [drawable(pins.least(of_pin, self.pins.compare)) for of_pin in pinned]
        with pn.io.hold():
            self.source.data = {"delta": curves.values, **shown}
            self.now.location = self.state.setting.delta
            ys = [of_pin.values for of_pin in pinned]
            self.pinned_source.data = {"xs": shown_pins, "ys": ys, "colour": pins.colours(self.pins, self.dark)}
            self.across.show_decades(shown, shown_pins)
            self.pointed.data = self._pointed(curves, pinned)
            self.hover.tooltips = tooltip(_POINTED, pins.hover_rows(self.pins))
            self.legend.entries = [
                entry(bound, g.title + self._beyond(shown[bound]), theme.style_of(bound), absent=not g.valid)
                for bound, g in self._found.items()
            ]
        self.push()

    def _beyond(self, epsilon: np.ndarray) -> str:
        """Where a line outside the frame lies."""
        drawn, (start, end) = epsilon[np.isfinite(epsilon)], self.across.ends
        if drawn.size and drawn.min() > end:
            return f", ε from {format_number(drawn.min())}"
        return f", ε up to {format_number(drawn.max())}" if drawn.size and drawn.max() < start else ""

    def _mute(self, *_: Any) -> None:
        """Draw no line that the reader has switched off."""
        with pn.io.hold():
            for bound, line in self.lines.items():
                line.visible = bound not in self.legend.muted
        self.push()

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("profile", self.words, widgets.row("stage", self.pane, self.legend))
