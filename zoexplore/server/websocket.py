"""The websocket: what a browser sends reaches its session when it is its address's turn, and of what a browser changes faster
than that the newest counts.
"""

import asyncio
import logging
from collections.abc import Awaitable
from typing import Any
from weakref import WeakKeyDictionary

from bokeh.events import DocumentReady
from bokeh.server.session import ServerSession
from bokeh.util.token import get_session_id
from panel.io.document import dispatch_tornado
from panel.io.server import WSHandler
from panel.io.state import set_curdoc
from tornado.websocket import WebSocketClosedError, WebSocketHandler, WebSocketProtocol, WebSocketProtocol13

from zoexplore.compute.address import address_of
from zoexplore.compute.fair import event_loop
from zoexplore.limits import EVENTS, MESSAGE, MOVES
from zoexplore.server import allowed_changes, sessions
from zoexplore.server.allowed_changes import Malformed, Patch
from zoexplore.server.gate import BYTE, gate, paid

_LOG = logging.getLogger("zoexplore")
POLICY_VIOLATION, TOO_BIG, TRY_LATER = 1008, 1009, 1013  # the websocket protocol's codes
PARTS = 3  # of a message: header, metadata, content
FAILED = "The server could not do this."
_connected: WeakKeyDictionary[ServerSession, "Socket"] = WeakKeyDictionary()


class Pending:
    """What a browser has changed and its session has not taken up yet, in the order in which it came, less what is overtaken.

    A click acts on what was set before it, so no later change takes the place of one that came before a click. Where a figure is
    dragged over, many events come in a row; of those the last one counts.
    """

    def __init__(self) -> None:
        self._events: dict[Any, dict[str, Any]] = {}
        self._clicks = 0
        self._drags = False  # whether the last event is one of a drag

    def __bool__(self) -> bool:
        return bool(self._events)

    @property
    def full(self) -> bool:
        """Whether there is room for no more."""
        return len(self._events) >= EVENTS.value

    def add(self, events: list[dict[str, Any]]) -> None:
        """Take note of events that `allowed_changes.accepted` has let pass."""
        for event in events:
            key: Any
            if event["kind"] == "ModelChanged":
                key = (self._clicks, event["model"]["id"], event["attr"])
                self._events.pop(key, None)  # so that the newest stands last
                self._drags = False
            else:
                drags = event["msg_data"]["name"] == "pan"
                self._clicks += not (drags and self._drags)
                key, self._drags = self._clicks, drags
            self._events[key] = event

    def take(self) -> list[dict[str, Any]]:
        """What is next, up to a click: that may cost as much as any move, and two hundred in one turn would stop everybody."""
        events: list[dict[str, Any]] = []
        while self._events and not (events and events[-1]["kind"] == "MessageSent"):
            events.append(self._events.pop(next(iter(self._events))))
        if not self._events:
            self._clicks, self._drags = 0, False
        return events


class Wire(WebSocketProtocol13):
    """Frames on their way to a browser: those that are left when it has gone are dropped, which is no error.

    A message is several frames, and Panel looks only before the first whether anybody is there. Tornado finds that out by a
    write, and refuses the next frame, in the middle of whatever callback has drawn something; nobody asks about the first.
    """

    def is_closing(self) -> bool:
        """Never, to whoever has a frame to send."""
        return False

    def write_message(self, message: Any, binary: bool = False) -> "asyncio.Future[None]":
        """Send a frame, if anybody is there."""
        try:
            if super().is_closing():
                raise WebSocketClosedError
            written = super().write_message(message, binary)
        except WebSocketClosedError:
            written = asyncio.get_running_loop().create_future()
            written.set_result(None)
        else:
            written.add_done_callback(lambda each: each.cancelled() or each.exception())  # asked for, else asyncio logs it
        return written

    def write_ping(self, data: bytes) -> None:
        """Ask whether anybody is there. Raises WebSocketClosedError where nobody is, as Bokeh expects."""
        if super().is_closing():
            raise WebSocketClosedError
        super().write_ping(data)


