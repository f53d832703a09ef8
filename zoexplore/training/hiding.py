"""What hiding the iterates buys: how near Noisy-ZOGD comes to the minimum of a strongly convex objective at fixed epsilon.

It is tuned with its last iterate alone released, and with all of them. The objective is the one that is trained, its ridge
included, on the records to train on. Nearness is measured by the objective, and by the share of records that are decided
otherwise than at the minimum, which is as the angle to it, where the objective's excess is as the distance squared. Steps, step
size, directions and share of the noise are chosen for each measure from the same grid for both, with seeds that no result uses.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import replace
from functools import lru_cache
from math import inf
from typing import NamedTuple

import numpy as np

from zoexplore.training.accounts import accounts
from zoexplore.training.aims import Choice, aimed
from zoexplore.training.data import Data
from zoexplore.training.engine import Configuration, Job, one_thread
from zoexplore.training.finished import Nearness
from zoexplore.training.plans import NOISE_SEED, Plan
from zoexplore.training.tasks import TASKS, Task
from zoexplore.training.tuning import ACCOUNTING, pieces

EPSILONS = (0.3, 1.0, 3.0, 8.0)
TRIED = (1000, 1001, 1002)  # seeds that are chosen by
RESULTS = 24  # seeds of a result
STEPS = (12, 25, 50, 100, 200, 400)
FEW = 8  # directions
METHOD = "noisy-zogd"
PART = 8  # one record of so many is trained on
MEASURES = ("objective", "decisions")  # that a run is chosen by


def flights() -> Data:
    """Every eighth of the flights to train on: the grid trains in an eighth of the time."""
    data = TASKS["flights"].data
    return replace(data, X=data.X[::PART], y=data.y[::PART])


class End(NamedTuple):
    """Where a run ended.

    Args:
        excess: of the objective over its minimum.
        accuracy: on the test part.
        differing: share of the test part that is decided otherwise than at the minimum.
        differing_trained: the same of the records to train on.
    """

    excess: float
    accuracy: float
    differing: float
    differing_trained: float


TASK = replace(TASKS["flights"], source=flights, ridge=0.02)


def grid(task: Task) -> list[Choice]:
    """Few directions, and all of them, each with two step sizes; few with two shares of the noise too. The clip is idle."""
    constants = task.constants
    few = [(FEW, rate, beta) for rate in (0.5, 1.0) for beta in (0.5, 1.0)]
    every = [(task.d, rate, 0.5) for rate in (1.0, 2.0)]
    return [Choice(K, T, rate / constants.M, constants.lipschitz, beta=beta) for T in STEPS for K, rate, beta in (*few, *every)]


def nearness(
    task: Task, epsilons: Sequence[float], executor: Executor, *, tried: Callable[[Task], list[Choice]] = grid,
    seeds: int = RESULTS, tell: Callable[[str], None] = lambda _: None,
) -> list[Nearness]:  # fmt: skip
    """The best of both kinds for every epsilon, by each measure, of each number of directions.

    Args:
        task: with a logistic loss and a ridge.
        epsilons: targets.
        executor: where to compute.
        tried: what is tried.
        seeds: how many, of each result.
        tell: called with what is being done.
    """
    asked = [(choice, target, hidden) for choice in tried(task) for target in epsilons for hidden in (True, False)]
    tell(f"hiding: solves sigma of {len(asked)} runs")
    made = list(executor.map(_aimed, *zip(*((task, *each) for each in asked), strict=True), chunksize=4))
    runs = [c for c in made if c is not None]
    tried_out = _ended(task, runs, TRIED, executor, tell)
    best: dict[tuple[str, int, float, bool], Configuration] = {}
    for measure in MEASURES:
        for c in runs:
            key = measure, c.setting.K, c.target or inf, c.hidden
            if key not in best or _judged(tried_out[c], measure) < _judged(tried_out[best[key]], measure):
                best[key] = c
    found = _ended(task, list(dict.fromkeys(best.values())), tuple(range(seeds)), executor, tell)
    start = excess(task, np.zeros((1, task.d)))[0]
    return [
        Nearness(
            measure, hidden, target, K, c.setting.T, c.setting.beta, c.setting.eta / K, c.setting.sigma,
            tuple(float(f"{end.excess / start:.4g}") for end in found[c]), tuple(round(end.differing, 6) for end in found[c]),
            tuple(round(end.accuracy, 4) for end in found[c]), _by(task, c),
        )
        for (measure, K, target, hidden), c in sorted(best.items())
    ]  # fmt: skip


def _judged(ends: Sequence[End], measure: str) -> float:
    """By the records to train on alone."""
    return float(np.mean([end.excess if measure == "objective" else end.differing_trained for end in ends]))


def _aimed(task: Task, choice: Choice, target: float, hidden: bool) -> Configuration | None:
    return aimed(task, METHOD, choice, target, ACCOUNTING, hidden=hidden)


def _by(task: Task, c: Configuration) -> str:
    """How a run is counted."""
    return accounts(task, c, ACCOUNTING)[-1].counted


Ends = dict[Configuration, list[End]]


def _ended(
    task: Task, runs: Sequence[Configuration], seeds: tuple[int, ...], executor: Executor, tell: Callable[[str], None]
) -> Ends:  # fmt: skip
    """Where every run ended, seed by seed."""
    jobs = [piece for job in Plan(task, tuple(runs), seeds, NOISE_SEED, ACCOUNTING).jobs for piece in pieces(job)]
    pending = [executor.submit(_end, job) for job in sorted(jobs, key=lambda job: -job.T)]
    found: Ends = {}
    for i, future in enumerate(as_completed(pending)):
        for c, ends in future.result().items():
            found.setdefault(c, []).extend(ends)
        tell(f"hiding: {i + 1} of {len(pending)} parts done")
    return found


def _end(job: Job) -> Ends:
    with one_thread():
        state = replace(job, records=(job.T,)).advance(None, inf)
    data, w, C = job.task.data, state.w.numpy(), len(job.configurations)
    columns = excess(job.task, w), state.accuracy[-1], differing(job.task, w, data.X_test), differing(job.task, w, data.X)
    ends = [End(*map(float, row)) for row in zip(*columns, strict=True)]
    return {c: ends[i::C] for i, c in enumerate(job.configurations)}


def differing(task: Task, w: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The share of records X that parameters w, shape (C, d), decide otherwise than the objective's minimum does, shape (C,)."""
    return np.mean((X @ w.T > 0) != (X @ _minimiser(task) > 0)[:, None], axis=0)


def excess(task: Task, w: np.ndarray) -> np.ndarray:
    """By how much the objective exceeds its minimum, in double precision: parameters of shape (C, d) to (C,)."""
    return _objective(task, w) - _objective(task, _minimiser(task)[None])


def _objective(task: Task, w: np.ndarray) -> np.ndarray:
    X, y = task.data.X, task.data.y
    return np.array([np.mean(np.logaddexp(0, z := X @ v) - y * z) + task.ridge / 2 * v @ v for v in w])


@lru_cache(maxsize=2)
def _minimiser(task: Task) -> np.ndarray:
    """By Newton's method, which a ridge and a logistic loss let end at rounding."""
    X, y, w = task.data.X, task.data.y, np.zeros(task.d)
    for _ in range(20):
        p = 1 / (1 + np.exp(-X @ w))
        hessian = (X * (p * (1 - p))[:, None]).T @ X / len(y) + task.ridge * np.eye(len(w))
        w = w - np.linalg.solve(hessian, X.T @ (p - y) / len(y) + task.ridge * w)
    return w
