"""Where a sweep's parts are computed: here, or in processes of this machine."""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.context import BaseContext
from typing import Any

import numpy as np

MOST_PROCESSES = 8
NICE = 10
SWEEPS = "zoexplore.training.sweeps"  # what a process is handed is of this module


class Here(Executor):
    """Computes in the calling thread, at once."""

    def submit(self, call: Callable, /, *args: Any, **options: Any) -> Future:
        future: Future = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(call(*args, **options))
        except Exception as error:  # handed to whoever asks for the result
            future.set_exception(error)
        return future


class Processes(Executor):
    """New processes, at most as many as there are cores and never more than eight; those that die are replaced.

    They end when this one does, however it ends.

    Args:
        count: how many; as many as the cores that this process may use where None.
    """

    def __init__(self, count: int | None = None):
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self.count = max(1, min(count or cores, cores, MOST_PROCESSES))
        self._lock = threading.Lock()
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, call: Callable, /, *args: Any, **options: Any) -> Future:
        with self._lock:
            try:
                return self._open().submit(call, *args, **options)
            except BrokenProcessPool:
                self._pool = None
                return self._open().submit(call, *args, **options)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown(wait, cancel_futures=cancel_futures)
                self._pool = None

    def _open(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.count, mp_context=_context(), initializer=_begin)
        return self._pool


def _context() -> BaseContext:
    """How processes are begun: forked of one that has imported torch for all of them where a fork is safe, as
    `zoexplore.compute.worker` says; elsewhere each imports it by itself.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([SWEEPS])
    return context


def _begin() -> None:
    """In a new process: yield to other work on the machine, and end with the parent."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    np.random.seed()  # noqa: NPY002  # or all that draw of NumPy's shared generator drew the same
    parent = multiprocessing.parent_process()
    assert parent

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
