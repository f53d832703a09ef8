"""Inside the bound: what its proof does at every step, drawn and said; and one step's contraction by orthonormal and by
independent directions, simulated, with the bounds as lines.
"""

from functools import partial
from html import escape
from math import floor, log10
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.models import CustomJSTickFormatter, FixedTicker, GlyphRenderer, LegendItem, Range1d
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.bound import Trajectory
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.shared_sentences import in_whom, why_undrawn
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import KINDS, guarantees, histograms
from zoexplore.directions import moment_factor, tail_factor
from zoexplore.formatting import format_count, format_number, format_short
from zoexplore.views.figures.legend import add_legend
from zoexplore.views.figures.parts import TICKS, SaveButtons, blank, empty, fill, words
from zoexplore.views.figures.picture import Stroke, svg
from zoexplore.views.figures.replay import SHOWN, Replay
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

MOST_POINTS = 300
MOST_DOTS = 40  # steps that are drawn as dots, too
_COLUMNS = ("z", "p", "a", "rho", "beta", "alpha", "pi")  # of a trajectory
MOST_DIRECTIONS = 5000  # of which independent ones are drawn one by one
_KIND_COLOURS = dict(zip(KINDS, ("sharp", "corollary"), strict=True))
# title of the panel: (column, what it is, colour of the bound that it borrows)
PANELS = {
    "distance": ("How far apart the runs may be, z", [("z", "z", "theorem")]),
    "shifts": ("What noise hides, as a length", [("p", "p along them", "composition"), ("a", "a across", "sharp")]),
    "budget": ("What the step costs, ρ", [("rho", "ρ of the step", "corollary")]),
    "shares": (
        "Shares: β of noise, π and α hidden",
        [("beta", "β", "noisy-gd"), ("pi", "π along", "composition"), ("alpha", "α across", "sharp")],
    ),
}


def thinned(path: Trajectory) -> dict[str, np.ndarray]:
    """A trajectory as columns, of long ones the steps evenly spread over the logarithm of how many are left."""
    N = path.rho.size
    left = np.arange(N, 0, -1)
    if N > MOST_POINTS:
        left = np.unique(np.geomspace(1, N, MOST_POINTS).round().astype(int))[::-1]
    nothing = np.full(N, np.nan)
    columns = {name: nothing if (values := getattr(path, name)) is None else values for name in _COLUMNS}
    return {"left": left.astype(float), **{name: values[N - left] for name, values in columns.items()}}


def above(top: float) -> float:
    """The next round number with some room to it, so that an axis does not move with every step of a slider."""
    if not top > 0:
        return 1.0
    tens = 10.0 ** floor(log10(top))
    return next(m * tens for m in (1.1, 1.6, 2.1, 3.1, 4.2, 6.2, 8.2, 11.0) if m * tens >= top)


def describe_trajectory(g: Guarantee) -> str:
    """What happens inside a bound, as somebody would read it aloud."""
    path = g.trajectory
    if not g.valid:
        return f"There is nothing to draw, since the bound does not apply: {g.reason}."
    if path is None:
        return f"The bound applies, with ε = {format_number(g.epsilon)}, but there are no steps to draw: {why_undrawn(g)}."
    total = path.rho.sum()
    last = int(np.searchsorted(np.cumsum(path.rho[::-1]), total / 2) + 1)
    first = (
        f"Two runs that differ in {in_whom(g)} start at the same point, and {_all(path.rho.size)} counted."
        if g.start == 0
        else f"Counting starts {_steps(path.rho.size)} before the end. By then the two runs are at most "
        f"{format_number(g.start)} apart, whatever happened before{_earlier(path.tau)}."
    )
    share = "" if path.rho.size == 1 else f", half of it in the last {_steps(last) if last > 1 else 'step'}"
    end = (
        f"At the end the distance is 0. Altogether that costs ρ = {format_number(total)}{share}: ε = {format_number(g.epsilon)}."
    )
    return " ".join((first, _middle(g, path), end))


def _steps(count: int) -> str:
    return "one step" if count == 1 else f"{format_count(count)} steps"


def _earlier(steps: int) -> str:
    """That so many earlier steps cost nothing."""
    if steps == 0:
        return ""
    return ": the step before costs nothing" if steps == 1 else f": the {format_count(steps)} earlier steps cost nothing"


def _all(steps: int) -> str:
    """All of so many steps, with their verb."""
    return {1: "the one step is", 2: "both steps are"}.get(steps, f"all {format_count(steps)} steps are")


def _middle(g: Guarantee, path: Trajectory) -> str:
    if g.bound == "theorem":
        return (
            "In every counted step the record's data are hidden by the noise along the directions, and a part a of the "
            "distance by the noise in all directions; the step itself shrinks what is left."
        )
    if path.alpha is not None and (path.alpha == 1).all():
        if g.start > 0:
            return "The noise of that step hides all of it at once."
        return "The noise of every step hides at once what the step adds, so the runs never part: this is composition."
    part = "π of what lies along the directions and α of what lies across them, each by the noise that it meets"
    hides = "a growing part of the distance" if path.alpha is None else f"a growing fraction, {part}"
    return (
        "Early on nearly nothing is hidden: the distance may grow, because later steps shrink it for free. Towards the "
        f"end the noise hides {hides}."
    )


