"""The finished comparison of methods."""

from html import escape

import numpy as np
import panel as pn
import param

from zoexplore.bounds.words import Style
from zoexplore.columns import extent, lines, rivals, short_of
from zoexplore.palette import partner
from zoexplore.run.axes import nice
from zoexplore.run.formatting import format_delta, format_short
from zoexplore.training import TASKS, Frontier
from zoexplore.training.comparison import load
from zoexplore.views.figures.chart import Chart, dot, line, span
from zoexplore.views.style import widgets
from zoexplore.views.view import View

MEASURED = (
    "Every method was tuned for each ε on the same grids, judged on parts of the training records; ε does not cover the price of "
    "tuning. Bars are one standard error, the test records' included. One record is added or removed."
)
PUBLISHED = {
    "mnist": "Published figures are of more records: DP-SGD with a network on all 60 000 images, at δ = 10⁻⁵, reaches 0.95 at "
    "ε = 2 and 0.97 at ε = 8 (Abadi and others 2016). Here are 4 000, and a linear model."
}


class Compared(View):
    """Tuned methods on one task: accuracy against epsilon. No slider changes it."""

    asks = ("task",)

    task = param.Selector(default="", objects=[""], doc="which task of the comparison is shown")

    def build(self) -> None:
        self.comparison = load()
        titles = {TASKS[name].title: name for name in self.comparison}
        self.param.task.objects = list(self.comparison)
        self.param.task.default = self.task = next(iter(self.comparison))
        self.chart = Chart("results")
        self.menu = widgets.select("measured on", titles, "along", "long", of=self.param.task)
        self.head, self.words = (widgets.html("", "words", "plan", "numbers") for _ in range(2))
        self._drawn = ""
        self.param.watch(self.changed, "task")

    @property
    def frontier(self) -> Frontier:
        """The shown frontier."""
        return self.comparison[self.task].frontier

    async def refresh(self) -> None:
        """Show the chosen task, unless it is shown already."""
        if self._drawn != self.task:
            self._drawn = self.task
            draw(self.chart, self.frontier)
            self.head.object = f"<p>{escape(describe_frontier(self.frontier))}</p>"
            made = self.comparison[self.task].date[:10]
            said = f"Made {made}. {MEASURED} {PUBLISHED.get(self.task, '')}"
            self.words.object = f"<p>{escape(said)}</p>"

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("compared", self.head, self.menu, self.chart, self.words)


def draw(chart: Chart, frontier: Frontier) -> None:
    """Draw each method at its best: a line with error bars, level and dashed for one without an epsilon."""
    drawn, targets = lines(frontier), sorted({p.target for p in frontier.points if p.target is not None})
    least, most = min(targets) / 1.2, 1.2 * max(targets)
    parts, dots = [], []
    for method in drawn:
        look = Style((method.colour, partner(method.colour, True)), () if method.x else (6, 4), 2.4)
        reach, y = (method.x, method.y) if method.x else ([least, most], [method.y[-1]] * 2)
        parts.append(line(method.method, reach, y, look, short_of(method.method)))
        bars = zip(method.x, method.bars, strict=True) if method.x else ()
        thin = Style(look.colour, (), 1.2)
        parts += [line(f"{method.method} {x:g}", [x, x], ends, thin, reads=False) for x, ends in bars]
        dots += [dot(method.method, x, y, look) for x, y in zip(method.x, method.y if method.x else (), strict=True)]
    ends = [end for method in drawn for bar in (*method.bars, [method.y[-1]]) for end in bar]
    low, high = min(ends) - 0.03 * extent(ends), max(ends) + 0.03 * extent(ends)
    step = nice((high - low) / 5)
    up = {y: format_short(y) for y in np.arange(np.ceil(low / step), high / step) * step}
    chart.lines = parts
    delta = format_delta(frontier.delta)
    chart.put(
        "accuracy on held-out data", f"Accuracy on held-out data against ε at δ = {delta}, a line a method",
        span(least, most, {x: format_short(x) for x in targets}, log=True, title=f"ε at δ = {delta}", symbol="ε"),
        span(low, high, up), dots=dots,
    )  # fmt: skip


def describe_frontier(frontier: Frontier) -> str:
    """A sentence on the accuracy of rivals; empty if there are none."""
    if not (best := rivals(frontier)):
        return ""
    (one, high), (other, low) = ((short_of(p.method), p.mean("accuracy")) for p in best[1:])
    public = next((line.y[-1] for line in lines(frontier) if line.method == "non-private"), None)
    ceiling = f"; without privacy it is {public:.3f}" if public is not None else ""
    head = f"At ε = {format_short(best.target)} the best method with gradients, {one}, has an accuracy of {high:.3f}"
    return f"{head}, the best with random directions, {other}, {low:.3f}{ceiling}."
