"""Admission: sessions begin one at a time, with a rest between two, and addresses take turns.

To make a session keeps the event loop busy for a few tenths of a second. Sixty people who come at once would otherwise hold up
everybody who is there already; so they queue, and whoever is there gets at least half of the process's time. A page is made in
stages, between which moves are answered.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from zoexplore.views.server import sessions
from zoexplore.views.server.limits import WAITING, WAITING_PER_ADDRESS

REST, LONGEST_REST = 0.02, 1.0  # seconds between two sessions, at least and at most
LOOK_AGAIN = 0.1  # seconds until those are looked at again whose address has too many pages loading
PAUSE, LATE, LONGEST_PAUSE = 0.01, 0.005, 0.3  # seconds between stages of a page; how late one ends if others are at it; in all
LONGEST = 60  # seconds that one request may take before the next has its turn anyway
QUEUE_FULL = "So many people are opening the page just now that it has no room for more: please try again in a moment."


class Full(Exception):
    """There is no room for this reader now; the message says why."""


class Gone(Exception):
    """The reader has gone while waiting."""


async def give_way() -> None:
    """Between two stages of a page's making: let others, whose moves have waited, go first until they are done."""
    if sessions.taken() <= 1:
        return
    loop = asyncio.get_running_loop()
    began = loop.time()
    while (due := loop.time() + PAUSE) < began + LONGEST_PAUSE:
        await asyncio.sleep(PAUSE)
        if loop.time() - due < LATE:
            return


class Admission:
    """The queue of those who ask for a page."""

    def __init__(self) -> None:
        self._queues: dict[str, deque[tuple[asyncio.Future[None], Callable[[], bool]]]] = {}
        self._task: asyncio.Task | None = None
        self._left: asyncio.Event = asyncio.Event()

    def waiting(self, address: str | None = None) -> int:
        """How many wait, or how many of one address."""
        return sum(len(queue) for of, queue in self._queues.items() if address in (None, of))

    @asynccontextmanager
    async def turn(self, address: str, gone: Callable[[], bool]) -> AsyncIterator[None]:
        """Wait for this address's turn to begin a session, and keep it for the length of the block.

        Args:
            address: whose turn it is to be.
            gone: whether the reader has gone, so that the turn would be wasted.

        Raises:
            Full: there is no seat, or too many wait.
            Gone: the reader left the queue.
        """
        if why := sessions.full(address):
            raise Full(why)
        if self.waiting() >= WAITING.value or self.waiting(address) >= WAITING_PER_ADDRESS.value:
            raise Full(QUEUE_FULL)
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(address, deque()).append((mine, gone))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._admit())
        await mine
        try:
            if why := sessions.full(address):
                raise Full(why)
            yield
        finally:
            self._left.set()

    async def _admit(self) -> None:
        while self._queues:
            turn = self._next()
            if turn is None:
                await asyncio.sleep(LOOK_AGAIN)
                continue
            began = time.thread_time()
            self._left.clear()
            turn.set_result(None)
            try:
                await asyncio.wait_for(self._left.wait(), LONGEST)
            except TimeoutError:
                continue
            await asyncio.sleep(min(max(REST, time.thread_time() - began), LONGEST_REST))

    def _next(self) -> asyncio.Future[None] | None:
        """The next whose turn it is. An address that has been served goes to the end of the line."""
        for address in list(self._queues):
            queue = self._queues[address]
            while queue and (queue[0][1]() or queue[0][0].done()):
                turn, _ = queue.popleft()
                if not turn.done():
                    turn.set_exception(Gone())
            if not queue:
                del self._queues[address]
            elif not sessions.crowded(address):
                turn, _ = queue.popleft()
                del self._queues[address]
                if queue:
                    self._queues[address] = queue
                return turn
        return None
