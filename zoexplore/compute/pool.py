"""The pool begins, replaces and ends the worker processes of a server: a few for all sessions, which take turns, and one for each
long work.

What follows a slider goes first, and one process is kept for it, so that nobody's map keeps anybody's slider waiting. Among
equals the sessions take turns, however much each of them asks. A call that nobody waits for any more is left out of the line;
where it has begun, it may end, and its process is replaced only where it goes on for long. So is the process of a call that takes
longer than any may.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, Self

from zoexplore.compute.process import Answer, Died, Process

COUNT = 2  # processes; one of them at least is left to what follows sliders
LONGEST_CALL = 180.0  # seconds that a call may take: on a machine that is busy with other things, too
GRACE = 3.0  # seconds that a call may go on when nobody waits for it
MOST_LONG_WORKS = 2  # long works, of all sessions together

_lock = threading.Lock()
_going_on: set["LongWork"] = set()


class TooLong(RuntimeError):
    """A call took longer than any may."""


class Call:
    """What somebody waits for: a function and its arguments, whose turn it takes, and the answer that will come."""

    def __init__(self, function: Callable, args: tuple, session: Hashable, urgent: bool) -> None:
        self.function, self.args, self.session, self.urgent = function, args, session, urgent
        self.answer = Answer()
        self.waiting = 1  # how many wait for it
        self.again = False  # whether a process has died of it, or with it


class Pool:
    """Worker processes, begun when they are first needed.

    Args:
        count: how many, at least 2.
        longest, grace: seconds that a call may take, and may go on when nobody waits for it.
    """

    def __init__(self, count: int = COUNT, longest: float = LONGEST_CALL, grace: float = GRACE) -> None:
        self.count, self.longest, self.grace = count, longest, grace
        self._lines: dict[bool, OrderedDict[Hashable, deque[Call]]] = {True: OrderedDict(), False: OrderedDict()}
        self._idle: list[Process] = []
        self._running: dict[Process, Call] = {}
        self._lock = threading.RLock()

    def begin(self) -> None:
        """Begin all processes ahead of need."""
        with self._lock:
            while len(self._idle) + len(self._running) < self.count:
                self._idle.append(Process())

    def submit(self, function: Callable, args: tuple = (), session: Hashable = None, urgent: bool = False) -> Call:
        """Have a call of a module-level function computed when it is its session's turn.

        Returns:
            The call, whose `answer` raises what the function raised; `Died` where two processes ended over it; `TooLong`.
        """
        call = Call(function, args, session, urgent)
        with self._lock:
            self._lines[urgent].setdefault(session, deque()).append(call)
            self._dispatch()
        return call

    def counts(self) -> tuple[int, int]:
        """How many calls are being computed, and how many wait."""
        with self._lock:
            return len(self._running), sum(len(calls) for line in self._lines.values() for calls in line.values())

    def drop(self, call: Call) -> None:
        """One of those who waited for a call waits no longer."""
        with self._lock:
            call.waiting -= 1
            if call.waiting > 0 or call.answer.done():
                return
            line = self._lines[call.urgent].get(call.session, deque())
            waits = call in line
            if waits:
                line.remove(call)
            for process, running in self._running.items():
                if running is call:
                    self._later(self.grace, partial(self._replace, process, call, None))
        if waits:
            call.answer.cancel()

    def _dispatch(self) -> None:
        while self._idle or len(self._running) < self.count:
            call = self._next()
            if call is None:
                return
            process = self._ready()
            self._running[process] = call
            late = TooLong(f"This takes longer than the {self.longest:g} s that one computation may take here.")
            timer = self._later(self.longest, partial(self._replace, process, call, late))
            process.submit(call.function, call.args).add_done_callback(partial(self._answered, process, call, timer))

    def _ready(self) -> Process:
        """An idle process, or a new one: whatever was killed while it was idle costs no call one of its two tries."""
        while self._idle:
            process = self._idle.pop()
            if process.alive:
                return process
            process.end()
        return Process()

    def _next(self) -> Call | None:
        """Whose turn it is: urgent calls first, and no other takes the last process."""
        ordinary = sum(not call.urgent for call in self._running.values())
        for urgent in (True, False):
            line = self._lines[urgent]
            while line and (urgent or ordinary < self.count - 1):
                session, calls = next(iter(line.items()))
                if not calls:
                    del line[session]
                    continue
                line.move_to_end(session)
                return calls.popleft()
        return None

    def _answered(self, process: Process, call: Call, timer: threading.Timer, done: Answer) -> None:
        timer.cancel()
        with self._lock:
            if self._running.get(process) is not call:
                return  # it was replaced
            del self._running[process]
            error = done.exception()
            if isinstance(error, Died):
                process.end()
                if not call.again and call.waiting > 0:
                    call.again = True
                    self._lines[call.urgent].setdefault(call.session, deque()).appendleft(call)
                    self._dispatch()
                    return
            else:
                self._idle.append(process)
            self._dispatch()
        with suppress(InvalidStateError):
            call.answer.set_exception(error) if error else call.answer.set_result(done.result())

    def _replace(self, process: Process, call: Call, error: Exception | None) -> None:
        """End the process that is still at a call; another begins at once."""
        with self._lock:
            if self._running.get(process) is not call or (error is None and call.waiting > 0):
                return
            del self._running[process]
            process.end()
            self._idle.append(Process())
            self._dispatch()
        with suppress(InvalidStateError):
            call.answer.set_exception(error) if error else call.answer.cancel()

    @staticmethod
    def _later(seconds: float, act: Callable[[], None]) -> threading.Timer:
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        timer.start()
        return timer


class Busy(RuntimeError):
    """As much is going on already as this server has room for."""


def going_on() -> int:
    """How many long works there are now."""
    return len(_going_on)


class LongWork:
    """Long work of one session, as a training run: what a generator function yields in a process of its own.

    The process ends with the `with` block, whatever it is doing. Await it in a coroutine that a `Task` runs, with whose session
    it then ends:

        with LongWork(trained, asked) as updates:
            async for update in updates: ...

    Raises:
        Busy: there are `MOST_LONG_WORKS` already.
        Died: the process ended; from the loop.
        Exception: what the generator raised; from the loop.
    """

    def __init__(self, call: Callable, *args: Any) -> None:
        with _lock:
            if len(_going_on) >= MOST_LONG_WORKS:
                raise Busy(
                    f"{MOST_LONG_WORKS} long computations are going on at this server already: try again when one has ended"
                )
            _going_on.add(self)
        self._coming = deque([Answer()])  # what the loop has not had yet, the last one still to come
        self._process = Process()
        self._process.submit(call, args, self._item).add_done_callback(self._ended)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.end()
        with _lock:
            _going_on.discard(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        item = await self._coming[0]
        self._coming.popleft()
        return item

    def _item(self, item: Any) -> None:
        self._coming.append(Answer())
        self._coming[-2].set_result(item)

    def _ended(self, done: Future) -> None:
        self._coming[-1].set_exception(done.exception() or StopAsyncIteration())
