"""The websocket of a session: one connection, and one message at a time. Of fast changes only the
newest counts.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

from bokeh.events import DocumentReady
from bokeh.util.token import get_session_id
from panel.io.document import dispatch_tornado
from panel.io.server import WSHandler
from panel.io.state import set_curdoc

from zoexplore.server.allowed_changes import EVENTS, Malformed, Patch, events_of
from zoexplore.server.seats import Seat, seats

_LOG = logging.getLogger("zoexplore")
POLICY_VIOLATION = 1008  # the websocket protocol's code
PARTS = 3  # the parts of a message: header, metadata, content; no page of ours sends more
MESSAGE = 65_536  # the most bytes of each part
PERIOD = 0.04  # seconds between two rounds of applying a session's changes
FAILED = "The server could not do this."


def next_of(pending: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Take a browser's next changes off `pending`, up to the next click and with it. A click acts
    on the values before it, and may cost as much as a move.

    Only the newest value of a property counts, and only the last event of a drag over a figure.
    """
    clicks = (i for i, event in enumerate(pending) if not _key(event))
    end = next(clicks, len(pending)) + 1
    newest = {_key(event) or i: event for i, event in enumerate(pending[:end])}
    del pending[:end]
    return list(newest.values())


def _key(event: dict[str, Any]) -> str:
    """Return the key of an event, which a newer event of the same key replaces. It is empty for a
    click, which nothing replaces.
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
        self._draining = False
        self._pending: list[dict[str, Any]] = []
        self._parts = 0  # the parts that have come of a message

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
        # else most parts of a message wait until the browser has confirmed the first
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
        """Whether this socket has a session. A ping that finds the connection closed takes the
        session away, and Bokeh then fails to name it.
        """
        with suppress(AssertionError, AttributeError):
            return bool(self.connection.session)
        return False

    def send_message(self, message: Any) -> Awaitable[Any]:
        """Send a whole message at once; the returned awaitable completes when it is written.

        Bokeh sends a message when it is awaited, and Panel sends some of its own at once. A patch
        with a new model could then come after one that only names the model, and a browser cannot
        apply that.
        """
        return asyncio.gather(
            *dispatch_tornado(self.connection, msg=message), return_exceptions=True
        )

    async def on_message(self, fragment: str | bytes) -> None:
        """Take one part of a message, and act on the message if it is complete. Nothing more is
        read until that is done.
        """
        if self._seat is None or self.receiver is None:
            self.close(POLICY_VIOLATION, "too early")
            return
        self._parts += 1
        try:
            await self._take(fragment)
        # a message may be any text, and Bokeh may raise any error in reading it
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
        """Answer with the document, and let every change from then on follow it.

        Panel drops changes under `pn.io.hold` until a browser reports that it has drawn the page,
        although the browser has the document by then. And a browser drops changes that arrive
        before the document. Either way a figure would never show what the server has drawn. So this
        tells Panel that the page is drawn.
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
        """Queue a patch's changes, and apply them when it is this session's turn."""
        events = events_of(message.content)
        while len(self._pending) >= EVENTS:
            await asyncio.sleep(PERIOD)
        self._pending += events
        if self._pending and not self._draining:
            self._draining = True
            asyncio.get_running_loop().create_task(self._drain(message))
        else:
            await self.send_message(self.connection.ok(message))

    async def _drain(self, message: Any) -> None:
        """Apply the queued changes. A session gets at most half of the time."""
        try:
            while self._pending and self._seat:
                self._seat.moved = began = time.monotonic()
                changes = {"events": next_of(self._pending)}
                await self._apply(Patch(message.header, message.metadata, changes))
                took = time.monotonic() - began
                await asyncio.sleep(max(PERIOD - took, took))
        finally:
            self._draining = False

    async def _apply(self, patch: Patch) -> None:
        """Let Bokeh apply a message, and send the reply. The reply to an error says only that there
        was one.
        """
        if self._seat and self._joined:
            reply = await self.handler.handle(patch, self.connection)
            if reply:  # a session that has ended gives none
                await self.send_message(
                    self.connection.error(patch, FAILED) if reply.msgtype == "ERROR" else reply
                )
