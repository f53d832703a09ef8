"""Serving: a page behind its guards, from a laptop to the open internet."""

import asyncio
import gc
import os
import secrets
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import panel as pn
from bokeh.settings import settings
from panel.io.application import Application, build_applications
from panel.io.server import get_server
from panel.io.state import set_curdoc
from tornado.httpserver import HTTPServer
from tornado.web import StaticFileHandler

from zoexplore.limits import LINGER_SECONDS, MESSAGE, REQUEST
from zoexplore.server import monitoring, sessions
from zoexplore.server.connections import CountingServer, allow_open_files
from zoexplore.server.page import Headers, Nothing, Page, Redirect, between_stages, framing
from zoexplore.server.sign_in import SignIn, SignOut
from zoexplore.server.websocket import Socket

KEY = "BOKEH_SECRET_KEY"
CHECK = 2000  # ms between two looks for sessions that have ended
PING = 15_000  # ms between two pings, which find out connections that are lost
SLOW = 60  # seconds that a client may take over a request, or do nothing between two
DRAIN = 10.0  # seconds for pages and computations that have begun, once the process is told to end
HEADERS = 16_384  # bytes of a request's headers
_NEVER = 2**31 - 1
ICON = ("/(favicon.ico)", StaticFileHandler, {"path": Path(pn.__file__).with_name("dist") / "images"})  # beneath a prefix, too


class PageFactory(Protocol):
    """What makes the page of a session."""

    def begin(self) -> Iterator[None]:
        """Make the current document's page, stage by stage, between which others may go first."""

    def serve(self) -> None:
        """Put what `begin` has made on the current document."""


def serve(
    page: PageFactory,
    port: int = 5006,
    address: str = "127.0.0.1",
    origins: Sequence[str] = (),
    behind_proxy: bool = False,
    prefix: str = "",
    pages: Mapping[str, Any] | None = None,
    start: bool = True,
) -> Any:
    """Serve a page at /app, whether the process answers at /liveness, and whether it has room at /readiness; /metrics to some.

    Args:
        page: makes it.
        port: to listen on.
        address: to listen on; "0.0.0.0" for all of the machine's.
        origins: where readers find the page, as HOST[:PORT]; those of this machine if none is given.
        behind_proxy: whether to believe a proxy's headers about addresses and https. Only where readers cannot reach the port.
        prefix: of the path, as in "zoexplore" for /zoexplore/app.
        pages: what to serve beside it by its path, as `panel.serve` takes it; at "app" in its place.
        start: whether to start, and return when the server has been ended.

    Returns:
        the Bokeh server, which `run` starts if this has not.

    Raises:
        ValueError: a limit or the list of sites that may frame the page is set to what it cannot be.
        OSError: the port is taken.
    """
    framing()  # is a mistake now, and not where somebody asks for the page
    monitoring.to_standard_error()
    freeze_startup_objects()
    allow_open_files()
    settings.perform_document_validation = False  # looks all models of a new session through for mistakes of ours: tests do that
    settings.perform_error_diagnostics = False  # looks at the signature of each of a session's thousand callbacks, for the same
    HTTPServer.configure(CountingServer)
    server = get_server(
        {"app": _staged(page)} | dict(pages or {}), port=port, address=address, start=False, show=False, verbose=False,
        websocket_origin=list(origins) or [f"{host}:{port}" for host in ("127.0.0.1", "localhost")],
        extra_patterns=[*monitoring.PATHS, ICON],
        secret_key=os.environ.get(KEY, secrets.token_urlsafe(32)).encode(), sign_sessions=True, generate_session_ids=True,
        transforms=[Headers], websocket_max_message_size=MESSAGE.value, use_xheaders=behind_proxy, prefix=prefix,
        check_unused_sessions_milliseconds=CHECK, unused_session_lifetime_milliseconds=1000 * LINGER_SECONDS.value,
        keep_alive_milliseconds=PING,
        http_server_kwargs={
            "max_body_size": REQUEST.value, "max_header_size": HEADERS, "idle_connection_timeout": SLOW, "body_timeout": SLOW,
        },
        **_sign_in(),
    )  # fmt: skip
    HTTPServer.configure(None)
    _guard(server._tornado)
    server.io_loop.spawn_callback(monitoring.watch)
    if start:
        run(server)
    return server


def run(server: Any) -> None:
    """Start a server, and return when it has been told to end: by SIGTERM or SIGINT it lets those finish who have begun."""
    loop = server.io_loop
    server.start()
    with suppress(NotImplementedError):  # Windows
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.asyncio_loop.add_signal_handler(each, partial(loop.spawn_callback, _end, server))
    loop.start()


async def _end(server: Any) -> None:
    """Admit nobody any more, wait for pages and computations that have begun, and end. The second time end at once."""
    closed, sessions.admission.closed = sessions.admission.closed, True
    loop = asyncio.get_running_loop()
    until = loop.time() + (0.0 if closed else DRAIN)
    server.stop(wait=False)
    while loop.time() < until and monitoring.at_work():
        await asyncio.sleep(0.1)
    server.io_loop.stop()


class Staged(Application):
    """A page that is made in stages: its components, and then the models of one part of it after another."""

    page: PageFactory

    async def on_session_created(self, session_context: Any) -> None:
        """Bokeh's hook for what comes before a document is put together. Between stages, others go first."""
        await super().on_session_created(session_context)
        document = session_context._document  # which has no public name before there is a session
        sessions.take_seat(document)
        stages = self.page.begin()
        while self._went_on(stages, document):
            await between_stages()

    @staticmethod
    def _went_on(stages: Iterator[None], document: Any) -> bool:
        """Whether there was another stage, which is done now."""
        with set_curdoc(document):
            return next(stages, True) is None


def _staged(page: PageFactory) -> Staged:
    made = Staged(*build_applications({"app": page.serve})["/app"].handlers)
    made.page = page
    return made


def _guard(application: Any) -> None:
    """Have our handlers answer before Panel's do, which stay for nothing but static files."""
    prefix = application.prefix
    patterns: list[tuple] = [(f"{prefix}/components.*", Nothing)]
    for path, context in application.applications.items():
        base = prefix + path
        given = {"application_context": context, "bokeh_websocket_path": f"{base}/ws"}
        patterns += [(f"{base}/ws", Socket, given), (base, Page, given), (f"{base}/", Redirect, {"url": base})]
        patterns += [(f"{base}/(metadata|autoload.js)", Nothing)]
    if pn.config.basic_auth:
        patterns += [(f"{prefix}/login", SignIn), (f"{prefix}/logout", SignOut)]
    application.add_handlers(".*", patterns)


def _sign_in() -> dict[str, Any]:
    """Who may come in, from Panel's own environment variables: docs/deploy.md."""
    names = ("basic_auth", "oauth_provider", "oauth_key", "oauth_secret", "oauth_redirect_uri", "cookie_secret")
    return {name: value for name in names if (value := getattr(pn.config, name, None))}


def freeze_startup_objects() -> None:
    """Once all is imported: what is there is never looked through again; what comes is, after sessions have been closed.

    Python's own full collection looks at every object there is and takes a few tenths of a second, in the middle of whatever goes
    on. Before the first session: what is frozen keeps whatever it is in a cycle with, and a session is a cycle. What is garbage
    by then is frozen, too: it is little, and to look for it takes as long.
    """
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)
