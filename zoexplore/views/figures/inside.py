"""Inside the bound: its proof step by step, in figures and words."""

from html import escape
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.models import CustomJSTickFormatter, FixedTicker, GlyphRenderer, Range1d
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.bound import Trajectory
from zoexplore.bounds.shared_sentences import in_whom, why_undrawn
from zoexplore.columns import EACH, STEP, thinned
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees
from zoexplore.run.axes import nice
from zoexplore.run.formatting import format_count, format_number, format_sentence
from zoexplore.views.figures.names import Names
from zoexplore.views.figures.parts import TICKS, blank, empty, fill
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

SHOWN = {bound.title: bound.id for bound in reversed(BOUNDS.values()) if bound.hides_iterates}
LENGTHS = {"z": ("distance z", "ink", []), "p": ("p hidden along", "accent", [6, 3]), "a": ("a hidden across", "muted", [2, 3])}
COST: dict[str, tuple[str, str, list]] = {"rho": ("ρ", "ink", [])}  # of a column: its name, its colour and dashes


def describe_trajectory(g: Guarantee) -> tuple[str, ...]:
    """A bound's steps in words: of the distance, and of its cost; or only why there is nothing to draw."""
    path = g.trajectory
    if not g.valid:
        return (f"There is nothing to draw, since the bound does not apply. {format_sentence(g.reason)}.",)
    if path is None:
        return (f"The bound applies, with ε = {format_number(g.epsilon)}, but has no steps to draw. {why_undrawn(g)}.",)
    total = path.rho.sum()
    last = int(np.searchsorted(np.cumsum(path.rho[::-1]), total / 2) + 1)
    first = (
        f"Two runs that differ in {in_whom(g)} start at the same point, and {_all(path.rho.size)} counted."
        if g.start == 0
        else f"Counting starts {_steps(path.rho.size)} before the end, at a distance of at most {format_number(g.start)}"
        f"{_earlier(path.tau)}."
    )
    share = "" if path.rho.size == 1 else f", half of it in the last {_steps(last) if last > 1 else 'step'}"
    averaged = "averaged over the random directions, " if g.bound == "sharp" and g.delta_f > 0 else ""
    cost = f"Altogether ρ = {format_number(total)}{share}: {averaged}ε = {format_number(g.epsilon)}."
    return f"{first} {_middle(g, path)}", cost


def _steps(count: int) -> str:
    return "one step" if count == 1 else f"{format_count(count)} steps"


def _earlier(steps: int) -> str:
    """That some earlier steps cost nothing, to end a sentence."""
    if steps == 0:
        return ""
    return "; the step before costs nothing" if steps == 1 else f"; the {format_count(steps)} earlier steps cost nothing"


def _all(steps: int) -> str:
    """ "all N steps", with its verb."""
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
    early = "Early on nearly nothing is hidden, since later steps shrink the distance for free"
    part = " of the distance" if path.alpha is None else ", p of what lies along the directions and a of what lies across them"
    return f"{early}. Towards the end the noise hides a growing part{part}."


class Inside(View):
    """Distance, what is hidden of it, and the cost, step by step, for one bound."""

    bound = param.Selector(default="sharp", objects=list(SHOWN.values()), doc="the bound that is opened")

    def build(self) -> None:
        self.source = empty("inside", "left", *STEP)
        # why nothing is drawn, and what stands below each figure
        self.words, *self.below = (widgets.html("", "words", margin=(6, 0, 0, 0)) for _ in range(3))
        self.range, self.ticker = Range1d(10, 1), FixedTicker(ticks=[1, 10])
        self.dots: list[GlyphRenderer] = []
        self.lengths = self._figure("lengths", "Distance, and what noise hides", LENGTHS)
        self.cost = self._figure("cost", "What each step costs, ρ", COST)
        self.names = Names(self.lengths, len(LENGTHS))
        figures = self.lengths, self.cost
        self.grid = widgets.row("panels", *map(widgets.stack, map(self.canvas, figures), self.below))
        self.choice = widgets.radio("bound to open", SHOWN, of=self.param.bound, max_width=330, margin=(0, 0, 12, 0))
        self.param.watch(self.changed, "bound")

    def _figure(self, name: str, title: str, drawn: dict[str, tuple[str, str, list]]) -> figure:
        span: dict[str, Any] = {"x_axis_type": "log", "x_range": self.range, "y_range": (0, 1), "x_axis_label": "steps left"}
        fig = blank(f"inside-{name}", bare=True, title=title, **span)
        fig.xaxis.ticker, fig.yaxis.ticker.desired_num_ticks = self.ticker, 3
        fig.xaxis.formatter = CustomJSTickFormatter(code=f"if (tick < 1000) return String(tick);{TICKS}")
        for column, (_, hue, dash) in drawn.items():
            look = {"color": theme.colour(hue), "source": self.source}
            fig.line("left", column, line_width=2.4, line_dash=dash, **look)
            self.dots.append(fig.scatter("left", column, size=4, **look))
        return fig

    async def refresh(self) -> None:
        g = (await ask(guarantees, self.state.setting, self.state.accounting))[self.bound]
        path = g.trajectory
        with pn.io.hold():
            self.grid.visible, self.words.visible = path is not None, path is None
            for text, said in zip([self.words] if path is None else self.below, describe_trajectory(g), strict=True):
                text.object = f"<p>{escape(said)}</p>"
            if path is None:
                fill(self.source)
            else:
                self._draw(path)
        self.push()

    def _draw(self, path: Trajectory) -> None:
        data = thinned(path)
        for dots in self.dots:
            dots.visible = path.rho.size <= EACH
        most = max(float(path.rho.size), 2.0) * 1.05
        self.range.update(start=most, end=0.95)
        mantissas = (1, 2, 5) if most < 60 else (1,)
        self.ticker.ticks = [m * 10**k for k in range(16) for m in mantissas if m * 10**k <= most]
        paid = int(np.argmax(data["rho"] >= 1e-9 * data["rho"].max()))  # earlier, the distance may lie above the frame
        for fig, drawn in ((self.lengths, LENGTHS), (self.cost, COST)):
            top = max(np.nanmax(data[column][paid:], initial=0) for column in drawn)
            fig.y_range.end = 1.06 * nice(top / 1.05) if top > 0 else 1.0
        data["z"] = np.where(data["z"] > 1.005 * np.nanmax(data["z"][paid:]), np.nan, data["z"])  # it begins inside the frame
        self.source.data = data
        self._named()

    def _named(self) -> None:
        ends = {
            words: (float(self.source.data[c][-1]), theme.colour(hue, self.dark), False) for c, (words, hue, _) in LENGTHS.items()
        }
        self.names.write({words: end for words, end in ends.items() if end[0] >= 0})

    def repaint(self) -> None:
        super().repaint()
        if len(self.source.data["left"]):
            self._named()

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("inside", self.choice, self.grid, self.words)
