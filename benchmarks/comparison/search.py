"""Searches for each method's best setting at each epsilon, with the same number of trials for all
methods and on the same grids.

A setting has six coordinates: directions, steps, batch, reach, clip and share of the noise. It has
neither ridge nor ball, which only help bounds on hidden iterates. A trial simulates a run
(`benchmarks.comparison.law`) on four fifths of the training records, with the noise that the exact
privacy-loss distribution requires, and is judged by the other fifth. Settings spread evenly over a
region have one trial each, and the best of them have more. Mutants of the best follow. The last few
are compared on fresh splits, which alone decide: the best on the first of these splits are compared
on the others.

The search never looks at the test records. Choosing by private data costs privacy of its own, which
no epsilon here covers.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from math import inf, sqrt
from statistics import fmean
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from scipy.stats import qmc

from benchmarks.comparison.choices import Choice
from benchmarks.comparison.law import Run, ended, parted, validated
from zoexplore.questions.calibration import calibrate
from zoexplore.run.setting import Setting
from zoexplore.training.data import Data
from zoexplore.training.methods import METHODS
from zoexplore.training.tasks import Task

STEPS = tuple(round(3000 * 10 ** (i / 4)) for i in range(-10, 9))  # 9 to 300 000
PARTS = (1, 4, 16, 64, 256)  # a batch has one record in so many
# the distance of T steps whose gradients are as long as the clip
REACH = tuple(2 ** (i / 2) for i in range(8, 42))
# 8 to 2^-9, of a gradient, in units of the Lipschitz constant
CLIPS = tuple(2 ** (3 - i / 2) for i in range(25))
DIRECTIONS = (128, 32, 8)  # one direction for so many parameters
SHARES = (0.9, 1.0)  # of the noise along the directions
GRIDS: dict[str, tuple[Any, ...]] = {
    "K": DIRECTIONS,
    "T": STEPS,
    "part": PARTS,
    "reach": REACH,
    "clip": CLIPS,
    "beta": SHARES,
}
ENDS = ("T", "reach", "clip")  # grids whose ends are arbitrary, so no choice should lie there
EVERY, SOME, ONE = "every direction", "some directions", "one direction"
# where settings are spread at first, as places on the grids; clips begin at 2^(1/2) or 2^(5/2)
REGION = {
    EVERY: {"T": (4, 8), "part": (0, 3), "reach": (6, 25), "clip": (5, 21)},  # 95 to 533 steps
    SOME: {"T": (6, 9), "part": (0, 3), "reach": (6, 25), "clip": (5, 21)},  # 300 to 949
    ONE: {"T": (12, 15), "part": (2, 4), "reach": (6, 21), "clip": (1, 15)},  # 9487 to 30 000
}
WITHOUT_NOISE = {"T": (8, 11), "part": (0, 3), "reach": (20, 32), "clip": (0, 1)}
# how often a run may visit a record at most; a run that would do so more often has smaller batches
VISITS = {EVERY: 200, SOME: 200, ONE: 800}
# `FIRST` settings have one trial each; the best `FEWER` of them have `AGAIN` trials
FIRST, FEWER, AGAIN = 64, 12, 2
MUTANTS, PARENTS = 16, 4
MEETINGS = ((8, 4), (3, 12))  # compare so many finalists on so many fresh splits

Point = tuple[int, ...]  # places on the grids, in their order
Key = tuple[str, float]  # method and epsilon; inf for a method without noise


class Found(NamedTuple):
    """What a search ended with.

    Args:
        finalists: the best points, the chosen one first.
        validation: the chosen point's mean accuracy on the splits that decided.
        trials: the number of all trials.
    """

    finalists: list[Point]
    validation: float
    trials: int


@lru_cache(maxsize=10_000)
def multiplier(n: int, batch: int | None, T: int, epsilon: float, delta: float) -> float:
    """Return the least noise multiplier of T steps with a joint clip and all iterates released."""
    if epsilon == inf:
        return 0.0
    run = Setting(
        n=n,
        d=1,
        K=1,
        T=T,
        sigma=1.0,
        beta=1.0,
        clipping="joint",
        neighbours="add-remove",
        batch=batch,
        delta=delta,
        sampling="poisson" if batch else "without-replacement",
    )
    return calibrate(run, "sigma", epsilon=epsilon, bound="composition").noise_multiplier


def choice(task: Task, method: str, point: Point, n: int) -> Choice:
    """Return the setting at a point, for n records."""
    kind, d = METHODS[method], task.d
    at = {name: grid[i] for (name, grid), i in zip(GRIDS.items(), point, strict=True)}
    K = d if kind.every_direction else kind.K or max(2, d // at["K"])
    seen = task.constants.lipschitz * at["clip"] if kind.noisy else 1.0
    return Choice(
        K,
        at["T"],
        at["reach"] / (at["T"] * K / d * min(seen, task.constants.lipschitz)),
        seen * sqrt(K / d) if kind.noisy else 1e300,
        "joint",
        at["beta"] if kind.beta is None else kind.beta,
        None if at["part"] == 1 else max(1, round(n / at["part"])),
        0.0,
        inf,
    )


def sort(method: str) -> str:
    """Return the key of `REGION` that tells how many directions a method takes."""
    kind = METHODS[method]
    return EVERY if kind.every_direction else ONE if kind.K == 1 else SOME


def free(method: str) -> tuple[bool, ...]:
    """Return which coordinates mean anything to a method. The others are always 0."""
    kind = METHODS[method]
    return kind.K is None, True, True, True, kind.noisy, kind.beta is None and kind.noisy


def placed(method: str, unit: np.ndarray) -> list[Point]:
    """Turn rows of numbers from 0 to 1 into points of a method's region."""
    likely = REGION[sort(method)] if METHODS[method].noisy else WITHOUT_NOISE
    low, end = np.array([likely.get(name, (0, len(grid))) for name, grid in GRIDS.items()]).T
    return [
        affordable(method, row)
        for row in (low + unit * (end - low)).astype(int) * np.array(free(method))
    ]


