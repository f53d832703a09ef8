"""The tabs: several views of one state, of which only the one that is shown exists and computes."""

from typing import Any

import panel as pn
import param

from zoexplore.views.figures.attack import Attack
from zoexplore.views.figures.curves import Curves
from zoexplore.views.figures.inside import Inside
from zoexplore.views.figures.map import Map
from zoexplore.views.figures.parts import enlarge
from zoexplore.views.figures.profile import Profile
from zoexplore.views.panels.planner import Planner
from zoexplore.views.panels.theory import Theory
from zoexplore.views.pins import Pins
from zoexplore.views.state import State
from zoexplore.views.style import theme, widgets
from zoexplore.views.training.tab import Train
from zoexplore.views.view import View

VIEWS: dict[str, tuple[str, type[View]]] = {
    "curves": ("Curves", Curves),
    "profile": ("δ against ε", Profile),
    "attack": ("Attack", Attack),
    "map": ("Map", Map),
    "inside": ("Inside the bound", Inside),
    "plan": ("Plan", Planner),
    "train": ("Train", Train),
    "theory": ("Theory", Theory),
}


class Tabs(pn.viewable.Viewer):
    """A switch, and the view that it selects. A view is built when it is first shown, and sleeps while another is.

    The switch is a radio group: one stop of the tab key, arrow keys to move, a name for screen readers.
    """

    selected = param.Selector(default="curves", objects=list(VIEWS), doc="the view that is shown")
    built = param.List([], item_type=str, doc="the views that there are, which are those that have been asked for")

    def __init__(self, state: State | None = None, pins: Pins | None = None, type_size: float = 1.0, **params: Any) -> None:
        """`type_size` is how many times as large as else the figures' words are, as in a lecture hall."""
        super().__init__(**params)
        self.state, self.pins = state or State(), pins or Pins()
        self._dark, self._type_size = False, type_size
        self.views: dict[str, View] = {}
        titles = {title: name for name, (title, _) in VIEWS.items()}
        self.switch = widgets.radio("view", titles, "tabs", of=self.param.selected, css_classes=["zx-tabs"])
        self._frames: dict[str, pn.Column] = {}
        self._holder = widgets.stack()
        self._show()
        self.param.watch(self._show, "selected")

    def __getitem__(self, name: str) -> View:
        """A view by its name, built if it was not yet."""
        if name not in self.views:
            kind = VIEWS[name][1]
            self.views[name] = kind(self.state, self._dark, pins=self.pins, active=name == self.selected)
            self.built = list(self.views)
        return self.views[name]

    @staticmethod
    def asks() -> dict[str, tuple[str, ...]]:
        """View -> the params that are asked there and that an address keeps."""
        return {name: kind.asks for name, (_, kind) in VIEWS.items()}

    def _show(self, *_: Any) -> None:
        shown = self[self.selected]
        with pn.io.hold():
            for name, view in self.views.items():
                view.active = view is shown
                if name in self._frames:
                    self._frames[name].visible = view is shown
            if self.selected not in self._frames:
                self._frames[self.selected] = self._frame(shown)
                self._holder.append(self._frames[self.selected])

    def _frame(self, view: View) -> pn.Column:
        """A view, with a veil while it waits for what is to be drawn."""
        panel = view.__panel__()
        if self._type_size != 1:
            for pane in panel.select(pn.pane.Bokeh):
                enlarge(pane.object, self._type_size)
            view.changed()  # what stands in rows stands further apart
        frame = widgets.stack(panel, stylesheets=[theme.root("waiting")])
        view.veil(frame)
        return frame

    def paint(self, dark: bool) -> None:
        """Draw every view in the colours of a scheme."""
        self._dark = dark
        with pn.io.hold():  # hundreds of colours, in one message
            for view in self.views.values():
                view.paint(dark)

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("center", self.switch, self._holder)
