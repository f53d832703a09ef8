"""`SweepPlan`: the runs of a sweep, checked before anything starts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf
from typing import Any

from zoexplore.run.setting import Accounting
from zoexplore.training.engine import Job
from zoexplore.training.methods import DEFAULT_METHODS, METHODS, Configuration, records
from zoexplore.training.privacy import aimed
from zoexplore.training.tasks import DRAWN, OTHERS, TASKS, Task

COLUMNS = 32  # the most runs in one job; more would gain little, and leave other workers fewer jobs
LEAST_PARTS = 2  # seeds are split into at least so many jobs, so that a second core is used


@dataclass(frozen=True)
class SweepPlan:
    """A sweep: configurations and seeds on one task.

    Args:
        task: the task.
        configurations: the runs.
        seeds: each has one run of every configuration.
        accounting: how privacy is counted.
    """

    task: Task
    configurations: tuple[Configuration, ...]
    seeds: tuple[int, ...]
    accounting: Accounting

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """The sweep as independent jobs. Each job has all configurations with the same number of
        steps and the same kind of batches, for one or a few seeds.

        The jobs do not depend on the executor, because products of other shapes would round
        differently.
        """
        alike: dict[tuple[Any, ...], list[Configuration]] = {}
        for c in self.configurations:
            alike.setdefault((c.setting.T, c.setting.batch, c.setting.sampling), []).append(c)
        return tuple(
            Job(self.task, tuple(members), group, records(T))
            for (T, *_), members in alike.items()
            for group in self._groups(members)
        )

    def _groups(self, members: list[Configuration]) -> Iterator[tuple[int, ...]]:
        together = min(COLUMNS // len(members), ceil(len(self.seeds) / LEAST_PARTS))
        at_once = max(1, together) if members[0].setting.full_batch else 1
        return (self.seeds[i : i + at_once] for i in range(0, len(self.seeds), at_once))


def plan_sweep(
    task: str | Task = "mixture",
    methods: str | Sequence[str] = DEFAULT_METHODS,
    *,
    sigmas: Sequence[float] | None = None,
    epsilons: Sequence[float] | None = None,
    seeds: int | Sequence[int] = 3,
    accounting: Accounting | None = None,
    **run: Any,
) -> SweepPlan:
    """Check and make a plan, with the task's own values by default.

    Args:
        task, methods: keys of `TASKS` and `METHODS`; a task may be your own.
        sigmas: noise scales, above 0.
        epsilons: targets in place of noise scales: sigma is solved for each method and target, by
            the method's best sound account (`aimed`).
        seeds: the number of seeds (0, 1, ...), or the seeds themselves, from 0 to 2^31 - 1.
        accounting: as in `SweepPlan`.
        run: fields of `Setting`, except those that the task's loss sets (`FACTS`).

    Raises:
        ValueError: a value is not allowed, or the task's data are missing.
    """
    task, accounting = task_of(task), accounting or Accounting()
    names = distinct("methods", (methods,) if isinstance(methods, str) else methods, METHODS)
    if sigmas is not None and epsilons is not None:
        raise ValueError("both sigmas and epsilons were given: give one of them")
    if accounting.schedule != "constant":
        raise ValueError(
            f"schedule = {accounting.schedule!r} is not allowed: the runs keep their share of the noise; give schedule='constant'"
        )
    numbers = distinct("seeds", range(seeds) if isinstance(seeds, int) else seeds)
    if wrong := [seed for seed in numbers if type(seed) is not int or not 0 <= seed < 2**31]:
        raise ValueError(
            f"seed = {wrong[0]!r} is not allowed: give a whole number from 0 to {2**31 - 1}"
        )
    named, sampling = ("K", "beta", "T", *OTHERS), run.get("sampling", DRAWN[0])
    if unknown := sorted({*run} - {*named}):
        raise ValueError(f"{unknown[0]} is not part of a plan: give some of {', '.join(named)}")
    if run.get("batch") is not None and sampling not in DRAWN:
        raise ValueError(
            f"sampling = {sampling!r} is not allowed: batches are drawn anew; give one of {DRAWN}"
        )
    if epsilons is None:
        scales = distinct("sigmas", map(float, task.sigmas if sigmas is None else sigmas))
        runs = [
            METHODS[name].run(task, sigma, **run)
            for name in names
            for sigma in (scales if METHODS[name].noisy else scales[:1])
        ]
    else:
        aims = distinct("epsilons", map(float, epsilons))
        runs = [
            aimed(task, name, target, accounting, **run)
            for name in names
            for target in (aims if METHODS[name].noisy else (inf,))
        ]
    return SweepPlan(task, tuple(runs), numbers, accounting)


def distinct(name: str, given: Iterable[Any], known: Iterable[Any] = ()) -> tuple[Any, ...]:
    """Return the given values. Raises ValueError if there is none, or if one is given twice or is
    not known.
    """
    values, allowed = tuple(given), tuple(known)
    if not values or len(set(values)) < len(values) or (allowed and not {*values} <= {*allowed}):
        some = f"some of {', '.join(map(repr, allowed))}" if allowed else "at least one value"
        raise ValueError(
            f"{name} = {list(values)!r} is not allowed: give {some}, none of them twice"
        )
    return values


def task_of(task: str | Task) -> Task:
    """Return a task by its name, or the given task. Raises ValueError if no task has the name."""
    if isinstance(task, Task):
        return task
    if task not in TASKS:
        raise ValueError(
            f"task = {task!r} is not allowed: give one of {', '.join(map(repr, TASKS))}, or a Task"
        )
    return TASKS[task]
