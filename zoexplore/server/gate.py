"""The gate to the event loop: what costs its time waits here for its turn, fairly by address.

Messages of readers wait by the addresses that they come from, and the making of pages is one more who waits: so whoever is there
goes on while a hall comes in. Each address pays in seconds of the processor for what is done for it, and for bytes: for messages
that are parsed and acted upon, pages that are made, what is drawn later, and calls in worker processes. Whoever has spent more
waits behind whoever has spent less.
"""

import asyncio
import time
import types
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

from zoexplore.compute.fair import FairQueue, event_loop

T = TypeVar("T")
PAGES = "the making of pages"  # which is no address
BYTE = 5e-8  # seconds that a byte costs before anybody looks at it


class Gate:
    """Lets through one at a time, whoever has spent least first. What is let through does its work in one step of the loop."""

    def __init__(self, queue: FairQueue[asyncio.Future[None]] = event_loop) -> None:
        self._queue, self._open = queue, True
        self._loop: asyncio.AbstractEventLoop | None = None
        self.passed, self.waited = 0, 0.0  # how many were let through; the seconds that they waited

    async def turn(self, who: str) -> None:
        """Wait until it is this address's turn."""
        loop = asyncio.get_running_loop()
        self.passed += 1
        if loop is not self._loop:  # of another server in this process: whoever waited for the last one waits no more
            self._loop, self._open = loop, True
            while self._queue.take():
                pass
        if self._open:
            self._open = False
            loop.call_soon(self._let_through)
            return
        began, mine = loop.time(), loop.create_future()
        self._queue.add(who, mine)
        try:
            await mine
        finally:
            self._queue.remove(who, mine)
            self.waited += loop.time() - began

    def _let_through(self) -> None:
        """After what was let through last: the next, or leave the gate open."""
        found = self._queue.take()
        self._open = found is None
        if found is not None:
            if not found.done():
                found.set_result(None)
            asyncio.get_running_loop().call_soon(self._let_through)


gate = Gate()


@types.coroutine
def paid(coroutine: Coroutine[Any, Any, T], *who: str) -> Generator[Any, Any, T]:
    """Await a coroutine, and have these pay for the time of the processor that it takes."""
    error: BaseException | None = None
    while True:
        began = time.thread_time()
        try:
            awaited = coroutine.send(None) if error is None else coroutine.throw(error)
        except StopIteration as stop:
            return stop.value
        finally:
            for each in who:
                event_loop.charge(each, time.thread_time() - began)
        try:
            error = None
            yield awaited
        except BaseException as thrown:  # whatever it is, it is the coroutine's to deal with
            error = thrown
