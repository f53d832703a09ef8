"""The first view: a run with every step published and with only the last, as two curves and two
clouds that move together.
"""

from contextlib import suppress
from functools import lru_cache
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
import panel as pn
import param

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.words import Style
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import CurveSet, guarantees, smallest
from zoexplore.palette import COLOURS, style_of
from zoexplore.run.axes import AXES, T_MOST, nice
from zoexplore.run.formatting import format_count, format_delta, format_number
from zoexplore.views.component import Script
from zoexplore.views.figures.by_bound import missing
from zoexplore.views.figures.chart import (
    Chart,
    dot,
    dragged,
    handle,
    line,
    script,
    span,
)
from zoexplore.views.style import widgets
from zoexplore.views.view import View

CHOICES = {"Publish every step": "every", "Publish only the last model": "last"}
NAMES = {"every": "every step", "last": "only the last"}
STYLES = {"every": style_of("composition"), "last": style_of("sharp")}
CODE = 'plots.curves(setting, "T", bounds=("composition", "sharp"), accounting=accounting)'
YOURS = Style(COLOURS["ink"], (2, 4), 2.4)
PICTURES = 40  # the pictures of the clouds in a run, shown one after another
# the largest drawn distance of the clouds, in widths of the noise; beyond it nothing looks different
FARTHEST = 40.0
_RHO = np.geomspace(1e-12, 1e8, 2000)


@lru_cache(maxsize=64)
def _epsilons(delta: float) -> np.ndarray:
    return np.asarray(epsilon_of(_RHO, delta))


def gaussian_of(epsilon: np.ndarray, delta: float) -> np.ndarray:
    """Return the mu of the Gaussian mechanism that has this epsilon at delta. Mu is the distance of
    two clouds of unit noise.

    >>> gaussian_of(np.array([0.0, 1.0]), 1e-5).round(3)
    array([0.   , 0.268])
    """
    rho = np.exp(np.interp(np.minimum(epsilon, 1e8), _epsilons(delta), np.log(_RHO)))
    return np.where(epsilon > 0, np.sqrt(2 * rho), 0.0)


class Two(NamedTuple):
    """Epsilon along T: with every step published, by composition; and with only the last published,
    by the least of the bounds.
    """

    T: np.ndarray
    every: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, curves: CurveSet) -> "Two":
        own = [values for bound, values in curves.epsilon.items() if BOUNDS[bound].of_this_run]
        return cls(curves.values, curves.epsilon["composition"], np.minimum.reduce(own))

    def at(self, T: np.ndarray) -> "Two":
        """Return the values at steps T, interpolated linearly between the known steps."""
        return Two(T, *(np.interp(T, self.T, values) for values in self[1:]))


class Clouds(Script):
    """Two clouds in a plane, as far apart as epsilon allows after each step. The curves of a chart
    move with them.
    """

    of = param.String("", doc="the chart's name")
    every = param.List(
        [],
        item_type=float,
        doc="how far apart the clouds are with every step published, picture by picture",
    )
    last = param.List([], item_type=float, doc="the same with only the last")
    shown = param.Selector(default="last", objects=list(NAMES), doc="which of the two is shown")
    steps = param.Integer(1, doc="of the run")
    again = param.Integer(0, doc="how often they were played from the first step on")

    kind, sheets = "clouds", ("clouds",)
    _esm = script("plane", "clouds")


