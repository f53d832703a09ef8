"""Seats: how many readers a process serves, and how many seats and connections one address may hold.

If all seats are taken and a reader comes, the session that was idle longest ends; its address restores it.
"""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from bokeh.server.session import ServerSession
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream
from tornado.websocket import WebSocketHandler

from zoexplore.compute.fair import counted_address
from zoexplore.compute.limits import CONNECTIONS_PER_ADDRESS, IDLE_SECONDS, READERS, READERS_PER_ADDRESS

TRY_LATER = 1013  # the websocket protocol's code
LATER = "One is given back when a reader closes the page or leaves it alone for a while: please try again in a moment."


class Full(Exception):
    """There is no seat for this reader now; the message says why."""


@dataclass(eq=False)
class Seat:
    """A reader's seat, from the request for the page, before there is a session, to the session's end. `moved` is the time of the
    reader's last activity by the monotonic clock.
    """

    address: str
    moved: float = field(default_factory=time.monotonic)
    session: ServerSession | None = None
    socket: WebSocketHandler | None = None

    def end_session(self) -> None:
        """End an idle session, since others wait."""
        if self.session:
            self.session.request_expiration()
        if self.socket:
            self.socket.close(TRY_LATER, "others waited for this seat")


class Seats:
    """The seats of this process."""

    def __init__(self) -> None:
        self.taken: set[Seat] = set()
        self.refused = 0  # requests for a page
        self.closed = False  # whether new readers are refused

    @property
    def free(self) -> bool:
        """Whether a new reader would get one."""
        return not self.closed and len(self.taken) < READERS.value

    def take(self, address: str) -> Seat:
        """A seat for a reader from this address. Raises Full where there is none."""
        try:
            if self.closed:
                raise Full("This server ends: please try again in a moment.")
            _check(self.taken, READERS.value, "All seats of this server")
            same = {seat for seat in self.taken if seat.address == address}
            _check(same, READERS_PER_ADDRESS.value, "All seats that this server gives to one address")
        except Full:
            self.refused += 1
            raise
        seat = Seat(address)
        self.taken.add(seat)
        return seat

    def keep(self, seat: Seat, session: ServerSession) -> None:
        """Give a seat to a session until it ends."""
        seat.session = session
        session.document.on_session_destroyed(lambda _: self.taken.discard(seat))

    def give_back(self, seat: Seat) -> None:
        """Free a seat whose page was not made."""
        if seat.session is None:
            self.taken.discard(seat)

    def of(self, session: ServerSession) -> Seat | None:
        """The seat of a session."""
        return next((seat for seat in self.taken if seat.session is session), None)


def _check(held: set[Seat], most: int, which: str) -> None:
    """Raise Full where all seats are taken, after ending the session that was idle for longest, if that is long."""
    if len(held) < most:
        return
    idlest = min((seat for seat in held if seat.session), key=lambda seat: seat.moved, default=None)
    if idlest and time.monotonic() - idlest.moved > IDLE_SECONDS.value:
        idlest.end_session()
    raise Full(f"{which} ({most}) are taken. {LATER}")


seats = Seats()


class CountingServer(HTTPServer):
    """Closes connections beyond an address's limit before any data arrive; behind a proxy, the proxy counts."""

    refused = 0  # connections, by all such servers

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Tornado's hook in place of a constructor."""
        self._addresses: WeakKeyDictionary[IOStream, str] = WeakKeyDictionary()
        super().initialize(*args, **kwargs)

    def handle_stream(self, stream: IOStream, address: tuple) -> None:
        """Tornado's hook for a new connection."""
        host = counted_address(address[0])
        held = sum(of == host and not each.closed() for each, of in self._addresses.items())
        if held >= CONNECTIONS_PER_ADDRESS.value and not self.xheaders:
            CountingServer.refused += 1
            return stream.close()
        self._addresses[stream] = host
        return super().handle_stream(stream, address)


def allow_open_files() -> None:
    """Raise this process's limit on open connections, a thousand at first, to the most that the system allows."""
    with suppress(ImportError, OSError, ValueError):  # Windows; where the most is stored as inf, not as this number
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
