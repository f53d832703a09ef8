"""Runs a plan's jobs in small parts on any executor, and reports progress after each.

Each part starts from the state in which the previous one ended. So a sweep is cancelled by
submitting no more parts, and its numbers do not depend on the executor.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from time import monotonic
from typing import Any

from zoexplore.training.configuration import records
from zoexplore.training.engine import Job, State, one_thread
from zoexplore.training.points import gathered
from zoexplore.training.privacy import Privacy, privacy
from zoexplore.training.results import Frontier, Point
from zoexplore.training.sweep_plans import SweepPlan, plan_sweep, task_of
from zoexplore.training.tasks import Task

PART = 0.25  # seconds of work in one part
LOOK = 0.1  # seconds between checks of `cancel`


@dataclass(frozen=True)
class Update:
    """The progress of a sweep.

    Args:
        done, total: steps, of all seeds together.
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
    cancel: Any = None,
    known: Sequence[Privacy] = (),
    **asked: Any,
) -> Iterator[Update]:
    """Run a sweep, and yield its progress after every part. It ends early if `cancel` is set or the
    generator closed.

    Args:
        executor: where to compute, such as a `ThreadPoolExecutor` or a cluster's own; a thread if
            None. Parts spend their time in torch, so that threads share a machine's cores as well
            as processes would, and load the data once.
        cancel: as `threading.Event`, whose `is_set` is asked ten times a second; what is computed
            then ends after a quarter of a second, or one step.
        known: the first configurations' epsilons, where they are computed already (`privacy`).
        asked: the arguments of `plan_sweep`.

    Raises:
        ValueError: the plan is not allowed, data cannot be had, or a loss is not finite.
        Exception: what the executor raises, as for a worker that ended.
    """
    planned = plan_sweep(**asked)
    rest = planned.configurations[len(known) :]
    found = [
        *known,
        *(privacy(planned.task, c, records(c.setting.T), planned.accounting) for c in rest),
    ]
    with nullcontext(executor) if executor else ThreadPoolExecutor(1) as own:
        yield from _updates(planned, own, cancel, found)


def frontier(
    *,
    executor: Executor | None = None,
    progress: Callable[[Update], None] | None = None,
    cancel: Any = None,
    **asked: Any,
) -> Frontier:
    """Run a whole sweep, and return its last frontier.

    Args:
        executor, cancel: as in `sweep`. A cancelled sweep returns its results so far.
        progress: called with every `Update`.
        asked: the arguments of `plan_sweep` (task, methods, sigmas, K, beta, T, seeds, accounting,
            ...).

    Raises:
        Exception: as `sweep`; ValueError also if cancelled before the first results.
    """
    update = None
    for update in sweep(executor=executor, cancel=cancel, **asked):
        if progress is not None:
            progress(update)
    if update is None or not update.frontier.points:
        raise ValueError("the sweep was cancelled before its first result")
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
        seed: of directions, batches and initialisation.
        others: further arguments of `frontier`: K, beta, T, noise_seed, accounting, progress,
            cancel, ...

    Raises:
        ValueError: as `frontier`.
    """
    task = task_of(task)
    sigma = task.sigmas[min(1, len(task.sigmas) - 1)] if sigma is None else sigma
    (point,) = frontier(
        task=task, methods=(method,), sigmas=(sigma,), **({"seeds": (seed,)} | others)
    ).points
    return point


def _updates(
    plan: SweepPlan, executor: Executor, cancel: Any, known: Sequence[Privacy]
) -> Iterator[Update]:
    states: list[State | None] = [None] * len(plan.jobs)
    pending = {executor.submit(_advance, job, None): place for place, job in enumerate(plan.jobs)}
    total = sum(job.T * len(job.seeds) for job in plan.jobs)
    begun = monotonic()
    try:
        while pending and not (cancel is not None and cancel.is_set()):
            finished, _ = wait(pending, timeout=LOOK, return_when=FIRST_COMPLETED)
            for future in finished:
                place = pending.pop(future)
                state = states[place] = future.result()
                if state.t < plan.jobs[place].T:
                    pending[executor.submit(_advance, plan.jobs[place], state)] = place
            if finished:
                done = sum(state.t * len(state.draws) for state in states if state is not None)
                yield Update(
                    done,
                    total,
                    (monotonic() - begun) * (total - done) / done,
                    gathered(plan, states, known),
                )
    finally:
        for future in pending:
            future.cancel()


def _advance(job: Job, state: State | None) -> State:
    with one_thread():
        return job.advance(state, PART)