def affordable(method: str, point: Sequence[int]) -> Point:
    """Return the point, with batches or steps reduced as far as needed to visit no record too
    often.
    """
    K, T, part, *rest = map(int, point)
    while STEPS[T] > VISITS[sort(method)] * PARTS[part]:
        if part + 1 < len(PARTS):
            part += 1
        else:
            T -= 1
    return K, T, part, *rest


def mutant(method: str, parents: Sequence[Point], rng: np.random.Generator) -> Point:
    """Return a point that differs from one of `parents` by a place or two in up to three
    coordinates.
    """
    point = list(parents[int(rng.integers(len(parents)))])
    moving = [i for i, is_free in enumerate(free(method)) if is_free]
    for i in rng.choice(moving, int(rng.integers(1, 4)), replace=False):
        point[i] = int(
            np.clip(point[i] + rng.choice((-2, -1, 1, 2)), 0, len(list(GRIDS.values())[i]) - 1)
        )
    return affordable(method, point)


def search(task: Task, key: Key, draw: int, known: Sequence[Point] = ()) -> Found:
    """Tune a method at an epsilon once. Try `known` points too, such as those found at another
    epsilon.
    """
    trials = _Trials(task, key, draw)
    rng = np.random.default_rng([draw, crc32(f"{key[0]} {key[1]}".encode())])
    trials.go([*known, *placed(key[0], qmc.Sobol(len(GRIDS), rng=draw).random(FIRST))], range(1))
    trials.go(trials.best(FEWER, 1), range(AGAIN))
    parents = trials.best(PARENTS, AGAIN)
    trials.go([mutant(key[0], parents, rng) for _ in range(MUTANTS)], range(AGAIN))
    return trials.decided()


def control(task: Task, key: Key, count: int, draw: int) -> Found:
    """Find the best of so many random settings of the region. Each has one trial; then the best few
    are compared as in a search.
    """
    trials = _Trials(task, key, draw)
    trials.go(placed(key[0], np.random.default_rng(draw).random((count, len(GRIDS)))), range(1))
    return trials.decided()


class _Trials:
    """The accuracies of one search, by point and split."""

    def __init__(self, task: Task, key: Key, draw: int) -> None:
        self.task, self.key, self.draw = task, key, draw
        self.made: dict[Point, dict[int, float]] = defaultdict(dict)

    def go(self, points: Sequence[Point], folds: Sequence[int]) -> None:
        """Try points on splits, except where they were tried before."""
        new = [
            (p, fold) for fold in folds for p in dict.fromkeys(points) if fold not in self.made[p]
        ]
        asked = [(point, 1000 + 100 * self.draw + fold) for point, fold in new]
        for (point, fold), right in zip(
            new, judged(self.task, self.key, asked, self.count), strict=True
        ):
            self.made[point][fold] = right

    @property
    def count(self) -> int:
        return sum(map(len, self.made.values()))

    def best(self, count: int, trials: int) -> list[Point]:
        """Return the `count` best points with at least `trials` trials, by their first `trials`."""
        enough = [p for p, tried in self.made.items() if len(tried) >= trials]
        return sorted(enough, key=lambda p: -fmean(self.made[p][fold] for fold in range(trials)))[
            :count
        ]

    def decided(self) -> Found:
        """Compare the last few points on fresh splits, and return what the search found."""
        first, last = AGAIN, self.best(MEETINGS[0][0], max(map(len, self.made.values())))
        end = first
        for count, splits in MEETINGS:
            last, end = last[:count], end + splits
            self.go(last, range(end - splits, end))
            means = {p: fmean(self.made[p][fold] for fold in range(first, end)) for p in last}
            last = sorted(last, key=lambda p: -means[p])
        return Found(last, means[last[0]], self.count)


def judged(task: Task, key: Key, asked: Sequence[tuple[Point, int]], seed: int) -> list[float]:
    """Return the accuracies of last iterates at points, each on records that a split holds out."""
    if not asked:
        return []
    (method, epsilon), n = key, len(parted(len(task.data.X), 0)[0])
    chosen = [choice(task, method, point, n) for point, _ in asked]
    runs = [
        Run(c, multiplier(n, c.batch, c.T, epsilon, task.delta), fold=fold)
        for c, (_, fold) in zip(chosen, asked, strict=True)
    ]
    return validated(
        task.data, runs, ended(task.data, runs, crc32(f"{key} {seed}".encode()), common=True).last
    )


def split(task: Task, fold: int) -> Data:
    """Return the training records, with those that a split holds out as the test records."""
    train, held_out = parted(len(task.data.X), fold)
    X, y = task.data.X, task.data.y
    return Data(X[train], y[train], X[held_out], y[held_out], task.data.classes)