class Inside(View):
    """Distance, shifts, cost and shares step by step, for one bound; and what random directions do in a step."""

    bound = param.Selector(default="sharp", objects=list(SHOWN.values()), doc="the bound that is opened")

    def build(self) -> None:
        self.source = empty("inside", "left", *_COLUMNS)
        self.words = widgets.html("", "words")
        self.range, self.ticker = Range1d(10, 1), FixedTicker(ticks=[1, 10])
        self.lines: dict[str, GlyphRenderer] = {}  # by their columns
        self.dots: list[GlyphRenderer] = []
        self.figures = {name: self._figure(name, *spec) for name, spec in PANELS.items()}
        cells = [
            widgets.stack(self.canvas(fig), SaveButtons(partial(self.picture, name), PANELS[name][0], name))
            for name, fig in self.figures.items()
        ]
        self.grid = widgets.column("panels", *cells)
        self.replay = Replay(self.state, self.dark, active=self.active)
        self.factors = Factors(self.state, self.dark, active=self.active)
        fixed = {"sizing_mode": None, "width": 330, "margin": (0, 0, 12, 0)}
        self.choice = widgets.radio("bound to open", SHOWN, of=self.param.bound, **fixed)
        self.param.watch(self.changed, "bound")
        for part in (self.replay, self.factors):
            self.param.watch(lambda event, part=part: part.param.update(active=event.new), "active")
        self.param.watch(lambda event: self.replay.param.update(bound=event.new), "bound")

    def _figure(self, name: str, title: str, drawn: list[tuple[str, str, str]]) -> figure:
        fig = blank(
            f"inside-{name}", "small", height=240, title=title, x_axis_type="log", x_range=self.range, y_range=(0, 1),
            x_axis_label="steps left", bare=True,
        )  # fmt: skip
        fig.xaxis.ticker = self.ticker
        fig.xaxis.formatter = CustomJSTickFormatter(code=f"if (tick < 1000) return String(tick);{TICKS}")
        items = []
        for (column, label, bound), dash in zip(drawn, ([], [6, 3], [2, 3]), strict=False):
            hue = theme.hue(bound)
            line = fig.line("left", column, source=self.source, line_color=hue, line_width=2.4, line_dash=dash)
            self.lines[column] = line
            self.dots.append(fig.scatter("left", column, source=self.source, size=4, color=hue))
            items.append(LegendItem(label=label, renderers=[line], name=column))
        if len(items) > 1:
            add_legend(fig, items)
        return fig

    async def refresh(self) -> None:
        g = (await ask(guarantees, self.state.setting, self.state.accounting))[self.bound]
        with pn.io.hold():
            self.grid.visible = g.trajectory is not None
            self.words.object = f"<p>{escape(describe_trajectory(g))}</p>"
            if g.trajectory is None:
                fill(self.source)
            else:
                self._draw(g.trajectory)
        self.push()

    def _draw(self, path: Trajectory) -> None:
        self.source.data = thinned(path)
        for dots in self.dots:
            dots.visible = path.rho.size <= MOST_DOTS
        for item in self.figures["shares"].legend[0].items:
            item.visible = item.name == "beta" or path.alpha is not None
        most = max(float(path.rho.size), 2.0) * 1.05
        self.range.update(start=most, end=0.95)
        mantissas = (1, 2, 5) if most < 1000 else (1,)
        self.ticker.ticks = [m * 10**k for k in range(16) for m in mantissas if m * 10**k <= most]
        for name, (_, drawn) in PANELS.items():
            self.figures[name].y_range.end = above(max(np.nanmax(self.source.data[column], initial=0) for column, *_ in drawn))

    async def picture(self, name: str) -> str:
        await self.settle()
        bound, key = BOUNDS[self.bound].title, []
        if not self.figures[name].legend:
            ((column, label, _),) = PANELS[name][1]
            key = [(Stroke.of(self.lines[column].glyph), label)]
        return svg(self.figures[name], self.state, key, title=f"{PANELS[name][0]} ({bound})")

    def paint(self, dark: bool) -> None:
        super().paint(dark)
        self.replay.paint(dark)
        self.factors.paint(dark)

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("inside", self.choice, self.replay, self.words, self.grid, self.factors)


def lines(found: dict[str, Guarantee], d: int, K: int, c: float) -> dict[str, float]:
    """The factors that the proofs calculate with, by their names; what does not apply is left out."""
    theorem, shown = found["theorem"], {}
    if theorem.valid and theorem.delta_f > 0:
        shown["theorem"] = tail_factor(d, K, c, theorem.delta_f / theorem.N)
    shown["sharper bound"] = moment_factor(d, K, c, 1)
    return {name: x for name, x in shown.items() if np.isfinite(x)}


