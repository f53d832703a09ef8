"""The tabs: questions in a reader's order, each with the views that answer it. One view is shown."""

from pathlib import Path
from typing import Any

import panel as pn
import param

from zoexplore.views.component import Script
from zoexplore.views.figures.attack import Attack
from zoexplore.views.figures.claims import Claims
from zoexplore.views.figures.curves import Curves
from zoexplore.views.figures.forget import Forget
from zoexplore.views.figures.game import Game
from zoexplore.views.figures.helps import Helps
from zoexplore.views.figures.inside import Inside
from zoexplore.views.figures.publish import Publish
from zoexplore.views.panels.planner import Planner
from zoexplore.views.panels.theory import Errata, Theory
from zoexplore.views.pins import Pins
from zoexplore.views.state import State
from zoexplore.views.style import stylesheets, widgets
from zoexplore.views.training.compared import Compared
from zoexplore.views.training.tab import Train
from zoexplore.views.view import View

TABS: dict[str, dict[str, tuple[str, type[View]]]] = {
    "Publish or hide": {"publish": ("Two curves", Publish), "curves": ("All bounds", Curves)},
    "What ε means": {"game": ("A game", Game), "attack": ("Trade-off", Attack)},
    "When it helps": {
        "helps": ("What hiding gains", Helps),
        "forget": ("Forgetting a record", Forget),
    },
    "Published runs": {"claims": ("Claimed and provable", Claims)},
    "Plan": {"plan": ("Plan", Planner)},
    "Train": {"train": ("Your run", Train), "results": ("Methods compared", Compared)},
    "Theory": {
        "theory": ("Formulas", Theory),
        "inside": ("Inside the bound", Inside),
        "errata": ("Misprints", Errata),
    },
}
VIEWS = {name: view for views in TABS.values() for name, view in views.items()}


class Bar(Script):
    """A list of tabs that keyboards and screen readers can use."""

    titles = param.List([], doc="pairs of a name and the title that is shown")
    selected = param.String("", doc="the name of the one that is selected; empty for none")
    label = param.String("", doc="a name for the list of tabs, for screen readers")

    kind, sheets = "tabs", ("tabs",)
    _esm = Path(__file__).with_name("tabs.js")


class Tabs(pn.viewable.Viewer):
    """Tabs, and the selected view. A view is built when first needed, and computes nothing while
    another is shown.
    """

    selected = param.Selector(default="publish", objects=list(VIEWS), doc="the view that is shown")
    built = param.List([], item_type=str, doc="the views made so far, those that have been opened")

    def __init__(self, state: State | None = None, pins: Pins | None = None, **params: Any) -> None:
        super().__init__(**params)
        self.state, self.pins = state or State(), pins or Pins()
        self.views: dict[str, View] = {}
        self.quiet = False  # whether tabs are hidden, as in the story
        self.kept = tuple(VIEWS)  # the selectable views; a link for teaching may have fewer
        self.bar = Bar(label="questions", sizing_mode=None)
        self.parts = Bar(label="parts of this tab", css_classes=["zx-parts"], sizing_mode=None)
        self.parts.stylesheets = [stylesheets.css("parts")]
        self.bar.param.watch(self._chosen, "selected")
        self.parts.param.watch(self._chosen, "selected")
        self._frames: dict[str, pn.Column] = {}
        self._holder = widgets.stack()
        self._show()
        self.param.watch(self._show, "selected")

    def __getitem__(self, name: str) -> View:
        """Return a view by its name; build it on first use."""
        if name not in self.views:
            kind = VIEWS[name][1]
            self.views[name] = kind(self.state, pins=self.pins, active=name == self.selected)
            self.views[name].param.watch(self._opened, "opens")
            self.built = list(self.views)
        return self.views[name]

    @property
    def tab(self) -> str:
        """The title of the tab whose view is shown."""
        return next(tab for tab, views in TABS.items() if self.selected in views)

    def keep(self, views: tuple[str, ...]) -> None:
        """Restrict the views that the reader and addresses can select, and select the first one."""
        self.kept = views
        self.selected = views[0]
        self.param.selected.objects = list(views)
        self._write()

    def offer(self, tabs: bool) -> None:
        """Show or hide the other tabs."""
        self.quiet = not tabs
        self._write()

    def _opened(self, event: Any) -> None:
        """Show the view that another view asks to open."""
        self._chosen(event)
        event.obj.opens = ""

    def _chosen(self, event: Any) -> None:
        """Show a chosen view, or a chosen tab's first view unless the tab is open already."""
        views = [event.new] if event.new in self.kept else self._of(event.new)
        if views and self.selected not in views:
            self.selected = views[0]

    def _of(self, tab: str) -> list[str]:
        return [view for view in TABS.get(tab, ()) if view in self.kept]

    def _write(self) -> None:
        """Update the bar of the tabs, and the bar of the open tab's views."""
        tabs = [tab for tab in TABS if self._of(tab)]
        parts = [] if "publish" in TABS[self.tab] else self._of(self.tab)
        self.bar.param.update(
            titles=[[tab, tab] for tab in tabs],
            selected=self.tab,
            visible=len(tabs) > 1 and not self.quiet,
        )
        self.parts.param.update(
            titles=[[view, VIEWS[view][0]] for view in parts],
            selected=self.selected,
            visible=len(parts) > 1 and not self.quiet,
        )

    def _show(self, *_: Any) -> None:
        shown = self[self.selected]
        with pn.io.hold():
            self._write()
            if self.selected not in self._frames:  # its frame is veiled until the view is drawn
                frame = widgets.stack(shown.__panel__(), stylesheets=[stylesheets.root("waiting")])
                shown.veil(frame)
                self._frames[self.selected] = frame
                self._holder.append(frame)
            for name, view in self.views.items():
                view.active = view is shown
                if name in self._frames:
                    self._frames[name].visible = view is shown

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("center", self.parts, self._holder)
