"""The finished comparison that the tab opens with: its figure, what it says, how it came about."""

from collections.abc import Callable
from html import escape

import panel as pn
import param
from bokeh.plotting import figure

from zoexplore.training import TASKS, Frontier
from zoexplore.training.finished import Comparison, load
from zoexplore.views.style import widgets
from zoexplore.views.training.compared import Compared, describe_frontier, table
from zoexplore.views.training.costs import Costs, describe_costs

_AGAINST = {"ε": "epsilon", "memory of a step, at one ε": "memory", "forward passes, at one ε": "passes"}
_COMMAND = "python -m zoexplore.training.comparison"


class Finished(pn.viewable.Viewer):
    """One task of the comparison at a time.

    `opened` is called with the frontier to be looked at under all bounds; `canvas` makes the pane of a figure.
    """

    task = param.Selector(default="", objects=[""], doc="which task of the comparison is shown")
    against = param.Selector(default="epsilon", objects=list(_AGAINST.values()), doc="what accuracy is drawn against")

    def __init__(self, opened: Callable[[Frontier], None], canvas: Callable[[figure], pn.pane.Bokeh], **params) -> None:
        super().__init__(**params)
        self.comparison = known()
        names = list(self.comparison.frontiers) if self.comparison else []
        self.compared, self.costs = Compared(), Costs()
        # in stacks, since a pane of Bokeh that was hidden cannot be shown again (Panel 1.9)
        self.over_epsilon = widgets.stack(canvas(self.compared.figure))
        self.over_cost = widgets.stack(canvas(self.costs.figure), visible=False)
        titles = {TASKS[name].title if name in TASKS else name: name for name in names} or {"": ""}
        self.param.task.objects = list(titles.values())
        self.task = next(iter(titles.values()))
        self.menu = widgets.select("measured on", titles, "along", "long", of=self.param.task)
        self.axis = widgets.select("accuracy against", _AGAINST, "along", "long", of=self.param.against)
        self.open = widgets.button("Look at it under all bounds", lambda: opened(self.frontier) if self.frontier else None)
        self.head, self.words = (widgets.html("", "words", "plan", "numbers") for _ in range(2))
        self.param.watch(self.draw, ["task", "against"])
        self.draw()

    @property
    def frontier(self) -> Frontier | None:
        """The one that is shown."""
        return self.comparison.frontiers.get(self.task) if self.comparison else None

    def draw(self, *_: object) -> None:
        """Show the task that is chosen."""
        frontier = self.frontier
        several = self.against == "epsilon"
        self.compared.draw(frontier, "accuracy")
        self.costs.draw(frontier, "memory" if several else self.against)
        self.over_epsilon.visible, self.over_cost.visible = several, not several
        if frontier is None or self.comparison is None:
            return
        self.head.object = f"<p>{escape(describe_frontier(frontier) if several else describe_costs(frontier))}</p>"
        self.words.object = (
            f"<p>{escape(how(self.comparison, self.task))}</p>"
            f"<details><summary>The comparison in numbers</summary>{table(frontier)}</details>"
        )

    def __panel__(self) -> pn.viewable.Viewable:
        below = widgets.tools(self.open, margin=(4, 0, 4, 0)), self.words, widgets.html("<p><b>Train here, now</b></p>", "words")
        shown = self.menu, self.axis, self.head, self.over_epsilon, self.over_cost
        return widgets.stack(*shown, *below, visible=self.comparison is not None)


def known() -> Comparison | None:
    """The comparison of this version; None where it has none."""
    try:
        return load()
    except (OSError, ValueError):
        return None


def how(comparison: Comparison, task: str) -> str:
    """How a task's results came about."""
    frontier = comparison.frontiers[task]
    seeds = max(len(p.seeds) for p in frontier.points)
    libraries = [f"{name} {frontier.versions[name]}" for name in ("zoexplore", "torch", "numpy") if name in frontier.versions]
    licence = TASKS[task].licence if task in TASKS else ""
    trials = comparison.budgets[task]["trials"]
    taken = f" in {comparison.seconds[task] / 60:.0f} minutes of processor time" if task in comparison.seconds else ""
    return (
        f"Made {comparison.dates[task][:10]} by {_COMMAND}{taken} ({', '.join(libraries)}). Each method had {trials} trials for "
        "each ε, drawn at random from ranges of its own and judged with other seeds on a part of the training records; ε does "
        f"not cover the price of tuning. Marks are means over {seeds} seeds; bars are one standard error, the test records' "
        f"included. ε is for one record more or less, with only the last iterate released. Data: {licence}."
    )
