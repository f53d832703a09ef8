"""First sight: a run with every step published and with only the last, as two curves and two clouds that move together."""

from functools import lru_cache
from math import inf, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import panel as pn
import param
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import CurveSet, curve_set, guarantees, smallest
from zoexplore.run.axes import T_MOST, nice
from zoexplore.run.formatting import format_count, format_delta, format_number, format_short
from zoexplore.views.figures.ghost import Ghost
from zoexplore.views.figures.handle import Handle
from zoexplore.views.figures.names import Names
from zoexplore.views.figures.parts import blank, empty, fixed_ticks
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

CHOICES = {"Publish every step": "every", "Publish only the last model": "last"}
NAMES = {"every": "every step", "last": "only the last"}
STYLES = {"every": theme.style_of("composition"), "last": theme.style_of("sharp")}
PICTURES = 40  # of a run, one after another
FARTHEST = 40.0  # distance of the clouds, in widths of the noise, that is drawn: nothing is left to guess
_RHO = np.geomspace(1e-12, 1e8, 2000)


@lru_cache(maxsize=64)
def _epsilons(delta: float) -> np.ndarray:
    return np.asarray(epsilon_of(_RHO, delta))


def gaussian_of(epsilon: np.ndarray, delta: float) -> np.ndarray:
    """mu of the Gaussian mechanism with this epsilon at delta: the greatest distance of two clouds of unit noise.

    >>> gaussian_of(np.array([0.0, 1.0]), 1e-5).round(3)
    array([0.   , 0.268])
    """
    rho = np.exp(np.interp(np.minimum(epsilon, 1e8), _epsilons(delta), np.log(_RHO)))
    return np.where(epsilon > 0, np.sqrt(2 * rho), 0.0)


def script(name: str) -> str:
    """A component's script, after the script that all clouds share."""
    return "\n".join(Path(__file__).with_name(f"{file}.js").read_text(encoding="utf-8") for file in ("plane", name))


class Two(NamedTuple):
    """Epsilon along T with every step published, and with only the last: the least of the bounds that hold."""

    T: np.ndarray
    every: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, curves: CurveSet) -> "Two":
        own = [values for bound, values in curves.epsilon.items() if BOUNDS[bound].of_this_run]
        return cls(curves.values, curves.epsilon["composition"], np.minimum.reduce(own))

    def at(self, T: np.ndarray) -> "Two":
        """The values at steps T, interpolated between the known ones."""
        return Two(T, *(np.interp(T, self.T, values) for values in self[1:]))


class Clouds(pn.custom.JSComponent):
    """Two clouds in a plane, as far apart as epsilon allows, run after run; they move with the figure's curves."""

    every = param.List([], item_type=float, doc="how far apart the clouds are with every step published, picture by picture")
    last = param.List([], item_type=float, doc="the same with only the last")
    shown = param.Selector(default="last", objects=list(NAMES), doc="which of the two is shown")
    steps = param.Integer(1, doc="of the run")

    again = param.Integer(0, doc="how often they were played from the first step on")

    _esm = script("clouds")

    def __init__(self) -> None:
        super().__init__(css_classes=["zx-clouds"], stylesheets=[theme.css("clouds")], **theme.STRETCH)


