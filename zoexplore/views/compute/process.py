"""`Process`: a worker process as seen from the one that serves the pages, and the thread that talks to it.

Not `multiprocessing`: its processes import the main module anew, which is whatever script or notebook shows a view.
"""

import asyncio
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from zoexplore.views.compute.worker import ERROR, ITEM


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
            [sys.executable, "-m", "zoexplore.views.compute.worker"],
            env={**os.environ, "PYTHONPATH": paths}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self._calls: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._talk, daemon=True).start()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
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
