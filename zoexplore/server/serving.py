"""Serves a page behind its guards, on a laptop or on the open internet."""

import asyncio
import gc
import os
import secrets
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import panel as pn
from bokeh.document import Document
from bokeh.embed.bundle import extension_dirs
from bokeh.settings import settings
from panel.io.application import Application, build_applications
from panel.io.server import get_server
from panel.io.state import set_curdoc
from tornado.httpserver import HTTPServer
from tornado.web import ErrorHandler, GZipContentEncoding, RedirectHandler

from zoexplore.compute.ask import pool
from zoexplore.compute.limits import LINGER_SECONDS
from zoexplore.server import monitoring
from zoexplore.server.connections import BoundedServer
from zoexplore.server.files import Extensions, Packing, Scripts
from zoexplore.server.headers import Headers, framing
from zoexplore.server.page import Page, Preview, between_stages
from zoexplore.server.seats import seats
from zoexplore.server.websocket import MESSAGE, Socket

KEY = "BOKEH_SECRET_KEY"
SIGN_IN = "PANEL_BASIC_AUTH", "PANEL_OAUTH_PROVIDER"
CHECK = 2000  # ms between checks for ended sessions
PING = 15_000  # ms between pings, which detect lost connections
SLOW = 60  # seconds that a client may take over a request, or wait between two
NEVER = 2**31 - 1
# by how much ended sessions outnumber living ones when their memory, 5 MB each, is freed
LEFT = 25
DRAIN = 10.0  # seconds for pages and computations under way, once the process is asked to end
REQUEST, HEADERS = 65_536, 16_384  # bytes of a request's body and headers
ALWAYS: dict[str, Any] = {  # arguments of Bokeh's server
    "start": False,
    "show": False,
    "verbose": False,
    "extra_patterns": monitoring.PATHS,
    "sign_sessions": True,
    "generate_session_ids": True,
    "transforms": [Headers, GZipContentEncoding],
    "websocket_max_message_size": MESSAGE,
    "check_unused_sessions_milliseconds": CHECK,
    "keep_alive_milliseconds": PING,
    "http_server_kwargs": {
        "max_body_size": REQUEST,
        "max_header_size": HEADERS,
        "idle_connection_timeout": SLOW,
        "body_timeout": SLOW,
    },
}
IMAGES = Path(pn.__file__).with_name("dist") / "images"


def serve(
    pages: Mapping[str, ModuleType],
    port: int = 5006,
    address: str = "127.0.0.1",
    origins: Sequence[str] = (),
    behind_proxy: bool = False,
    prefix: str = "",
) -> Any:
    """Make a server of pages. It says at /liveness that the process answers, and at /readiness
    whether the process has room.

    Args:
        pages: modules by path, each with the functions of `zoexplore.views.app` that make a page.
        port: the port to listen on; 0 means any free port.
        address: the address to listen on; "0.0.0.0" means all addresses of the machine.
        origins: the page's public addresses, as HOST[:PORT]; if empty, those of this machine.
        behind_proxy: whether to trust a proxy's headers. Trust them only if readers cannot reach
            the port itself.
        prefix: the beginning of the path, such as "zoexplore" for /zoexplore/app.

    Returns:
        the Bokeh server, for `run` to start.

    Raises:
        ValueError: the list of sites that may frame the page is malformed, or Panel's sign-in is
            set.
        OSError: the port is taken.
    """
    framing()  # so that a wrong list fails at the start, not when a reader loads the page
    if any(map(os.environ.get, SIGN_IN)):
        raise ValueError(
            f"{' and '.join(SIGN_IN)} have no effect here: the proxy asks for passwords (docs/deploy.md)"
        )
    monitoring.to_standard_error()
    _scan_seldom()
    HTTPServer.configure(BoundedServer)
    server = get_server(
        {path: _staged(page) for path, page in pages.items()},
        port=port,
        address=address,
        websocket_origin=list(origins) or None,
        secret_key=os.environ.get(KEY, secrets.token_urlsafe(32)).encode(),
        use_xheaders=behind_proxy,
        prefix=prefix,
        unused_session_lifetime_milliseconds=1000 * LINGER_SECONDS.value,
        **ALWAYS,
    )
    HTTPServer.configure(None)
    if not origins:
        server._tornado.websocket_origins.update(
            f"{host}:{server.port}" for host in ("127.0.0.1", bracketed(address))
        )
    _guard(server._tornado)
    return server


