"""Studies one choice at a time at one epsilon: the number of directions, their kind, the share of
the noise along them, and the clip.

For each value the reach and the clip are tuned again by the mean of several runs on a split of the
training records, since chance moves the accuracy of a single run by more than the differences that
are studied. Accuracy is on the test records, with other seeds. Runs are simulated
(`benchmarks.comparison.law`), except with a clip on each quotient, which the engine trains as it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf, sqrt

import numpy as np
import torch

from benchmarks.comparison.choices import Choice
from benchmarks.comparison.kept import Series
from benchmarks.comparison.law import Run, accuracy, ended
from benchmarks.comparison.search import multiplier, split
from zoexplore.training.engine import Job
from zoexplore.training.methods import Configuration
from zoexplore.training.tasks import TASKS, Task

TASK = "mnist"
EPSILON = 2.0
PART = 16  # a batch has one record in so many
T = 150
PASSES = 4_000  # K T, where the number of passes is fixed
FEWEST = 5  # the fewest steps there
DIRECTIONS = (1, 4, 16, 64, 256, 1024)  # numbers of directions, besides all d
SOME, FEW = 64, 16  # directions of the other studies
REACHES = tuple(2.0**i for i in range(3, 12))
CLIPS = (0.25, 0.03125)  # clips of a gradient, in units of the Lipschitz constant
LEVELS = (2.0, 0.5, 0.125, 0.03125, 0.0078125)  # the clips that are compared
REACHES_OF_A_CLIP = tuple(2.0**i for i in range(5, 13))
SHARES = (0.0, 0.1, 0.25, 0.5, 1.0)
TRIED, SEEDS, FOLD = 4, 5, 900

Shape = Callable[[float, float, int], Run]  # makes a run of a reach, a clip and n records


def run_of(
    task: Task,
    K: int,
    steps: int,
    reach: float,
    clip: float,
    n: int,
    *,
    beta: float = 1.0,
    independent: bool = False,
) -> Run:
    """Return a run with K directions, at `EPSILON` with all iterates released."""
    longest, batch = task.constants.lipschitz * clip, max(1, n // PART)
    rate = reach / (steps * K / task.d * longest)
    choice = Choice(K, steps, rate, longest * sqrt(K / task.d), beta=beta, batch=batch)
    return Run(choice, multiplier(n, batch, steps, EPSILON, task.delta), independent)


def accuracies(task: Task, shapes: Sequence[Shape]) -> tuple[tuple[float, ...], ...]:
    """Return the accuracy of each shape at its best reach and clip, seed by seed."""
    part, grid, n = split(task, FOLD), list(product(REACHES, CLIPS)), len(task.data.X)
    tried = [shape(*each, len(part.X)) for shape in shapes for each in grid for _ in range(TRIED)]
    right = accuracy(part, ended(part, tried, 0, ridge=task.ridge, R=task.R).last)
    best = [
        grid[int(i)] for i in np.reshape(right, (len(shapes), len(grid), TRIED)).mean(2).argmax(1)
    ]
    chosen = [
        shape(*each, n) for shape, each in zip(shapes, best, strict=True) for _ in range(SEEDS)
    ]
    found = accuracy(task.data, ended(task.data, chosen, 1, ridge=task.ridge, R=task.R).last)
    return tuple(
        tuple(round(x, 4) for x in found[i : i + SEEDS]) for i in range(0, len(found), SEEDS)
    )


def directions() -> list[Series]:
    """Study K from 1 to d: at a fixed number of passes, and at a fixed number of steps along
    orthonormal and along independent directions.
    """
    task = TASKS[TASK]
    every = (*DIRECTIONS, task.d)

    def line(
        study: str,
        label: str,
        Ks: Sequence[int],
        steps: Callable[[int], int],
        independent: bool = False,
    ) -> Series:
        shapes = [partial(run_of, task, K, steps(K), independent=independent) for K in Ks]
        return Series(study, label, tuple(map(float, Ks)), accuracies(task, shapes))

    passes = line(
        "ablation-directions",
        f"K T = {PASSES}",
        tuple(K for K in every if K * FEWEST <= PASSES),
        lambda K: PASSES // K,
    )
    steps = line("ablation-directions", f"T = {T}", every, lambda _: T)
    independent = line("ablation-kind", "independent", every, lambda _: T, True)
    return [passes, steps, replace(steps, study="ablation-kind", label="orthonormal"), independent]


def shares() -> list[Series]:
    """Study beta from 0 to 1 with all iterates released, so that noise off the directions hides
    nothing.
    """
    task = TASKS[TASK]
    values = accuracies(task, [partial(run_of, task, SOME, T, beta=beta) for beta in SHARES])
    return [Series("ablation-share", f"K = {SOME}, all iterates released", SHARES, values)]


def clips() -> list[Series]:
    """Compare a clip on each quotient with one on all of a record's quotients together, at equal
    distances that a record may move a step.
    """
    task, found = TASKS[TASK], []
    part = replace(task, source=partial(split, task, FOLD))
    for rule in ("joint", "each"):
        tried = _trained(
            part,
            [_clipped(part, rule, *each) for each in product(LEVELS, REACHES_OF_A_CLIP)],
            range(TRIED),
        )
        best = tried.reshape(TRIED, len(LEVELS), -1).mean(0).argmax(1)
        chosen = [
            _clipped(task, rule, clip, REACHES_OF_A_CLIP[i])
            for clip, i in zip(LEVELS, best, strict=True)
        ]
        right = _trained(task, chosen, range(TRIED, TRIED + SEEDS)).T.round(4).tolist()
        found.append(Series("ablation-clip", rule, LEVELS, tuple(map(tuple, right))))
    return found


def _clipped(task: Task, rule: str, clip: float, reach: float) -> Configuration:
    choice = run_of(task, FEW, T, reach, clip, len(task.data.X)).choice
    one: Choice = replace(
        choice, clipping=rule, clip=choice.clip / (sqrt(FEW) if rule == "each" else 1)
    )
    made = one.made(task, "aggzo", EPSILON, hidden=False)
    assert made
    return made


def _trained(task: Task, runs: Sequence[Configuration], seeds: Sequence[int]) -> np.ndarray:
    """Return accuracies by the engine, shape (seeds, runs)."""
    jobs = (Job(task, tuple(runs), (number,), (T,)) for number in seeds)
    torch.set_num_threads(1)
    return np.array([job.advance(None, inf).accuracy[-1] for job in jobs])
