"""The finished comparison of methods."""

from html import escape

import panel as pn
import param

from zoexplore.columns import lines, rivals, short_of
from zoexplore.run.formatting import format_short
from zoexplore.training import TASKS, Frontier
from zoexplore.training.comparison import Finished, load
from zoexplore.views.style import widgets
from zoexplore.views.view import View

_COMMAND = "python -m benchmarks.frontier"
_NOTHING = "<p>This version has no finished comparison: train a run of your own.</p>"
PUBLISHED = {
    "mnist": "Published figures are of more records: DP-SGD with a network on all 60 000 images, at δ = 10⁻⁵, reaches 0.95 at "
    "ε = 2 and 0.97 at ε = 8 (Abadi and others 2016). Here are 4 000, and a linear model."
}


class Compared(View):
    """Tuned methods on one task: accuracy against epsilon. No slider changes it."""

    asks = ("task",)

    task = param.Selector(default="", objects=[""], doc="which task of the comparison is shown; empty where there is none")

    def build(self) -> None:
        try:
            self.comparison = load()
        except (OSError, ValueError):  # this version has none
            self.comparison = {}
        titles = {TASKS[name].title: name for name in self.comparison}
        self.param.task.objects = list(titles.values()) or [""]
        self.param.task.default = self.task = next(iter(titles.values()), "")
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
        if not self.comparison:
            self.head.object = _NOTHING
        elif self._drawn != self.task:
            from zoexplore import plots  # imports HoloViews, which takes a second and which no other view needs

            self._drawn = self.task
            self.draw_elements(self.drawing, plots.comparison(self.frontier))
            self.head.object = f"<p>{escape(describe_frontier(self.frontier))}</p>"
            made = escape(how(self.comparison[self.task]))
            self.words.object = widgets.details("How it was measured", f"<p>{made}</p>")

    def __panel__(self) -> pn.viewable.Viewable:
        choice = [self.menu] if self.comparison else []
        return widgets.component("compared", self.head, *choice, self.drawing, self.words)


def describe_frontier(frontier: Frontier) -> str:
    """A sentence on the accuracy of rivals; empty if there are none."""
    if not (best := rivals(frontier)):
        return ""
    (one, high), (other, low) = ((short_of(p.method), p.mean("accuracy")) for p in best[1:])
    public = next((line.y[-1] for line in lines(frontier) if line.method == "non-private"), None)
    ceiling = f"; without privacy it is {public:.3f}" if public is not None else ""
    head = f"At ε = {format_short(best.target)} the best method with gradients, {one}, has an accuracy of {high:.3f}"
    return f"{head}, the best with random directions, {other}, {low:.3f}{ceiling}."


def how(found: Finished) -> str:
    """A text on how a task's results were made."""
    frontier, (least, most) = found.frontier, found.trials
    libraries = [f"{name} {frontier.versions[name]}" for name in ("zoexplore", "torch", "numpy")]
    draws = max(len(p.seeds) for p in frontier.points)
    times = {1: "once", 2: "twice"}.get(draws, f"{draws} times")
    return (
        f"Made {found.date[:10]} by {_COMMAND} in {found.seconds / 60:.0f} minutes of processor time "
        f"({', '.join(libraries)}). Each method was tuned {times} for each ε, on the same grids, with {least} to "
        f"{most} trials each, judged on parts of the training records. ε does not cover the price of tuning. "
        f"Accuracy is the mean of several simulated runs (benchmarks/frontier/law.py); bars are one standard error, the test "
        f"records' included. ε is for one record more or less. Data: {TASKS[frontier.task].licence}. "
        f"{PUBLISHED.get(frontier.task, '')}"
    )
