"""Train: the sliders' run, trained on demand; until then, the training default, trained in advance."""

from functools import cache
from html import escape
from pathlib import Path

import panel as pn
import param

from zoexplore import training
from zoexplore.bounds import BOUNDS
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees, smallest
from zoexplore.training import TASKS, Frontier, load
from zoexplore.views.style import widgets
from zoexplore.views.training.accuracy import Trained
from zoexplore.views.training.jobs import Asked
from zoexplore.views.training.running import Results, Running
from zoexplore.views.training.words import about, differs
from zoexplore.views.view import View

PRICE = Path(training.__file__).with_name("price.json")
SHOWN = ("composition", "sharp")  # every step published, and only the last
METHODS, SEEDS = ("noisy-zogd", "non-private"), 2
TASK, SIZE = TASKS["mixture"], (20_000, 520)  # and n and d of its data, unless the sliders set others
_ADVANCE = "Trained in advance at seven noise scales, each model at its ε by composition and by the sharper bound"


class Train(View):
    """A button, and the figure of trained runs. Nothing runs unasked."""

    asks = ("hidden",)

    hidden = param.Boolean(True, doc="whether bounds that hide the iterates are drawn, too")
    frontier = param.ClassSelector(class_=Frontier, allow_None=True, doc="the frontier trained here, so far")

    def build(self) -> None:
        self.running = Running(self.asked, lambda found: self.param.update(frontier=found))
        self.results, self.about, self.trained = Results(), widgets.html("", "words", "plan"), Trained()
        self.pane = self.canvas(self.trained.figure)
        self.own = widgets.stack(self.running), widgets.stack(self.results)  # what trains, which the story hides
        self._drawn: tuple = ()
        self.param.watch(self.changed, ["hidden", "frontier"])

    def asked(self) -> Asked:
        """The sliders' run."""
        s = self.state.setting
        accounting, size = self.state.accounting.replace(schedule="constant"), (s.n, s.d) if (s.n, s.d) != SIZE else None
        return Asked(TASK, METHODS, (s.sigma,), s.K, s.beta, s.T, SEEDS, s.delta, accounting, size=size)

    @property
    def bounds(self) -> tuple[str, ...]:
        """The drawn bounds."""
        return tuple(bound for bound in SHOWN if self.hidden or not BOUNDS[bound].hides_iterates)

    async def refresh(self) -> None:
        """Update the text and the line from the sliders, and draw the results if they are new."""
        found = await ask(guarantees, self.state.setting, self.state.accounting)
        with pn.io.hold():
            said, run = about(self.frontier) if self.frontier else _ADVANCE, (self.state.setting.delta, self.state.accounting)
            self.about.object = f"<p>{escape(said)}; the dotted line is the current run's ε.</p>"
            self.results.differs.object = f"<p>{differs(self.frontier, *run)}</p>" if self.frontier else ""
            if self._drawn != (self.frontier, self.hidden):
                self._drawn = self.frontier, self.hidden
                self.trained.draw(self.frontier or in_advance(), self.bounds)
                self.repaint()
                self.results.show(self.frontier, self.bounds)
            self.trained.put((smallest(found) if self.hidden else found["composition"]).epsilon)
        self.push()

    def repaint(self) -> None:
        super().repaint()
        self.trained.dark = self.dark
        self.trained.name()

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("train", self.about, self.own[0], self.pane, self.own[1])


@cache
def in_advance() -> Frontier:
    """The training default at several noise scales, as `tools/price.py` has trained it."""
    return load(PRICE)
