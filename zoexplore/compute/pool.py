"""The pool of worker processes of a server: a few that answer the calls of all sessions, and one for each long work.

Calls wait in one queue, which is fair by address: whoever has spent less comes first, and of one address's calls those that a
slider waits for. One worker is always free for other addresses, and one for sliders, so that a map delays neither sliders nor
other readers' maps. A queued call whose caller has gone is dropped; a running one may finish, and its worker is replaced only
after a long time. So is the worker of any call beyond the longest allowed time.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar, Self

from zoexplore.compute.fair import Budget, FairQueue, budget
from zoexplore.compute.process import Answer, Died, Process
from zoexplore.compute.session_task import own_address

COUNT = 3  # workers
LONGEST_CALL = 180.0  # seconds that a call may take: on a machine that is busy with other things, too
TRIES = 4  # workers that may die of a call; where all are killed at once, others may die soon after they are taken
GRACE = 3.0  # seconds that a call may go on after its caller has gone
MOST_LONG_WORKS = 2  # at a time, of all sessions together
SHARE = 120.0  # seconds of long work, after which it ends if other work waits


class TooLong(RuntimeError):
    """A call exceeded the time limit."""


class Call:
    """A function, its arguments, the address that pays for it, and the answer that will come."""

    def __init__(self, function: Callable, args: tuple, address: Hashable, urgent: bool) -> None:
        self.function, self.args, self.address, self.urgent = function, args, address, urgent
        self.answer = Answer()
        self.waiting = 1  # how many wait for it
        self.deaths = 0  # workers that died of it, or with it
        self.made, self.began, self.charged = time.monotonic(), 0.0, 0.0


class Pool:
    """Worker processes, begun when they are first needed.

    Args:
        count: how many. An address may use all but one of the workers, and all but two for work that no slider waits for.
        longest, grace: seconds that a call may take, and may go on when nobody waits for it.
        accounts: by which addresses are served.
    """

    def __init__(
        self, count: int = COUNT, longest: float = LONGEST_CALL, grace: float = GRACE, accounts: Budget = budget
    ) -> None:
        self.count, self.longest, self.grace = count, longest, grace
        self.deaths = 0  # workers that died during a call, or were ended
        self.waited = 0.0  # seconds, of all calls that have begun
        self._queue: FairQueue[Call] = FairQueue(accounts, lambda call: (-call.deaths, not call.urgent))
        self._idle: list[Process] = []
        self._running: dict[Process, Call] = {}
        self._usual = 0.0  # seconds that calls took lately
        self._lock = threading.RLock()

    def begin(self) -> None:
        """Start all workers before they are needed."""
        with self._lock:
            while len(self._idle) + len(self._running) < self.count:
                self._idle.append(Process())

    def submit(self, function: Callable, args: tuple = (), address: Hashable = None, urgent: bool = False) -> Call:
        """Queue a call of a module-level function until its address is next.

        Returns:
            The call, whose `answer` raises what the function raised; `Died` where it ended `TRIES` workers; `TooLong`.
        """
        call = Call(function, args, address, urgent)
        with self._lock:
            self._queue.add(address, call)
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
            queued = self._queue.remove(call.address, call)
            for worker, running in self._running.items():
                if running is call:
                    _later(self.grace, partial(self._replace, worker, call, None))
        if queued:
            call.answer.cancel()

    def _dispatch(self) -> None:
        while (self._idle or len(self._running) < self.count) and (call := self._queue.take(self._allowed)):
            call.began = time.monotonic()
            self.waited += call.began - call.made
            self._charge(call, self._usual)
            worker = self._ready()
            self._running[worker] = call
            late = TooLong(f"This takes longer than the {self.longest:g} s that one computation may take here.")
            timer = _later(self.longest, partial(self._replace, worker, call, late))
            worker.submit(call.function, call.args).add_done_callback(partial(self._answered, worker, call, timer))

    def _allowed(self, call: Call) -> bool:
        """Whether a call may begin, for all that others leave to it."""
        running = self._running.values()
        mine = [other for other in running if other.address == call.address]
        if call.urgent or len(mine) >= self.count - 1:
            return len(mine) < self.count - 1
        slow = sum(not other.urgent for other in running)
        return slow < self.count - 1 and sum(not other.urgent for other in mine) < self.count - 2

    def _ready(self) -> Process:
        """An idle worker, or a new one: a worker killed while idle costs no call a try."""
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            self.deaths += 1
            worker.end()
        return Process()

    def _charge(self, call: Call, seconds: float) -> None:
        """Charge a call's address that much for it in all."""
        self._queue.budget.charge(call.address, seconds - call.charged)
        call.charged = seconds

    def _finished(self, worker: Process, call: Call) -> None:
        """Charge the address for the worker's time."""
        del self._running[worker]
        took = time.monotonic() - call.began
        self._charge(call, took)
        self._usual += (took - self._usual) / 8

    def _answered(self, worker: Process, call: Call, timer: threading.Timer, done: Answer) -> None:
        timer.cancel()
        with self._lock:
            if self._running.get(worker) is not call:
                return  # it was replaced
            self._finished(worker, call)
            error = done.exception()
            if isinstance(error, Died):
                self.deaths += 1
                worker.end()
                call.deaths += 1
                if call.deaths < TRIES and call.waiting > 0:
                    call.made, call.charged = time.monotonic(), 0.0
                    self._queue.add(call.address, call)
                    self._dispatch()
                    return
            else:
                self._idle.append(worker)
            self._dispatch()
        with suppress(InvalidStateError):
            call.answer.set_exception(error) if error else call.answer.set_result(done.result())

    def _replace(self, worker: Process, call: Call, error: Exception | None) -> None:
        """End the worker that still runs a call; another starts at once."""
        with self._lock:
            if self._running.get(worker) is not call or (error is None and call.waiting > 0):
                return
            self._finished(worker, call)
            self.deaths += 1
            worker.end()
            self._idle.append(Process())
            self._dispatch()
        with suppress(InvalidStateError):
            call.answer.set_exception(error) if error else call.answer.cancel()


