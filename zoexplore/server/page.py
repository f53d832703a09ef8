"""The page's request handlers."""

import asyncio
import re
import secrets
from html import escape
from typing import Any

from bokeh.server.session import ServerSession
from panel.io.server import DocHandler
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, RequestHandler

from zoexplore.server.files import DAY
from zoexplore.server.headers import PAGE, POLICY, framing
from zoexplore.server.seats import Full, Seat, seats

# headers that would put a reader into another reader's session
BORROWED = frozenset({"bokeh-session-id", "bokeh-token"})
PAUSE = 0.005  # seconds between two stages of making a page, in which messages can arrive
# no figure of this package is drawn by WebGL
UNUSED = re.compile(r"<script[^>]*/bokeh-gl\.min\.js[^>]*></script>")
LONGEST = 2000  # the most characters of a query for a picture
COME_BACK = 10  # seconds after which a page that asked its reader to wait reloads itself
_MESSAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>zoexplore</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body style="font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem">
<h1>zoexplore</h1><p role="alert">{why}</p></body></html>"""
NOT_YOURS = "This link leads into a session that is not yours. Open the page by its own address: what is set stands in it."
FAILED = "The server could not make the page."


class Page(DocHandler):
    """Serves the page: makes a session for each reader in turn, and marks the scripts as the
    server's.
    """

    gone = begun = False  # whether the reader has left; whether the page's first words were sent
    nonce = ""
    seat: Seat

    async def prepare(self) -> None:
        """Refuse a borrowed session before anything else is done."""
        # Tornado has decoded these names
        named = {name.strip().lower() for name in (*self.request.arguments, *self.request.headers)}
        if named & BORROWED:
            raise HTTPError(403, reason="Forbidden")
        await super().prepare()

    def head(self, *_: Any) -> None:
        """Answer that there is a page, without making it."""
        self.set_header("Content-Type", "text/html")

    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Answer with the page, or with the reason why there is none now."""
        try:
            self.seat = seats.take()
        except Full as why:
            self.set_status(503)
            self.set_header("Retry-After", str(COME_BACK))
            self.set_header("Refresh", str(COME_BACK))
            return self.write(_MESSAGE.format(why=escape(str(why))))
        made = self.application_context.application
        try:
            if opening := made.page.opening(
                self.request.query,
                f"{self.request.protocol}://{self.request.host}{self.request.path}",
            ):
                self.write(opening)
                await self.flush()
                self.begun = True
            async with made.turn:
                if not self.gone:
                    await super().get(*args, **kwargs)
        except StreamClosedError:  # the reader has left
            self.gone = True
        finally:
            seats.answered(self.seat)

    async def get_session(self) -> ServerSession:
        """Make the session, and let it keep the reader's seat."""
        session = await super().get_session()
        seats.keep(self.seat, session)
        await between_stages()
        return session

    def write(self, chunk: Any) -> None:
        """Write a part of the page. Mark its scripts and allow no others; leave out the words that
        were sent already.
        """
        if isinstance(chunk, str):
            if not self.nonce:
                self.nonce = secrets.token_urlsafe(18)
                self.set_header(POLICY, PAGE.format(nonce=self.nonce, frames=framing()))
                # lets nginx pass the first words on at once
                self.set_header("X-Accel-Buffering", "no")
            if self.begun:
                chunk = chunk.partition(self.application_context.application.page.MARK)[2] or chunk
            # the server made this text, without any visitor's input
            chunk = UNUSED.sub("", chunk).replace("<script", f'<script nonce="{self.nonce}"')
        super().write(chunk)

    def on_connection_close(self) -> None:
        """Make no page for a reader who has left."""
        self.gone = True
        super().on_connection_close()

    def send_error(self, status_code: int = 500, **kwargs: Any) -> None:
        """Report an error inside the page if its first words are there already."""
        if self.begun:
            again = '<a href="">Load it again</a>'
            self.finish(f'<p class="zx-failed" role="alert">{FAILED} {again}</p></body></html>')
        else:
            super().send_error(status_code, **kwargs)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Report an error without details of the server."""
        self.finish(_MESSAGE.format(why=NOT_YOURS if status_code == 403 else FAILED))


class Preview(RequestHandler):
    """Serves a picture of a run, for sites and programs that show previews of links. A picture
    takes no seat, and its computation waits until no figure needs a worker.
    """

    def initialize(self, application_context: Any, **_: Any) -> None:
        """Tornado's hook for the arguments of a path."""
        self.page = application_context.application.page

    async def get(self) -> None:
        """Answer with the picture of the query's run; 503 if it takes too long."""
        if len(self.request.query) > LONGEST:
            raise HTTPError(414)
        try:
            made = await self.page.picture(self.request.query)
        except Exception as error:  # an error of the computation, which the page would show
            raise HTTPError(503) from error
        self.set_header("Content-Type", "image/png")
        self.set_header("Cache-Control", f"public, max-age={DAY}")
        self.write(made)

    head = get


async def between_stages() -> None:
    """Let messages that have arrived go first, between two stages of making a page."""
    await asyncio.sleep(PAUSE if len(seats.taken) > 1 else 0)
