"""Run a plan's jobs in small parts on any executor, and report progress after each part.

Each part starts from the state in which the previous one ended. So a sweep ends early by submitting
no more parts, and its numbers do not depend on the executor.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from math import inf
from time import monotonic
from typing import Any, NamedTuple

import torch

from zoexplore.bounds.guarantee import as_printed
from zoexplore.questions.statement import versions
from zoexplore.training.engine import Job
from zoexplore.training.methods import Configuration, records
from zoexplore.training.privacy import Privacy, privacy
from zoexplore.training.results import Frontier, Point
from zoexplore.training.step import State
from zoexplore.training.sweep_plans import SweepPlan, plan_sweep, task_of
from zoexplore.training.tasks import Task

PART = 0.25  # seconds of work in one part
_versions = cache(versions)  # cached, since every part of a sweep needs them


@dataclass(frozen=True)
class Update:
    """The progress of a sweep.

    Args:
        done, total: steps of all seeds together.
        seconds_left: an estimate from the pace so far.
        frontier: the results so far (see `gathered`).
    """

    done: int
    total: int
    seconds_left: float
    frontier: Frontier

    @property
    def finished(self) -> bool:
        return self.done == self.total and bool(self.frontier.points)


def sweep(
    *,
    executor: Executor | None = None,
    known: Sequence[Privacy] = (),
    plan: SweepPlan | None = None,
    **asked: Any,
) -> Iterator[Update]:
    """Run a sweep, and yield its progress after every part. A sweep that is closed or interrupted
    ends early: its current parts end after a quarter of a second or one step.

    Args:
        executor: where to compute, such as a `ThreadPoolExecutor` or a cluster's own; a thread if
            None. Parts spend their time in torch, so threads share a machine's cores as well as
            processes do, and load the data once.
        known: the first configurations' epsilons, if they are computed already (`privacy`).
        plan: what to train.
        asked: the arguments of `plan_sweep`, in place of a plan.

    Raises:
        ValueError: the plan is not allowed, data cannot be loaded, or a loss is not finite.
        Exception: what the executor raises, for example if a worker has ended.
    """
    planned = plan or plan_sweep(**asked)
    rest = planned.configurations[len(known) :]
    privacies = [
        *known,
        *(privacy(planned.task, c, records(c.setting.T), planned.accounting) for c in rest),
    ]
    with nullcontext(executor) if executor else ThreadPoolExecutor(1) as own:
        yield from _updates(planned, own, privacies)


def frontier(
    *,
    executor: Executor | None = None,
    progress: Callable[[Update], None] | None = None,
    **asked: Any,
) -> Frontier:
    """Run a whole sweep, and return its last frontier.

    Args:
        executor: as in `sweep`.
        progress: called with every `Update`.
        asked: a `plan`, or the arguments of `plan_sweep` (task, methods, sigmas, K, beta, T, seeds,
            accounting, ...).

    Raises:
        Exception: as `sweep` does.
    """
    for update in sweep(executor=executor, **asked):
        if progress is not None:
            progress(update)
    return update.frontier


def train(
    task: str | Task = "mixture",
    method: str = "noisy-zogd",
    sigma: float | None = None,
    seed: int = 0,
    **others: Any,
) -> Point:
    """Train once; with `seeds=` several times.

    Args:
        task: a key of `TASKS`, or a task of your own.
        method: a key of `METHODS`.
        sigma: noise scale; by default the second of the task's, or its only one.
        seed: the seed of directions, batches and initialisation.
        others: further arguments of `frontier`: K, beta, T, accounting, progress, ...

    Raises:
        ValueError: as `frontier` does.
    """
    task = task_of(task)
    sigma = task.sigmas[:2][-1] if sigma is None else sigma
    (point,) = frontier(
        task=task, methods=(method,), sigmas=(sigma,), **({"seeds": (seed,)} | others)
    ).points
    return point


def _updates(plan: SweepPlan, executor: Executor, known: Sequence[Privacy]) -> Iterator[Update]:
    states: list[State | None] = [None] * len(plan.jobs)
    pending = {executor.submit(_advance, job, None): place for place, job in enumerate(plan.jobs)}
    total = sum(job.T * len(job.seeds) for job in plan.jobs)
    begun, usual = monotonic(), torch.get_num_threads()
    try:
        while pending:
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                place = pending.pop(future)
                state = states[place] = future.result()
                if state.t < plan.jobs[place].T:
                    pending[executor.submit(_advance, plan.jobs[place], state)] = place
            steps = sum(state.t * len(state.draws) for state in states if state is not None)
            left = (monotonic() - begun) * (total - steps) / steps
            yield Update(steps, total, left, gathered(plan, states, known))
    finally:
        for future in pending:
            future.cancel()
        torch.set_num_threads(usual)


def _advance(job: Job, state: State | None) -> State:
    # other parts use the other cores, and products must round in the same way in all parts
    torch.set_num_threads(1)
    return job.advance(state, PART)


def gathered(plan: SweepPlan, states: list[State | None], privacies: Sequence[Privacy]) -> Frontier:
    """Gather the frontier so far: every configuration whose seeds have all begun, at the steps that
    all of them have made. Each point is complete, as a run of fewer steps, and its means are over
    the same seeds until the end.

    Meanwhile a thread may be recording a step. It writes the accuracy last.
    """
    points = []
    for configuration, known in zip(plan.configurations, privacies, strict=True):
        used = [
            _Run(seed, state, i * len(job.configurations) + job.configurations.index(configuration))
            for job, state in zip(plan.jobs, states, strict=True)
            if configuration in job.configurations and state is not None and state.accuracy
            for i, seed in enumerate(job.seeds)
        ]
        if len(used) == len(plan.seeds):
            points.append(_point(plan, configuration, used, known))
    delta = plan.configurations[0].setting.delta
    made_with = _versions("torch", "scikit-learn")
    return Frontier(plan.task.name, tuple(points), plan.accounting, delta, made_with)


class _Run(NamedTuple):
    """One seed of a configuration: a job's state, and the run's row in it."""

    seed: int
    state: State
    place: int

    def along(self, name: str, count: int) -> tuple[float, ...]:
        """Return the first `count` values of "accuracy" or "loss"."""
        return tuple(row[self.place] for row in getattr(self.state, name)[:count])


def _point(plan: SweepPlan, c: Configuration, used: list[_Run], known: Privacy) -> Point:
    count = min(len(run.state.accuracy) for run in used)
    steps = records(c.setting.T)[:count]
    epsilons = {bound: charge.along[:count] for bound, charge in known.items()}
    short = f"it does not apply after {steps[-1]} steps"
    return Point(
        method=c.method,
        sigma=c.setting.sigma if c.noisy else 0.0,
        setting=c.setting.replace(T=steps[-1]),
        seeds=tuple(run.seed for run in used),
        steps=steps,
        accuracy=tuple(run.along("accuracy", count) for run in used),
        loss=tuple(run.along("loss", count) for run in used),
        reason={
            bound: as_printed(bound, plan.accounting)
            if epsilons[bound][-1] < inf
            else charge.reason or short
            for bound, charge in known.items()
        },
        epsilons=epsilons,
        target=c.target,
        counted={bound: charge.counted for bound, charge in known.items()},
        tested=len(plan.task.data.X_test),
    )
