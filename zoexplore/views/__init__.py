"""The views: one component a file, each usable alone in a notebook, over a state without Panel.

Names are imported when first used, so that computing processes can import modules of this package
without Panel.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Attack": "figures.attack",
    "Claims": "figures.claims",
    "Controls": "panels.controls",
    "Curves": "figures.curves",
    "Forget": "figures.forget",
    "Game": "figures.game",
    "Dial": "panels.controls",
    "Explorer": "explorer",
    "Helps": "figures.helps",
    "Inside": "figures.inside",
    "Planner": "panels.planner",
    "Publish": "figures.publish",
    "Readouts": "panels.readouts",
    "State": "state",
    "Tabs": "tabs",
    "Theory": "panels.theory",
    "Train": "training.tab",
    "serve": "app",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
