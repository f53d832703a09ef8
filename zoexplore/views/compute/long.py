"""Long work of one session, as a training run: a process of its own, whose results come one by one."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Self

from zoexplore.views.compute.process import Answer, Process

MOST = 2  # such processes, of all sessions together

_lock = threading.Lock()
_going_on: set["LongWork"] = set()


def going_on() -> int:
    """How many there are now."""
    return len(_going_on)


class Busy(RuntimeError):
    """As much is going on already as this server has room for."""


class LongWork:
    """What a generator function yields in a process of its own, which ends with the `with` block, whatever it is doing.

    Await it in a coroutine that a `Task` runs, with whose session it then ends:

        with LongWork(trained, asked) as updates:
            async for update in updates: ...

    Raises:
        Busy: there are `MOST` already.
        Died: the process ended; from the loop.
        Exception: what the generator raised; from the loop.
    """

    def __init__(self, call: Callable, *args: Any) -> None:
        with _lock:
            if len(_going_on) >= MOST:
                raise Busy(f"{MOST} long computations are going on at this server already: try again when one has ended")
            _going_on.add(self)
        self._come: deque[Any] = deque()
        self._next: Answer | None = None  # what the loop waits for
        self._turn = threading.Lock()
        self._process = Process()
        self._done = self._process.submit(call, args, self._item)
        self._done.add_done_callback(lambda _: self._wake())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.end()
        with _lock:
            _going_on.discard(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while True:
            with self._turn:
                if self._come:
                    return self._come.popleft()
                if self._done.done():
                    break
                self._next = Answer()
            await self._next
        self._done.result()
        raise StopAsyncIteration

    def _item(self, item: Any) -> None:
        with self._turn:
            self._come.append(item)
        self._wake()

    def _wake(self) -> None:
        with self._turn:
            waits, self._next = self._next, None
        if waits:
            waits.set_result(None)
