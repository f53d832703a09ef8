"""Train: the sliders' run, trained on demand; until then, the training default, trained in advance."""

from dataclasses import replace
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import panel as pn
import param

from zoexplore import training
from zoexplore.bounds import BOUNDS
from zoexplore.training import Frontier, load
from zoexplore.views.style import widgets
from zoexplore.views.training.choices import Choices
from zoexplore.views.training.jobs import Asked
from zoexplore.views.training.running import Results, Running
from zoexplore.views.training.trained import Trained
from zoexplore.views.training.words import about
from zoexplore.views.view import View

PRICE = Path(training.__file__).with_name("price.json")
SHOWN = ("composition", "theorem", "sharp")
_ADVANCE = "Trained in advance: the training default at several noise scales, each model a mark for each bound."


class Train(View):
    """A button, the figure of trained runs, and choices for more than one run. Nothing runs unasked."""

    asks = ("hidden",)

    hidden = param.Boolean(True, doc="whether bounds that hide the iterates are drawn, too")
    frontier = param.ClassSelector(class_=Frontier, allow_None=True, doc="the frontier trained here, so far")

    def build(self) -> None:
        self.choices = Choices(self.state)
        self.fold = widgets.fold("Several noise scales, other methods and tasks, seeds", self.choices)
        self.running = Running(self._asked, lambda found: self.param.update(frontier=found))
        self.fold.param.watch(self._named, "collapsed")
        self._named()
        self.results, self.about, self.trained = Results(), widgets.html("", "words", "plan"), Trained()
        self.pane = self.canvas(self.trained.figure)
        self.own = widgets.stack(self.running), widgets.stack(self.fold, self.results)  # what trains, which the story hides
        self._drawn: tuple = ()
        self.param.watch(self.changed, ["hidden", "frontier"])

    def _asked(self) -> Asked:
        """The run to train: the sliders' alone, unless the fold chooses more."""
        asked = self.choices.asked()
        if not self.fold.collapsed:
            return asked
        return replace(asked, methods=("noisy-zogd", "non-private"), sigmas=(self.state.sigma,))

    def _named(self, *_: Any) -> None:
        self.running.name_it("Train this run" if self.fold.collapsed else "Train what is chosen")

    @property
    def bounds(self) -> tuple[str, ...]:
        """The drawn bounds."""
        return tuple(bound for bound in SHOWN if self.hidden or not BOUNDS[bound].hides_iterates)

    async def refresh(self) -> None:
        """Update the text from the sliders, and draw the results if they are new."""
        with pn.io.hold():
            said = about(self.frontier, self.state.setting.delta, self.state.accounting) if self.frontier else _ADVANCE
            self.about.object = f"<p>{escape(said)}</p>"
            if self._drawn != (self.frontier, self.hidden):
                self._drawn = self.frontier, self.hidden
                self.trained.draw(self.frontier or in_advance(), self.bounds)
                self.repaint()
                self.results.show(self.frontier, self.bounds)
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
