"""Seats: how many readers a process serves.

If a reader comes while all seats are taken, the session that has been idle longest ends, if it has
been idle for long. Its address restores it.
"""

import time
from dataclasses import dataclass, field

from bokeh.server.session import ServerSession
from tornado.websocket import WebSocketHandler

from zoexplore.compute.limits import IDLE_SECONDS, READERS

TRY_LATER = 1013  # the websocket protocol's code
LATER = "One is given back when a reader closes the page or leaves it alone for a while: please try again in a moment."


class Full(Exception):
    """There is no seat for this reader now; the message says why."""


@dataclass(eq=False)
class Seat:
    """A reader's seat, from the request for the page to the end of the session. `moved` is the time
    of the reader's last activity by the monotonic clock; `made` says whether the page has been
    sent.
    """

    moved: float = field(default_factory=time.monotonic)
    made: bool = False
    session: ServerSession | None = None
    socket: WebSocketHandler | None = None

    def end_session(self) -> None:
        """End the session of this seat, since other readers wait."""
        if self.session:
            self.session.request_expiration()
        if self.socket:
            self.socket.close(TRY_LATER, "others waited for this seat")


class Seats:
    """The seats of this process."""

    def __init__(self) -> None:
        self.taken: set[Seat] = set()
        self.closed = False  # whether new readers are refused

    @property
    def free(self) -> bool:
        """Whether a new reader would get a seat."""
        return not self.closed and len(self.taken) < READERS.value

    @property
    def waiting(self) -> int:
        """The number of readers whose page is not made yet."""
        return sum(not seat.made for seat in self.taken)

    def take(self) -> Seat:
        """Give a reader a seat. If all are taken, end the session that has been idle longest if it
        has been idle for more than `IDLE_SECONDS`, and raise Full.
        """
        if self.free:
            seat = Seat()
            self.taken.add(seat)
            return seat
        if self.closed:
            raise Full("This server ends: please try again in a moment.")
        idlest = min(
            (seat for seat in self.taken if seat.session), key=lambda seat: seat.moved, default=None
        )
        if idlest and time.monotonic() - idlest.moved > IDLE_SECONDS.value:
            idlest.end_session()
        raise Full(f"All seats of this server ({READERS.value}) are taken. {LATER}")

    def keep(self, seat: Seat, session: ServerSession) -> None:
        """Give a seat to a session until it ends."""
        seat.session = session
        session.document.on_session_destroyed(lambda _: self.taken.discard(seat))

    def answered(self, seat: Seat) -> None:
        """Note that a request for the page was answered. Free its seat if it got no session."""
        seat.made = True
        if seat.session is None:
            self.taken.discard(seat)

    def of(self, session: ServerSession) -> Seat | None:
        """Return the seat of a session; None if it has none."""
        return next((seat for seat in self.taken if seat.session is session), None)


seats = Seats()
