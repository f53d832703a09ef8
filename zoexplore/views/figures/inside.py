"""Inside a bound: what its proof counts at each step, in figures and words."""

from typing import Any

import numpy as np
import panel as pn
import param

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.bound import Trajectory
from zoexplore.bounds.words import Style
from zoexplore.bounds.words.explanations import in_whom, why_undrawn
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees
from zoexplore.palette import COLOURS
from zoexplore.run.axes import nice
from zoexplore.views.figures.chart import Chart, line, span
from zoexplore.views.html import written
from zoexplore.views.style import widgets
from zoexplore.views.view import View

STEP = ("z", "p", "a", "rho")  # columns of a trajectory
MOST = 200  # the most steps that are drawn
SHOWN = {bound.title: bound.id for bound in reversed(BOUNDS.values()) if bound.hides_iterates}
LENGTHS = {
    "z": ("distance", Style(COLOURS["ink"], (), 2.4)),
    "p": ("hidden along", Style(COLOURS["accent"], (6, 3), 2.4)),
    "a": ("hidden across", Style(COLOURS["muted"], (2, 3), 2.4)),
}
COST = {"rho": ("", Style(COLOURS["ink"], (), 2.4))}
# figures by title: the columns of a trajectory that each draws
FIGURES = {
    "Distance of two runs, and what noise hides": LENGTHS,
    "What each step costs, ρ": COST,
}


def thinned(path: Trajectory) -> dict[str, np.ndarray]:
    """Return a trajectory as columns, of at most `MOST` steps spaced evenly in the logarithm of the
    number of steps left.
    """
    N = path.rho.size
    left = np.unique(np.geomspace(1, N, MOST).round().astype(int))[::-1]
    columns = {name: getattr(path, name) for name in STEP}
    nothing = np.full(left.size, np.nan)
    kept = {c: nothing if x is None else x[N - left] for c, x in columns.items()}
    return {"left": left.astype(float), **kept}


def describe_trajectory(g: Guarantee) -> tuple[str, ...]:
    """Describe a bound's steps in three pieces of HTML: where half of the cost falls, the distance
    of the two runs, and the cost. If there is nothing to draw, return one piece that says why.
    """
    if (path := g.trajectory) is None:
        return (written("inside", "undrawn", g, why_undrawn(g) if g.valid else ""),)
    N, total = path.rho.size, path.rho.sum()
    half = int(np.searchsorted(np.cumsum(path.rho[::-1]), total / 2)) + 1
    distance = written("inside", "distance", g, path, in_whom(g), N)
    return written("inside", "half", half, N), distance, written("inside", "cost", g, total)


class Inside(View):
    """One bound step by step: the distance, how much of it is hidden, and the cost."""

    bound = param.Selector(
        default="sharp", objects=list(SHOWN.values()), doc="the bound that is opened"
    )

    def build(self) -> None:
        # the first sentence, or why nothing is drawn; then the text below each figure
        self.words = widgets.html("", "outcome")
        self.below = [widgets.html("", "words", margin=(6, 0, 0, 0)) for _ in FIGURES]
        self.charts = [Chart(f"inside-{name}", self.state) for name in ("lengths", "cost")]
        self.grid = widgets.row("panels", *map(widgets.stack, self.charts, self.below))
        look: dict[str, Any] = {"max_width": 330, "margin": (0, 0, 12, 0)}
        self.choice = widgets.radio("bound to open", SHOWN, of=self.param.bound, **look)
        self.param.watch(self.changed, "bound")

    async def refresh(self) -> None:
        g = (await ask(guarantees, *self.state.run))[self.bound]
        path = g.trajectory
        with pn.io.hold():
            self.grid.visible = path is not None
            for text, said in zip([self.words, *self.below], describe_trajectory(g), strict=False):
                text.object = said
            if path is not None:
                data = thinned(path)
                # begin the axis where the distance has fallen to its maximum over the steps that cost
                paid = int(np.argmax(data["rho"] >= 1e-9 * data["rho"].max()))
                seen = int(np.argmax(data["z"] <= 1.005 * np.nanmax(data["z"][paid:])))
                data = {name: column[seen:] for name, column in data.items()}
                steps, start = int(data["left"][0]), data["z"][0]
                self.below[0].object += written("inside", "cut", steps, start, path.rho.size)
                for chart, (title, columns) in zip(self.charts, FIGURES.items(), strict=True):
                    chart.draws = f'plots.inside(setting, "{self.bound}", accounting)'
                    draw(chart, title, columns, data)

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("inside", self.choice, self.words, self.grid)


def draw(
    chart: Chart,
    title: str,
    columns: dict[str, tuple[str, Style]],
    data: dict[str, np.ndarray],
) -> None:
    """Draw columns of a trajectory against the number of steps left."""
    top, left = max(np.nanmax(data[c], initial=0) for c in columns), data["left"]
    end, most = 1.06 * nice(top / 1.05) if top > 0 else 1.0, max(left[0], 2) * 1.05
    across = span(most, 0.95, log=True, title="steps left until the end", symbol="steps left")
    chart.lines = [line(c, left, data[c], style, name) for c, (name, style) in columns.items()]
    said = f"{title}, against the steps left"
    chart.put(title, said, across, span(0, end, 3.5))