class Socket(WSHandler):
    """The websocket of one session: one connection at a time, plain patches only, and the newest of what comes too fast."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._session_taken: ServerSession | None = None
        self._pending, self._draining = Pending(), False
        self._size = self._parts = 0  # of the message that is coming

    def get_websocket_protocol(self) -> WebSocketProtocol | None:
        """Tornado's hook: what it would use, with our frames."""
        found = WebSocketHandler.get_websocket_protocol(self)
        return Wire(self, False, found.params) if isinstance(found, WebSocketProtocol13) else found

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """Connect to a session that the page has begun and nobody else is connected to."""
        self._address = address_of(self.request)
        session = self._asked_for()
        if session is None or session in _connected or session.connection_count:
            self.close(POLICY_VIOLATION, "no session" if session is None else "this session is in use")
            return None
        self._session_taken = session
        _connected[session] = self
        sessions.connected(session.document, self._give_up)
        return super().open(*args, **kwargs)

    def _asked_for(self) -> ServerSession | None:
        try:
            return self.application_context.get_session(get_session_id(self._token or ""))
        except Exception:  # a token is any text: what Bokeh makes of one that it has not written is not said
            return None

    def _give_up(self) -> None:
        """End the session: it has been idle, and others wait for its seat."""
        if self._session_taken is not None:
            self._session_taken.request_expiration()
        self.close(TRY_LATER, "others waited for this seat")

    def on_close(self) -> None:
        """Let the session be connected to again."""
        if self._session_taken is not None and _connected.get(self._session_taken) is self:
            del _connected[self._session_taken]
        self._session_taken = None
        super().on_close()

    def send_message(self, message: Any) -> Awaitable[Any]:
        """Put a message on the wire, all of it and now; what is returned waits until it is written.

        Bokeh puts it there when it is awaited, and Panel some of its own at once. A patch that sends a new model could then come
        after one that only names it, which a browser cannot apply.
        """
        return asyncio.gather(*dispatch_tornado(self.connection, msg=message), return_exceptions=True)

    async def on_message(self, fragment: str | bytes) -> None:
        """Take one fragment of a message, and act on the message where it is complete. No more is read meanwhile."""
        if self._session_taken is None or self.receiver is None:
            return self.close(POLICY_VIOLATION, "too early")
        self._size, self._parts = self._size + len(fragment), self._parts + 1
        event_loop.charge(self._address, len(fragment) * BYTE)
        if self._size > MESSAGE.value:
            return self.close(TOO_BIG, f"a message has at most {MESSAGE.value} bytes")
        try:
            if self._parts >= PARTS:
                await gate.turn(self._address)
            await paid(self._take(fragment), self._address)
        except Exception as error:  # a message is any text: Bokeh reads it with whatever errors that makes
            _LOG.info("a browser sent what no page of ours sends: %s", repr(error)[:200])
            self.close(POLICY_VIOLATION, "what was sent is no message of this page")

    async def _take(self, fragment: str | bytes) -> None:
        message = await self.receiver.consume(fragment)
        if message is None:
            return
        self._size = self._parts = 0
        if message.msgtype == "PATCH-DOC":
            await self._patch(message)
        elif message.msgtype == "PULL-DOC-REQ":
            await self._pulled(message)
        else:
            raise Malformed(f"{str(message.msgtype)[:40]!r} is no message of this page")

    async def _pulled(self, message: Any) -> None:
        """Answer with the document, and let every change from then on follow it.

        Panel drops what changes under `pn.io.hold` until it is told that a browser has drawn the page, though that has the
        document before; and a browser drops what comes before the document. Either way a figure would wait for ever for what the
        server has drawn. So Panel is told here.
        """
        connection, session = self.connection, self._session_taken
        if connection is None or session is None or session.destroyed:
            return
        sent: list[Awaitable[Any]] = []

        def answer() -> None:
            try:
                reply = connection.protocol.create("PULL-DOC-REPLY", message.header["msgid"], session.document)
            except Exception:
                _LOG.exception("the page could not be sent")
                reply = connection.error(message, FAILED)
            sent.append(self.send_message(reply))
            with set_curdoc(session.document):
                session.document.callbacks.trigger_event(DocumentReady())

        await session.with_document_locked(answer)
        await asyncio.gather(*sent)

    async def _patch(self, message: Any) -> None:
        """Note what a patch changes, to be taken up now or when it is this session's turn again."""
        if self._session_taken is None or self._session_taken.destroyed:
            return
        while self._pending.full:
            await asyncio.sleep(1 / MOVES.value)
        self._pending.add(allowed_changes.accepted(message.content, self._session_taken.document))
        if self._pending and not self._draining:
            self._draining = True
            asyncio.get_running_loop().create_task(self._drain(message))
        else:
            await self.send_message(self.connection.ok(message))

    async def _drain(self, message: Any) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._pending and self._session_taken is not None:
                sessions.moved(self._session_taken.document)
                await gate.turn(self._address)
                began = loop.time()
                patch = Patch(message.header, message.metadata, {"events": self._pending.take()})
                await paid(self._handle_now(patch), self._address)
                took = loop.time() - began
                await asyncio.sleep(max(1 / MOVES.value - took, took))
        finally:
            self._draining = False

    async def _handle_now(self, message: Any) -> None:
        """Have Bokeh act on a message, and send its reply. Of an error no more is said than that there was one."""
        if self.connection is None or self._session_taken is None or self._session_taken.destroyed:
            return
        reply = await self.handler.handle(message, self.connection)
        if reply is not None:
            await self.send_message(self.connection.error(message, FAILED) if reply.msgtype == "ERROR" else reply)
