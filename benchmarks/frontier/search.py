"""The search for each method's best setting at each epsilon: successive halving with mutation, the same budget for all.

A setting has eight coordinates on the same grids for every method: directions, steps, batch, reach, clip, share of the noise,
ridge and ball. A ridge or a ball that a task was given to make a bound finite may cost accuracy where another bound is the least.
Its trials train in law (`benchmarks.frontier.law`) on four fifths of the records to train on, with noise as the exact
privacy-loss distribution asks for, and are judged by the rest. Each further trial of a setting takes another split and another
seed, so that settings compare on the same splits. In every round a half of what a cell may spend repeats its best third; the rest
goes to mutants of its best settings and of those at the neighbouring epsilons.

The test part is never looked at. Choosing by private data costs privacy of its own, which no epsilon here covers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf, sqrt
from statistics import fmean
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.frontier.law import Run, accuracy, ended
from zoexplore.questions.calibration import calibrate
from zoexplore.run.setting import Setting
from zoexplore.training.aims import NEIGHBOURS, Choice
from zoexplore.training.data import Data, validation
from zoexplore.training.methods import METHODS
from zoexplore.training.tasks import Task

STEPS = tuple(round(3000 / 10 ** (i / 4)) for i in range(11))[::-1]  # 9 to 3000
PARTS = (1, 4, 16, 64)  # a batch has one of so many records
LARGE = 3  # of these, which the later rounds begin with
REACH = tuple(2 ** (i / 2) for i in range(-2, 37))  # the distance of T steps whose gradients are as long as the clip
CLIPS = tuple(2 ** (1 - i / 2) for i in range(23))  # of a gradient, in units of the Lipschitz constant
DIRECTIONS = (128, 32, 8)  # one direction for so many parameters
SHARES = (0.25, 0.5, 0.9, 1.0)  # of the noise along the directions
RIDGES = (None, 1e-5, 0.0)  # None: the task's own
BALLS = (inf, 200.0, 100.0, 50.0)
LIKELY = {  # where a first round over all grids had its best settings: with noise, and without
    True: {"reach": (17, 33), "clip": (1, 9)},
    False: {"reach": (28, 39)},
}
LASTING = {"some": (6, 10), "one or no noise": (7, 11)}  # likewise of T: 300 to 1687, and 533 to 3000
SHAPES = 1  # steps and batches that all cells have their new points of in a round, so that these train side by side
SPEND = 3e10  # of a cell in a round, in visits of a record times parameters
VISIT, PARAMETERS = 500, 200  # visits that a step costs beside its batch, and parameters that a visit costs beside its own
RUNGS = 4  # trials of a setting, at most
PARENTS, FRESH, ABROAD = 5, 0.3, 0.3
FINALISTS = 3
GRIDS: dict[str, tuple[Any, ...]] = {
    "K": DIRECTIONS, "T": STEPS, "part": PARTS, "reach": REACH, "clip": CLIPS, "beta": SHARES, "ridge": RIDGES,
    "ball": BALLS,
}  # fmt: skip
ENDS = ("T", "reach", "clip")  # grids whose ends are ours: no choice should lie there

TWINS = ("noisy-zogd", "aggzo")  # the first may do all that the second does

Point = tuple[int, ...]  # places on the grids, in their order


@lru_cache(maxsize=10_000)
def multiplier(n: int, batch: int | None, T: int, epsilon: float, delta: float) -> float:
    """The least noise multiplier of T steps of a joint clip whose iterates are all released."""
    if epsilon == inf:
        return 0.0
    run = Setting(
        n=n, d=1, K=1, T=T, sigma=1.0, beta=1.0, clipping="joint", neighbours=NEIGHBOURS, batch=batch, delta=delta,
        sampling="poisson" if batch else "without-replacement",
    )  # fmt: skip
    return calibrate(run, "sigma", epsilon=epsilon, bound="composition").noise_multiplier


def choice(task: Task, method: str, point: Point, n: int) -> Choice:
    """The setting at a point, for so many records."""
    kind, d = METHODS[method], task.d
    at = {name: grid[i] for (name, grid), i in zip(GRIDS.items(), point, strict=True)}
    K = d if kind.every_direction else kind.K or max(2, d // at["K"])
    seen = task.constants.lipschitz * at["clip"] if kind.noisy else 1.0
    return Choice(
        K, at["T"], at["reach"] / (at["T"] * K / d * min(seen, task.constants.lipschitz)),
        seen * sqrt(K / d) if kind.noisy else 1e300, "joint", at["beta"] if kind.beta is None else kind.beta,
        None if at["part"] == 1 else max(1, round(n / at["part"])), at["ridge"], at["ball"],
    )  # fmt: skip


@dataclass
class Cell:
    """What was tried of one method at one epsilon, in one draw of the tuning.

    Args:
        trials: by point, accuracies on the splits held out, trial by trial.
        averaged: likewise, of the average over the last half of the steps.
    """

    trials: dict[Point, list[float]] = field(default_factory=dict)
    averaged: dict[Point, list[float]] = field(default_factory=dict)

    @property
    def tried(self) -> int:
        """How many trials there were, repeated ones included."""
        return sum(map(len, self.trials.values()))

    def best(self, count: int) -> list[Point]:
        """The best points, those with most trials first in doubt: by the mean of their trials, less for having few."""
        return sorted(self.trials, key=lambda p: -(fmean(v := self.trials[p]) - 0.01 / len(v)))[:count]

    @property
    def chosen(self) -> Point:
        """The best mean among the points with most trials."""
        most = max(map(len, self.trials.values()))
        return max((p for p, v in self.trials.items() if len(v) == most), key=lambda p: fmean(self.trials[p]))

    def risen(self) -> Iterator[Point]:
        """Points that deserve another trial: of those with r trials or more, the best third by their first r."""
        for r in range(RUNGS - 1, 0, -1):
            there = sorted((p for p, v in self.trials.items() if len(v) >= r), key=lambda p: -fmean(self.trials[p][:r]))
            yield from (p for p in there[: len(there) // 3] if len(self.trials[p]) == r)


Key = tuple[str, float]  # method and epsilon


@dataclass
class Search:
    """One draw of the tuning of a task, round by round.

    Args:
        task: what is trained on.
        keys: methods and epsilons; epsilon is inf for a method without noise.
        draw: which one.
        rounds: how many are done.
        cells: the settings found.
    """

    task: Task
    keys: Sequence[Key]
    draw: int
    rounds: int = 0
    cells: dict[Key, Cell] = field(default_factory=dict)

    def go_on(self) -> None:
        """Do one round."""
        rng = np.random.default_rng([self.draw, self.rounds])
        shapes = {
            kind: [(int(rng.integers(*kind)), int(rng.integers(LARGE))) for _ in range(SHAPES)] for kind in LASTING.values()
        }
        asked = [
            (key, point, len(self._cell(key).trials.get(point, ())))
            for key in self.keys
            for point in self._asked(key, shapes[_lasting(key[0])])
        ]
        self._judge(asked)
        self.rounds += 1

    def settle(self) -> None:
        """Repeat the best few of every cell until each has all its trials: a choice is made among these."""
        finalists = [(key, point) for key, cell in self.cells.items() for point in cell.best(FINALISTS)]
        for fold in range(RUNGS):
            self._judge([(key, p, fold) for key, p in finalists if len(self.cells[key].trials[p]) == fold])

    def _judge(self, asked: Sequence[tuple[Key, Point, int]]) -> None:
        """A trial each, of points on these splits."""
        for fold in dict.fromkeys(fold for *_, fold in asked):
            members = [(key, point) for key, point, of in asked if of == fold]
            found = judged(self.task, members, 1000 + 100 * self.draw + fold, self.rounds)
            for (key, point), (last, average) in zip(members, found, strict=True):
                self._cell(key).trials.setdefault(point, []).append(last)
                self._cell(key).averaged.setdefault(point, []).append(average)

    def price(self, point: Point) -> float:
        """What a trial costs, in the unit of `SPEND`."""
        return STEPS[point[1]] * (len(self.task.data.X) / PARTS[point[2]] + VISIT) * (self.task.d + PARAMETERS)

    def _cell(self, key: Key) -> Cell:
        return self.cells.setdefault(key, Cell())

    def _near(self, key: Key) -> list[Key]:
        """The cells of the next epsilons, and of the method with the same steps at this one."""
        method, epsilon = key
        alike = sorted((other for other in self.cells if other[0] == method), key=lambda other: other[1])
        place = alike.index(key)
        return [
            *(other for other in alike[max(0, place - 1) : place + 2] if other != key),
            *(other for other in self.cells if other[1] == epsilon and {method, other[0]} == set(TWINS)),
        ]

    def _asked(self, key: Key, shapes: Sequence[tuple[int, int]]) -> list[Point]:
        """The settings that a cell tries next within its budget, all different; new points have these steps and batches
        alone."""
        method, epsilon = key
        rng = np.random.default_rng([self.draw, self.rounds, crc32(f"{method} {epsilon}".encode())])
        cell = self._cell(key)
        neighbours = [
            p if other[0] == method else (*p[:5], len(SHARES) - 1, *p[6:])
            for other in self._near(key)
            for p in self.cells[other].best(2)
        ]
        found: dict[Point, None] = {}
        spent = 0.0
        again = cell.risen()
        for _ in range(1000):
            point = next(again, None) if spent < SPEND / 2 else None
            if point is None:
                point = mutant(method, cell.best(PARENTS), neighbours, rng)
                point = (point[0], *shapes[int(rng.integers(len(shapes)))], *point[3:])
                if point in cell.trials:
                    continue
            price = self.price(point)
            if spent + price > SPEND and found:
                if spent > 0.8 * SPEND:
                    break
                continue
            if point not in found:
                found[point] = None
                spent += price
        return list(found)


def _lasting(method: str) -> tuple[int, int]:
    """Which steps a method is likely to need: many where a step is along one direction, or where nothing but time is lost."""
    return LASTING["some" if METHODS[method].noisy and METHODS[method].K != 1 else "one or no noise"]


def mutant(method: str, parents: Sequence[Point], abroad: Sequence[Point], rng: np.random.Generator) -> Point:
    """A point that differs in up to three coordinates from a good one, or any likely point."""
    kind = METHODS[method]
    if not parents or rng.random() < FRESH:
        point = [int(rng.integers(*LIKELY[kind.noisy].get(name, (0, len(grid))))) for name, grid in GRIDS.items()]
    else:
        far = bool(abroad) and rng.random() < ABROAD
        point = list((pool := abroad if far else parents)[int(rng.integers(len(pool)))])
        for _ in range(int(rng.integers(0 if far else 1, 4))):
            i = int(rng.integers(len(point)))
            point[i] = int(np.clip(point[i] + rng.choice((-2, -1, 1, 2)), 0, len(list(GRIDS.values())[i]) - 1))
    free = (kind.K is None, True, True, True, kind.noisy, kind.beta is None and kind.noisy, True, kind.noisy)
    return tuple(i * f for i, f in zip(point, free, strict=True))


def judged(task: Task, asked: Sequence[tuple[Key, Point]], fold: int, seed: int) -> list[tuple[float, float]]:
    """Accuracies on one split of the last iterates, and of tail averages."""
    data = split(task, fold)
    n, runs = len(data.X), []
    for (method, epsilon), point in asked:
        c = choice(task, method, point, n)
        z = multiplier(n, c.batch, c.T, epsilon, task.delta)
        runs.append(Run(c, z))
    end = ended(data, runs, crc32(f"{fold} {seed}".encode()), ridge=task.ridge, R=task.R)
    return list(zip(accuracy(data, end.last), accuracy(data, end.average), strict=True))


@lru_cache(maxsize=6)
def split(task: Task, fold: int) -> Data:
    """The records to train on, a fifth of them held out; another fifth for another number."""
    return validation(task.data, fold)
