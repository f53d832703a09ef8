"""The pools of worker processes of a server. One pool answers the calls of all sessions; another
does long work, such as training.

The calls of a pool wait in one queue. Calls that a slider waits for come first, and sessions take
turns: a session's second call comes after the first calls of all other sessions. No session may use
all workers, nor may the calls that no slider waits for. So a map delays neither other sessions nor
sliders. A queued call whose callers have gone is dropped. A running call may go on for a while
without them; then its worker is replaced, as is the worker of any call that takes too long.
"""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Hashable
from concurrent.futures import Future
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import Any, Self

from zoexplore.compute.limits import GRACE, LONGEST_CALL, TRAININGS, WORKERS
from zoexplore.compute.process import Died, Process, ignored

AGO = 10.0  # seconds of waiting after which a call ranks with the calls for sliders


class TooLong(RuntimeError):
    """A call exceeded the time limit."""


# whether a `SessionTask`, rather than asyncio, drives the current coroutine
driven: ContextVar[bool] = ContextVar("driven", default=False)


class Answer(Future[Any]):
    """A future that coroutines of a `SessionTask` and of asyncio can await."""

    def __await__(self) -> Generator[Any, None, Any]:
        if not driven.get():
            return (yield from asyncio.shield(asyncio.wrap_future(self)).__await__())
        if not self.done():
            yield self
        return self.result()


