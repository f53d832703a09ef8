"""Training on real and synthetic data: the utility of Noisy-ZOGD and of related methods at a given privacy.

Names are imported when first used, so that reading results or listing tasks does not import torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoexplore.training.executors import Here, Processes
    from zoexplore.training.frontier_files import load, save
    from zoexplore.training.methods import METHODS, Method
    from zoexplore.training.results import NOT_COVERED, Frontier, Point
    from zoexplore.training.sweep_plans import DEFAULT_METHODS, SweepPlan, plan_sweep
    from zoexplore.training.sweeps import Update, frontier, sweep, train
    from zoexplore.training.tasks import TASKS, Task

__all__ = [
    "DEFAULT_METHODS", "METHODS", "NOT_COVERED", "TASKS", "Frontier", "Here", "Method", "Point", "Processes", "SweepPlan", "Task",
    "Update", "frontier", "load", "plan_sweep", "save", "sweep", "train",
]  # fmt: skip
_HOMES = {
    "Here": "executors", "Processes": "executors", "load": "frontier_files", "save": "frontier_files", "METHODS": "methods",
    "DEFAULT_METHODS": "methods", "Method": "methods", "NOT_COVERED": "results", "Frontier": "results", "Point": "results",
    "SweepPlan": "sweep_plans", "plan_sweep": "sweep_plans", "Update": "sweeps", "frontier": "sweeps", "sweep": "sweeps",
    "train": "sweeps", "TASKS": "tasks", "Task": "tasks",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
