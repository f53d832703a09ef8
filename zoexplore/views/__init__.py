"""The views: one component a file, each usable alone in a notebook, over a state that knows nothing of Panel."""

from zoexplore.views.controls import Controls
from zoexplore.views.curves import Curves
from zoexplore.views.explorer import Explorer
from zoexplore.views.factors import Factors
from zoexplore.views.inside import Inside
from zoexplore.views.map import Map
from zoexplore.views.page import serve
from zoexplore.views.plan import Planner
from zoexplore.views.profile import Profile
from zoexplore.views.readouts import Readouts
from zoexplore.views.state import State
from zoexplore.views.tabs import Tabs
from zoexplore.views.theory import Theory

__all__ = [
    "Controls",
    "Curves",
    "Explorer",
    "Factors",
    "Inside",
    "Map",
    "Planner",
    "Profile",
    "Readouts",
    "State",
    "Tabs",
    "Theory",
    "serve",
]
