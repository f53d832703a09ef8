"""The finished comparison of methods."""

from operator import methodcaller

import numpy as np
import panel as pn
import param

from zoexplore.bounds.words import Style
from zoexplore.methods import look_of, ranked
from zoexplore.run.formatting import format_delta, format_short
from zoexplore.training import METHODS, TASKS, Frontier
from zoexplore.training.comparison import load
from zoexplore.views.figures.chart import Chart, dot, line, span
from zoexplore.views.html import written
from zoexplore.views.style import widgets
from zoexplore.views.view import View

MEASURED = (
    "Every method was tuned for each ε on the same grids, judged on parts of the training records. ε does not cover that search. "
    "Bars are one standard error, over training runs and test records. ε is of one record added or removed."
)
PUBLISHED = {
    "mnist": "Published figures are of more records: DP-SGD with a network on all 60 000 images, at δ = 10⁻⁵, reaches 0.95 at "
    "ε = 2 and 0.97 at ε = 8 (Abadi and others 2016). Here are 4 000, and a linear model."
}
LEAST = 0.02  # the least range of the accuracy axis, so that negligible differences look small


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
        self.outcome, self.words = (
            widgets.html("", "outcome"),
            widgets.html("", "words", "legend_of_words"),
        )

    async def refresh(self) -> None:
        """Show the chosen task."""
        shown = self.comparison[self.task]
        said = f"Made {shown.date[:10]}. {MEASURED} {PUBLISHED.get(self.task, '')}"
        draw(self.chart, shown.frontier)
        self.outcome.object, behind = outcome(shown.frontier)
        methods = {look_of(name).short: METHODS[name].summary for name in ranked(shown.frontier)}
        self.words.object = behind + written("train", "methods", said, methods)

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("compared", self.menu, self.outcome, self.chart, self.words)


def outcome(frontier: Frontier) -> tuple[str, str]:
    """Return (outcome, behind) as HTML: how the best method without gradients compares with the
    best method with gradients at the middle target epsilon, and the numbers behind this.
    """
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    at = [p for p in frontier.points if p.target == targets[len(targets) // 2]]
    best = {
        METHODS[p.method].every_direction: p
        for p in sorted(at, key=methodcaller("mean", "accuracy"))
    }
    return written("train", "outcome", best), written("train", "behind", best, look_of)


def draw(chart: Chart, frontier: Frontier) -> None:
    """Draw each method at its best as a line with error bars, or as a level, dashed line if the
    method has no epsilon.
    """
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    ends, delta = (targets[0] / 1.2, 1.2 * targets[-1]), format_delta(frontier.delta)
    lines, dots = [], []
    for method, points in ranked(frontier).items():
        look, mean = look_of(method), [p.mean("accuracy") for p in points]
        thin, style = Style(look.colour, (), 1.2), Style(look.colour, (), 2.4)
        if not METHODS[method].noisy:
            level = Style(look.colour, (6, 4), 2.4)
            lines.append(line(method, ends, mean[-1:] * 2, level, look.short))
            continue
        x = [p.epsilon[p.by] for p in points]
        lines.append(line(method, x, mean, style, look.short))
        for e, y, p in zip(x, mean, points, strict=True):
            bar = y + np.nan_to_num(p.error("accuracy")) * np.array([-1, 1])
            lines.append(line(f"{method} {e:g}", [e, e], bar, thin, reads=False))
            dots.append(dot(method, e, y, style))
    heights = np.concatenate([each["y"] for each in lines])
    low, high = heights.min(), heights.max()
    margin = 0.03 * max(high - low, LEAST)
    chart.lines = lines
    chart.put(
        "accuracy on held-out data",
        f"Accuracy on held-out data against ε at δ = {delta}, a line a method",
        span(
            *ends,
            ticks={x: format_short(x) for x in targets},
            log=True,
            title=f"ε at δ = {delta}",
            symbol="ε",
        ),
        span(low - margin, high + margin, 5),
        dots=dots,
    )
