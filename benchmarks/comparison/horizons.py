"""Studies what hidden iterates gain if the number of steps is not known beforehand.

A logistic loss with a ridge is trained over a frozen random network, on all records and at one
epsilon. The network runs forward only, in integers of eight bits. Noisy-ZOGD releases its last
iterate alone and has one noise scale for every number of steps. Its rivals, DPZero and DP-AggZO,
release every iterate. Their noise is set for the number of steps if that is known beforehand, or
else for the largest number. They may release the average over the last half of the iterates in
place of the last iterate, which takes a second copy of the parameters. Each way's step size is
chosen by the objective on the training records, with seeds that no result uses.

The clip never acts, so the simulated runs are exact in law (`benchmarks.comparison.law`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from benchmarks.comparison.choices import Choice
from benchmarks.comparison.kept import Series
from benchmarks.comparison.law import Run, accuracy, ended
from zoexplore.bounds import curve
from zoexplore.run.setting import Accounting
from zoexplore.training.data import Data, carried_by_scikit_learn, prepare
from zoexplore.training.methods import Configuration
from zoexplore.training.privacy import accounts
from zoexplore.training.tasks import Task

EPSILON = 2.0
UNITS, WIDTH = 64, 1.5  # of the frozen network; they mean what they do for `cosines`
STEPS = (100, 316, 1000, 3162, 10_000)
LONGEST = 1_000_000
FEW = 8  # directions
BATCH = 144  # the records of a batch, if a batch does not have all records
MIDDLE = 1000  # steps at which memory is compared, and for which Noisy-ZOGD's one setting is chosen
DIRECTIONS = (1, 2, 4, 8, 16, 32)  # numbers of directions of the comparison of memory
SHARES, RATES = (0.25, 0.5, 0.9), (0.25, 0.5, 1.0)  # of hidden runs; rates in units of 1/M
RELAXATIONS = (1.0, 2.0, 4.0)  # of public runs: rate times steps, in units of d/(K ridge)
LARGEST_RATE = 2.0  # of public runs, in units of 1/M
TRIED, SEEDS = 2, 6


def head() -> Data:
    """Return the data: the units of a frozen random network, and whether a digit is odd."""
    X, y = carried_by_scikit_learn("digits.csv.gz")
    return prepare(units(X), y % 2, 2)


def units(pixels: np.ndarray) -> np.ndarray:
    """Compute `cosines` of rows of integers from 0 to 16, with weights that are rounded to eight
    bits and sums in 32 bits.

    The result has the shape (records, `UNITS`). The weights are public, and each row depends on one
    record alone.
    """
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((pixels.shape[1], UNITS)) * WIDTH
    scale = 127 / np.abs(weights).max()
    sums = np.matmul(
        pixels.astype(np.int8), (weights * scale).round().astype(np.int8), dtype=np.int32
    )
    lengths = scale * np.linalg.norm(pixels, axis=1, keepdims=True)
    features: np.ndarray = np.cos(sums / lengths + rng.uniform(0, 2 * np.pi, UNITS))
    return features


TASK = Task(
    "head",
    "A head over a frozen random network",
    "Is a digit odd? Logistic loss over 64 units in int8.",
    head,
    "logistic",
    ridge=0.05,
    R=20.0,
    K=FEW,
    T=MIDDLE,
    sigmas=(1e-3,),
)


class Way(NamedTuple):
    """How to train and what to release.

    Args:
        label: the name of the way in a legend.
        K: the number of directions.
        hidden: whether the last iterate alone is released, at one noise scale for every T.
        average: whether the average over the last half of the iterates is released, together with
            all iterates.
        planned: the number of steps that noise and step size are set for; each run's own if None.
        batch: the expected number of records of a Poisson batch; all records if None.
    """

    label: str
    K: int
    hidden: bool = False
    average: bool = False
    planned: int | None = None
    batch: int | None = None


WAYS = (
    Way("Noisy-ZOGD, last iterate, any T", FEW, hidden=True),
    Way("DP-AggZO, last iterate, T known", FEW),
    Way("DP-AggZO, tail average, T known", FEW, average=True),
    Way("DP-AggZO, last iterate, T unknown", FEW, planned=LONGEST),
    Way("DPZero, last iterate, T known", 1),
    Way("DPZero, tail average, T known", 1, average=True),
)


def candidates(way: Way, T: int) -> list[Run]:
    """List the runs that a way may choose from for T steps, with the least noise at `EPSILON`."""
    planned = LONGEST if way.hidden else way.planned or T
    M = TASK.constants.M
    if way.hidden:
        shapes = [(rate / M, beta) for rate, beta in product(RATES, SHARES)]
    else:
        reach = (
            min(times * TASK.d / (way.K * TASK.ridge * planned), LARGEST_RATE / M)
            for times in RELAXATIONS
        )
        shapes = [(rate, 1.0) for rate in dict.fromkeys(reach)]
    made = [_aimed(way.K, way.hidden, planned, way.batch, *shape) for shape in shapes]
    return [Run(choice_of(c, T), c.setting.noise_multiplier) for c in made if c is not None]


@lru_cache
def _aimed(
    K: int, hidden: bool, T: int, batch: int | None, rate: float, beta: float
) -> Configuration | None:
    choice = Choice(K, T, rate, TASK.constants.lipschitz, beta=beta, batch=batch, ridge=TASK.ridge)
    return choice.made(TASK, "noisy-zogd", EPSILON, hidden)


def choice_of(made: Configuration, T: int) -> Choice:
    """Return the choice that makes T steps of a configuration."""
    s = made.setting
    batch = None if s.full_batch else s.batch
    return Choice(s.K, T, s.eta / s.K, s.clip, beta=s.beta, batch=batch, ridge=s.ridge)


def epsilons() -> list[Series]:
    """Study epsilon over the number of steps, at the noise that `EPSILON` takes: for any number of
    steps if iterates are hidden, else for a hundred steps.
    """
    T, found = np.unique(np.geomspace(10, LONGEST, 31).round().astype(int)).tolist(), []
    for way in (WAYS[0], WAYS[1], WAYS[4]):
        planned = LONGEST if way.hidden else STEPS[0]
        made = _aimed(
            way.K,
            way.hidden,
            planned,
            None,
            RATES[-1] / TASK.constants.M,
            SHARES[1] if way.hidden else 1.0,
        )
        assert made
        known, bound = (
            accounts(TASK, made, Accounting())[-1],
            "sharp" if way.hidden else "composition",
        )
        values = curve(known.setting, "T", T, (bound,), accounting=known.accounting)[bound]
        label = way.label.partition(",")[0]
        found.append(
            Series(
                "horizon-epsilon",
                label,
                tuple(map(float, T)),
                tuple((float(value),) for value in values),
            )
        )
    return found


class Ends(NamedTuple):
    """Where runs of several seeds end: the objective's excess over its minimum, as a fraction of
    the excess before the first step, and the accuracy.
    """

    excess: tuple[float, ...]
    accuracy: tuple[float, ...]


def trained(asked: Sequence[tuple[Way, Run]], seeds: int, first: int) -> list[Ends]:
    """Simulate runs, each with so many seeds, and return where they end."""
    start = objective(np.zeros((1, TASK.d)))[0] - least()
    runs = list(dict.fromkeys(run for _, run in asked))
    end, found = ended(TASK.data, [run for run in runs for _ in range(seeds)], first, R=TASK.R), []
    for way, run in asked:
        i = runs.index(run) * seeds
        w = (end.average if way.average else end.last)[i : i + seeds]
        excess = (objective(w.double().numpy()) - least()) / start
        found.append(
            Ends(
                tuple(float(f"{x:.4g}") for x in excess),
                tuple(round(a, 4) for a in accuracy(TASK.data, w)),
            )
        )
    return found


def settled(ways: Iterable[tuple[Way, int]]) -> list[Run]:
    """Return, for each way and number of steps, the candidate that comes nearest to the minimum.
    The seeds are used for nothing else.
    """
    asked = [(i, way, run) for i, (way, T) in enumerate(ways) for run in candidates(way, T)]
    ends = trained([(way, run) for _, way, run in asked], TRIED, 1)
    best: dict[int, tuple[float, Run]] = {}
    for (i, _, run), end in zip(asked, ends, strict=True):
        value = float(np.mean(end.excess))
        if i not in best or value < best[i][0]:
            best[i] = value, run
    return [run for _, run in best.values()]


def over_steps() -> list[Series]:
    """Study the objective and the accuracy over the number of steps, and the objective over passes
    through the data.
    """
    ends = _at_all_steps(WAYS)
    found = []
    for way in WAYS:
        excess, right = _of(ends, way)
        found += [
            Series("horizon-objective", way.label, _STEPS, excess),
            Series("horizon-accuracy", way.label, _STEPS, right),
        ]
        passes = tuple(2.0 * way.K * T for T in STEPS)
        found.append(Series("horizon-passes", way.label, passes, excess))
    return found


def over_batches() -> list[Series]:
    """Study the objective over the number of steps on Poisson batches."""
    ways = [way._replace(batch=BATCH) for way in WAYS[:4]]
    ends = _at_all_steps(ways)
    return [Series("horizon-batches", way.label, _STEPS, _of(ends, way)[0]) for way in ways]


_STEPS = tuple(map(float, STEPS))


def _at_all_steps(ways: Sequence[Way]) -> dict[tuple[Way, int], Ends]:
    known = [(way, T) for way in ways for T in ((MIDDLE,) if way.hidden else STEPS)]
    runs = dict(zip(known, settled(known), strict=True))
    asked = []
    for way, T in product(ways, STEPS):
        run = runs[way, MIDDLE if way.hidden else T]
        asked.append((way, replace(run, choice=replace(run.choice, T=T))))
    return dict(zip(product(ways, STEPS), trained(asked, SEEDS, 2), strict=True))


def _of(ends: dict[tuple[Way, int], Ends], way: Way) -> tuple[Any, Any]:
    """Return a way's excess and accuracy over the numbers of steps."""
    of = [ends[way, T] for T in STEPS]
    return tuple(e.excess for e in of), tuple(e.accuracy for e in of)


