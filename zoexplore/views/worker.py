"""Long work off the event loop, in processes of its own, so that the pages stay live while it goes on.

A thread would not do: compiled loops hold the interpreter's lock. What is short, as a row of a map, goes by `compute` to one
process that all sessions share: whoever has much to do asks for a little at a time, so that readers take turns. What nobody waits
for any more, because somebody cancelled or left, is left out of the line, or interrupted if it has begun. What follows a slider
has a process of its own, and waits for nobody's map. What is long, as a training run, goes by `Work` to a process of its own,
which ends with it.
"""

import asyncio
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import IO, Any

import panel as pn

from zoexplore.views.hand import DONE, DROPPED, ERROR, ITEM, READY
from zoexplore.views.tasks import change, closed, start

TURNS, LIVE = "turns", "live"  # lanes, a process each: for what is asked for, and for what follows a slider
_AGAIN = 0.1  # seconds between two interrupts
MOST = 2  # processes for long work, of all sessions together
FAILED = "The computation ended before it had an answer. Ask again, or change what is asked."
_END = object()


class Died(RuntimeError):
    """The process ended before its answer came: killed, or out of memory."""


class Dropped(RuntimeError):
    """The call was interrupted: nobody waits for its answer any more."""


class Busy(RuntimeError):
    """As much is going on already as this server has room for."""


