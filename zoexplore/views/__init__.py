"""The views: one component a file, each usable alone in a notebook, over a state that knows nothing of Panel.

A name is looked up when it is first used: the computing processes import modules of this package that need no Panel, and must not
wait for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoexplore.views.controls import Controls, Dial
    from zoexplore.views.curves import Curves
    from zoexplore.views.drawing import hue, legend, pen, sketch
    from zoexplore.views.explorer import Explorer
    from zoexplore.views.factors import Factors
    from zoexplore.views.inside import Inside
    from zoexplore.views.map import Map
    from zoexplore.views.page import serve
    from zoexplore.views.plan import Planner
    from zoexplore.views.profile import Profile
    from zoexplore.views.readouts import Readouts
    from zoexplore.views.replay import Replay
    from zoexplore.views.state import State
    from zoexplore.views.tabs import Tabs
    from zoexplore.views.theory import Theory
    from zoexplore.views.training.tab import Train

__all__ = [
    "Controls",
    "Curves",
    "Dial",
    "Explorer",
    "Factors",
    "Inside",
    "Map",
    "Planner",
    "Profile",
    "Readouts",
    "Replay",
    "State",
    "Tabs",
    "Theory",
    "Train",
    "hue",
    "legend",
    "pen",
    "serve",
    "sketch",
]
_OTHERS = {"Dial": "controls", "Planner": "plan", "Train": "training.tab", "serve": "page"}
_HOMES = {name: name.lower() for name in __all__} | _OTHERS | dict.fromkeys(("hue", "legend", "pen", "sketch"), "drawing")


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
