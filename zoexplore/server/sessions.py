"""Sessions: how many readers a process serves at a time, and an address of them, and whose turn it is to begin one.

One reader too many is told so and slows nobody down. Whoever asks for a page and never connects to it has a seat for some seconds
only. To make a session keeps the event loop busy for a few tenths of a second: sixty people who come at once would otherwise hold
up everybody who is there already. So sessions begin one at a time with a rest between two, addresses take turns, and whoever is
there gets at least half of the process's time. A page is made in stages, between which moves are answered.
"""

import asyncio
import gc
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import panel as pn
from bokeh.document import Document

from zoexplore import limits
from zoexplore.compute.address import UNKNOWN, address_of

ALL_TAKEN = "All seats of this server ({most}) are taken."
ADDRESS_TAKEN = "All seats that this server gives to one address ({most}) are taken."
LATER = "They are given back about a minute after a reader closes the page: please try again then."
REST, LONGEST_REST = 0.02, 1.0  # seconds between two sessions, at least and at most
LOOK_AGAIN = 0.1  # seconds until those are looked at again whose address has too many pages loading
PAUSE, LATE, LONGEST_PAUSE = 0.01, 0.005, 0.3  # seconds between stages of a page; how late one ends if others are at it; in all
LONGEST_REQUEST = 60  # seconds that one request may take before the next has its turn anyway
QUEUE_FULL = "So many people are opening the page just now that it has no room for more: please try again in a moment."
QUIET = 1.0  # seconds without a move, and since a session's end, after which what it held is looked for: nobody waits then
MANY = 20  # closed sessions, some 70 MB, after which it is looked for all the same
_closed = 0  # sessions, since memory was last collected
_latest = 0.0  # when somebody last moved, or a session last ended, by the event loop's clock


@dataclass
class Seat:
    """What a session of this address holds; `connected` once its websocket has been there."""

    address: str
    connected: bool = False


_taken: WeakKeyDictionary[Document, Seat] = WeakKeyDictionary()


def taken(address: str | None = None) -> int:
    """How many readers there are now, or how many of one address."""
    return sum(address in (None, seat.address) for seat in _taken.values())


def check_room(address: str) -> None:
    """Raise Full where there is no seat for a reader from this address."""
    if taken() >= limits.READERS.value:
        raise Full(f"{ALL_TAKEN.format(most=limits.READERS.value)} {LATER}")
    if address != UNKNOWN and taken(address) >= limits.READERS_PER_ADDRESS.value:
        raise Full(f"{ADDRESS_TAKEN.format(most=limits.READERS_PER_ADDRESS.value)} {LATER}")


def crowded(address: str) -> bool:
    """Whether so many pages of this address are loading that the next one has to wait."""
    return sum(seat.address == address and not seat.connected for seat in _taken.values()) >= limits.LOADING.value


def take_seat(document: Document) -> None:
    """Give the session of this document a seat until it ends. Raises Full where there is none."""
    context = document.session_context
    address = address_of(context.request) if context else UNKNOWN
    check_room(address)
    _taken[document] = Seat(address)


def connected(document: Document) -> None:
    """The websocket of this document's session is there: the page has loaded."""
    if seat := _taken.get(document):
        seat.connected = True


def end_unless_connected(session: Any) -> None:
    """Have a session end if no websocket comes to it within seconds."""
    asyncio.get_running_loop().call_later(limits.LOADING_SECONDS.value, partial(_end, session))


def _end(session: Any) -> None:
    if not session.destroyed and session.connection_count == 0 and not getattr(_taken.get(session.document), "connected", False):
        session.request_expiration()  # carried out when the server next looks for unused sessions


def forget(context: Any) -> None:
    """Let a destroyed session go, with its seat, and have what it held be collected."""
    global _closed
    document = context._document  # Bokeh's own destroyed sessions have no public name for it
    _taken.pop(document, None)
    for ref in [ref for ref, (_, _, held, _) in pn.state._views.items() if held is document]:
        del pn.state._views[ref]  # Panel 1.9 keeps the models of its notification area, and with them its whole document
    _closed += 1
    moved(asyncio.get_running_loop().time())


def moved(now: float) -> None:
    """Somebody is at it now: whatever nobody waits for can come later."""
    global _latest
    _latest = now


def collect(now: float) -> None:
    """Collect what closed sessions held, where there are any and nobody moves; or where many have.

    Python looks at every object of all sessions for that, which takes a few tenths of a second: a slider would wait so long.
    """
    global _closed
    if _closed and (now - _latest > QUIET or _closed >= MANY):
        _closed = 0
        gc.collect()


class Full(Exception):
    """There is no room for this reader now; the message says why."""


class Gone(Exception):
    """The reader has gone while waiting."""


async def give_way() -> None:
    """Between two stages of a page's making: let others, whose moves have waited, go first until they are done."""
    if taken() <= 1:
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
        check_room(address)
        if self.waiting() >= limits.WAITING.value or self.waiting(address) >= limits.WAITING_PER_ADDRESS.value:
            raise Full(QUEUE_FULL)
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(address, deque()).append((mine, gone))
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._admit())
        await mine
        try:
            check_room(address)
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
                await asyncio.wait_for(self._left.wait(), LONGEST_REQUEST)
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
            elif not crowded(address):
                turn, _ = queue.popleft()
                del self._queues[address]
                if queue:
                    self._queues[address] = queue
                return turn
        return None


admission = Admission()
