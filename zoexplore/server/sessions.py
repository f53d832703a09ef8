"""Sessions: how many readers a process serves at a time, and an address of them, and whose turn it is to begin one.

Whoever asks for a page and never connects to it has a seat for some seconds only. Where all seats are taken and somebody comes,
the session ends that has been idle for longest: its address restores it. Pages are made one at a time, fairly by address, and in
stages, between which readers' messages go first.
"""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import panel as pn
from bokeh.document import Document

from zoexplore import limits
from zoexplore.compute.address import UNKNOWN, address_of
from zoexplore.compute.fair import FairQueue

ALL_TAKEN = "All seats of this server ({most}) are taken."
ADDRESS_TAKEN = "All seats that this server gives to one address ({most}) are taken."
LATER = "One is given back when a reader closes the page or leaves it alone for a while: please try again in a moment."
QUEUE_FULL = "So many people are opening the page just now that it has no room for more: please try again in a moment."
ENDING = "This server ends: please try again in a moment."
LOOK_AGAIN = 0.1  # seconds until those are looked at again whose address has too many pages loading
LONGEST_REQUEST = 60  # seconds that one request may take before the next has its turn anyway
QUIET = 1.0  # seconds without a move, and since a session's end, after which what it held is looked for: nobody waits then
MANY = 20  # closed sessions, some 70 MB, after which it is looked for all the same
_closed = 0  # sessions, since memory was last collected
_latest = 0.0  # when somebody last moved, or a session last ended, by the event loop's clock


class Full(Exception):
    """There is no room for this reader now; the message says why."""


class Gone(Exception):
    """The reader has gone while waiting."""


@dataclass
class Seat:
    """What a session of this address holds.

    Args:
        address: that it counts against.
        moved: when its reader last did anything, by the event loop's clock.
        connected: whether its websocket has been there.
        end: closes its websocket and has the session end.
    """

    address: str
    moved: float
    connected: bool = False
    end: Callable[[], None] | None = None


_taken: WeakKeyDictionary[Document, Seat] = WeakKeyDictionary()


def taken(address: str | None = None) -> int:
    """How many readers there are now, or how many of one address."""
    return sum(address in (None, seat.address) for seat in _taken.values())


def check_room(address: str) -> None:
    """Raise Full where there is no seat for a reader from this address; whoever is idle for longest gives one up then."""
    if taken() >= limits.READERS.value:
        _end_longest_idle()
        raise Full(f"{ALL_TAKEN.format(most=limits.READERS.value)} {LATER}")
    if address != UNKNOWN and taken(address) >= limits.READERS_PER_ADDRESS.value:
        _end_longest_idle(address)
        raise Full(f"{ADDRESS_TAKEN.format(most=limits.READERS_PER_ADDRESS.value)} {LATER}")


def _end_longest_idle(address: str | None = None) -> None:
    """End the session, of all or of an address's, whose reader has done nothing for longest, if that is long."""
    idle = [seat for seat in _taken.values() if seat.end and address in (None, seat.address)]
    seat = min(idle, key=lambda seat: seat.moved, default=None)
    if seat and seat.end and asyncio.get_running_loop().time() - seat.moved > limits.IDLE_SECONDS.value:
        end, seat.end = seat.end, None
        end()


def crowded(address: str) -> bool:
    """Whether so many pages of this address are loading that the next one has to wait."""
    return sum(seat.address == address and not seat.connected for seat in _taken.values()) >= limits.LOADING.value


def take_seat(document: Document) -> None:
    """Give the session of this document a seat until it ends."""
    context = document.session_context
    _taken[document] = Seat(address_of(context.request if context else None), asyncio.get_running_loop().time())
    document.on_session_destroyed(forget)


def connected(document: Document, end: Callable[[], None]) -> None:
    """The websocket of this document's session is there: the page has loaded."""
    if seat := _taken.get(document):
        seat.connected, seat.end = True, end


def end_unless_connected(session: Any) -> None:
    """Have a session end if no websocket comes to it within seconds."""

    def end() -> None:
        connected = getattr(_taken.get(session.document), "connected", False)
        if not session.destroyed and session.connection_count == 0 and not connected:
            session.request_expiration()  # carried out when the server next looks for unused sessions

    asyncio.get_running_loop().call_later(limits.LOADING_SECONDS.value, end)


def forget(context: Any) -> None:
    """Let a destroyed session go, with its seat, and have what it held be collected."""
    global _closed, _latest
    document = context._document  # Bokeh's own destroyed sessions have no public name for it
    _taken.pop(document, None)
    for ref in [ref for ref, (_, _, held, _) in pn.state._views.items() if held is document]:
        del pn.state._views[ref]  # Panel 1.9 keeps the models of its notification area, and with them its whole document
    _closed += 1
    with suppress(RuntimeError):  # no loop: the server has ended
        _latest = asyncio.get_running_loop().time()


def moved(document: Document) -> None:
    """This session's reader does something now: whatever nobody waits for can come later."""
    global _latest
    _latest = asyncio.get_running_loop().time()
    if seat := _taken.get(document):
        seat.moved = _latest


def collect(now: float) -> None:
    """Collect what closed sessions held, where there are any and nobody moves; or where many have.

    Python looks at every object of all sessions for that, which takes a few tenths of a second: a slider would wait so long.
    """
    global _closed
    if _closed and (now - _latest > QUIET or _closed >= MANY):
        _closed = 0
        gc.collect()


@dataclass(eq=False)
class Asking:
    """Somebody of this address who asks for a page, unless `gone`."""

    address: str
    gone: Callable[[], bool]
    turn: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    left: asyncio.Event = field(default_factory=asyncio.Event)


class Admission:
    """The queue of those who ask for a page, and how many were refused one. Once it is `closed` nobody is admitted any more."""

    def __init__(self) -> None:
        self.closed, self.refused = False, 0
        self._queue: FairQueue[Asking] = FairQueue()
        self._task: asyncio.Task | None = None

    @property
    def making(self) -> bool:
        """Whether a page is being made."""
        return self._task is not None and not self._task.done() and self._task.get_loop() is asyncio.get_running_loop()

    def waiting(self) -> int:
        """How many wait."""
        return len(self._queue)

    def ready(self) -> bool:
        """Whether somebody who came now would get a page before long."""
        return not self.closed and taken() < limits.READERS.value and self.waiting() < limits.WAITING.value

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
        if self.closed:
            raise Full(ENDING)
        check_room(address)
        if self.waiting() >= limits.WAITING.value or self._queue.count(address) >= limits.WAITING_PER_ADDRESS.value:
            raise Full(QUEUE_FULL)
        mine = Asking(address, gone)
        self._queue.add(address, mine)
        if not self.making:
            self._task = asyncio.create_task(self._admit())
        await mine.turn
        began = asyncio.get_running_loop().time()
        try:
            check_room(address)
            yield
        finally:
            self._queue.charge(address, asyncio.get_running_loop().time() - began)
            mine.left.set()

    async def _admit(self) -> None:
        while len(self._queue):
            asking = self._queue.take(lambda each: each.gone() or not crowded(each.address))
            if asking is None:
                await asyncio.sleep(LOOK_AGAIN)
            elif asking.gone() or asking.turn.done():
                with suppress(asyncio.InvalidStateError):
                    asking.turn.set_exception(Gone())
            else:
                asking.turn.set_result(None)
                with suppress(TimeoutError):
                    await asyncio.wait_for(asking.left.wait(), LONGEST_REQUEST)


admission = Admission()
