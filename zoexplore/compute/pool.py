"""The pool of worker processes of a server: a few that answer the calls of all sessions, and one
for each long work.

Calls wait in one queue. Those that a slider waits for come first, and sessions take turns: a
session's second call comes after the first calls of all others. One worker is always free for other
sessions, and one for sliders, so that a map delays neither. A queued call whose caller has gone is
dropped; a running one may finish, and its worker is replaced only after a long time. So is the
worker of any call beyond the longest allowed time.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Self

from zoexplore.compute.limits import TRAININGS, WORKERS
from zoexplore.compute.process import Answer, Died, Process

# seconds that a call may take: on a machine that is busy with other things, too
LONGEST_CALL = 180.0
# workers that may die of a call; where all are killed at once, others may die soon after they are
# taken
TRIES = 4
AGO = 10.0  # seconds after which a call comes as soon as those for sliders
GRACE = 10.0  # seconds that a call may go on after its caller has gone


class TooLong(RuntimeError):
    """A call exceeded the time limit."""


class Call:
    """A function, its arguments, the session that asks, and the answer that will come."""

    def __init__(
        self, function: Callable[..., Any], args: tuple[Any, ...], session: Hashable, urgent: bool
    ) -> None:
        self.function, self.args, self.session, self.urgent = function, args, session, urgent
        self.answer = Answer()
        self.waiting = 1  # how many wait for it
        self.deaths = 0  # workers that died of it, or with it
        self.turn = 0  # calls of its session and urgency that were there before it
        self.made = time.monotonic()


class Pool:
    """Worker processes, begun when they are first needed.

    Args:
        count: how many. A session may use all but one of the workers, and so may the work that no
            slider waits for.
        longest, grace: seconds that a call may take, and may go on when nobody waits for it.
        first: what a new worker calls before anything else.
    """

    def __init__(
        self,
        count: int | None = None,
        longest: float = LONGEST_CALL,
        grace: float = GRACE,
        first: Callable[[], None] | None = None,
    ) -> None:
        self.count, self.longest, self.grace, self.first = (
            count or WORKERS.value,
            longest,
            grace,
            first,
        )
        self.deaths = 0  # workers that died during a call, or were ended
        self.waited = 0.0  # seconds, of all calls that have begun
        self._queue: list[Call] = []
        self._idle: list[Process] = []
        self._running: dict[Process, Call] = {}
        self._lock = threading.RLock()

    def begin(self) -> None:
        """Start all workers before they are needed."""
        with self._lock:
            while len(self._idle) + len(self._running) < self.count:
                self._idle.append(self._new())

    def end(self) -> None:
        """Cancel the calls that wait, and kill all workers."""
        with self._lock:
            for call in [*self._queue, *self._running.values()]:
                call.waiting = 0  # it is not begun once more
                call.answer.cancel()
            for worker in [*self._idle, *self._running]:
                worker.end()
            self._queue, self._idle = [], []

    def submit(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...] = (),
        session: Hashable = None,
        urgent: bool = False,
        share: bool = False,
    ) -> Call:
        """Queue a call of a module-level function until its session is next, or share one that is
        the same.

        Returns:
            The call, whose `answer` raises what the function raised; `Died` where it ended `TRIES`
            workers; `TooLong`.
        """
        call = Call(function, args, session, urgent)
        with self._lock:
            there = (*self._queue, *self._running.values())
            for other in there if share else ():
                if (other.function, other.args) == (function, args) and not other.answer.done():
                    other.waiting += 1
                    return other
            if session is not None:
                call.turn = sum(
                    (other.session, other.urgent) == (session, urgent) for other in there
                )
            self._queue.append(call)
            self._dispatch()
        return call

    def counts(self) -> tuple[int, int]:
        """How many calls are being computed, and how many wait."""
        with self._lock:
            return len(self._running), len(self._queue)

    def drop(self, call: Call) -> None:
        """One waiter of a call stops waiting."""
        with self._lock:
            call.waiting -= 1
            if call.waiting > 0 or call.answer.done():
                return
            if call in self._queue:
                self._queue.remove(call)
                call.answer.cancel()
            for worker, running in self._running.items():
                if running is call:
                    _later(self.grace, partial(self._replace, worker, call, None))

    def _new(self) -> Process:
        worker = Process()
        if self.first:
            worker.submit(self.first)
        return worker

    def _dispatch(self) -> None:
        while (self._idle or len(self._running) < self.count) and (call := self._next()):
            self._queue.remove(call)
            self.waited += time.monotonic() - call.made
            worker = self._ready()
            self._running[worker] = call
            late = TooLong(
                f"This takes longer than the {self.longest:g} s that one computation may take here."
            )
            timer = _later(self.longest, partial(self._replace, worker, call, late))
            worker.submit(call.function, call.args).add_done_callback(
                partial(self._answered, worker, call, timer)
            )

    def _next(self) -> Call | None:
        """The call that begins next: one whose worker died, then one for a slider or of long ago,
        then a session's first, then whichever came first.
        """
        self._queue = [call for call in self._queue if not call.answer.cancelled()]
        then = time.monotonic() - AGO

        def place(call: Call) -> tuple[Any, ...]:
            return -call.deaths, not (call.urgent or call.made < then), call.turn

        return min(filter(self._allowed, self._queue), key=place, default=None)

    def _allowed(self, call: Call) -> bool:
        """Whether a call may begin, for all that others leave to it."""
        running = self._running.values()
        most = max(self.count - 1, 1)
        mine = call.session is not None and sum(other.session == call.session for other in running)
        return mine < most and (call.urgent or sum(not other.urgent for other in running) < most)

    def _ready(self) -> Process:
        """An idle worker, or a new one: a worker killed while idle costs no call a try."""
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            self.deaths += 1
            worker.end()
        return self._new()

    def _answered(self, worker: Process, call: Call, timer: threading.Timer, done: Answer) -> None:
        timer.cancel()
        error, again = done.exception(), False
        with self._lock:
            if self._running.get(worker) is not call:
                return  # it was replaced
            del self._running[worker]
            if not isinstance(error, Died):
                self._idle.append(worker)
            else:
                self.deaths += 1
                worker.end()
                call.deaths += 1
                again = call.deaths < TRIES and call.waiting > 0
                self._queue += [call] if again else []
            self._dispatch()
        if not again:
            _settle(call, error, None if error else done.result())

    def _replace(self, worker: Process, call: Call, error: Exception | None) -> None:
        """End the worker that still runs a call; another starts at once."""
        with self._lock:
            if self._running.get(worker) is not call or (error is None and call.waiting > 0):
                return
            del self._running[worker]
            self.deaths += 1
            worker.end()
            self._idle.append(self._new())
            self._dispatch()
        if error:
            _settle(call, error)
        else:
            call.answer.cancel()


def _settle(call: Call, error: BaseException | None, result: Any = None) -> None:
    """Answer a call, unless nobody waits for it any more."""
    with suppress(InvalidStateError):
        call.answer.set_exception(error) if error else call.answer.set_result(result)


def _later(seconds: float, act: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), act)
    timer.daemon = True
    timer.start()
    return timer


class LongWork:
    """Long work of one session, such as a training run: the values that a generator function yields
    in a process of its own.

    `TRAININGS` of them go on at a time; others wait, first come first served. The process ends with
    the `with` block, even in the middle of a computation. Await it in a coroutine of a
    `SessionTask`; it then ends with the task's session:

        with LongWork(trained, run) as updates:
            async for update in updates: ...

    Raises:
        Died: the process ended; from the loop.
        Exception: what the generator raised; from the loop.
    """

    _lock = threading.RLock()
    _all: ClassVar["list[LongWork]"] = []  # those that go on, and then those that wait

    def __init__(self, call: Callable[..., Any], *args: Any) -> None:
        self._call, self._args = call, args
        self._coming = deque([Answer()])  # updates not delivered yet, and a last one to be filled
        self._process: Process | None = None
        with self._lock:
            self._all.append(self)
            self._begin_first()

    @classmethod
    def counts(cls) -> tuple[int, int]:
        """How many are running, and how many wait."""
        with cls._lock:
            waiting = sum(work.waits for work in cls._all)
            return len(cls._all) - waiting, waiting

    @property
    def waits(self) -> bool:
        """Whether it is still waiting for a place."""
        return self._process is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self in self._all:
                self._all.remove(self)
            if self._process:
                self._process.end()
            self._begin_first()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        item = await self._coming[0]
        self._coming.popleft()
        return item

    @classmethod
    def _begin_first(cls) -> None:
        for work in cls._all[: TRAININGS.value]:
            if work.waits:
                work._process = Process()
                work._process.submit(work._call, work._args, work._item).add_done_callback(
                    work._ended
                )

    def _item(self, item: Any) -> None:
        self._coming.append(Answer())
        with suppress(InvalidStateError):
            self._coming[-2].set_result(item)

    def _ended(self, done: Future[Any]) -> None:
        with suppress(InvalidStateError):
            self._coming[-1].set_exception(done.exception() or StopAsyncIteration())
