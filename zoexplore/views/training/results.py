"""What has been trained already: the finished comparison of methods, and what hiding the iterates buys one run."""

from functools import cache, partial
from html import escape
from pathlib import Path
from typing import Any

import panel as pn
import param

from zoexplore import training
from zoexplore.training import TASKS, Frontier, load
from zoexplore.training.finished import Comparison
from zoexplore.views.style import widgets
from zoexplore.views.training.comparison import describe_costs, describe_frontier, table
from zoexplore.views.training.jobs import finished
from zoexplore.views.view import View

_AGAINST = {"ε": "epsilon", "memory of a step, at one ε": "memory", "forward passes, at one ε": "passes"}
_COMMAND = "python -m zoexplore.training.comparison"
_NOTHING = "<p>This version has no finished comparison: train a run of your own.</p>"
PRICE = Path(training.__file__).with_name("price.json")
_PRICE = """Accuracy on held-out records against ε: the run that the page begins with, trained at several noise scales
(python -m tools.price), means over three seeds. """
ACCOUNTS = {False: ("composition",), True: ("composition", "sharp")}


class Compared(View):
    """Methods at their best, one task at a time: accuracy against epsilon or a cost. It follows no slider."""

    asks = ("task", "against")

    task = param.Selector(default="", objects=[""], doc="which task of the comparison is shown; empty where there is none")
    against = param.Selector(default="epsilon", objects=list(_AGAINST.values()), doc="what accuracy is drawn against")

    def build(self) -> None:
        self.comparison = finished()
        titles = {TASKS[name].title: name for name in self.comparison.frontiers} if self.comparison else {}
        self.param.task.objects = list(titles.values()) or [""]
        self.param.task.default = self.task = next(iter(titles.values()), "")
        self.drawing = widgets.stack()
        self.menu = widgets.select("measured on", titles, "along", "long", of=self.param.task)
        self.axis = widgets.select("accuracy against", _AGAINST, "along", "long", of=self.param.against)
        self.head, self.words = (widgets.html("", "words", "plan", "numbers") for _ in range(2))
        self._drawn: tuple[str, str] | None = None
        self.param.watch(self.changed, ["task", "against"])

    @property
    def frontier(self) -> Frontier:
        """The one that is shown."""
        assert self.comparison
        return self.comparison.frontiers[self.task]

    async def refresh(self) -> None:
        """Show the task that is chosen, unless it is shown."""
        if self.comparison is None:
            self.head.object = _NOTHING
        elif self._drawn != (self.task, self.against):
            self._drawn, frontier = (self.task, self.against), self.frontier
            self.draw_elements(self.drawing, partial(compared, frontier, self.against))
            said = describe_frontier(frontier) if self.against == "epsilon" else describe_costs(frontier)
            self.head.object = f"<p>{escape(said)}</p>"
            numbers = widgets.details("The comparison in numbers", table(frontier))
            self.words.object = f"<p>{escape(how(self.comparison, self.task))}</p>{numbers}"

    def __panel__(self) -> pn.viewable.Viewable:
        choices = [widgets.column("choices", self.menu, self.axis)] if self.comparison else []
        return widgets.component("compared", self.head, *choices, self.drawing, self.words)


class Price(View):
    """One run's frontier by either account: every step published against only the last."""

    asks = ("hidden",)

    hidden = param.Boolean(True, doc="whether the marks with only the last iterate published are drawn, too")

    def build(self) -> None:
        self.drawing, self.words = widgets.stack(), widgets.html("", "words")
        self._drawn: bool | None = None
        self.param.watch(self.changed, "hidden")

    async def refresh(self) -> None:
        if self._drawn != self.hidden:
            self._drawn = self.hidden
            self.draw_elements(self.drawing, partial(_price, ACCOUNTS[self.hidden]))
            green = "Green: the same models with only the last step published." if self.hidden else ""
            self.words.object = f"<p>{_PRICE}Orange: every step published. {green}</p>"

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("price", self.words, self.drawing)


@cache
def _trained() -> Frontier:
    return load(PRICE)


def _price(bounds: tuple[str, ...]) -> Any:
    from zoexplore import plots  # with HoloViews, as above

    return plots.frontier(_trained(), bounds=bounds)


def compared(frontier: Frontier, against: str = "epsilon") -> Any:
    """Methods at their best, as an element."""
    from zoexplore import plots  # with HoloViews, which takes a second and which no other view needs

    return plots.comparison(frontier, against)


def how(comparison: Comparison, task: str) -> str:
    """How a task's results came about."""
    frontier = comparison.frontiers[task]
    seeds = max(len(p.seeds) for p in frontier.points)
    libraries = [f"{name} {frontier.versions[name]}" for name in ("zoexplore", "torch", "numpy")]
    trials = comparison.budgets[task]["trials"]
    taken = f" in {comparison.seconds[task] / 60:.0f} minutes of processor time" if task in comparison.seconds else ""
    return (
        f"Made {comparison.dates[task][:10]} by {_COMMAND}{taken} ({', '.join(libraries)}). Each method had {trials} trials for "
        "each ε, drawn at random from ranges of its own and judged with other seeds on a part of the training records; ε does "
        f"not cover the price of tuning. Marks are means over {seeds} seeds; bars are one standard error, the test records' "
        f"included. ε is for one record more or less, with only the last iterate released. Data: {TASKS[task].licence}."
    )
