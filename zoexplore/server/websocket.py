"""The websocket of a session, with one connection and one message at a time. If a browser changes a
property fast, only the newest value counts.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from bokeh.events import DocumentReady
from bokeh.util.token import get_session_id
from panel.io.document import dispatch_tornado
from panel.io.server import WSHandler
from panel.io.state import set_curdoc

from zoexplore.server.allowed_changes import EVENTS, Malformed, Patch, events_of
from zoexplore.server.seats import Seat, seats

_LOG = logging.getLogger("zoexplore")
POLICY_VIOLATION = 1008  # the websocket protocol's code
PARTS = 3  # a message has a header, metadata and content; this package's pages send no more
MESSAGE = 65_536  # the most bytes of each part
PERIOD = 1 / 60  # seconds from one round of applying a session's changes to the next
ALONE = 0.2  # the rest after a round, in times the round, where no other session has changes
FAILED = "The server could not do this."
_busy: WeakSet[Any] = WeakSet()  # the connections whose changes are being applied


def next_of(pending: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Remove a browser's next changes from `pending`, up to and including the next click, and
    return them. A click acts on the values set before it, and may cost as much as a moved slider.

    Only the newest value of a property is kept, and only the last event of a drag over a figure.
    """
    clicks = (i for i, event in enumerate(pending) if not _key(event))
    end = next(clicks, len(pending)) + 1
    newest = {_key(event) or i: event for i, event in enumerate(pending[:end])}
    del pending[:end]
    return list(newest.values())


def _key(event: dict[str, Any]) -> str:
    """Return the key of an event. A newer event with the same key replaces the event. A click has
    the empty key, and no event replaces it.
    """
    if "attr" in event:
        return f"{event.get('model')} {event['attr']}"
    data = event.get("msg_data")
    return "pan" if isinstance(data, dict) and data.get("name") == "pan" else ""


class Socket(WSHandler):
    """Allows one connection a session at a time, and plain patches only."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._seat: Seat | None = None
        self._pending: list[dict[str, Any]] = []
        self._parts = 0  # how many parts of the current message have come

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """Connect to a session that a page has begun and nobody else is connected to."""
        try:
            session = self.application_context.get_session(get_session_id(self._token or ""))
        except Exception:  # a token may be any text
            return self.close(POLICY_VIOLATION, "no session")
        seat = seats.of(session)
        if seat is None or seat.socket or session.connection_count:
            return self.close(POLICY_VIOLATION, "this session is in use")
        self._seat, seat.socket = seat, self
        # otherwise most parts of a message wait until the browser has confirmed the first
        self.set_nodelay(True)
        return super().open(*args, **kwargs)

    def on_close(self) -> None:
        """Allow a new connection to the session."""
        if self._seat:
            self._seat.socket = None
        self._seat = None
        if self._joined:
            super().on_close()

    @property
    def _joined(self) -> bool:
        """Whether this socket has a session. A ping that finds the connection closed detaches the
        session, and asking Bokeh for the session then fails.
        """
        with suppress(AssertionError, AttributeError):
            return bool(self.connection.session)
        return False

    def send_message(self, message: Any) -> Awaitable[Any]:
        """Send a whole message at once; the returned awaitable completes when the message is
        written.

        Bokeh sends a message only when the sending is awaited, while Panel sends some messages at
        once. A patch that only names a new model could then overtake the patch that defines the
        model, and a browser cannot apply that.
        """
        return asyncio.gather(
            *dispatch_tornado(self.connection, msg=message), return_exceptions=True
        )

    async def on_message(self, fragment: str | bytes) -> None:
        """Take one part of a message, and act on the message if it is complete. No further part is
        read meanwhile.
        """
        if self._seat is None or self.receiver is None:
            self.close(POLICY_VIOLATION, "too early")
            return
        self._parts += 1
        try:
            await self._take(fragment)
        # a message may be any text, and Bokeh may raise any error when it reads the message
        except Exception as error:
            _LOG.info("a browser sent what no page of ours sends: %s", repr(error)[:200])
            self.close(POLICY_VIOLATION, "what was sent is no message of this page")

    async def _take(self, fragment: str | bytes) -> None:
        message = await self.receiver.consume(fragment)
        if self._parts < PARTS or self._seat is None:
            return
        self._parts = 0
        if message and message.msgtype == "PATCH-DOC":
            await self._patch(message)
        elif message and message.msgtype == "PULL-DOC-REQ":
            await self._pull(message)
        else:
            raise Malformed("a page changes its document, or fetches it")

    async def _pull(self, message: Any) -> None:
        """Answer with the document, and send every later change after it.

        Panel drops changes under `pn.io.hold` until a browser reports that it has drawn the page,
        although the browser has the document before that. And a browser drops changes that arrive
        before the document. Either way a figure would never show what the server has drawn. So this
        method tells Panel as soon as the document is sent that the page is drawn.
        """
        session = self.connection.session

        def answer() -> Awaitable[Any]:
            try:
                reply = self.connection.protocol.create(
                    "PULL-DOC-REPLY", message.header["msgid"], session.document
                )
            except Exception:
                _LOG.exception("the page could not be sent")
                reply = self.connection.error(message, FAILED)
            sent = self.send_message(reply)
            with set_curdoc(session.document):
                session.document.callbacks.trigger_event(DocumentReady())
            return sent

        await session.with_document_locked(answer)

    async def _patch(self, message: Any) -> None:
        """Queue a patch's changes, and start to apply queued changes unless that is under way."""
        events = events_of(message.content)
        while len(self._pending) >= EVENTS:
            await asyncio.sleep(PERIOD)
        self._pending += events
        if self._pending and self not in _busy:
            _busy.add(self)
            asyncio.get_running_loop().create_task(self._drain(message))
        else:
            await self.send_message(self.connection.ok(message))

    async def _drain(self, message: Any) -> None:
        """Apply the queued changes. A session gets at most half of the server's time where others
        have changes too.
        """
        try:
            while self._pending and self._seat:
                self._seat.moved = began = time.monotonic()
                changes = {"events": next_of(self._pending)}
                await self._apply(Patch(message.header, message.metadata, changes))
                took = time.monotonic() - began
                rest = took if len(_busy) > 1 else ALONE * took
                await asyncio.sleep(max(PERIOD - took, rest))
        finally:
            _busy.discard(self)

    async def _apply(self, patch: Patch) -> None:
        """Let Bokeh apply a patch, and send the reply. After an error the reply says only that
        there was one.
        """
        if self._seat and self._joined:
            reply = await self.handler.handle(patch, self.connection)
            if reply:  # a session that has ended gives no reply
                await self.send_message(
                    self.connection.error(patch, FAILED) if reply.msgtype == "ERROR" else reply
                )
