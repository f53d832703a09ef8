"""Runs a plan's jobs in small parts on any executor, and reports progress after each.

Each part starts from the state in which the previous one ended. So a sweep is cancelled by submitting no more parts, and its
numbers do not depend on the executor.
"""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any, Protocol

from zoexplore.training.configuration import records
from zoexplore.training.engine import Job, State, one_thread
from zoexplore.training.points import gathered
from zoexplore.training.privacy import Privacy, privacy
from zoexplore.training.results import Frontier, Point
from zoexplore.training.sweep_plans import SweepPlan, plan_sweep, task_of
from zoexplore.training.tasks import Task

PART = 0.25  # seconds of work in one part
LOOK = 0.1  # seconds between checks of `cancel`
ACCOUNTING = -1  # in place of the number of a job: the part that computes epsilon


class Here(Executor):
    """Computes at once, in the calling thread."""

    def submit(self, call: Callable, /, *args: Any, **options: Any) -> Future:
        future: Future = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(call(*args, **options))
        except Exception as error:  # raised by `result()`
            future.set_exception(error)
        return future


class Flag(Protocol):
    """A signal to stop a sweep, such as `threading.Event` or `multiprocessing.Event`."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True)
class Update:
    """The progress of a sweep.

    Args:
        done, total: steps, of all seeds together.
        seconds_left: an estimate from the pace so far; inf before there is one.
        frontier: the results so far (see `gathered`), without points until privacy is accounted for.
    """

    done: int
    total: int
    seconds_left: float
    frontier: Frontier

    @property
    def finished(self) -> bool:
        return self.done == self.total and bool(self.frontier.points)


def sweep(*, executor: Executor | None = None, cancel: Flag | None = None, **asked: Any) -> Iterator[Update]:
    """Run a sweep, and yield its progress after every part. It ends early if `cancel` is set or the generator closed.

    Args:
        executor: where to compute, such as a `ThreadPoolExecutor` or a cluster's own; the calling thread if None. Parts spend
            their time in torch, so that threads share a machine's cores as well as processes would, and load the data once.
        cancel: checked ten times a second; in the calling thread after every part, of a quarter of a second or one step.
        asked: the arguments of `plan_sweep`, or `plan=` a `SweepPlan`.

    Raises:
        ValueError: the plan is not allowed, data cannot be had, or a loss is not finite.
        Exception: what the executor raises, as for a worker that ended.
    """
    planned = asked["plan"] if set(asked) == {"plan"} else plan_sweep(**asked)
    yield from _Sweep(planned, executor or Here()).run(cancel)


def frontier(
    *, executor: Executor | None = None, progress: Callable[[Update], None] | None = None,
    cancel: Flag | None = None, **asked: Any,
) -> Frontier:  # fmt: skip
    """Run a whole sweep, and return its last frontier.

    Args:
        executor, cancel: as in `sweep`. A cancelled sweep returns its results so far.
        progress: called with every `Update`.
        asked: the arguments of `plan_sweep` (task, methods, sigmas, K, beta, T, seeds, accounting, ...).

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
    task: str | Task = "mixture", method: str = "noisy-zogd", sigma: float | None = None, seed: int = 0, **others: Any
) -> Point:
    """Train once; with `seeds=` several times.

    Args:
        task: a key of `TASKS`, or a task of your own.
        method: a key of `METHODS`.
        sigma: noise scale; by default the second of the task's, or its only one.
        seed: of directions, batches and initialisation.
        others: further arguments of `frontier`: K, beta, T, noise_seed, accounting, progress, cancel, ...

    Raises:
        ValueError: as `frontier`.
    """
    task = task_of(task)
    sigma = task.sigmas[min(1, len(task.sigmas) - 1)] if sigma is None else sigma
    (point,) = frontier(task=task, methods=(method,), sigmas=(sigma,), **({"seeds": (seed,)} | others)).points
    return point


class _Sweep:
    def __init__(self, planned: SweepPlan, executor: Executor):
        self.plan, self.executor = planned, executor
        self.jobs = planned.jobs
        self.states: list[State | None] = [None] * len(planned.jobs)
        self.waiting = deque([ACCOUNTING, *range(len(self.jobs))])
        self.at_once = 1 if isinstance(executor, Here) else len(self.waiting)
        self.pending: dict[Future, int] = {}
        self.privacies: tuple[Privacy, ...] | None = None
        self.first: tuple[float, int] | None = None  # when the first steps were done, and how many

    def run(self, cancel: Flag | None) -> Iterator[Update]:
        try:
            while (self.waiting or self.pending) and not (cancel is not None and cancel.is_set()):
                while self.waiting and len(self.pending) < self.at_once:
                    self._ask(self.waiting.popleft())
                finished, _ = wait(self.pending, timeout=LOOK, return_when=FIRST_COMPLETED)
                for future in finished:
                    self._take(self.pending.pop(future), future.result())
                if finished:
                    yield self._update()
        finally:
            for future in self.pending:
                future.cancel()

    def _ask(self, i: int) -> None:
        future: Future[Any]
        if i == ACCOUNTING:
            future = self.executor.submit(_account, self.plan)
        else:
            future = self.executor.submit(_advance, self.jobs[i], self.states[i])
        self.pending[future] = i

    def _take(self, i: int, result: Any) -> None:
        """Record a part's result and queue the next part."""
        if i == ACCOUNTING:
            self.privacies = result
            return
        self.states[i] = result
        if result.t < self.jobs[i].T:
            self.waiting.append(i)

    def _update(self) -> Update:
        done = sum(state.t * len(state.draws) for state in self.states if state is not None)
        total = sum(job.T * len(job.seeds) for job in self.jobs)
        return Update(done, total, self._left(done, total), gathered(self.plan, self.states, self.privacies))

    def _left(self, done: int, total: int) -> float:
        """Seconds left at the pace since the first results, before which workers start and load the data."""
        now = monotonic()
        if self.first is None and done:
            self.first = now, done
        if self.first is None or done == self.first[1]:
            return 0.0 if done == total else inf
        begun, before = self.first
        return (now - begun) * (total - done) / (done - before)


def _advance(job: Job, state: State | None) -> State:
    with one_thread():
        return job.advance(state, PART)


def _account(planned: SweepPlan) -> tuple[Privacy, ...]:
    return tuple(privacy(planned.task, c, records(c.setting.T), planned.accounting) for c in planned.configurations)