class Factors(View):
    """The distribution of the factor by which one step's random directions bring two runs nearer."""

    def build(self) -> None:
        self.source = empty("factors", "left", "right", *_KIND_COLOURS)
        self.bounds = empty("factor-bounds", "x", "y", "label", "dx", "dy", "align")
        self.figure = blank(
            "factor-histogram", "small", bare=True, height=240, title="One step, many draws of the directions",
            y_range=(0, 1), x_range=(0, 1), x_axis_label="distance after the step over distance before",
        )  # fmt: skip
        self.figure.yaxis.visible = False
        items = []
        for kind, hatch in zip(_KIND_COLOURS, (" ", "/"), strict=True):
            hue = theme.hue(_KIND_COLOURS[kind])
            look = {"fill_color": hue, "fill_alpha": 0.45, "line_color": hue, "hatch_color": hue, "hatch_alpha": 0.5}
            bar = self.figure.quad("left", "right", kind, 0, source=self.source, hatch_pattern=hatch, **look)
            items.append(LegendItem(label=kind, renderers=[bar]))
        add_legend(self.figure, items)
        ink = theme.colour("ink")
        self.figure.vspan("x", source=self.bounds, line_color=ink, line_width=2, line_dash=[6, 3])
        beside = {"x_offset": "dx", "y_offset": "dy", "text_align": "align"}
        words(self.figure, "x", "y", "label", self.bounds, text_color=ink, text_font_size="11.5px", **beside)
        self.words = widgets.html("", "words")
        self.pane = self.canvas(self.figure)
        self.saves = SaveButtons(self.picture, "one step's factors", "factors")
        # hidden as one: a pane of Bokeh alone would not come back (Panel 1.9)
        self.drawing = widgets.stack(self.pane, self.saves)
        self._drawn: Any = None

    async def refresh(self) -> None:
        s = self.state.setting
        found = await ask(guarantees, s, self.state.accounting)
        d, K, c = s.d, s.K, float(RunArrays.of(s).c)
        nothing = _undrawn(K, c)
        self.drawing.visible = not nothing
        if nothing:
            self.words.object, self._drawn = f"<p>{nothing}</p>", None
            return
        drawn, ruled = await ask(histograms, d, K, c), lines(found, d, K, c)
        if (d, K, c, ruled) != self._drawn:
            self._drawn = d, K, c, ruled
            self._draw(drawn, ruled)
            self.words.object = f"<p>{describe_factors(drawn, d, K, c)}</p>"
            self.push()

    def _draw(self, drawn: dict[str, np.ndarray], ruled: dict[str, float]) -> None:
        top = max(float(drawn[kind].max()) for kind in _KIND_COLOURS)
        low, high = drawn["left"][0], max(drawn["right"][-1], *ruled.values())
        middle, margin = (low + high) / 2, 0.06 * (high - low)
        self.figure.x_range.update(start=max(low - margin, 0.0), end=high + margin)
        self.figure.y_range.end = 1.5 * top
        self.source.data = drawn
        fill(self.bounds, [
            {"x": x, "y": 1.4 * top, "dx": -5 if x > middle else 5, "align": "right" if x > middle else "left",
             "dy": 14 + 16 * row, "label": f"{name}: {format_number(x)}"}
            for row, (name, x) in enumerate(ruled.items())
        ])  # fmt: skip

    async def picture(self) -> str:
        await self.settle()
        return svg(self.figure, self.state, title=self.figure.title.text)

    def __panel__(self) -> pn.viewable.Viewable:
        title = widgets.short("<h2>Why the directions are orthonormal</h2>", margin=(14, 0, 0, 0))
        return widgets.component("factors", title, self.words, self.drawing)


def _undrawn(K: int, c: float) -> str:
    """Why there is no histogram; empty where there is one."""
    if not np.isfinite(c):
        return "Without a step size and a smoothness M nothing can be said about what a gradient step does to the distance."
    return f"K = {format_count(K)} directions are too many to be drawn one by one here." if K > MOST_DIRECTIONS else ""


def describe_factors(drawn: dict[str, np.ndarray], d: int, K: int, c: float) -> str:
    """What a step does to the distance, with the means of both histograms."""
    centres = (drawn["left"] + drawn["right"]) / 2
    orthonormal, independent = (format_short(float(np.average(centres, weights=drawn[kind]))) for kind in KINDS)
    many = f"K = {format_count(K)} random directions of d = {format_count(d)}"
    if K == 1:
        seen = f"one random direction of d = {format_count(d)}, by {orthonormal} on average"
    elif orthonormal == independent:
        seen = f"{many}, by {orthonormal} on average, whether they are orthonormal or independent"
    else:
        seen = (
            f"{many}, by {orthonormal} on average if they are orthonormal, and by {independent} if independent, since "
            "those overlap, and overshoot where they do"
        )
    return (
        f"A gradient step multiplies the distance by at most c = {format_short(c)}; seen through {seen}. "
        "The dashed lines mark what the proofs use: the root mean square for the sharper bound, and for the theorem a value "
        "that all but a rare step stays below."
    )
