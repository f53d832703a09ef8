"""The gate to the event loop: costly work passes one at a time, from the address that has spent least.

Messages of readers pass by their addresses. Pages are made one at a time, too, and in stages. All stages together pass as one
more address, so that readers who are there go on while a hall comes in.
"""

import asyncio
import time
import types
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

from zoexplore.compute.fair import FairQueue, budget

T = TypeVar("T")
PAGES = "the making of pages"  # pays like an address
BYTE = 5e-8  # seconds that receiving a byte costs


class FairLock:
    """A lock that goes to the waiting address that has spent least."""

    def __init__(self) -> None:
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue(budget)
        self.held, self.waited = False, 0.0  # whether somebody has it; seconds of all waiting together

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._queue)

    async def acquire(self, address: str) -> None:
        """Wait for the lock, and keep it until `release`."""
        if not self.held:
            self.held = True
            return
        began, mine = time.monotonic(), asyncio.get_running_loop().create_future()
        self._queue.add(address, mine)
        try:
            await mine
        except asyncio.CancelledError:
            self._queue.remove(address, mine)
            if not mine.cancelled():  # it has just come
                self.release()
            raise
        finally:
            self.waited += time.monotonic() - began

    def release(self) -> None:
        """Give the lock to the next."""
        following = self._queue.take(lambda each: not each.cancelled())
        self.held = following is not None
        if following is not None:
            following.set_result(None)

    async def enter(self, address: str) -> None:
        """Wait for the lock, and keep it until the event loop goes on to something else."""
        await self.acquire(address)
        asyncio.get_running_loop().call_soon(self.release)


gate, page_lock = FairLock(), FairLock()


@types.coroutine
def paid(coroutine: Coroutine[Any, Any, T], *payers: str) -> Generator[Any, Any, T]:
    """Await a coroutine, and charge each of these addresses for the processor time that it takes."""
    error: BaseException | None = None
    while True:
        began = time.thread_time()
        try:
            awaited = coroutine.send(None) if error is None else coroutine.throw(error)
        except StopIteration as stop:
            return stop.value
        finally:
            for each in payers:
                budget.charge(each, time.thread_time() - began)
        try:
            error = None
            yield awaited
        except BaseException as thrown:  # the coroutine deals with it, whatever it is
            error = thrown
