"""The views: one component per file, each usable alone in a notebook. All show one `State`, which
needs no Panel.

A name is imported on first use, so that computing processes can import modules of this package
without loading Panel.
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