def over_memory() -> list[Series]:
    """Study the objective over how many numbers a run keeps: K for every record, and one or two
    copies of the parameters.
    """
    kinds = WAYS[:4]
    asked = [(way._replace(K=K), MIDDLE) for way in kinds for K in DIRECTIONS]
    runs = settled(asked)
    ends = trained([(way, run) for (way, _), run in zip(asked, runs, strict=True)], SEEDS, 3)
    found = []
    for i, way in enumerate(kinds):
        kept = tuple(float(K * len(TASK.data.X) + (1 + way.average) * TASK.d) for K in DIRECTIONS)
        part = ends[i * len(kept) : (i + 1) * len(kept)]
        found.append(
            Series(
                "horizon-memory",
                way.label.replace("DP-AggZO", "All released"),
                kept,
                tuple(e.excess for e in part),
            )
        )
    return found


def objective(w: np.ndarray) -> np.ndarray:
    """Compute the objective that is trained, with the ridge, in double precision: parameters of
    shape (runs, d) give values of shape (runs,).
    """
    X, y = TASK.data.X, TASK.data.y
    return np.array(
        [np.mean(np.logaddexp(0, z := X @ v) - y * z) + TASK.ridge / 2 * v @ v for v in w]
    )


@lru_cache
def least() -> float:
    """Return the minimum of the objective, by Newton's method. With a logistic loss and a ridge the
    method converges up to rounding.
    """
    X, y, w = TASK.data.X, TASK.data.y, np.zeros(TASK.d)
    for _ in range(20):
        p = 1 / (1 + np.exp(-X @ w))
        hessian = (X * (p * (1 - p))[:, None]).T @ X / len(y) + TASK.ridge * np.eye(len(w))
        w = w - np.linalg.solve(hessian, X.T @ (p - y) / len(y) + TASK.ridge * w)
    return float(objective(w[None])[0])
