"""The parent side of a worker process: how one is begun and ended, and the thread that hands it calls.

It does not use `multiprocessing`, whose processes import the main module anew: any script or notebook that shows a view.
"""

import asyncio
import os
import pickle
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from itertools import count
from typing import Any

from zoexplore.compute.worker import ERROR, FORK, ITEM

# Imported modules never become garbage: scanning them would take a tenth of the time.
BEGIN = "import gc; gc.disable(); from zoexplore.compute.worker import main; main()"


class Died(RuntimeError):
    """A process ended before its answer came: killed, or out of memory."""


driven: ContextVar[bool] = ContextVar("driven", default=False)  # by a `SessionTask` of ours, and not by asyncio


class Answer(Future):
    """A future for coroutines of a `SessionTask` and of asyncio."""

    def __await__(self) -> Generator[Any, None, Any]:
        if not driven.get():
            return (yield from asyncio.shield(asyncio.wrap_future(self)).__await__())
        if not self.done():
            yield self
        return self.result()


class ForkServer:
    """The process that workers are forked from, started with the first of them and restarted if it ended; they end with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count()
        self._control: socket.socket
        self._process: subprocess.Popen | None = None

    def fork(self) -> tuple[bytes, socket.socket]:
        """A new worker's number, and the connection to it: closed from there when the worker ends."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            number = b"%d" % next(self._numbers)
            if self._process is None or self._process.poll() is not None:
                self._begin()
            try:
                socket.send_fds(self._control, [number], [theirs.fileno()])
            except OSError:
                self._begin()
                socket.send_fds(self._control, [number], [theirs.fileno()])
        return number, ours

    def end(self, number: bytes) -> None:
        """Kill a worker."""
        with self._lock, suppress(OSError):  # all of them have ended
            self._control.send(number)

    def _begin(self) -> None:
        if self._process:
            self._control.close()
            self._process.kill()
            self._process.wait()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = _python(FORK, stdin=theirs)


fork_server = ForkServer()


class Forked:
    """A worker that is forked of the one process that has loaded the accountant, in milliseconds."""

    def __init__(self) -> None:
        self._server = fork_server
        self._number, self._connection = self._server.fork()
        self.calls, self.answers = self._connection.makefile("wb"), self._connection.makefile("rb")

    @property
    def alive(self) -> bool:
        """Whether an idle worker is alive."""
        try:
            return bool(self._connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        except BlockingIOError:
            return True
        except OSError:
            return False

    def end(self) -> None:
        self._server.end(self._number)

    def close(self) -> None:
        """Close the pipes of an ended worker on this side."""
        self._connection.close()


class Spawned:
    """A worker that loads the accountant itself."""

    def __init__(self) -> None:
        self._process = _python(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin and self._process.stdout
        self.calls, self.answers = self._process.stdin, self._process.stdout

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        self._process.kill()

    def close(self) -> None:
        self._process.wait()


def _python(*arguments: str, **streams: Any) -> subprocess.Popen:
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-c", BEGIN, *arguments]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, **streams)


class Process:
    """A process that computes calls one after another: forked where that is safe."""

    def __init__(self, begin: type[Forked] | type[Spawned] = Forked if sys.platform == "linux" else Spawned) -> None:
        self._worker = begin()
        self._calls: queue.SimpleQueue = queue.SimpleQueue()
        threading.Thread(target=self._talk, daemon=True).start()

    @property
    def alive(self) -> bool:
        """Whether it can be handed a call, between calls."""
        return self._worker.alive

    def submit(self, call: Callable, args: tuple = (), item: Callable[[Any], None] = lambda _: None) -> Answer:
        """Hand over a call of a module-level function of a module that imports no Panel. `item` is called, from a thread, with
        each value that a generator function yields. The answer raises what the function raised, or `Died`.
        """
        answer = Answer()
        self._calls.put((answer, call, args, item))
        return answer

    def end(self) -> None:
        """Kill the process."""
        self._worker.end()
        self._calls.put(None)

    def _talk(self) -> None:
        while self._answered_next():
            pass
        for stream in (self._worker.calls, self._worker.answers):
            with suppress(OSError):
                stream.close()
        self._worker.close()

    def _answered_next(self) -> bool:
        """Answer the next call; False where none is left. Between calls nothing here holds on to the last one's session."""
        handed = self._calls.get()
        if handed is None:
            return False
        answer, *rest = handed
        if answer.set_running_or_notify_cancel():
            try:
                found = self._computed(*rest)
            except BaseException as error:  # it is the answer, whatever it is; this thread must go on
                answer.set_exception(error)
            else:
                answer.set_result(found)
        return True

    def _computed(self, call: Callable, args: tuple, item: Callable[[Any], None]) -> Any:
        given = pickle.dumps((call, args))
        calls, answers = self._worker.calls, self._worker.answers
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
