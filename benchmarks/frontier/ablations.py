"""What to choose, one thing at a time and at one epsilon: directions, their kind, the share of the noise along them, the clip.

For each value the reach and the clip are tuned again, on a split of the training records. Accuracy is on the test part, of
other seeds. Runs are in law (`benchmarks.frontier.law`), but for a clip on each quotient, which the engine trains as it is.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf, sqrt

import numpy as np

from benchmarks.frontier.law import Run, accuracy, ended
from benchmarks.frontier.search import multiplier, split
from zoexplore.run.setting import Accounting
from zoexplore.training.aims import Choice, aimed
from zoexplore.training.engine import Configuration, Job, Seed, one_thread
from zoexplore.training.finished import Series
from zoexplore.training.tasks import TASKS, Task

TASK = "mnist"
EPSILON = 2.0
PART = 16  # a batch has one of so many records
T = 150
PASSES = 4_000  # K T, where passes are fixed
FEWEST = 5  # steps, there
DIRECTIONS = (1, 4, 16, 64, 256, 1024)  # and all
SOME, FEW = 64, 16  # directions of the other studies
REACHES = tuple(2.0**i for i in range(3, 12))
CLIPS = (0.25, 0.03125)  # of a gradient, in units of the Lipschitz constant
LEVELS = (2.0, 0.5, 0.125, 0.03125, 0.0078125)  # of the clip, where clips are compared
REACHES_OF_A_CLIP = (64.0, 256.0, 1024.0, 4096.0)
SHARES = (0.0, 0.1, 0.25, 0.5, 1.0)
SEEDS, FOLD = 5, 900

Shape = Callable[[float, float, int], Run]  # of a reach, a clip and n records


def run_of(
    task: Task, K: int, steps: int, reach: float, clip: float, n: int, beta: float = 1.0, independent: bool = False
) -> Run:
    """Of K directions, at `EPSILON` with all iterates released."""
    longest, batch = task.constants.lipschitz * clip, max(1, n // PART)
    rate = reach / (steps * K / task.d * longest)
    choice = Choice(K, steps, rate, longest * sqrt(K / task.d), beta=beta, batch=batch)
    return Run(choice, multiplier(n, batch, steps, EPSILON, task.delta), independent)


def accuracies(task: Task, shapes: Sequence[Shape]) -> tuple[tuple[float, ...], ...]:
    """For each shape the accuracy of its best reach and clip, seed by seed."""
    part, grid, n = split(task, FOLD), list(product(REACHES, CLIPS)), len(task.data.X)
    tried = [shape(*each, len(part.X)) for shape in shapes for each in grid]
    right = accuracy(part, ended(part, tried, 0, ridge=task.ridge, R=task.R).last)
    best = [grid[int(np.argmax(right[i : i + len(grid)]))] for i in range(0, len(right), len(grid))]
    chosen = [shape(*each, n) for shape, each in zip(shapes, best, strict=True) for _ in range(SEEDS)]
    found = accuracy(task.data, ended(task.data, chosen, 1, ridge=task.ridge, R=task.R).last)
    return tuple(tuple(round(x, 4) for x in found[i : i + SEEDS]) for i in range(0, len(found), SEEDS))


def directions() -> list[Series]:
    """K from 1 to d: at a fixed number of passes, and at fixed steps along orthonormal directions and independent ones."""
    task = TASKS[TASK]
    every = (*DIRECTIONS, task.d)

    def line(study: str, label: str, Ks: Sequence[int], steps: Callable[[int], int], independent: bool = False) -> Series:
        shapes = [partial(run_of, task, K, steps(K), independent=independent) for K in Ks]
        return Series(study, label, tuple(map(float, Ks)), accuracies(task, shapes))

    passes = line(
        "ablation-directions", f"K T = {PASSES}", tuple(K for K in every if K * FEWEST <= PASSES), lambda K: PASSES // K
    )
    steps = line("ablation-directions", f"T = {T}", every, lambda _: T)
    independent = line("ablation-kind", "independent", every, lambda _: T, True)
    return [passes, steps, replace(steps, study="ablation-kind", label="orthonormal"), independent]


def shares() -> list[Series]:
    """beta from 0 to 1, all iterates released: noise off the directions hides nothing there."""
    task = TASKS[TASK]
    values = accuracies(task, [partial(run_of, task, SOME, T, beta=beta) for beta in SHARES])
    return [Series("ablation-share", f"K = {SOME}, all iterates released", SHARES, values)]


def clips() -> list[Series]:
    """A clip on each quotient against one on all of a record's together, by how far a record may move a step."""
    task, found = TASKS[TASK], []
    n = len(task.data.X)
    seeds = [Seed(number, 2**32 + number) for number in range(SEEDS)]
    for rule in ("joint", "each"):
        made = [_clipped(task, rule, reach, clip, n) for clip in LEVELS for reach in REACHES_OF_A_CLIP]
        right = []
        for seed in seeds:
            with one_thread():
                right.append(Job(task, tuple(made), (seed,), (T,)).advance(None, inf).accuracy[-1])
        mean, count = np.mean(right[: SEEDS // 2], axis=0), len(REACHES_OF_A_CLIP)
        best = [i + int(np.argmax(mean[i : i + count])) for i in range(0, len(made), count)]
        values = tuple(tuple(round(row[i], 4) for row in right[SEEDS // 2 :]) for i in best)
        found.append(Series("ablation-clip", rule, LEVELS, values))
    return found


def _clipped(task: Task, rule: str, reach: float, clip: float, n: int) -> Configuration:
    choice = run_of(task, FEW, T, reach, clip, n).choice
    one = replace(choice, clipping=rule, clip=choice.clip / (sqrt(FEW) if rule == "each" else 1))
    made = aimed(task, "aggzo", one, EPSILON, Accounting(), hidden=False)
    assert made
    return made
