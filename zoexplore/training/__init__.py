"""Training on real and synthetic data: the utility of Noisy-ZOGD and of related methods at a given privacy.

Names are imported when first used, so that reading results or listing tasks does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoexplore.training.executors import Here, Processes
    from zoexplore.training.frontier_files import load, save
    from zoexplore.training.methods import METHODS, Method
    from zoexplore.training.plans import DEFAULT_METHODS, Plan, plan
    from zoexplore.training.results import NOT_COVERED, Frontier, Point
    from zoexplore.training.sweeps import Update, frontier, sweep, train
    from zoexplore.training.tasks import TASKS, Task

__all__ = [
    "DEFAULT_METHODS", "METHODS", "NOT_COVERED", "TASKS", "Frontier", "Here", "Method", "Plan", "Point", "Processes", "Task",
    "Update", "frontier", "load", "plan", "save", "sweep", "train",
]  # fmt: skip
_HOMES = {
    "DEFAULT_METHODS": "methods", "METHODS": "methods", "NOT_COVERED": "results", "TASKS": "tasks", "Frontier": "results",
    "Here": "executors", "Method": "methods", "Plan": "plans", "Point": "results", "Processes": "executors", "Task": "tasks",
    "Update": "sweeps", "frontier": "sweeps", "load": "frontier_files", "plan": "plans", "save": "frontier_files",
    "sweep": "sweeps", "train": "sweeps",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
