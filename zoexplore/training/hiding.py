"""What hiding the iterates buys: how near Noisy-ZOGD comes to the minimum of a strongly convex objective at fixed epsilon.

It is tuned with its last iterate alone released, and with all of them. The objective is the one that is trained, its ridge
included, on the records to train on. Steps, step size, directions and share of the noise are chosen from the same grid for both,
with seeds that no result uses.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import replace
from functools import lru_cache
from math import inf

import numpy as np

from zoexplore.training.accounts import accounts
from zoexplore.training.aims import Choice, aimed
from zoexplore.training.data import Data
from zoexplore.training.engine import Configuration, Job
from zoexplore.training.finished import Nearness
from zoexplore.training.plans import NOISE_SEED, Plan
from zoexplore.training.tasks import TASKS, Task
from zoexplore.training.tuning import ACCOUNTING, SEEDS, pieces

EPSILONS = (0.03, 0.1, 0.3, 1.0, 3.0)
RESULTS = 5  # seeds of a result
STEPS = (12, 25, 50, 100, 200, 400)
FEW = 8  # directions
METHOD = "noisy-zogd"
PART = 4  # one record of so many is used


def flights() -> Data:
    """Every fourth of the flights: the grid trains in a quarter of the time."""
    data = TASKS["flights"].data
    return replace(data, X=data.X[::PART], y=data.y[::PART], X_test=data.X_test[::PART], y_test=data.y_test[::PART])


TASK = replace(TASKS["flights"], source=flights, ridge=0.02)


def grid(task: Task) -> list[Choice]:
    """Few directions with two shares of the noise, and all of them with two step sizes; the clip idle."""
    constants = task.constants
    few = [(FEW, 1.0, beta) for beta in (0.5, 1.0)]
    every = [(task.d, rate, 0.5) for rate in (1.0, 2.0)]
    return [Choice(K, T, rate / constants.M, constants.lipschitz, beta=beta) for T in STEPS for K, rate, beta in (*few, *every)]


def nearness(
    task: Task, epsilons: Sequence[float], executor: Executor, *, tried: Callable[[Task], list[Choice]] = grid,
    seeds: int = RESULTS, tell: Callable[[str], None] = lambda _: None,
) -> tuple[Nearness, ...]:  # fmt: skip
    """The best of both kinds for every epsilon, and of each number of directions.

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
    tried_out = _ended(task, runs, tuple(SEEDS), executor, tell)
    best: dict[tuple[int, float, bool], Configuration] = {}
    for c in runs:
        key = c.setting.K, c.target or inf, c.hidden
        if key not in best or np.mean(tried_out[c][0]) < np.mean(tried_out[best[key]][0]):
            best[key] = c
    found = _ended(task, list(best.values()), tuple(range(seeds)), executor, tell)
    start = excess(task, np.zeros((1, task.d)))[0]
    return tuple(
        Nearness(
            hidden, target, K, c.setting.T, c.setting.beta, c.setting.eta / K, c.setting.sigma,
            tuple(float(f"{x / start:.4g}") for x in found[c][0]), tuple(round(x, 4) for x in found[c][1]), _by(task, c),
        )
        for (K, target, hidden), c in sorted(best.items())
    )  # fmt: skip


def _aimed(task: Task, choice: Choice, target: float, hidden: bool) -> Configuration | None:
    return aimed(task, METHOD, choice, target, ACCOUNTING, hidden=hidden)


def _by(task: Task, c: Configuration) -> str:
    """How a run is counted."""
    return accounts(task, c, ACCOUNTING)[-1].counted


Ends = dict[Configuration, tuple[list[float], list[float]]]


def _ended(
    task: Task, runs: Sequence[Configuration], seeds: tuple[int, ...], executor: Executor, tell: Callable[[str], None]
) -> Ends:  # fmt: skip
    """Excess objective and accuracy of every run, seed by seed."""
    jobs = [piece for job in Plan(task, tuple(runs), seeds, NOISE_SEED, ACCOUNTING).jobs for piece in pieces(job)]
    pending = [executor.submit(_end, job) for job in sorted(jobs, key=lambda job: -job.T)]
    found: Ends = {}
    for i, future in enumerate(as_completed(pending)):
        for c, (near, right) in future.result().items():
            known = found.setdefault(c, ([], []))
            known[0].extend(near)
            known[1].extend(right)
        tell(f"hiding: {i + 1} of {len(pending)} parts done")
    return found


def _end(job: Job) -> Ends:
    state = replace(job, records=(job.T,)).advance(None, inf)
    near, C = excess(job.task, state.w.numpy()), len(job.configurations)
    return {c: (near[i::C].tolist(), list(state.accuracy[-1][i::C])) for i, c in enumerate(job.configurations)}


def excess(task: Task, w: np.ndarray) -> np.ndarray:
    """By how much the objective exceeds its minimum, in double precision: parameters of shape (C, d) to (C,)."""
    return _objective(task, w) - _minimum(task)


def _objective(task: Task, w: np.ndarray) -> np.ndarray:
    X, y = task.data.X, task.data.y
    return np.array([np.mean(np.logaddexp(0, z := X @ v) - y * z) + task.ridge / 2 * v @ v for v in w])


@lru_cache(maxsize=2)
def _minimum(task: Task) -> float:
    """By Newton's method, which a ridge and a logistic loss let end at rounding."""
    X, y, w = task.data.X, task.data.y, np.zeros(task.d)
    for _ in range(20):
        p = 1 / (1 + np.exp(-X @ w))
        hessian = (X * (p * (1 - p))[:, None]).T @ X / len(y) + task.ridge * np.eye(len(w))
        w = w - np.linalg.solve(hessian, X.T @ (p - y) / len(y) + task.ridge * w)
    return float(_objective(task, w[None])[0])