class Publish(View):
    """A switch, the two curves against T, and the clouds beside them."""

    asks = ("publish",)

    publish = param.Selector(default="last", objects=list(NAMES), doc="what is published")
    only = param.Selector(
        default="", objects=["", *NAMES], doc="the one curve that is drawn; empty for both"
    )
    draws = param.Boolean(False, doc="whether the reader draws a curve")
    yours = param.List([], doc="steps and epsilon of the curve that the reader has drawn")

    def build(self) -> None:
        self.switch = widgets.radio(
            "what is published", CHOICES, "switch", of=self.param.publish, css_classes=["zx-switch"]
        )
        self.found: dict[str, Guarantee] = {}
        self.ends = (400.0, 12.0)  # where the axes of T and epsilon end
        self.chart = Chart("publish", self.state, dragged(self.state, "T"), CODE)
        self.clouds = Clouds(of=self.chart.of)
        self.param.watch(self._draw, ["publish", "only", "yours", "draws"])
        self.chart.param.watch(self._drew, "drew")

    async def refresh(self) -> None:
        run, T = self.state.run, self.state.T
        self.found = await ask(guarantees, *run)
        # the axis is fitted once no slider is held, unless the run leaves it
        stays = self.state.moving and self.ends[0] / 20 <= T <= self.ends[0]
        self.two = Two.of(await self.curves("T", self.ends[0] if stays else inf))
        self.sketch = self.state.moving
        if not stays:
            self._fit(min(nice(2 * T), max(int(self.two.T[-1]), T_MOST)))
        # draw up to the first known step at or beyond the end, and include the run's own T
        steps = np.union1d(self.two.T[: np.searchsorted(self.two.T, self.ends[0]) + 1], T)
        drawn = self.two.at(steps)._asdict()
        own = {name: np.where(steps == T, e, drawn[name]) for name, e in self.epsilons.items()}
        self.drawn = Two(steps, **own)
        with pn.io.hold():
            self.clouds.visible = smallest(self.found).valid  # no bound, no known distance
            self._clouds(T)
            self._draw()

    @property
    def epsilons(self) -> dict[str, float]:
        """The epsilons of the drawn run: with every step published, and with only the last."""
        return {"every": self.found["composition"].epsilon, "last": smallest(self.found).epsilon}

    def _fit(self, end: float) -> None:
        """End the T axis at `end`, and the epsilon axis at composition's epsilon there; if that is
        infinite or 0, at the epsilon of the last model; if that is, too, at 1.
        """
        there = [float(values[0]) for values in self.two.at(np.array([end]))[1:]]
        top = next((e for e in there if isfinite(e) and e > 0), 1.0)
        step = nice(top / 4)
        self.ends = float(end), float(step * np.ceil(top / step - 0.03))

    def _draw(self, *_: Any) -> None:
        """Draw both curves, the one that is not chosen fainter, and mark the run on each."""
        if not self.found:
            return
        self.clouds.shown, self.switch.disabled = self.publish, bool(self.only)
        at, T = self.epsilons, self.state.T
        kinds = [self.only] if self.only else sorted(NAMES, key=lambda name: name == self.publish)
        lines, dots, told = [], [], []
        for name in kinds:
            mine, number = name == self.publish, format_number(at[name])
            look = {"bold": mine, "alpha": 1.0 if mine else 0.5, "plays": True, "aloud": True}
            drawn = self.drawn.T, getattr(self.drawn, name), STYLES[name], NAMES[name]
            lines.append(line(name, *drawn, note=f"{number} at T", **look))
            if isfinite(at[name]):
                dots.append(dot(name, T, at[name], STYLES[name], size=6.5 if mine else 4.5))
            told.append(f"{number} if {NAMES[name]} is published")
        if self.yours:
            x, y = np.transpose(self.yours)
            lines.append(line("yours", x, y, YOURS, "you", reads=False))
        height = f"ε at δ = {format_delta(self.state.delta)}"
        self.chart.param.update(lines=lines, draws_on=self.draws)
        self.chart.put(
            f"{height}: privacy loss, lower is better",
            f"{height} against training steps: at T = {format_count(T)} {', '.join(told)}",
            span(0, self.ends[0], 4.01, title="T, training steps", symbol="T"),
            span(0, self.ends[1], 4.01),
            handle=handle(AXES["T"], T),
            dots=dots,
            missing=missing(self.found),
        )

    def _drew(self, event: Any) -> None:
        """Keep what the reader has drawn if it is a curve of at least two points."""
        with suppress(TypeError, ValueError):
            drawn = np.array(event.new, float).reshape(-1, 2)
            if self.draws and len(drawn) > 1 and np.isfinite(drawn).all():
                self.yours = np.maximum(drawn, 0.0).tolist()

    def sketch_as(self, place: int) -> None:
        """Draw one of three guesses for the reader: the curve of every step published, one half as
        high, or one that is soon flat.
        """
        T, every, _ = self.drawn
        curve = (every, every / 2, np.minimum(every, np.interp(self.ends[0] / 20, T, every)))[place]
        self.yours = np.column_stack([T, curve])[np.isfinite(curve) & (T <= self.ends[0])].tolist()

    def _clouds(self, T: int) -> None:
        steps = np.linspace(0, T, PICTURES + 1)
        played, share = self.two.at(np.maximum(steps, 1.0)), np.minimum(steps, 1.0)
        for name in NAMES:  # before the first step the clouds coincide
            apart = share * gaussian_of(getattr(played, name), self.state.delta)
            self.clouds.param.update({name: np.minimum(apart, FARTHEST).round(4).tolist()})
        self.clouds.param.update(steps=T, shown=self.publish)

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("publish", widgets.row("stage", self.chart, self.clouds))