def _scan_seldom() -> None:
    """Keep Python and Bokeh from searching a process's or a session's objects while readers wait."""
    # What exists by now is never scanned for garbage again.
    gc.freeze()
    # A scan of the rest takes tenths of a second. Panel makes it in a lull, and `Staged` if there
    # is none.
    gc.set_threshold(*gc.get_threshold()[:2], NEVER)
    # validation would search all models of a new session for programming mistakes, as tests do
    settings.perform_document_validation = False
    # diagnostics would inspect the signatures of a session's thousand callbacks, to the same end
    settings.perform_error_diagnostics = False


def bracketed(address: str) -> str:
    """Return an address as a URL has it: an IPv6 address stands in brackets."""
    return f"[{address}]" if ":" in address else address


def run(server: Any) -> None:
    """Start a server. Return after SIGTERM or SIGINT, once pages and computations under way are
    done.
    """
    loop = server.io_loop
    server.start()
    loop.add_callback(_prime, server)
    with suppress(NotImplementedError):  # Windows
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.asyncio_loop.add_signal_handler(each, partial(loop.spawn_callback, _end, server))
    loop.start()


async def _prime(server: Any) -> None:
    """Make the first page before a reader asks for it. Readers who have come already go first."""
    for context in server._tornado.applications.values():
        async with context.application.turn:
            await context.application.page.ready()
            for _ in context.application.page.prime():
                await between_stages()


async def _end(server: Any) -> None:
    """Admit no new readers, wait for pages and computations under way, and end the server. If
    called again, end it at once.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + (0.0 if seats.closed else DRAIN)
    seats.closed = True
    server.stop(wait=False)
    while loop.time() < until and (seats.waiting or pool().counts()[0]):
        await asyncio.sleep(0.1)
    server.io_loop.stop()


class Staged(Application):
    """Makes the page in stages: first its components, then the models of one part after another."""

    page: ModuleType
    turn: asyncio.Lock  # held for the reader whose page is being made
    ended = 0  # how many sessions have ended since memory was last freed

    async def on_session_destroyed(self, session_context: Any) -> None:
        """Free the memory of ended sessions once they outnumber the living ones by `LEFT`. Freeing
        it delays all readers by some 20 ms for each ended or living session.
        """
        await super().on_session_destroyed(session_context)
        self.ended += 1
        if self.ended >= LEFT + len(seats.taken):
            self.ended = 0
            gc.collect()

    async def on_session_created(self, session_context: Any) -> None:
        """Make a document in stages, between which other messages go first."""
        await super().on_session_created(session_context)
        await session_context.with_locked_document(self._make)

    async def _make(self, document: Document) -> None:
        stages = self.page.begin()
        while True:
            with set_curdoc(document):
                if next(stages, True):
                    return
            await between_stages()


def _staged(page: ModuleType) -> Staged:
    made = Staged(*build_applications({"app": page.serve})["/app"].handlers)
    made.page, made.turn = page, asyncio.Lock()
    return made


def _guard(application: Any) -> None:
    """Put this package's handlers before Panel's, which would also serve files of importable
    modules and the internals of pages.
    """
    prefix, nothing = application.prefix, {"status_code": 404}
    patterns: list[tuple[Any, ...]] = [(f"{prefix}/components.*", ErrorHandler, nothing)]
    for path, context in application.applications.items():
        base = prefix + path
        given = {"application_context": context, "bokeh_websocket_path": f"{base}/ws"}
        patterns += [
            (f"{base}/ws", Socket, given),
            (base, Page, given),
            (f"{base}/", RedirectHandler, {"url": base}),
        ]
        patterns += [
            (f"{base}/preview.png", Preview, given),
            (f"{base}/(?:metadata|autoload.js)", ErrorHandler, nothing),
        ]
    patterns += [
        (f"{prefix}/static/extensions/(.*)", Extensions, {"root": extension_dirs}),
        (f"{prefix}/static/(.*)", Scripts),
    ]
    patterns += [(f"{prefix}/(favicon.ico)", Packing, {"path": IMAGES})]
    root = {"url": f"{prefix}{next(iter(application.applications), '/')}", "permanent": False}
    application.add_handlers(".*", [*patterns, (f"{prefix}/?", RedirectHandler, root)])
