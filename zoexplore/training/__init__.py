"""Training on real and synthetic data: the utility of Noisy-ZOGD and of related methods at a given
privacy.

The modules that train are imported at first use, so that reading results or listing tasks does not
import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zoexplore.training.methods import DEFAULT_METHODS, METHODS, Method
from zoexplore.training.results import NOT_COVERED, Frontier, Point, load, save
from zoexplore.training.tasks import TASKS, Task

if TYPE_CHECKING:
    from zoexplore.training.sweep_plans import SweepPlan, plan_sweep
    from zoexplore.training.sweeps import Update, frontier, sweep, train

__all__ = [
    "DEFAULT_METHODS",
    "METHODS",
    "NOT_COVERED",
    "TASKS",
    "Frontier",
    "Method",
    "Point",
    "SweepPlan",
    "Task",
    "Update",
    "frontier",
    "load",
    "plan_sweep",
    "save",
    "sweep",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.sweeps"), name)
