"""`Plan`: what a sweep runs, checked before anything starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

from zoexplore.setting import Accounting
from zoexplore.training.dpsgd import SgdJob
from zoexplore.training.engine import Configuration, Job, Seed
from zoexplore.training.methods import DEFAULT_METHODS, METHODS, OPACUS
from zoexplore.training.models import MODELS, Perceptron
from zoexplore.training.tasks import TASKS, Task

RECORDS = 30  # steps at which a run's progress is noted, at most
MOST_RUNS = 2000
COLUMNS = 32  # runs that one product with the data serves; more would gain little, and leave fewer parts for other workers
LEAST_PARTS = 2  # of the work, as few as are worth having a second core for
OTHERS = ("batch", "xi", "eta", "delta", "R", "clip")  # fields of `Setting` that a plan may set
LARGEST_SEED = 2**31
NOISE_SEED = 2**32  # above every seed that directions can have


@dataclass(frozen=True)
class Plan:
    """A sweep over methods, noise scales and seeds on one task.

    Args:
        task: the task.
        methods: keys of `METHODS`.
        sigmas: noise scales.
        K, beta, T: directions, directional share and steps.
        seeds: one run each of every configuration.
        noise_seed: of the noise; every one of `seeds` is added to it.
        accounting: how privacy is counted.
        others: further fields of `Setting`, by name.
    """

    task: Task
    methods: tuple[str, ...]
    sigmas: tuple[float, ...]
    K: int
    beta: float
    T: int
    seeds: tuple[int, ...]
    noise_seed: int
    accounting: Accounting
    others: tuple[tuple[str, Any], ...] = ()

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """One for each method and noise scale; one only for a method without noise."""
        found = []
        for name in self.methods:
            method = METHODS[name]
            for sigma in self.sigmas if method.noisy else self.sigmas[:1]:
                setting = method.setting(self.task, sigma, self.K, self.beta, self.T, **dict(self.others))
                found.append(Configuration(name, setting, method.noisy, method.every_direction))
        return tuple(found)

    @property
    def records(self) -> tuple[int, ...]:
        """The steps at which progress is noted: every one at first, then ever fewer, T the last."""
        steps = {round(self.T ** (i / (RECORDS - 1))) for i in range(RECORDS)}
        return tuple(sorted(steps | {self.T}))

    @cached_property
    def jobs(self) -> tuple[Job, ...]:
        """The work, in parts that need nothing from each other: for one or a few seeds, all configurations side by side.

        The parts do not depend on who computes them: products of other shapes round differently.
        """
        seeds = [Seed(number, self.noise_seed + number) for number in self.seeds]
        by_opacus = tuple(c for c in self.configurations if c.method == OPACUS)
        others = tuple(c for c in self.configurations if c.method != OPACUS)
        alone = isinstance(MODELS[self.task.model], Perceptron) or not self.configurations[0].setting.full_batch
        at_once = 1 if alone or not others else max(1, min(COLUMNS // len(others), ceil(len(seeds) / LEAST_PARTS)))
        groups = [tuple(seeds[i : i + at_once]) for i in range(0, len(seeds), at_once)]
        return (
            *(Job(self.task, others, group, self.records) for group in groups if others),
            *(SgdJob(self.task, by_opacus, (seed,), self.records) for seed in seeds if by_opacus),
        )


def plan(
    task: str | Task = "mixture",
    methods: Sequence[str] = DEFAULT_METHODS,
    sigmas: Sequence[float] | None = None,
    K: int | None = None,
    beta: float | None = None,
    T: int | None = None,
    seeds: int | Sequence[int] = 3,
    noise_seed: int = NOISE_SEED,
    accounting: Accounting | None = None,
    **others: Any,
) -> Plan:
    """A checked plan; what is left out is the task's own.

    Args:
        task: a key of `TASKS`, or a task of your own.
        methods: keys of `METHODS`.
        sigmas: noise scales, above 0.
        K, beta, T: directions, directional share and steps.
        seeds: how many (0, 1, ...), or which.
        noise_seed: of the noise; every one of the seeds is added to it.
        accounting: how privacy is counted.
        others: batch, xi, eta, delta, R or clip, as in `Setting`.

    Raises:
        ValueError: a value is not allowed, or the task's data cannot be had.
    """
    task = task_of(task)
    names = _each("methods", methods, METHODS)
    sigmas = tuple(task.sigmas if sigmas is None else sigmas)
    seeds = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    for name, values in (("sigmas", sigmas), ("seeds", seeds)):
        if not values or len(set(values)) < len(values):
            raise ValueError(f"{name} = {list(values)!r} is not allowed: give at least one value, none of them twice")
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < LARGEST_SEED:
            raise ValueError(f"seed = {seed!r} is not allowed: give a whole number from 0 to {LARGEST_SEED - 1}")
    if isinstance(noise_seed, bool) or not isinstance(noise_seed, int) or not LARGEST_SEED <= noise_seed < 2**63:
        raise ValueError(f"noise_seed = {noise_seed!r} is not allowed: give a whole number from {LARGEST_SEED} to {2**63 - 1}")
    accounting = accounting or Accounting()
    if accounting.schedule != "constant":
        raise ValueError(
            f"schedule = {accounting.schedule!r} is not allowed: the runs keep their share of the noise; give schedule='constant'"
        )
    unknown = sorted(set(others) - set(OTHERS))
    if unknown:
        raise ValueError(f"{unknown[0]} is not part of a plan; besides the named ones it takes {', '.join(OTHERS)}")
    if OPACUS in names and others.get("batch") is not None:
        raise ValueError(f"batch = {others['batch']!r} is not allowed with {OPACUS!r}, which uses all records: leave one out")
    start = task.setting(sigmas[0], K, beta, T, **others)
    made = Plan(
        task, names, tuple(float(s) for s in sigmas), start.K, start.beta, start.T, seeds, noise_seed,
        accounting, tuple(sorted(others.items())),
    )  # fmt: skip
    if len(made.configurations) * len(seeds) > MOST_RUNS:
        raise ValueError(f"{len(made.configurations) * len(seeds)} runs are too many for one sweep: give at most {MOST_RUNS}")
    return made


def task_of(task: str | Task) -> Task:
    """The task of that name, or the task itself. Raises ValueError where there is none."""
    if isinstance(task, Task):
        return task
    if task not in TASKS:
        raise ValueError(f"task = {task!r} is not allowed: give one of {', '.join(map(repr, TASKS))}, or a Task")
    return TASKS[task]


def _each(name: str, given: Sequence[str], known: dict) -> tuple[str, ...]:
    given = (given,) if isinstance(given, str) else tuple(given)
    wrong = [x for x in given if x not in known]
    if not given or wrong or len(set(given)) < len(given):
        allowed = f"some of {', '.join(map(repr, known))}, none of them twice"
        raise ValueError(f"{name} = {list(given)!r} is not allowed: give {allowed}")
    return given
