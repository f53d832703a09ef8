"""A worker process: what it does, and the thread that hands it calls from the process that serves the pages.

It imports what it is handed and nothing else, so that it is there soon and beginning costs the pages nothing: whatever is
handed over must be of a module that imports no Panel. Calls go in by the standard input, answers come by the standard output,
pickled; what a call prints goes to the standard error. Nothing interrupts a call: a library that is interrupted while it loads or
compiles may answer wrongly from then on. Who wants no answer any more waits for it, or ends the process.

Not `multiprocessing`: its processes import the main module anew, which is whatever script or notebook shows a view.
"""

import asyncio
import inspect
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from zoexplore.views.server.limits import bound_memory

ITEM, DONE, ERROR = "item", "done", "error"
_NICE = 10  # the process that serves the pages goes first


class Died(RuntimeError):
    """A process ended before its answer came: killed, or out of memory."""


driven: ContextVar[bool] = ContextVar("driven", default=False)  # by a `Task` of ours, and not by asyncio


class Answer(Future):
    """A future that coroutines may await, those of a `Task` and asyncio's own."""

    def __await__(self) -> Generator[Any, None, Any]:
        if not driven.get():
            return (yield from asyncio.shield(asyncio.wrap_future(self)).__await__())
        if not self.done():
            yield self
        return self.result()


class Process:
    """A process that computes what it is handed, one call after another."""

    def __init__(self) -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "zoexplore.views.compute.process"],
            env={**os.environ, "PYTHONPATH": paths}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._calls: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._talk, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def submit(self, call: Callable, args: tuple = (), item: Callable[[Any], None] = lambda _: None) -> Answer:
        """Hand over a call of a module-level function.

        Args:
            call: of a module that imports no Panel.
            args: its arguments, which are pickled.
            item: told, from a thread, whatever a generator function yields.

        Returns:
            What the function returns. It raises what the function raised, or `Died`.
        """
        answer = Answer()
        self._calls.put((answer, call, args, item))
        return answer

    def end(self) -> None:
        """End the process now, whatever it is doing."""
        self._process.kill()
        self._calls.put(None)

    def _talk(self) -> None:
        while self._answered_next():
            pass
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        self._process.wait()

    def _answered_next(self) -> bool:
        """Answer the next call; False where there are no more. Between calls nothing here holds on to the last one's session."""
        handed = self._calls.get()
        if handed is None:
            return False
        answer, *rest = handed
        if answer.set_running_or_notify_cancel():
            try:
                found = self._asked(*rest)
            except BaseException as error:  # whoever asked is told, whatever it is; this thread must go on
                answer.set_exception(error)
            else:
                answer.set_result(found)
        return True

    def _asked(self, call: Callable, args: tuple, item: Callable[[Any], None]) -> Any:
        given = pickle.dumps((call, args))
        calls, answers = self._process.stdin, self._process.stdout
        assert calls and answers
        kind = ITEM
        while kind == ITEM:
            try:
                if given:
                    calls.write(given)
                    calls.flush()
                    given = b""
                kind, value = pickle.load(answers)
            except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
                raise Died("the computing process ended unexpectedly") from error
            if kind == ITEM:
                item(value)
        if kind == ERROR:
            raise value
        return value


def main() -> None:
    """In the worker: answer calls until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal and a notebook send to all their processes
    if hasattr(os, "nice"):
        os.nice(_NICE)
    bound_memory()
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    calls, answers, sys.stdout = sys.stdin.buffer, os.fdopen(os.dup(1), "wb"), sys.stderr
    os.dup2(2, 1)  # what compiled code prints as well
    while True:
        try:
            call, args = pickle.load(calls)
        except EOFError:
            return
        for answer in _answers(call, args):
            answers.write(pickle.dumps(answer))
            answers.flush()


def _answers(call: Callable, args: tuple) -> Iterator[tuple[str, Any]]:
    """What a generator yields, item by item, or what a function returns; or the error that it raised."""
    try:
        result = call(*args)
        if inspect.isgenerator(result):
            for item in result:
                yield ITEM, item
            result = None
        yield DONE, result
    except Exception as error:  # whatever the call raises is its answer, and the next call is none the worse
        yield ERROR, _portable(error)


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note, or one that says the same where it cannot be pickled."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # an error is any class, and pickling calls its methods: they may raise anything
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with(parent: int) -> None:
    """End when the process that began this one does, however it ends."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    main()
