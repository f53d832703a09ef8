"""The page: what answers a request for it, and what a browser is told with every answer, first of all which scripts may run."""

import asyncio
import os
import secrets
from html import escape
from typing import Any

from bokeh.server.session import ServerSession
from panel.io.server import DocHandler
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import HTTPError, OutputTransform, RedirectHandler, RequestHandler

from zoexplore.compute.address import address_of
from zoexplore.limits import FRAMES
from zoexplore.server import sessions
from zoexplore.server.gate import PAGES, gate, paid
from zoexplore.server.sessions import Full, Gone, admission

NOBODY = "'none'"
ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# For answers that are no page of ours: pictures, scripts, the sign-in form. Nothing in them runs a script.
INERT = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors {frames}"
)
# BokehJS makes functions out of text ('unsafe-eval') and Panel imports its components from memory (blob:). What a page must never
# do is run a script that stands in its markup without this answer's own nonce.
PAGE = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' blob:; manifest-src 'self'; worker-src 'self' blob:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors {frames}"
)
BORROWED = frozenset({"bokeh-session-id", "bokeh-token"})  # what would put a reader into a session that somebody else has begun
PAUSE = 0.005  # seconds between stages of a page, for messages to come in
COME_BACK = 10  # seconds after which a page that told a reader to wait loads itself again
_TOLD = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>zoexplore</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body style="font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem">
<h1>zoexplore</h1><p role="alert">{why}</p></body></html>"""


def framing() -> str:
    """Who may show the page in a frame, as a policy names them.

    Raises:
        ValueError: `FRAMES` is set to what is no list of sites.
    """
    sites = os.environ.get(FRAMES, "").strip()
    if any(character in sites for character in ";,\r\n"):
        raise ValueError(f"{FRAMES} = {sites!r} is not allowed: give sites separated by blanks, as in https://example.org")
    return sites or NOBODY


class Headers(OutputTransform):
    """Adds the headers that every answer carries, whichever handler has written it: files, errors and redirects too. Cookies go
    to this site alone, and where the reader came by https by https alone.
    """

    def __init__(self, request: HTTPServerRequest) -> None:
        super().__init__(request)
        self._marks = ("SameSite=Lax", "Secure") if request.protocol == "https" else ("SameSite=Lax",)

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Tornado's hook for what is sent first."""
        for name, value in ALWAYS.items():
            headers.setdefault(name, value)
        if framing() == NOBODY:
            headers.setdefault("X-Frame-Options", "DENY")
        headers.setdefault("Content-Security-Policy", INERT.format(frames=framing()))
        headers.pop("Server", None)
        cookies = headers.get_list("Set-Cookie")
        headers.pop("Set-Cookie", None)
        for cookie in cookies:
            headers.add("Set-Cookie", cookie + "".join(f"; {mark}" for mark in self._marks if mark not in cookie))
        return super().transform_first_chunk(status_code, headers, chunk, finishing)


class Page(DocHandler):
    """The page: a session of the reader's own, when it is the reader's turn, and scripts that are marked as the server's."""

    gone = False

    async def prepare(self) -> None:
        """Refuse a borrowed session before anything else is done."""
        named = {name.strip().lower() for name in (*self.request.arguments, *self.request.headers)}  # which Tornado has decoded
        if named & BORROWED:
            raise HTTPError(403, reason="Forbidden")
        await super().prepare()

    def head(self, *_: Any) -> None:
        """Answer that there is a page, and make none."""
        self.set_header("Content-Type", "text/html")

    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Answer with the page, or tell the reader why there is none now."""
        address = address_of(self.request)
        try:
            async with admission.turn(address, lambda: self.gone):
                answer = super().get(*args, **kwargs)
                if answer is not None:  # none where the reader is led to sign in
                    await paid(answer, PAGES, address)
        except Full as why:
            admission.refused += 1
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
        await between_stages()
        return session

    def write(self, chunk: Any) -> None:
        """Mark the page's scripts, and allow no others."""
        if isinstance(chunk, str):
            nonce = secrets.token_urlsafe(18)
            self.set_header("Content-Security-Policy", PAGE.format(nonce=nonce, frames=framing()))
            # the server has written it, and it holds nothing of a visitor's
            chunk = chunk.replace("<script", f'<script nonce="{nonce}"')
        super().write(chunk)

    def on_connection_close(self) -> None:
        """Who leaves the queue loses the turn."""
        self.gone = True
        super().on_connection_close()

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Say what is wrong without saying how the server is built."""
        not_yours = (
            "This link leads into a session that is not yours. Open the page by its own address: what is set stands in it."
        )
        why = not_yours if status_code == 403 else "The server could not make the page. Please try again."
        self.finish(_TOLD.format(why=escape(why)))


async def between_stages() -> None:
    """Between two stages of a page's making: let others, whose messages have come meanwhile, go first."""
    if sessions.taken() > 1:
        await asyncio.sleep(PAUSE)
    await gate.turn(PAGES)


class Nothing(RequestHandler):
    """What Panel would serve and this page does not need: files of any module that can be imported, and a page's inside."""

    def initialize(self, **_: Any) -> None:
        """Tornado's hook for what stands beside a pattern."""

    def prepare(self) -> None:
        raise HTTPError(404)


class Redirect(RedirectHandler):
    """Leads from the page's path with a slash at its end to the page; for HEAD, too."""

    head = RedirectHandler.get
