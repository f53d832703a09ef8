"""`train`: one run, with its curves."""

from typing import Any

from zoexplore.training.plans import task_of
from zoexplore.training.results import Point
from zoexplore.training.sweeps import frontier
from zoexplore.training.tasks import Task


def train(
    task: str | Task = "mixture", method: str = "noisy-zogd", sigma: float | None = None, seed: int = 0, **others: Any
) -> Point:
    """Train once; with `seeds=` several times.

    Args:
        task: a key of `TASKS`, or a task of your own.
        method: a key of `METHODS`.
        sigma: noise scale; the second of the task's own, or the only one, where None.
        seed: of directions, batches and initialisation.
        others: further arguments of `frontier`: K, beta, T, noise_seed, accounting, progress, cancel, ...

    Raises:
        ValueError: as `frontier` does.
    """
    task = task_of(task)
    sigma = task.sigmas[min(1, len(task.sigmas) - 1)] if sigma is None else sigma
    (point,) = frontier(task=task, methods=(method,), sigmas=(sigma,), **({"seeds": (seed,)} | others)).points
    return point
