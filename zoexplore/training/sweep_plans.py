"""`SweepPlan`: the runs of a sweep, checked before anything starts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf
from typing import Any

from zoexplore.run.setting import Accounting, Setting
from zoexplore.training.aims import Choice, Choices, aimed
from zoexplore.training.configuration import Configuration, Seed, records
from zoexplore.training.engine import Job
from zoexplore.training.methods import DEFAULT_METHODS, METHODS
from zoexplore.training.tasks import DRAWN, OTHERS, TASKS, Task

MOST_RUNS = 2000
COLUMNS = 32  # runs side by side; more would gain little and leave fewer parts for other workers
LEAST_PARTS = 2  # parts of a sweep, the fewest that make use of a second core
AIMED = ("batch", "eta", "delta", "R", "clip", "ridge")  # those of `OTHERS` that a plan may set beside targets
LARGEST_SEED = 2**31
NOISE_SEED = 2**32  # above every allowed seed of directions


@dataclass(frozen=True)
class SweepPlan:
    """A sweep: configurations and seeds on one task.

    Args:
        task: the task.
        configurations: the runs.
        seeds: one run of every configuration for each.
        noise_seed: of the noise; each of `seeds` is added to it.
        accounting: how privacy is counted.
    """

    task: Task
    configurations: tuple[Configuration, ...]
    seeds: tuple[int, ...]
    noise_seed: int
    accounting: Accounting

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """The work in independent parts: for one or a few seeds, all configurations with the same steps and kind of batches.

        The parts do not depend on the executor, since products of other shapes round differently.
        """
        seeds = [Seed(number, self.noise_seed + number) for number in self.seeds]
        alike: dict[tuple[Any, ...], list[Configuration]] = {}
        for c in self.configurations:
            s = c.setting
            alike.setdefault((s.T, s.batch, s.sampling), []).append(c)
        return tuple(
            Job(self.task, tuple(members), group, records(T))
            for (T, *_), members in alike.items()
            for group in self._groups(seeds, members)
        )

    def _groups(self, seeds: list[Seed], members: list[Configuration]) -> list[tuple[Seed, ...]]:
        together = min(COLUMNS // len(members), ceil(len(seeds) / LEAST_PARTS)) if members[0].setting.full_batch else 1
        at_once = max(1, together)
        return [tuple(seeds[i : i + at_once]) for i in range(0, len(seeds), at_once)]


def plan_sweep(
    task: str | Task = "mixture",
    methods: Sequence[str] = DEFAULT_METHODS,
    sigmas: Sequence[float] | None = None,
    K: int | None = None,
    beta: float | None = None,
    T: int | None = None,
    seeds: int | Sequence[int] = 3,
    noise_seed: int = NOISE_SEED,
    accounting: Accounting | None = None,
    epsilons: Sequence[float] | None = None,
    choices: Choices | None = None,
    **others: Any,
) -> SweepPlan:
    """A checked plan, with the task's own values by default.

    Args:
        task: a key of `TASKS`, or a task of your own.
        methods: keys of `METHODS`.
        sigmas: noise scales, above 0.
        epsilons: targets in place of noise scales: sigma is solved for each method and target, by its best sound account
            (`accounts`), with one record added or removed.
        choices: the tuned choice by method and target; without one K, beta and T as given, or the task's own.
        K, beta, T: directions, directional share and steps.
        seeds: how many (0, 1, ...), or which.
        noise_seed: of the noise; each of the seeds is added to it.
        accounting: how privacy is counted.
        others: further fields of `Setting`, but for those that the task's loss sets (`FACTS`).

    Raises:
        ValueError: a value is not allowed, or the task's data are missing.
    """
    task, names = task_of(task), _each("methods", methods, METHODS)
    if sigmas is not None and epsilons is not None:
        raise ValueError("both sigmas and epsilons were given: give one of them")
    accounting = _checked(accounting or Accounting())
    seeds = _seeds(seeds, noise_seed)
    _check(others, OTHERS if epsilons is None else AIMED)
    if epsilons is None:
        scales = _distinct("sigmas", tuple(task.sigmas if sigmas is None else sigmas))
        found = _at_scales(task, names, scales, task.setting(scales[0], K, beta, T, **others), others)
    else:
        task = _aiming(task, others)
        aims = _distinct("epsilons", tuple(map(float, epsilons)))
        found = _aimed(task, names, aims, choices or {}, accounting, K=K, beta=beta, T=T, **others)
    if len(found) * len(seeds) > MOST_RUNS:
        raise ValueError(f"{len(found) * len(seeds)} runs are too many for one sweep: give at most {MOST_RUNS}")
    return SweepPlan(task, tuple(found), seeds, noise_seed, accounting)


def _seeds(seeds: int | Sequence[int], noise_seed: int) -> tuple[int, ...]:
    """The checked seeds."""
    found = _distinct("seeds", tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds))
    for seed in found:
        _check_seed("seed", seed, 0, LARGEST_SEED)
    _check_seed("noise_seed", noise_seed, LARGEST_SEED, 2**63)
    return found


def _checked(accounting: Accounting) -> Accounting:
    if accounting.schedule != "constant":
        raise ValueError(
            f"schedule = {accounting.schedule!r} is not allowed: the runs keep their share of the noise; give schedule='constant'"
        )
    return accounting


def _check(others: dict[str, Any], allowed: tuple[str, ...]) -> None:
    unknown = sorted(set(others) - set(allowed))
    if unknown:
        raise ValueError(f"{unknown[0]} is not part of a plan; besides the named ones it takes {', '.join(allowed)}")
    sampling = others.get("sampling", DRAWN[0])
    if others.get("batch") is not None and sampling not in DRAWN:
        known = ", ".join(map(repr, DRAWN))
        raise ValueError(f"sampling = {sampling!r} is not allowed: batches are drawn anew; give one of {known}")


def _aiming(task: Task, others: dict[str, Any]) -> Task:
    """The task with the given delta and radius, for runs with a target."""
    return replace(task, **{name: others[name] for name in ("delta", "R") if name in others})


def _distinct(name: str, values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values or len(set(values)) < len(values):
        raise ValueError(f"{name} = {list(values)!r} is not allowed: give at least one value, none of them twice")
    return values


def _check_seed(name: str, seed: Any, low: int, end: int) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int) or not low <= seed < end:
        raise ValueError(f"{name} = {seed!r} is not allowed: give a whole number from {low} to {end - 1}")


def _at_scales(
    task: Task, methods: Sequence[str], sigmas: Sequence[float], start: Setting, others: dict[str, Any]
) -> list[Configuration]:  # fmt: skip
    """Every method at every noise scale, one without noise once."""
    found = []
    for name in methods:
        method = METHODS[name]
        for sigma in map(float, sigmas if method.noisy else sigmas[:1]):
            setting = method.setting(task, sigma, start.K, start.beta, start.T, **others)
            found.append(Configuration(name, setting, method.noisy, method.every_direction, method.hidden))
    return found


def _aimed(
    task: Task, methods: Sequence[str], epsilons: Sequence[float], choices: Choices, accounting: Accounting, **given: Any
) -> list[Configuration]:  # fmt: skip
    """Every method at every target, one without noise once."""
    found = []
    for name in methods:
        for target in epsilons if METHODS[name].noisy else (inf,):
            choice = choices.get((name, target)) or Choice.start(task, name, **given)
            made = aimed(task, name, choice, target, accounting)
            if made is None:
                raise ValueError(f"{METHODS[name].title} cannot reach epsilon = {target:g} on this task")
            found.append(made)
    return found


def task_of(task: str | Task) -> Task:
    """The task of that name, or the task itself. Raises ValueError if there is none."""
    if isinstance(task, Task):
        return task
    if task not in TASKS:
        raise ValueError(f"task = {task!r} is not allowed: give one of {', '.join(map(repr, TASKS))}, or a Task")
    return TASKS[task]


def _each(name: str, given: Sequence[str], known: dict[str, Any]) -> tuple[str, ...]:
    given = (given,) if isinstance(given, str) else tuple(given)
    wrong = [x for x in given if x not in known]
    if not given or wrong or len(set(given)) < len(given):
        allowed = f"some of {', '.join(map(repr, known))}, none of them twice"
        raise ValueError(f"{name} = {list(given)!r} is not allowed: give {allowed}")
    return given
