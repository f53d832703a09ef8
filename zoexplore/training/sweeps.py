"""Runs a plan's jobs a little at a time, wherever there is an executor, and tells of every bit that is done.

A job's state travels with it: each part is asked for with the state that the last one ended in. So a part that is lost with its
worker is asked for again and nothing else is, a sweep is cancelled by asking for no more, and its numbers do not depend on who
computed which part when.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any, Protocol

from zoexplore.training.engine import Job, State, one_thread
from zoexplore.training.executors import Here
from zoexplore.training.plans import Plan, plan, records, task_of
from zoexplore.training.points import gathered
from zoexplore.training.privacy import Privacy, privacy
from zoexplore.training.results import Frontier, Point
from zoexplore.training.tasks import Task

PART = 0.25  # seconds of work that are asked for at once
LOOK = 0.1  # seconds between two looks at whether to go on
TRIES = 4  # workers that one part may be lost with
ACCOUNTING = -1  # the part that is no job


class Flag(Protocol):
    """What tells a sweep to stop: `threading.Event`, `multiprocessing.Event`."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True)
class Update:
    """How far a sweep has come.

    Args:
        done, total: steps, of all seeds together.
        seconds_left: a guess from the pace so far; inf before there is one.
        frontier: what is known so far: the seeds that are done, or all of them as far as they all are if none is. It has no
            points before privacy is accounted for.
    """

    done: int
    total: int
    seconds_left: float
    frontier: Frontier

    @property
    def finished(self) -> bool:
        return self.done == self.total and bool(self.frontier.points)


def sweep(*, executor: Executor | None = None, cancel: Flag | None = None, **asked: Any) -> Iterator[Update]:
    """Run a sweep; after every part tell how far it is. It ends early if `cancel` is set or the generator closed.

    Args:
        executor: where to compute, as `Processes()` or a cluster's own; the calling thread where None.
        cancel: looked at ten times a second; in the calling thread after every part, of a quarter of a second or one step.
        asked: what to run: the arguments of `plan`, or `plan=` a `Plan`.

    Raises:
        ValueError: the plan is not allowed, data cannot be had, or a loss is not finite.
        RuntimeError: one part was lost with its worker several times.
    """
    planned = asked["plan"] if set(asked) == {"plan"} else plan(**asked)
    yield from _Sweep(planned, executor or Here()).run(cancel)


def frontier(
    *, executor: Executor | None = None, progress: Callable[[Update], None] | None = None,
    cancel: Flag | None = None, **asked: Any,
) -> Frontier:  # fmt: skip
    """The whole sweep at once: what `sweep` ends with.

    Args:
        executor, cancel: as in `sweep`. A cancelled sweep gives what it had.
        progress: called with every `Update`.
        asked: what to run: the arguments of `plan` (task, methods, sigmas, K, beta, T, seeds, accounting, ...).

    Raises:
        ValueError, RuntimeError: as `sweep` does; ValueError also where it was cancelled before there was anything.
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
        sigma: noise scale; the second of the task's own, or the only one, where None.
        seed: of directions, batches and initialisation.
        others: further arguments of `frontier`: K, beta, T, noise_seed, accounting, progress, cancel, ...

    Raises:
        ValueError: as `frontier` does.
    """
    task = task_of(task)
    sigma = task.sigmas[min(1, len(task.sigmas) - 1)] if sigma is None else sigma
    (point,) = frontier(task=task, methods=(method,), sigmas=(sigma,), **({"seeds": (seed,)} | others)).points
    return point


class _Sweep:
    def __init__(self, planned: Plan, executor: Executor):
        self.plan, self.executor = planned, executor
        self.jobs = planned.jobs
        self.states: list[State | None] = [None] * len(planned.jobs)
        self.waiting = deque([ACCOUNTING, *range(len(self.jobs))])
        self.at_once = 1 if isinstance(executor, Here) else len(self.waiting)
        self.pending: dict[Future, int] = {}
        self.losses: Counter[int] = Counter()
        self.privacies: tuple[Privacy, ...] | None = None
        self.first: tuple[float, int] | None = None  # when the first steps were done, and how many

    def run(self, cancel: Flag | None) -> Iterator[Update]:
        try:
            while (self.waiting or self.pending) and not (cancel is not None and cancel.is_set()):
                while self.waiting and len(self.pending) < self.at_once:
                    self._ask(self.waiting.popleft())
                finished, _ = wait(self.pending, timeout=LOOK, return_when=FIRST_COMPLETED)
                for future in finished:
                    self._take(self.pending.pop(future), future)
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

    def _take(self, i: int, future: Future) -> None:
        """Note a part's result and have the next one asked for; the same again where it was lost with its worker."""
        try:
            result = future.result()
        except Exception as error:  # a cluster's own for a lost worker is known by its name only
            if not _lost(error):
                raise
            self.losses[i] += 1
            if self.losses[i] >= TRIES:
                raise RuntimeError(f"{TRIES} workers ended while they computed the same part: {error}") from error
            self.waiting.append(i)
            return
        self.losses[i] = 0
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
        """Seconds left at the pace since the first steps came in: before that, workers start and load the data."""
        now = monotonic()
        if self.first is None and done:
            self.first = now, done
        if self.first is None or done == self.first[1]:
            return 0.0 if done == total else inf
        begun, before = self.first
        return (now - begun) * (total - done) / (done - before)


def _lost(error: Exception) -> bool:
    """Whether the worker ended, rather than the work."""
    return isinstance(error, BrokenExecutor | CancelledError) or type(error).__name__ == "KilledWorker"


def _advance(job: Job, state: State | None) -> State:
    with one_thread():
        return job.advance(state, PART)


def _account(planned: Plan) -> tuple[Privacy, ...]:
    return tuple(privacy(planned.task, c, records(c.setting.T), planned.accounting) for c in planned.configurations)
