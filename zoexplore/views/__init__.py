"""The views: one component a file, each usable alone in a notebook, over a state that knows nothing of Panel.

A name is looked up when it is first used: the computing processes import modules of this package that need no Panel, and must not
wait for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoexplore.views.app import serve
    from zoexplore.views.explorer import Explorer
    from zoexplore.views.figures.attack import Attack
    from zoexplore.views.figures.curves import Curves
    from zoexplore.views.figures.factors import Factors
    from zoexplore.views.figures.inside import Inside
    from zoexplore.views.figures.map import Map
    from zoexplore.views.figures.profile import Profile
    from zoexplore.views.figures.replay import Replay
    from zoexplore.views.panels.controls import Controls, Dial
    from zoexplore.views.panels.planner import Planner
    from zoexplore.views.panels.readouts import Readouts
    from zoexplore.views.panels.theory import Theory
    from zoexplore.views.state import State
    from zoexplore.views.tabs import Tabs
    from zoexplore.views.training.tab import Train

__all__ = [
    "Attack",
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
    "serve",
]
_HOMES = {
    "app": ("serve",),
    "explorer": ("Explorer",),
    "figures.attack": ("Attack",),
    "figures.curves": ("Curves",),
    "figures.factors": ("Factors",),
    "figures.inside": ("Inside",),
    "figures.map": ("Map",),
    "figures.profile": ("Profile",),
    "figures.replay": ("Replay",),
    "panels.controls": ("Controls", "Dial"),
    "panels.planner": ("Planner",),
    "panels.readouts": ("Readouts",),
    "panels.theory": ("Theory",),
    "state": ("State",),
    "tabs": ("Tabs",),
    "training.tab": ("Train",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
