"""One point's course: utility against the number of steps, and under it what stopping there costs by each bound."""

from math import isfinite, nan

import numpy as np
from bokeh.models import Range1d
from bokeh.plotting import figure

from zoexplore.axes import frame
from zoexplore.bounds import BOUNDS
from zoexplore.columns import bar, name_of
from zoexplore.formatting import format_count, format_number
from zoexplore.training import Frontier, Point
from zoexplore.views.figures.parts import blank, empty, fill, stroke
from zoexplore.views.style import theme
from zoexplore.views.training.frontier import at_delta, reach, stopping

TITLES = {"learnt": "Accuracy while training", "cost": "What stopping there costs"}
_MUCH = 0.9  # the share of composition's epsilon below which hiding the steps buys something worth a sentence


class Course:
    """Two figures over the same steps, of one point of a frontier; beside it, faintly, those with as much noise and with none.

    They are in light colours.
    """

    def __init__(self) -> None:
        self.source = empty("course", "T", "utility", *BOUNDS)
        self.bars, self.others = (empty(name, "xs", "ys") for name in ("course-bars", "course-others"))
        self.steps = Range1d(1, 10)
        self.figures = {name: self._figure(name, title) for name, title in TITLES.items()}
        learnt, cost = self.figures.values()
        ink = theme.colour("ink")
        learnt.multi_line("xs", "ys", source=self.others, line_color=theme.colour("edge"), line_width=1.2)
        learnt.multi_line("xs", "ys", source=self.bars, line_color=ink, line_width=1.2)
        learnt.line("T", "utility", source=self.source, line_color=ink, line_width=3, line_join="round")
        self.lines = {
            bound: cost.line("T", bound, source=self.source, name=f"course-{bound}", **stroke(theme.style_of(bound)))
            for bound in BOUNDS
        }
        self.point: Point | None = None

    def _figure(self, name: str, title: str) -> figure:
        y = {"y_axis_type": "log", "y_range": Range1d(0.01, 100)} if name == "cost" else {"y_range": Range1d(0, 1)}
        fig = blank(
            f"course-{name}", "course", height=260, title=title, x_axis_type="log", x_range=self.steps, bare=True, **y,
        )  # fmt: skip
        fig.xaxis.axis_label = "T, steps"
        return fig

    def draw(self, frontier: Frontier | None, bounds: tuple[str, ...], utility: str, point: Point | None) -> None:
        """Show the course of a point; nothing where there is none."""
        self.point = point
        if frontier is None or point is None:
            for source in (self.source, self.bars, self.others):
                fill(source)
            return
        steps = list(point.steps)
        epsilons = {b: [e if isfinite(e) and b in bounds else nan for e in point.epsilons[b]] for b in BOUNDS}
        self.source.data = {"T": steps, "utility": list(point.means(utility)), **epsilons}
        fill(self.bars, [{"xs": [T, T], "ys": bar(point, utility, at)} for at, T in enumerate(steps)])
        rest = [p for p in frontier.points if p is not point and p.sigma in (0, point.sigma)]
        fill(self.others, [{"xs": list(p.steps), "ys": list(p.means(utility))} for p in rest])
        self._axes([point, *rest], utility, np.array([e for values in epsilons.values() for e in values if e > 0]))
        self.figures["cost"].yaxis.axis_label = f"ε at {at_delta(frontier.delta)}"

    def _axes(self, points: list[Point], utility: str, epsilons: np.ndarray) -> None:
        learnt, cost = self.figures.values()
        self.steps.update(start=1, end=max(10, *(p.steps[-1] for p in points)))
        reach(learnt.y_range, [mean for p in points for mean in p.means(utility)])
        low, high = frame(epsilons, np.array([]))
        cost.y_range.update(start=low, end=high)
        learnt.yaxis.axis_label = utility

    def describe(self, bounds: tuple[str, ...], utility: str) -> str:
        """What the two figures show together."""
        point = self.point
        if point is None:
            return ""
        good = stopping(point, utility)
        T, early = point.steps[-1], point.steps[good]
        finite = [b for b in bounds if isfinite(point.epsilons[b][-1])]
        head = f"{name_of(point)}: {utility} is within 0.01 of where it ends from step {format_count(early)} on."
        if not finite:
            return f"{head} No bound that is drawn gives it a finite ε."
        least, cost = _cheapest(point, finite, -1)
        if early == T:
            return f"{name_of(point)}: {utility} is still moving at the end, T = {format_count(T)}, where it costs ε = {cost}."
        _, stopped = _cheapest(point, finite, good)
        said = f"{head} Stopped there it costs ε = {stopped}; run on to T = {format_count(T)} it costs {cost}"
        composed = point.epsilons["composition"][-1]
        if "composition" not in finite or least > _MUCH * composed:
            return f"{said}."
        return (
            f"{said} and {format_number(composed)} by composition. "
            "Stopping at the right step is cheapest of all; hiding the iterates spares you having to know which step that is."
        )


def _cheapest(point: Point, bounds: list[str], step: int) -> tuple[float, str]:
    """The least epsilon of stopping at a recorded step, and the same in words."""
    epsilon, by = min(((point.epsilons[b][step], b) for b in bounds), key=lambda each: each[0])
    return epsilon, f"{format_number(epsilon)} by {BOUNDS[by].in_text}"
