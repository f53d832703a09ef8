"""The child's side of a worker process: answers calls one by one.

A worker imports the modules of the functions that it receives; these modules must not import Panel.
Calls and answers are pickled; what a call prints goes to standard error. Nothing interrupts a call,
because a library that is interrupted while it loads or compiles may return wrong answers later. A
caller that no longer needs an answer waits for it, or ends the process.
"""

import gc
import inspect
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from zoexplore.compute.limits import WORKER_MEGABYTES

ITEM, DONE, ERROR = "item", "done", "error"
_NICE = 10  # the process that serves the pages goes first


def main() -> None:
    """Answer the calls that come on standard input."""
    # terminals and notebooks send SIGINT to all their processes
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(max(_NICE - os.nice(0), 0))
    bound_memory()
    incoming, outgoing = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # so that what compiled code prints goes to standard error too
    sys.stdout = sys.stderr
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    with open(incoming, "rb") as calls, open(outgoing, "wb") as answers:
        work(calls, answers)


def bound_memory() -> None:
    """Limit the memory of this process and of those that it starts. Asking for more raises
    MemoryError.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    most = WORKER_MEGABYTES.value * 2**20
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def work(calls: BinaryIO, answers: BinaryIO) -> None:
    """Answer calls until none is left or the caller is gone."""
    with suppress(EOFError, ConnectionError):
        while True:
            call, args = pickle.load(calls)
            for answer in _answers(call, args):
                answers.write(pickle.dumps(answer))
                answers.flush()
            gc.enable()  # off until now, since what the first call imports never becomes garbage


def _answers(call: Callable[..., Any], args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield (kind, value) pairs: each item of a generator function, then the result of the call or
    the error that it raised.
    """
    try:
        result = call(*args)
        if inspect.isgenerator(result):
            for item in result:
                yield ITEM, item
            result = None
        yield DONE, result
    # whatever the call raises is its answer, and does not affect the next call
    except Exception as error:
        yield ERROR, _portable(error)


def _portable(error: Exception) -> Exception:
    """Add an error's traceback to it as a note. If the error cannot be pickled, replace it by one
    that says the same.
    """
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    # an error may be of any class, and pickling calls its methods, which may raise anything
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with(parent: int) -> None:
    """End this process when the process that began it ends, for whatever reason."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
