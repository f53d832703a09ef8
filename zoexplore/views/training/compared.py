"""The finished comparison of methods."""

from html import escape

import panel as pn
import param

from zoexplore.columns import lines, rivals, short_of
from zoexplore.run.formatting import format_short
from zoexplore.training import TASKS, Frontier
from zoexplore.training.comparison import load
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
        self.drawing = widgets.stack()
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
            from zoexplore import plots  # imports HoloViews, which takes a second and which no other view needs

            self._drawn = self.task
            self.draw_elements(self.drawing, plots.comparison(self.frontier))
            self.head.object = f"<p>{escape(describe_frontier(self.frontier))}</p>"
            made = self.comparison[self.task].date[:10]
            said = f"Made {made}. {MEASURED} {PUBLISHED.get(self.task, '')}"
            self.words.object = f"<p>{escape(said)}</p>"

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("compared", self.head, self.menu, self.drawing, self.words)


def describe_frontier(frontier: Frontier) -> str:
    """A sentence on the accuracy of rivals; empty if there are none."""
    if not (best := rivals(frontier)):
        return ""
    (one, high), (other, low) = ((short_of(p.method), p.mean("accuracy")) for p in best[1:])
    public = next((line.y[-1] for line in lines(frontier) if line.method == "non-private"), None)
    ceiling = f"; without privacy it is {public:.3f}" if public is not None else ""
    head = f"At ε = {format_short(best.target)} the best method with gradients, {one}, has an accuracy of {high:.3f}"
    return f"{head}, the best with random directions, {other}, {low:.3f}{ceiling}."
