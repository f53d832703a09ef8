"""Handlers: what answers a request for the page, and what listens to its websocket."""

import asyncio
import logging
from collections.abc import Awaitable
from html import escape
from typing import Any
from weakref import WeakKeyDictionary

from bokeh.server.session import ServerSession
from bokeh.util.token import get_session_id
from panel.io.document import dispatch_tornado
from panel.io.server import DocHandler, WSHandler
from tornado.web import HTTPError, RequestHandler

from zoexplore.views.server import headers, patches, sessions
from zoexplore.views.server.admission import Admission, Full, Gone, give_way
from zoexplore.views.server.limits import FRAGMENTS, MESSAGE, MOVES, PULLS
from zoexplore.views.server.pace import Pace
from zoexplore.views.server.patches import Malformed, Patch
from zoexplore.views.server.pending import Pending
from zoexplore.views.server.visitors import address_of

_LOG = logging.getLogger("zoexplore")
BORROWED = frozenset({"bokeh-session-id", "bokeh-token"})  # what would put a reader into a session that somebody else has begun
COME_BACK = 10  # seconds after which a page that told a reader to wait loads itself again
POLICY_VIOLATION, TOO_BIG = 1008, 1009  # the websocket protocol's codes
_TOLD = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>zoexplore</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body style="font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem">
<h1>zoexplore</h1><p role="alert">{why}</p></body></html>"""
_connected: WeakKeyDictionary[ServerSession, "Socket"] = WeakKeyDictionary()
admission = Admission()
pace = Pace()


def borrowed(request: Any) -> bool:
    """Whether a request names a session, which only this server may do. Tornado has decoded the names by now."""
    named = {name.strip().lower() for name in (*request.arguments, *request.headers)}
    return bool(named & BORROWED)


class Page(DocHandler):
    """The page: a session of the reader's own, when it is the reader's turn, and scripts that are marked as the server's."""

    frames = "'none'"
    gone = False

    async def prepare(self) -> None:
        """Refuse a borrowed session before anything else is done."""
        if borrowed(self.request):
            raise HTTPError(403, reason="Forbidden")
        await super().prepare()

    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Answer with the page, or tell the reader why there is none now."""
        address = address_of(self.request)
        try:
            async with admission.turn(address, lambda: self.gone):
                answer = super().get(*args, **kwargs)
                if answer is not None:  # none where the reader is led to sign in
                    await answer
        except Full as why:
            self.set_status(503)
            self.set_header("Retry-After", str(COME_BACK))
            self.set_header("Refresh", str(COME_BACK))
            self.write(_TOLD.format(why=escape(str(why))))
        except Gone:
            pass

    async def get_session(self) -> ServerSession:
        """The session, which ends within seconds unless the page connects to it."""
        session = await super().get_session()
        sessions.end_unless_connected(session)
        await give_way()
        return session

    def write(self, chunk: Any) -> None:
        """Mark the page's scripts, and allow no others."""
        if isinstance(chunk, str):
            number = headers.nonce()
            self.set_header("Content-Security-Policy", headers.policy(number, self.frames))
            chunk = headers.marked(chunk, number)
        super().write(chunk)

    def on_connection_close(self) -> None:
        """Who leaves the queue loses the turn."""
        self.gone = True
        super().on_connection_close()

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Say what is wrong without saying how the server is built."""
        why = {
            403: "This link leads into a session that is not yours. Open the page by its own address: what is set stands in it.",
        }.get(status_code, "The server could not make the page. Please try again.")
        self.finish(_TOLD.format(why=escape(why)))


class Socket(WSHandler):
    """The websocket of one session: one connection at a time, plain patches only, and the newest of what comes too fast."""

    _token_given: str | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._session_taken: ServerSession | None = None
        self._pending, self._draining = Pending(), False
        self._size = self._fragments = self._pulls = 0
        self._second = 0.0

    def select_subprotocol(self, subprotocols: list[str]) -> str | None:
        """Tornado's hook for what the browser offers; Bokeh's token is among it."""
        chosen = super().select_subprotocol(subprotocols)
        self._token_given = subprotocols[1] if chosen else None
        return chosen

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """Connect to a session that the page has begun and nobody else is connected to."""
        session = self._asked_for()
        if session is None or session in _connected or session.connection_count:
            self.close(POLICY_VIOLATION, "no session" if session is None else "this session is in use")
            return None
        self._session_taken = session
        _connected[session] = self
        sessions.connected(session.document)
        return super().open(*args, **kwargs)

    def _asked_for(self) -> ServerSession | None:
        try:
            return self.application_context.get_session(get_session_id(self._token_given or ""))
        except Exception:  # a token is any text: what Bokeh makes of one that it has not written is not said
            return None

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
        """Take one fragment of a message, and act on the message where it is complete."""
        if self._session_taken is None or self.receiver is None:
            return self.close(POLICY_VIOLATION, "too early")
        self._size += len(fragment)
        if self._size > MESSAGE.value:
            return self.close(TOO_BIG, f"a message has at most {MESSAGE.value} bytes")
        try:
            await self._breathe()
            message = await self.receiver.consume(fragment)
            if message is not None:
                self._size = 0
                await self._act_on(message)
        except Exception as error:  # a message is any text: Bokeh reads it with whatever errors that makes
            _LOG.info("a browser sent what no page of ours sends: %s", repr(error)[:200])
            self.close(POLICY_VIOLATION, "what was sent is no message of this page")

    async def _breathe(self) -> None:
        """Let others go first: whoever sends too much waits for the rest of a second, and no more is read meanwhile."""
        now = asyncio.get_running_loop().time()
        if now - self._second > 1:
            self._second, self._fragments, self._pulls = now, 0, 0
        self._fragments += 1
        await asyncio.sleep(max(0.0, 1 - (now - self._second)) if self._fragments > FRAGMENTS.value else 0)

    async def _act_on(self, message: Any) -> None:
        if message.msgtype == "PATCH-DOC":
            await self._patch(message)
        elif message.msgtype == "PULL-DOC-REQ":
            self._pulls += 1
            await asyncio.sleep(1 if self._pulls > PULLS.value else 0)
            await self._turn()
            await self._handle_now(message)
        else:
            raise Malformed(f"{str(message.msgtype)[:40]!r} is no message of this page")

    async def _patch(self, message: Any) -> None:
        """Note what a patch changes, to be taken up now or when it is this session's turn again."""
        if self._session_taken is None or self._session_taken.destroyed:
            return
        while self._pending.full:
            await asyncio.sleep(1 / MOVES.value)
        self._pending.add(patches.accepted(message.content, self._session_taken.document))
        if self._pending and not self._draining:
            self._draining = True
            asyncio.get_running_loop().create_task(self._drain(message))
        else:
            await self.send_message(self.connection.ok(message))

    async def _drain(self, message: Any) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._pending and self._session_taken is not None:
                await self._turn()
                began = loop.time()
                await self._handle_now(Patch(message.header, message.metadata, {"events": self._pending.take()}))
                took = loop.time() - began
                await asyncio.sleep(max(1 / MOVES.value - took, took))
        finally:
            self._draining = False

    async def _turn(self) -> None:
        """Wait for this address's next turn."""
        await asyncio.sleep(pace.wait(address_of(self.request), id(self), asyncio.get_running_loop().time()))

    async def _handle_now(self, message: Any) -> None:
        """Have Bokeh act on a message, and send its reply."""
        if self.connection is None or self._session_taken is None or self._session_taken.destroyed:
            return
        reply = await self.handler.handle(message, self.connection)
        if reply is not None:
            await self.send_message(reply)


class Alive(RequestHandler):
    """Whether the process answers at all; without making a session, as Panel's own can be asked to."""

    def get(self) -> None:
        """Yes."""
        self.set_header("Cache-Control", "no-store")
        self.write({"alive": True})

    head = get


class Nothing(RequestHandler):
    """What Panel would serve and this page does not need: files of any module that can be imported."""

    def prepare(self) -> None:
        """There is nothing here."""
        raise HTTPError(404)