def _later(seconds: float, act: Callable[[], None]) -> threading.Timer:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    return timer


class GaveWay(RuntimeError):
    """A long work was ended since another waited for its place."""


class LongWork:
    """Long work of one session, such as a training run: the values that a generator function yields in a process of its own.

    Where `MOST_LONG_WORKS` go on already it waits for a place, fairly by address. One that has had `SHARE` seconds ends where
    another waits. The process ends with the `with` block, even in the middle of a computation. Await it in a coroutine of a
    `SessionTask`; it then ends with the task's session:

        with LongWork(trained, run) as updates:
            async for update in updates: ...

    Raises:
        Died: the process ended; from the loop.
        GaveWay: others waited for its place; from the loop.
        Exception: what the generator raised; from the loop.
    """

    _lock = threading.RLock()
    _waiting: ClassVar["FairQueue[LongWork]"] = FairQueue()
    _running: ClassVar["list[LongWork]"] = []  # the oldest first

    def __init__(self, call: Callable, *args: Any) -> None:
        self._call, self._args, self._address = call, args, own_address()
        self._coming = deque([Answer()])  # updates not delivered yet, and a last one to be filled
        self._process: Process | None = None
        self._began = 0.0
        with LongWork._lock:
            LongWork._waiting.add(self._address, self)
            LongWork._give_places()

    @classmethod
    def counts(cls) -> tuple[int, int]:
        """How many are running, and how many wait."""
        with cls._lock:
            return len(cls._running), len(cls._waiting)

    @property
    def waits(self) -> bool:
        """Whether it is still waiting for a place."""
        return self._process is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with LongWork._lock:
            LongWork._waiting.remove(self._address, self)
            if self in LongWork._running:
                LongWork._running.remove(self)
                LongWork._waiting.budget.charge(self._address, time.monotonic() - self._began)
            if self._process:
                self._process.end()
            LongWork._give_places()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        item = await self._coming[0]
        self._coming.popleft()
        return item

    @classmethod
    def _give_places(cls) -> None:
        """Start waiting calls where there is room, and make room where others have had their share of time."""
        with cls._lock:
            now = time.monotonic()
            if len(cls._waiting) and len(cls._running) >= MOST_LONG_WORKS and now - cls._running[0]._began >= SHARE:
                cls._running[0]._give_way()
            while len(cls._running) < MOST_LONG_WORKS and (work := cls._waiting.take()):
                cls._running.append(work)
                work._begin()

    def _begin(self) -> None:
        self._process, self._began = Process(), time.monotonic()
        self._process.submit(self._call, self._args, self._item).add_done_callback(self._ended)
        _later(SHARE, LongWork._give_places)

    def _give_way(self) -> None:
        with suppress(InvalidStateError):
            self._coming[-1].set_exception(GaveWay(f"Others waited for its place, and it had had {SHARE:g} s"))
        self.__exit__()

    def _item(self, item: Any) -> None:
        self._coming.append(Answer())
        with suppress(InvalidStateError):
            self._coming[-2].set_result(item)

    def _ended(self, done: Future) -> None:
        with suppress(InvalidStateError):
            self._coming[-1].set_exception(done.exception() or StopAsyncIteration())
