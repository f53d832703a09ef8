"""Tuning every method alike: as many trials each, drawn at random from ranges of its own kind, for every epsilon anew.

Trials train on a part of the records to train on and are judged by the rest of them, with seeds that no result uses; the test
part is never looked at. Choosing by private data costs privacy of its own, which no epsilon here covers.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, replace
from math import inf, sqrt
from zlib import crc32

import numpy as np

from zoexplore.setting import Accounting
from zoexplore.training.aims import Choice, aimed
from zoexplore.training.engine import Configuration, Job, State, one_thread
from zoexplore.training.methods import METHODS, OPACUS, Method
from zoexplore.training.plans import NOISE_SEED, Plan
from zoexplore.training.tasks import Task

TRIALS = 12
DRAWS = 20  # for each trial, until there are enough that differ
ALIKE = 4  # trials of the same directions, steps and batch
SEEDS = (1000,)  # of the trials
RATES = tuple(2.0**i for i in range(-2, 6))  # in units of 1/M
PARTS_OF_D = (64, 16, 4)  # one direction for so many parameters
MOST_DIRECTIONS = 256
CLIPS = (1.0, 1.0, 0.5, 0.25, 0.1)  # of a gradient, as parts of the Lipschitz constant; at all of it no clip acts
SHARES = (0.25, 0.5, 0.9)
RIDGES = (None, None, 1e-2)  # None: the task's own
FAINT_RIDGES = (None, 1e-5, 0.0)  # without noise, which is what a stronger one is for
ACCOUNTING = Accounting()


@dataclass(frozen=True)
class Ranges:
    """What of the ranges depends on how long a task's step takes.

    Args:
        steps: with noise.
        without_noise: along directions.
        of_gradients: without noise.
        batches: a batch has one of so many records, all of them where None.
    """

    steps: tuple[int, ...] = (10, 30, 100)
    without_noise: tuple[int, ...] = (100, 300)
    of_gradients: tuple[int, ...] = (300, 1000, 3000)
    batches: tuple[int | None, ...] = (None, 4, 16)


RANGES = Ranges()


def trials(task: Task, method: str, count: int = TRIALS, seed: int = 0, ranges: Ranges = RANGES) -> list[Choice]:
    """That many runs to try, all different, from the ranges above and these; the same for every epsilon.

    `ALIKE` at a time have the same directions, steps and batch, so that they train side by side.

    Raises:
        ValueError: the ranges have fewer.
    """
    rng = np.random.default_rng([seed, crc32(method.encode())])
    found: dict[Choice, None] = {}
    for _ in range(DRAWS * count):
        shape = _shape(task, METHODS[method], rng, ranges)
        for _ in range(ALIKE):
            found[_drawn(task, METHODS[method], shape, rng)] = None
        if len(found) >= count:
            return list(found)[:count]
    raise ValueError(f"{count} trials of {method!r} were asked for and its ranges have {len(found)}: give wider ranges, or fewer")


def _one(values: Sequence, rng: np.random.Generator):
    return values[int(rng.integers(len(values)))]


def _shape(task: Task, method: Method, rng: np.random.Generator, ranges: Ranges) -> tuple[int, int, int | None]:
    """Directions, steps and batch. Without noise the batch is of all records, where it may be."""
    d, n = task.d, len(task.data.X)
    K = d if method.every_direction else method.K or min(max(2, d // _one(PARTS_OF_D, rng)), MOST_DIRECTIONS)
    steps = ranges.steps if method.noisy else ranges.of_gradients if method.every_direction else ranges.without_noise
    part = _one(ranges.batches, rng) if method.noisy or None not in ranges.batches else None
    return K, _one(steps, rng), None if part is None else max(1, n // part)


def _drawn(task: Task, method: Method, shape: tuple[int, int, int | None], rng: np.random.Generator) -> Choice:
    K, T, batch = shape
    d, constants = task.d, task.constants
    rate = _one(RATES, rng) / constants.M
    if not method.noisy:
        return Choice(K, T, rate, 1e300, batch=batch, ridge=_one(FAINT_RIDGES, rng) if constants.m else None)
    part = _one(CLIPS, rng)
    seen = 1.0 if part == 1.0 or K == d else 2 * sqrt(K / d)  # a gradient's part in K of d directions, with room
    beta = _one(SHARES, rng) if method.beta is None else method.beta
    ridge = _one(RIDGES, rng) if constants.m else None
    return Choice(K, T, rate, constants.lipschitz * part * seen, "joint", beta, batch, ridge)


@dataclass(frozen=True)
class Tuned:
    """What the trials found.

    Args:
        choices: by method and target, the best trial's.
        accuracy: by method and target, its accuracy on the validation part.
        tried: by method, how many trials each target had.
    """

    choices: dict[tuple[str, float], Choice]
    accuracy: dict[tuple[str, float], float]
    tried: dict[str, int]


def tuned(
    task: Task, methods: Sequence[str], epsilons: Sequence[float], executor: Executor, *, count: int = TRIALS,
    tell: Callable[[str], None] = lambda _: None, hidden: bool = True, drawn: Callable[..., list[Choice]] = trials,
) -> Tuned:  # fmt: skip
    """The best of every method's trials for every target.

    Args:
        task: whose records to train on are used, and no others.
        methods: keys of `METHODS`.
        epsilons: targets.
        executor: where to compute.
        count: trials of each method and target.
        tell: called with what is being done.
        hidden: whether bounds for the last iterate alone may be claimed.
        drawn: what the trials are, as `trials`.
    """
    part, asked = task.held_back(), []
    for method in methods:
        for choice in drawn(part, method, count):
            asked += [(method, choice, target) for target in (epsilons if METHODS[method].noisy else (inf,))]
    tell(f"{task.name}: solves sigma of {len(asked)} trials")
    made = list(executor.map(_aimed, *zip(*((part, *each, hidden) for each in asked), strict=True), chunksize=8))
    runs = tuple(c for c in made if c is not None)
    jobs = [_last_only(job) for job in Plan(part, tuple(dict.fromkeys(runs)), SEEDS, NOISE_SEED, ACCOUNTING).jobs]
    jobs = [piece for job in jobs for piece in pieces(job)]
    pending = {executor.submit(_ended, job): job for job in sorted(jobs, key=lambda job: -job.T * len(job.configurations))}
    score: dict[Configuration, float] = {}
    for i, future in enumerate(as_completed(pending)):
        score |= future.result()
        tell(f"{task.name}: {i + 1} of {len(pending)} parts of the trials done")
    choices: dict[tuple[str, float], Choice] = {}
    accuracy: dict[tuple[str, float], float] = {}
    for (method, choice, target), c in zip(asked, made, strict=True):
        key, value = (method, target), score.get(c, -inf) if c else -inf
        if value > accuracy.get(key, -inf):
            choices[key], accuracy[key] = _for_all(choice, task, part), value
    return Tuned(choices, accuracy, {method: count for method in methods})


def _for_all(choice: Choice, task: Task, part: Task) -> Choice:
    """The same for the whole of the records to train on: batches keep their share of them."""
    if choice.batch is None:
        return choice
    return replace(choice, batch=max(1, round(choice.batch * len(task.data.X) / len(part.data.X))))


def _aimed(task: Task, method: str, choice: Choice, target: float, hidden: bool) -> Configuration | None:
    return aimed(task, method, choice, target, ACCOUNTING, hidden=hidden)


def _last_only(job: Job) -> Job:
    return replace(job, records=(job.T,))


def pieces(job: Job) -> list[Job]:
    """By the number of directions, which is what configurations share; DP-SGD's, which share nothing, a few at a time."""
    groups: dict[tuple, list[Configuration]] = {}
    for i, c in enumerate(job.configurations):
        groups.setdefault((c.setting.K, c.own_basis, i // 8 if c.method == OPACUS else 0), []).append(c)
    return [replace(job, configurations=tuple(members)) for members in groups.values()]


def _ended(job: Job) -> dict[Configuration, float]:
    """The accuracy on held-out records of each configuration of a job, the mean over seeds; none where a loss is not finite."""
    try:
        with one_thread():
            state: State = job.advance(None, inf)
    except ValueError:  # one diverged: each on its own
        if len(job.configurations) == 1:
            return {}
        return {c: v for one in job.configurations for c, v in _ended(replace(job, configurations=(one,))).items()}
    C = len(job.configurations)
    return {c: float(np.mean(state.accuracy[-1][i::C])) for i, c in enumerate(job.configurations)}
