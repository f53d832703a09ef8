"""Serving: the explorer behind its guards, from a laptop to the open internet."""

import gc
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import panel as pn
from bokeh.core.has_props import HasProps
from bokeh.core.property.descriptors import PropertyDescriptor
from bokeh.server import urls
from bokeh.settings import settings
from panel.io.application import Application, build_applications
from panel.io.server import COMPONENT_PATH, get_server
from panel.io.state import set_curdoc
from tornado.web import StaticFileHandler

from zoexplore.limits import LINGER_SECONDS, MESSAGE, REQUEST
from zoexplore.server import monitoring
from zoexplore.server.page import Headers, Nothing, Page, framing
from zoexplore.server.sessions import give_way
from zoexplore.server.websocket import Socket

EXPLORER = "zoexplore.views.app"  # which imports from this package
KEY = "BOKEH_SECRET_KEY"
CHECK = 2000  # ms between two looks for sessions that have ended
PING = 15_000  # ms between two pings, which find out connections that are lost
SLOW = 60  # seconds that a client may take over a request, or do nothing between two
HEADERS = 16_384  # bytes of a request's headers
SIGN_IN = Path(__file__).with_name("sign_in.html")  # Panel's own asks another site for its pictures
_NEVER = 2**31 - 1
THEME = "__themed_values__"  # where Bokeh keeps what a theme puts in place of a model's defaults, if there is any
kept: dict[tuple[type[HasProps], str], Any] = {}  # defaults, by class and property
_unstable: dict[tuple[type[HasProps], str], bool] = {}
ICON = ("/(favicon.ico)", StaticFileHandler, {"path": Path(pn.__file__).with_name("dist") / "images"})  # beneath a prefix, too


def serve(
    port: int = 5006,
    address: str = "127.0.0.1",
    origins: Sequence[str] = (),
    behind_proxy: bool = False,
    prefix: str = "",
    pages: Mapping[str, Any] | None = None,
    start: bool = True,
) -> Any:
    """Serve the explorer at /app, whether the process answers at /liveness, and to this machine its /metrics.

    Args:
        port: to listen on.
        address: to listen on; "0.0.0.0" for all of the machine's.
        origins: where readers find the page, as HOST[:PORT]; those of this machine if none is given.
        behind_proxy: whether to believe a proxy's headers about addresses and https. Only where readers cannot reach the port.
        prefix: of the path, as in "zoexplore" for /zoexplore/app.
        pages: what to serve beside the explorer by its path, as `panel.serve` takes it; at "app" in its place.
        start: whether to start, and return when the server has been ended.

    Returns:
        the Bokeh server, which `start()` starts if this has not.

    Raises:
        ValueError: a limit or the list of sites that may frame the page is set to what it cannot be.
        OSError: the port is taken.
    """
    framing()  # is a mistake now, and not where somebody asks for the page
    monitoring.to_standard_error()
    import_module(EXPLORER)  # now, which takes seconds, and not while the first reader waits
    freeze_startup_objects()
    settings.perform_document_validation = False  # looks all models of a new session through for mistakes of ours: tests do that
    settings.perform_error_diagnostics = False  # looks at the signature of each of a session's thousand callbacks, for the same
    keep_defaults()
    with _guarded():
        server = get_server(
            {"app": _explorer()} | dict(pages or {}), port=port, address=address, start=False, show=False, verbose=False,
            websocket_origin=list(origins) or [f"{host}:{port}" for host in ("127.0.0.1", "localhost")],
            extra_patterns=[*monitoring.PATHS, (f"/{COMPONENT_PATH}.*", Nothing), ICON],
            secret_key=os.environ.get(KEY, secrets.token_urlsafe(32)).encode(), sign_sessions=True, generate_session_ids=True,
            transforms=[Headers], websocket_max_message_size=MESSAGE.value, use_xheaders=behind_proxy, prefix=prefix,
            check_unused_sessions_milliseconds=CHECK, unused_session_lifetime_milliseconds=1000 * LINGER_SECONDS.value,
            keep_alive_milliseconds=PING,
            http_server_kwargs={
                "max_body_size": REQUEST.value, "max_header_size": HEADERS, "idle_connection_timeout": SLOW, "body_timeout": SLOW,
            },
            **_sign_in(),
        )  # fmt: skip
    server.io_loop.spawn_callback(monitoring.watch)
    if start:
        server.start()
        server.io_loop.start()
    return server


