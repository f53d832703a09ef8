"""The views: one component a file, each usable alone in a notebook, over a state that knows nothing of Panel."""

from zoexplore.views.controls import Controls
from zoexplore.views.curves import Curves
from zoexplore.views.explorer import Explorer
from zoexplore.views.page import serve
from zoexplore.views.readouts import Readouts
from zoexplore.views.state import State
from zoexplore.views.tabs import Tabs

__all__ = ["Controls", "Curves", "Explorer", "Readouts", "State", "Tabs", "serve"]