class Publish(View):
    """A switch, the two curves against T, and the clouds beside them."""

    asks = ("publish",)

    publish = param.Selector(default="last", objects=list(NAMES), doc="what is published")
    only = param.Selector(default="", objects=["", *NAMES], doc="the one curve that is drawn; empty for both")

    def build(self) -> None:
        self.source = empty("two", "T", *NAMES)
        self.played, self.heads = empty("played", "T", *NAMES), empty("heads", "x", "y", "colour", "size")
        self.switch = widgets.radio("what is published", CHOICES, "switch", of=self.param.publish, css_classes=["zx-switch"])
        self.found: dict[str, Guarantee] = {}
        self.figure = self._figure()
        self.names, self.ghost = Names(self.figure, len(NAMES)), Ghost(self.figure, self.state, self.push)
        self.handle = Handle(self.figure, self._dragged, line_width=1.4)
        self.pane = self.canvas(self.figure)
        self.clouds = Clouds()
        self.param.watch(self._switched, ["publish", "only"])

    def _figure(self) -> figure:
        around: dict[str, Any] = {"title": "ε against training steps", "min_border_top": 26, "min_border_bottom": 34}
        fig = blank("two-curves", bare=True, x_range=(0, 400), y_range=(0, 10), **around)
        fig.xgrid.visible = False
        fig.title.update(text_font_style="normal", text_color=theme.colour("muted"), text_font_size="12.5px")
        self.lines, self.faint = {}, {}
        for name, style in STYLES.items():
            look = {"line_color": style.colour[theme.LIGHT], "line_join": "round", "line_cap": "round"}
            self.faint[name] = fig.line("T", name, source=self.source, line_width=0.6 * style.width, line_alpha=0.4, **look)
            self.lines[name] = fig.line("T", name, source=self.played, line_width=1.1 * style.width, name=name, **look)
        surface = theme.colour("surface")
        fig.scatter(
            "x", "y", size="size", source=self.heads, fill_color="colour", line_color=surface, line_width=2, level="overlay"
        )
        for axis in fig.axis:
            fixed_ticks(axis, {})
        fig.yaxis.axis_line_color = fig.yaxis.major_tick_line_color = None
        return fig

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        self.found = await ask(guarantees, *run)
        self.two = Two.of(await ask(curve_set, *run, "T"))
        self.sketch = self.state.moving  # the axis is fitted once no slider is held
        with pn.io.hold():
            self._draw()
        self.push()

    @property
    def epsilons(self) -> dict[str, float]:
        """The epsilons of the drawn run: with every step published, and with the last alone."""
        return {"every": self.found["composition"].epsilon, "last": smallest(self.found).epsilon}

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for the published iterates."""
        return self.found["composition"] if self.publish == "every" else smallest(self.found)

    def _draw(self) -> None:
        T, most = self.state.T, max(int(self.two.T[-1]), T_MOST)
        if not self.state.moving or not self.figure.x_range.end / 20 <= T <= self.figure.x_range.end:
            self._axes(min(nice(2 * T), most))
        end = self.figure.x_range.end
        at = np.unique(np.concatenate([self.two.T[self.two.T < end], [T, end]]))
        drawn = self.two.at(at[at >= 1])
        self.source.data = dict(zip(("T", *NAMES), _finite(drawn), strict=True))
        self.played.data = {name: values[drawn.T <= T] for name, values in self.source.data.items()}
        self.handle.put(float(T), f"T = {format_count(T)}", "T, steps")
        self._clouds(T)
        self._switched()
        self.ghost.follow(self.state, self.publish, self.epsilons[self.publish], *(drawn.T, self.source.data[self.publish]))

    def _axes(self, end: float) -> None:
        """End the axes at twice the steps and at composition's epsilon there, if any epsilon is finite."""
        at_end = self.two.at(np.array([end]))
        top = next((float(e[0]) for e in (at_end.every, at_end.last) if isfinite(e[0]) and e[0] > 0), 1.0)
        step = nice(top / 4)
        most = step * np.ceil(top / step - 0.03)
        self.figure.x_range.update(start=0, end=end)
        self.figure.y_range.update(start=0, end=float(most))
        ticks, across = np.arange(0, most * 1.001, step), np.arange(0, end * 1.001, nice(end / 4.01))
        fixed_ticks(self.figure.yaxis[0], {float(y): format_short(float(y)) for y in ticks})
        fixed_ticks(self.figure.xaxis[0], {float(x): format_count(round(x)) for x in across})
        self.figure.title.text = f"ε at δ = {format_delta(self.state.setting.delta)}: privacy loss, lower is better, rounded up"

    def _clouds(self, T: int) -> None:
        steps = np.maximum(np.arange(PICTURES + 1) / PICTURES * T, 1e-9)
        played = self.two.at(np.maximum(steps, 1.0))
        share = np.minimum(steps, 1.0)  # before the first step they coincide
        delta = self.state.setting.delta
        apart = {name: np.minimum(share * gaussian_of(getattr(played, name), delta), FARTHEST) for name in NAMES}
        self.clouds.param.update(steps=T, shown=self.publish, **{name: mu.round(4).tolist() for name, mu in apart.items()})

    def _switched(self, *_: Any) -> None:
        """Fade one curve, never its name; change the curve of the number, the clouds and the points."""
        self.clouds.shown, self.switch.disabled = self.publish, bool(self.only)
        for name, line in self.lines.items():
            line.glyph.line_alpha = 1.0 if name == self.publish else 0.45
            line.visible = self.faint[name].visible = self.only in ("", name)
        if self.found:
            at = self.epsilons
            seen = [name for name in NAMES if isfinite(at[name]) and self.only in ("", name)]
            names = sorted(NAMES, key=lambda name: name == self.publish)
            self.heads.data = {
                "x": [float(self.state.T)] * 2,
                "y": [at[name] if name in seen else np.nan for name in names],
                "colour": [STYLES[name].hue(self.dark) for name in names],
                "size": [13 if name == self.publish else 9 for name in names],
            }
            self._named()

    def _named(self) -> None:
        """Write the names at the ends of the curves, with the numbers at T."""
        if not self.found:
            return
        ends = {
            f"{NAMES[name]}\n{format_number(self.epsilons[name])} at T": (
                float(values[-1]) if isfinite(values[-1]) else inf, STYLES[name].hue(self.dark), name == self.publish
            )
            for name in ("every", "last") if (values := self.source.data[name]).size and self.only in ("", name)
        }  # fmt: skip
        self.names.write(ends)

    def _dragged(self, place: float, held: bool) -> None:
        T = max(round(float(f"{place:.3g}")), 1)
        (self.state.slide if held else self.state.ask)(T=T)

    def repaint(self) -> None:
        super().repaint()
        self._switched()

    def __panel__(self) -> pn.viewable.Viewable:
        curves = widgets.stack(self.pane, self.handle, css_classes=["zx-curve"])
        return widgets.component("publish", widgets.row("stage", curves, self.clouds))


def _finite(two: Two) -> list[np.ndarray]:
    return [two.T, *(np.where(np.isfinite(values), values, np.nan) for values in two[1:])]
