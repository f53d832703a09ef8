"""Executors for a sweep's parts: the calling thread, or processes of this machine."""

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
SWEEPS = "zoexplore.training.sweeps"  # processes unpickle arguments from this module


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
    """How to start processes: forked from one that has imported torch where a fork is safe (see `zoexplore.compute.worker`), else
    spawned.
    """
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([SWEEPS])
    return context


def _begin() -> None:
    """In a new process: lower its priority, and end with the parent."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    np.random.seed()  # noqa: NPY002  # or all that draw of NumPy's shared generator drew the same
    parent = multiprocessing.parent_process()
    assert parent

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
