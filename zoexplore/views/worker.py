"""Long work off the event loop: one spawned process, shared by all sessions, that computes while the pages stay live.

A thread would not do: compiled loops hold the interpreter's lock. Whoever has much to do asks for a little at a time,
so that several readers take turns, and so that to cancel is to ask for no more.
"""

import asyncio
import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import panel as pn
import param

_NICE = 10  # the process that serves the pages goes first
_lock = threading.Lock()
_pool: ProcessPoolExecutor | None = None


async def compute(call: Callable, *args: Any, **options: Any) -> Any:
    """The result of a call in the other process. A process that died is replaced, and asked once more."""
    try:
        return await asyncio.wrap_future(_executor().submit(call, *args, **options))
    except BrokenProcessPool:
        _drop()
        return await asyncio.wrap_future(_executor().submit(call, *args, **options))


def start(task: Callable) -> None:
    """Begin a coroutine function in this session; without a running event loop, run it to its end."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(task())
    else:
        param.parameterized.async_executor(task)


def change(write: Callable[[], None]) -> None:
    """Write to a session's models from a task, which does not hold the session's lock: at its next turn."""
    document = pn.state.curdoc
    if document and document.session_context:
        document.add_next_tick_callback(write)
    else:
        write()


def _executor() -> ProcessPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            spawn = multiprocessing.get_context("spawn")
            _pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin, initargs=(os.getpid(),))
        return _pool


def _drop() -> None:
    global _pool
    with _lock:
        _pool = None


def _begin(parent: int) -> None:
    """In the new process: step back behind the pages, and end when they do, however they end."""
    os.nice(_NICE)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