@dataclass(eq=False)
class Call:
    """A function, its arguments, the session that asks, and the answer that will come.

    Args:
        item: called with each value that a generator function yields.
        waiting: the number of callers that wait for the answer.
        turn: how many calls of the same session and urgency were under way when this call came.
        made: when the call came, by the monotonic clock.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    session: Hashable
    urgent: bool
    item: Callable[[Any], None]
    answer: Answer = field(default_factory=Answer)
    begun: bool = False
    waiting: int = 1
    turn: int = 0
    made: float = field(default_factory=time.monotonic)


class Pool:
    """Worker processes, each with a thread that hands it calls. They start when they are first
    needed.

    Args:
        count: the number of workers. One session may use all but one of them, and so may the calls
            that no slider waits for.
        longest: seconds that a call may take.
        grace: seconds that a call may go on when nobody waits for its answer any more.
        first: what a new worker calls before anything else.
    """

    def __init__(
        self,
        count: int | None = None,
        longest: float = LONGEST_CALL,
        grace: float = GRACE,
        first: Callable[[], None] | None = None,
    ) -> None:
        self.count, self.longest, self.grace = count or WORKERS.value, longest, grace
        self.first = first
        self._threads, self._closed = 0, False
        self._queue: list[Call] = []
        self._running: dict[Call, Process] = {}
        self._changed = threading.Condition()

    def begin(self, count: int | None = None) -> None:
        """Start workers until `count` of them run; by default, all."""
        with self._changed:
            while self._threads < min(self.count, count or self.count):
                self._threads += 1
                threading.Thread(target=self._work, daemon=True).start()

    def end(self) -> None:
        """Cancel all calls, and end all workers."""
        with self._changed:
            for call in (*self._queue, *self._running):
                call.answer.cancel()
            for process in self._running.values():
                process.kill()
            self._closed = True
            self._queue.clear()
            self._running.clear()
            self._changed.notify_all()

    def submit(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...] = (),
        session: Hashable = None,
        urgent: bool = False,
        share: bool = False,
        item: Callable[[Any], None] = ignored,
    ) -> Call:
        """Queue a call of a module-level function until it is its session's turn. If `share`, join
        an equal call that is already under way instead. A thread calls `item` with each value that
        a generator function yields.

        Returns:
            The call. Its `answer` raises what the function raised, `Died` if its worker ended, or
            `TooLong`.
        """
        call = Call(function, args, session, urgent, item)
        with self._changed:
            there = (*self._queue, *self._running)
            for other in there if share else ():
                if (other.function, other.args) == (function, args):
                    other.waiting += 1
                    return other
            if session is not None:
                call.turn = sum(
                    (other.session, other.urgent) == (session, urgent) for other in there
                )
            self._queue.append(call)
            self.begin(len(there) + 1)
            self._changed.notify_all()
        return call

    def counts(self) -> tuple[int, int]:
        """Return how many calls are being computed, and how many wait."""
        with self._changed:
            return len(self._running), len(self._queue)

    def drop(self, call: Call) -> None:
        """Note that one caller no longer waits for a call. If no other caller waits, take the call
        out of the queue, or end it after `grace` seconds if it is running.
        """
        with self._changed:
            call.waiting -= 1
            if call.waiting > 0:
                return
            if call in self._queue:
                self._queue.remove(call)
                call.answer.cancel()
            elif call in self._running:
                _later(self.grace, self._give_up, call)

    def _give_up(self, call: Call, late: TooLong | None = None) -> None:
        """End the worker of a call that is late, or that nobody waits for any more. If an equal
        call comes later, it is computed anew.
        """
        with self._changed:
            if call not in self._running or (call.waiting > 0 and not late):
                return
            self._running.pop(call).kill()
        call.answer.set_exception(late) if late else call.answer.cancel()

    def _work(self) -> None:
        """Begin a worker, and hand it one call after another, in a thread of its own."""
        try:
            process: Process | None = self._new()
            while process:
                process = self._after_next(process)
        finally:  # if no process could be begun, the next call tries again
            with self._changed:
                self._threads -= 1

    def _new(self) -> Process:
        process = Process()
        if self.first:
            with suppress(Exception):  # what fails here fails in calls too, which report it
                process.compute(self.first)
        return process

    def _after_next(self, process: Process) -> Process | None:
        """Compute the next call, and return the worker for the call after it; None if the pool has
        ended. After each call this returns, so that no variable keeps the call's session alive.
        """
        call = self._next(process)
        if call is None:
            process.end()
            return None if self._closed else self._new()
        words = f"This takes longer than the {self.longest:g} s that one computation may take here."
        timer = _later(self.longest, self._give_up, call, TooLong(words))
        value, error = _tried(process, call)
        timer.cancel()
        with self._changed:
            mine = self._running.pop(call, None) is process  # else the call was given up
            self._changed.notify_all()
        if mine:
            call.answer.set_exception(error) if error else call.answer.set_result(value)
        if mine and not isinstance(error, Died):
            return process
        process.end()
        return None if self._closed else self._new()

    def _next(self, process: Process) -> Call | None:
        """Wait for a call that may begin, and return it; None if the pool has ended, or if the idle
        worker was killed.
        """
        with self._changed:
            while not self._closed and process.poll() is None:
                if call := min(filter(self._allowed, self._queue), key=_place, default=None):
                    self._queue.remove(call)
                    self._running[call], call.begun = process, True
                    return call
                self._changed.wait()
        return None

    def _allowed(self, call: Call) -> bool:
        """Return whether a call may begin. Neither its session nor the calls that are not urgent
        may use all workers.
        """
        most = max(self.count - 1, 1)
        mine = call.session is not None and sum(
            other.session == call.session for other in self._running
        )
        return mine < most and (
            call.urgent or sum(not other.urgent for other in self._running) < most
        )


def _place(call: Call) -> tuple[Any, ...]:
    """Return a call's sort key in the queue. Calls for sliders and calls that have waited long come
    before all others; within either group sessions take turns.
    """
    return not (call.urgent or call.made < time.monotonic() - AGO), call.turn


def _tried(process: Process, call: Call) -> tuple[Any, BaseException | None]:
    """Return (answer, None) for a call that returns, and (None, error) for one that raises."""
    try:
        return process.compute(call.function, call.args, call.item), None
    except BaseException as error:
        return None, error


def _later(seconds: float, act: Callable[..., None], *args: Any) -> threading.Timer:
    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), act, args)
    timer.daemon = True
    timer.start()
    return timer


@cache
def trainings() -> Pool:
    """Return the pool for long work. Its calls have no time limit, and end as soon as their reader
    leaves.
    """
    return Pool(TRAININGS.value, longest=inf, grace=0.0)


class LongWork:
    """Long work of one session, such as a training run. A generator function does the work in
    another process, and iterating over this object gives the values that the function yields.

    At most `TRAININGS` of these run at a time; others wait, first come, first served. The work ends
    with the `with` block, even in the middle of a computation. In a coroutine of a `SessionTask` it
    also ends with the task's session:

        with LongWork(trained, run) as updates:
            async for update in updates: ...

    Raises:
        Died: the process ended. The `async for` raises this.
        Exception: the generator raised it. The `async for` raises it again.
    """

    def __init__(self, function: Callable[..., Any], *args: Any) -> None:
        self._coming = deque([Answer()])  # for values not delivered yet, and for the next
        self._call = trainings().submit(function, args, urgent=True, item=self._item)
        self._call.answer.add_done_callback(self._ended)

    @property
    def waits(self) -> bool:
        """Whether the work still waits for a worker."""
        return not self._call.begun

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        trainings().drop(self._call)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        item = await self._coming[0]
        self._coming.popleft()
        return item

    def _item(self, item: Any) -> None:
        self._coming.append(Answer())
        self._coming[-2].set_result(item)

    def _ended(self, done: Future[Any]) -> None:
        if not done.cancelled():
            self._coming[-1].set_exception(done.exception() or StopAsyncIteration())
