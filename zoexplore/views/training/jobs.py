"""Jobs of the computing processes for the Train tab. Free of Panel, and of torch until it is needed."""

import os
from collections.abc import Collection, Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import inf
from time import monotonic
from typing import NamedTuple

from zoexplore.run.formatting import format_count
from zoexplore.run.setting import Accounting
from zoexplore.training import Frontier, Processes, Task
from zoexplore.training.comparison import Finished, load
from zoexplore.training.data import Data, mixture

START = "The workers start and load the data"
PAUSE = 0.3  # seconds between progress reports
LARGEST_DRAWN = 30_000_000  # numbers in a generated data set, at most
INSTALL = "pip install 'zoexplore[train]'"


@dataclass(frozen=True)
class Asked:
    """A requested sweep.

    Args:
        task: what to train on.
        methods, sigmas, K, beta, T, seeds, delta, accounting: as `zoexplore.training.plan_sweep` takes them.
        size: (n, d) of generated data; the task's if None.
        seconds: its time limit.
    """

    task: Task
    methods: tuple[str, ...]
    sigmas: tuple[float, ...]
    K: int
    beta: float
    T: int
    seeds: int
    delta: float
    accounting: Accounting
    size: tuple[int, int] | None = None
    seconds: float = inf

    @property
    def trained_on(self) -> Task:
        """The task, with the requested size if its data are generated.

        Raises:
            ValueError: the data would be too large.
        """
        if self.size is None or self.task.name != "mixture":
            return self.task
        n, d = self.size
        if n * d > LARGEST_DRAWN:
            most = format_count(LARGEST_DRAWN)
            raise ValueError(f"n d = {format_count(n * d)} is too much to draw: set n and d so that it is at most {most}")
        return replace(self.task, source=Drawn(n, d))


@dataclass(frozen=True)
class Drawn:
    """The two Gaussian classes in another size; equal sizes are the same data, which a worker caches."""

    n: int
    d: int

    def __call__(self) -> Data:
        """The data: n records to train on, a fifth as many held out, d features."""
        return mixture(self.n, max(self.n // 5, 1), self.d)


class Progress(NamedTuple):
    """A sweep's progress: steps done and in all, an estimate of the seconds left (inf at first), and the results so far.

    Before the first step `doing` names the preparation, and the numbers count it; a total of 0 is unknown.
    """

    done: int
    total: int
    seconds_left: float
    frontier: Frontier | None
    doing: str = ""


def missing() -> tuple[str, ...]:
    """Missing libraries that training needs."""
    return tuple(name for name, module in (("PyTorch", "torch"), ("scikit-learn", "sklearn")) if find_spec(module) is None)


def trained(asked: Asked) -> Iterator[Progress]:
    """Run a sweep in processes of this machine, and yield its progress now and then and at the end.

    Raises:
        ValueError, RuntimeError: as `zoexplore.training.sweep`; ValueError also if a library is missing.
    """
    os.environ["PYTHONWARNINGS"] = "ignore:resource_tracker"  # which complains where a run is cancelled, and tidies up then
    until = monotonic() + asked.seconds
    executor = Processes()
    try:
        yield Progress(0, 0, inf, None, START)
        ready = [executor.submit(_prepared, asked) for _ in range(executor.count)]
        from zoexplore.training import plan_sweep, sweep  # takes seconds, as do the workers

        for done in _waited(ready, until, asked):
            yield Progress(done, len(ready), inf, None, START)
        planned = plan_sweep(
            asked.trained_on, asked.methods, K=asked.K, beta=asked.beta, T=asked.T, seeds=asked.seeds, delta=asked.delta,
            accounting=asked.accounting, sigmas=asked.sigmas,
        )  # fmt: skip
        reported = monotonic()
        for update in sweep(plan=planned, executor=executor):
            if update.finished or monotonic() - reported > PAUSE:
                reported = monotonic()
                yield Progress(update.done, update.total, update.seconds_left, update.frontier)
            if not update.finished:
                _check(until, asked)
    except ImportError as error:
        raise ValueError(f"{error.name} is not installed, and this needs it: {INSTALL}") from error
    finally:
        executor.shutdown(cancel_futures=True)


def _check(until: float, asked: Asked) -> None:
    if monotonic() > until:
        raise ValueError(f"it was ended after {asked.seconds:g} s, as long as a run may take here; what was done is kept")


def _waited(futures: list[Future], until: float, asked: Asked) -> Iterator[int]:
    """Yield the number of finished futures now and then, until all are."""
    done: Collection[Future] = ()
    while len(done) < len(futures):
        done, _ = wait(futures, timeout=PAUSE)
        yield len(done)
        _check(until, asked)


def finished() -> dict[str, Finished]:
    """The finished comparison of this version, by task; empty if it has none."""
    try:
        return load()
    except (OSError, ValueError):
        return {}


def _prepared(asked: Asked) -> None:
    """In a worker: load torch and the data early; errors surface when they are used."""
    from zoexplore.training.engine import problem_of

    problem_of(asked.trained_on)
