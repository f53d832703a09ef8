"""The parent side of a worker process: it begins one, ends it, and hands it calls from a thread.

It does not use `multiprocessing`, whose processes import the main module anew: any script or
notebook that shows a view.
"""

import asyncio
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from zoexplore.compute.worker import ERROR, ITEM

# Imported modules never become garbage: scanning them would take a tenth of the time.
BEGIN = "import gc; gc.disable(); from zoexplore.compute.worker import main; main()"


class Died(BrokenExecutor):
    """A process ended before its answer came: killed, or out of memory."""


# by a `SessionTask` of ours, and not by asyncio
driven: ContextVar[bool] = ContextVar("driven", default=False)


class Answer(Future[Any]):
    """A future for coroutines of a `SessionTask` and of asyncio."""

    def __await__(self) -> Generator[Any, None, Any]:
        if not driven.get():
            return (yield from asyncio.shield(asyncio.wrap_future(self)).__await__())
        if not self.done():
            yield self
        return self.result()


class Process:
    """A new Python process that computes calls one after another, the same on every system. It ends
    with this one, however this one ends.
    """

    def __init__(self) -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._child = subprocess.Popen(
            [sys.executable, "-c", BEGIN], env={**os.environ, "PYTHONPATH": paths}, **pipes
        )
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._talk, daemon=True).start()

    @property
    def pid(self) -> int:
        """The number by which the system knows it."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether it can be handed a call."""
        return self._child.poll() is None

    def submit(
        self,
        call: Callable[..., Any],
        args: tuple[Any, ...] = (),
        item: Callable[[Any], None] = lambda _: None,
    ) -> Answer:
        """Hand over a call of a module-level function of a module that imports no Panel. `item` is
        called, from a thread, with each value that a generator function yields. The answer raises
        what the function raised, or `Died`.
        """
        answer = Answer()
        self._calls.put((answer, call, args, item))
        return answer

    def end(self) -> None:
        """Kill the process."""
        self._child.kill()
        self._calls.put(None)

    def _talk(self) -> None:
        while self._answered_next():
            pass
        self._child.kill()
        for stream in (self._child.stdin, self._child.stdout):
            with suppress(OSError):  # what was written last never reached it
                stream.close()  # type: ignore[union-attr]
        self._child.wait()

    def _answered_next(self) -> bool:
        """Answer the next call; False where none is left. Between calls nothing here holds on to
        the last one's session.
        """
        handed = self._calls.get()
        if handed is None:
            return False
        answer, *rest = handed
        if answer.set_running_or_notify_cancel():
            try:
                found = self._computed(*rest)
            # it is the answer, whatever it is; this thread must go on
            except BaseException as error:
                answer.set_exception(error)
            else:
                answer.set_result(found)
        return True

    def _computed(
        self, call: Callable[..., Any], args: tuple[Any, ...], item: Callable[[Any], None]
    ) -> Any:
        kind, value = self._exchange(pickle.dumps((call, args)))
        while kind == ITEM:
            item(value)
            kind, value = self._exchange()
        if kind == ERROR:
            raise value
        return value

    def _exchange(self, given: bytes = b"") -> tuple[str, Any]:
        """Send a call, if one is given, and read what comes next."""
        calls, answers = self._child.stdin, self._child.stdout
        assert calls and answers
        try:
            calls.write(given)
            calls.flush()
            kind, value = pickle.load(answers)
            return kind, value
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:
            raise Died("the computing process ended unexpectedly") from error
