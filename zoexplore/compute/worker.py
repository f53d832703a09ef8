"""The child side of a worker process: it has loaded the accountant, and answers calls one by one.

It imports the modules of the functions it receives, which must not import Panel. Calls and answers are pickled; what a call
prints goes to the standard error. Nothing interrupts a call, because a library that is interrupted while it loads or compiles may
return wrong answers later. A caller that no longer needs an answer waits for it, or ends the process.

Loading takes more than a second. One process, the fork server, only loads the accountant. Workers are forked from it, start in
milliseconds, and share its memory. Where system libraries have threads of their own, as on macOS, a fork may find their locks
taken, and Windows has no fork: there every worker starts separately.
"""

import ctypes
import gc
import inspect
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO

import numpy as np

from zoexplore.compute.computations import curve_set, guarantees
from zoexplore.compute.limits import WORKER_MEGABYTES
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting

ITEM, DONE, ERROR = "item", "done", "error"
FORK = "fork"  # the argument that makes it a fork server
NUMBER = 32  # bytes of a worker's number, at most
_NICE = 10  # the process that serves the pages goes first
_PR_SET_PDEATHSIG = 1  # of Linux's prctl


def main() -> None:
    """Answer the calls that come by the standard input, or fork a worker for each request that comes there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal and a notebook send to all their processes
    if hasattr(os, "nice"):
        os.nice(_NICE)
    bound_memory()
    parent, incoming, outgoing = os.getppid(), os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what compiled code prints as well
    sys.stdout = sys.stderr
    load()
    gc.freeze()  # what is loaded stays; and a collection would write to pages of memory that forked workers share
    gc.enable()
    if FORK in sys.argv:
        parent, connection = os.getpid(), forked(socket.socket(fileno=incoming))
        if connection is None:
            return
        incoming, outgoing = connection, os.dup(connection)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with open(incoming, "rb") as calls, open(outgoing, "wb") as answers:
        work(calls, answers)


def bound_memory() -> None:
    """Limit the memory of this process and of those that it starts; more raises MemoryError."""
    try:
        import resource
    except ImportError:  # Windows
        return
    most = WORKER_MEGABYTES.value * 2**20
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def load() -> None:
    """Import what pages need first, and load its compiled loops."""
    with suppress(Exception):  # whatever is wrong fails in the calls too, which say so
        guarantees(DEMONSTRATION, Accounting())
        curve_set(DEMONSTRATION, Accounting(), "T")


def forked(control: socket.socket) -> int | None:
    """Fork a worker for each number that arrives with a connection; end a worker when its number arrives alone.

    Returns:
        In a worker its connection; in the fork server None, when the process that began it has ended.
    """
    workers: dict[bytes, int] = {}
    forks = os.getpid()
    while True:
        number, connections, _, _ = socket.recv_fds(control, NUMBER, 1, socket.MSG_CMSG_CLOEXEC)
        if not number:
            return None
        if connections:
            workers[number] = os.fork()
            if not workers[number]:
                _die_with(forks)
                control.close()
                np.random.seed()  # noqa: NPY002  # else all workers would draw the same from NumPy's shared generator
                return connections[0]
            os.close(connections[0])
        elif pid := workers.pop(number, None):  # no other process gets its id before it is waited for
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def work(calls: BinaryIO, answers: BinaryIO) -> None:
    """Answer calls until none is left or the caller is gone."""
    with suppress(EOFError, ConnectionError):
        while True:
            call, args = pickle.load(calls)
            for answer in _answers(call, args):
                answers.write(pickle.dumps(answer))
                answers.flush()


def _answers(call: Callable, args: tuple) -> Iterator[tuple]:
    """Yield a generator's items or a function's result, or the error that it raised."""
    try:
        result = call(*args)
        if inspect.isgenerator(result):
            for item in result:
                yield ITEM, item
            result = None
        yield DONE, result
    except Exception as error:  # whatever the call raises is its answer, and does not affect the next call
        yield ERROR, _portable(error)


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note, or one that says the same where it cannot be pickled."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # an error is any class, and pickling calls its methods: they may raise anything
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _die_with(parent: int) -> None:
    """Make the system end this process with its parent, even while compiled code holds the interpreter's lock."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # which has ended meanwhile
        os._exit(1)


def _end_with(parent: int) -> None:
    """End when the process that began this one does, however it ends."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