class Staged(Application):
    """The explorer, made in stages: its components, and then the models of one part of the page after another."""

    async def on_session_created(self, session_context: Any) -> None:
        """Bokeh's hook for what comes before a document is put together. Between stages, others go first."""
        await super().on_session_created(session_context)
        document = session_context._document  # which has no public name before there is a session
        stages = import_module(EXPLORER).begin()
        while self._went_on(stages, document):
            await give_way()

    @staticmethod
    def _went_on(stages: Iterator[None], document: Any) -> bool:
        """Whether there was another stage, which is done now."""
        with set_curdoc(document):
            return next(stages, True) is None


def _explorer() -> Staged:
    return Staged(*build_applications({"app": import_module(EXPLORER).serve})["/app"].handlers)


@contextmanager
def _guarded() -> Iterator[None]:
    """Have the server that is made within use our handlers in place of Panel's; those that it has beside are left out."""
    before = list(urls.per_app_patterns)
    urls.per_app_patterns[:] = [("/ws", Socket), ("/?", Page)]
    try:
        yield
    finally:
        urls.per_app_patterns[:] = before


def _sign_in() -> dict[str, Any]:
    """Who may come in, from Panel's own environment variables: docs/deploy.md."""
    names = ("basic_auth", "oauth_provider", "oauth_key", "oauth_secret", "oauth_redirect_uri", "cookie_secret")
    found = {name: value for name in names if (value := getattr(pn.config, name, None))}
    return found | {"basic_login_template": str(SIGN_IN)} if "basic_auth" in found else found


def freeze_startup_objects() -> None:
    """Once all is imported: what is there is never looked through again; what comes is, after sessions have been closed.

    Python's own full collection looks at every object there is and takes a few tenths of a second, in the middle of whatever goes
    on. Before the first session: what is frozen keeps whatever it is in a cycle with, and a session is a cycle. What is garbage
    by then is frozen, too: it is little, and to look for it takes as long.
    """
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)


@cache  # so that it is done once a process
def keep_defaults() -> None:
    """Have Bokeh look up a default once for a class of models, from now on and in this process, and not again for each model.

    Whenever a property is read that nobody has set, Bokeh 3.9 goes through the ancestors of its model's class, copies the default
    and validates it. A page has hundreds of models with dozens of properties, and reads them all when it is made and again when
    it is sent: two fifths of what a page costs. What Bokeh calls a stable default is immutable and the same every time.
    """
    default_of, is_unstable = PropertyDescriptor._get_default, PropertyDescriptor.has_unstable_default

    def has_unstable_default(self: PropertyDescriptor, model: HasProps) -> bool:
        key = type(model), self.name
        if key not in _unstable:
            _unstable[key] = is_unstable(self, model)
        return _unstable[key]

    def get_default(self: PropertyDescriptor, model: HasProps) -> Any:
        if THEME in model.__dict__:
            return default_of(self, model)
        key = type(model), self.name
        if key in kept:
            return kept[key]
        default = default_of(self, model)
        if not has_unstable_default(self, model):
            kept[key] = default
        return default

    once: Any = cache(vars(HasProps)["_overridden_defaults"].__func__)
    for owner, name, instead in (
        (HasProps, "_overridden_defaults", classmethod(once)),
        (PropertyDescriptor, "has_unstable_default", has_unstable_default),
        (PropertyDescriptor, "_get_default", get_default),
    ):
        setattr(owner, name, instead)
