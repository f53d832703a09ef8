"""Executors for a sweep's parts: the calling thread, or processes of this machine."""

import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures import wait as finish
from functools import partial
from math import inf
from typing import Any
from weakref import WeakSet

from zoexplore.compute.pool import Pool

MOST_PROCESSES = 8


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


class Processes(Executor):
    """Processes that are replaced if they die and end with this one, however it ends.

    Args:
        count: how many; by default and at most one for each usable core, and never more than eight.
    """

    def __init__(self, count: int | None = None):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.count = max(1, min(count or cores, cores, MOST_PROCESSES))
        self.pool, self._asked = Pool(self.count, longest=inf), WeakSet[Future]()

    def submit(self, call: Callable, /, *args: Any, **options: Any) -> Future:
        answer = self.pool.submit(partial(call, *args, **options), urgent=True).answer
        self._asked.add(answer)
        return answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        if wait and not cancel_futures:
            finish(self._asked)
        self.pool.end()