class Hand:
    """A process that computes what it is handed, one call after another, and the thread that talks to it."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue = queue.SimpleQueue()
        self._process, self._calling, self._answering = _begun()
        self._ready = False  # to be interrupted
        self._computed: Future | None = None  # what the process has been handed and has not answered
        self._lock = threading.Lock()  # of that
        self.alive = True  # as far as we know
        threading.Thread(target=self._talk, daemon=True).start()

    def submit(self, call: Callable, args: tuple, item: Callable[[Any], None] = lambda _: None) -> Future:
        """Hand over a call of a module-level function; what a generator function yields goes to `item`, from a thread."""
        future: Future = Future()
        self._calls.put((future, call, args, item))
        return future

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def drop(self, future: Future) -> None:
        """Leave out a call that nobody waits for any more; where it has begun, interrupt it.

        Compiled code is interrupted when it returns, after a few tenths of a second at the most. Windows has no interrupts for
        a process without a console: there the call is computed to its end.
        """
        future.cancel()
        with self._lock:  # so that the interrupt arrives before the next call does
            if self._computed is not future or os.name == "nt":
                return
            if self._ready:
                self._process.send_signal(signal.SIGINT)
        again = threading.Timer(_AGAIN, self.drop, [future])  # it may not have begun to compute what it has been handed
        again.daemon = True
        again.start()

    def end(self) -> None:
        """End the process now, whatever it is doing."""
        self.alive = False
        self._process.kill()
        self._calls.put(None)

    def _talk(self) -> None:
        while (handed := self._calls.get()) is not None:
            future, *rest = handed
            if future.set_running_or_notify_cancel():
                self._computed = future
                try:
                    answer = partial(future.set_result, self._asked(*rest))
                except BaseException as error:  # whoever asked is told, whatever it is; this thread must go on
                    answer = partial(future.set_exception, error)
                with self._lock:
                    self._computed = None
                answer()
        for pipe in (self._calling, self._answering):
            with suppress(OSError):
                pipe.close()
        self._process.kill()
        self._process.wait()

    def _asked(self, call: Callable, args: tuple, item: Callable[[Any], None]) -> Any:
        given = pickle.dumps((call, args))
        try:
            self._calling.write(given)
            self._calling.flush()
            while True:
                kind, value = pickle.load(self._answering)
                if kind == DONE:
                    return value
                if kind == ERROR:
                    raise value
                if kind == DROPPED:
                    raise Dropped
                if kind == READY:
                    self._ready = True
                else:
                    assert kind == ITEM
                    item(value)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError) as error:
            self.alive = False
            raise Died("the computing process ended unexpectedly") from error


def _begun() -> tuple[subprocess.Popen, IO[bytes], IO[bytes]]:
    """The process, where calls go in, and where answers come out."""
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "zoexplore.views.hand"]
    environment = {**os.environ, "PYTHONPATH": paths}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin and process.stdout
    return process, process.stdin, process.stdout


_lock = threading.Lock()
_shared: dict[str, Hand] = {}
_own: set[Hand] = set()


def warm(lane: str = TURNS) -> Hand:
    """The process that sessions share, begun if it is not there: ahead of need, nobody has to wait for it."""
    with _lock:
        if lane not in _shared or not _shared[lane].alive:
            if lane in _shared:
                _shared[lane].end()
            _shared[lane] = Hand()
        return _shared[lane]


async def compute(call: Callable, *args: Any, lane: str = TURNS) -> Any:
    """The result of a call in the process that sessions share. One that died is replaced, and asked once more.

    Where the task that asks is cancelled, the call is computed no further.

    Raises:
        Died: the process ended twice.
        Exception: what the call raised.
        CancelledError: the task is cancelled, or the session that asks is closed.
    """
    if closed():
        raise asyncio.CancelledError
    try:
        return await _answer(warm(lane), call, args)
    except (Died, Dropped):  # dropped by no one here: a notebook's interrupt is for all processes of its kernel
        return await _answer(warm(lane), call, args)


async def _answer(hand: Hand, call: Callable, args: tuple) -> Any:
    future = hand.submit(call, args)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        hand.drop(future)
        raise


class Work:
    """Long work of one session, in a process of its own.

    Args:
        show: called with every item as it comes, where the session's models may be written to.
        ended: called once at the end, with None or with the error: `Busy`, `Died`, or what the work raised. Not after `stop`.
    """

    def __init__(self, show: Callable[[Any], None], ended: Callable[[BaseException | None], None]) -> None:
        self._show, self._ended = show, ended
        self._hand: Hand | None = None
        self._ends = False  # with the session

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self._hand is not None

    def begin(self, call: Callable, *args: Any) -> None:
        """Run a generator function of a module that imports no Panel, in place of what this work was doing before.

        It ends with the session, if not earlier.
        """
        self.stop()
        with _lock:
            full = len(_own) >= MOST
            hand = None if full else Hand()
            _own.update([hand] if hand else [])
        if hand is None:
            self._ended(Busy(f"{MOST} long computations are going on at this server already: try again when one has ended"))
            return
        self._hand = hand
        self._end_with_the_session()
        start(partial(self._run, hand, call, args))

    def _end_with_the_session(self) -> None:
        if not self._ends and pn.state.curdoc and pn.state.curdoc.session_context:
            self._ends = True
            pn.state.on_session_destroyed(lambda _: self.stop())

    def stop(self) -> None:
        """End it now; nothing more is shown of it."""
        hand, self._hand = self._hand, None
        if hand:
            _release(hand)

    async def _run(self, hand: Hand, call: Callable, args: tuple) -> None:
        loop = asyncio.get_running_loop()
        items: asyncio.Queue[Any] = asyncio.Queue()

        def put(item: Any) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(items.put_nowait, item)

        done = hand.submit(call, args, put)
        done.add_done_callback(lambda _: put(_END))
        try:
            while (item := await items.get()) is not _END and self._hand is hand:
                change(partial(self._pass, hand, item))
        finally:
            _release(hand)
        change(partial(self._finish, hand, done.exception()))

    def _pass(self, hand: Hand, item: Any) -> None:
        if self._hand is hand:
            self._show(item)

    def _finish(self, hand: Hand, error: BaseException | None) -> None:
        if self._hand is hand:
            self._hand = None
            self._ended(error)


def _release(hand: Hand) -> None:
    hand.end()
    with _lock:
        _own.discard(hand)
