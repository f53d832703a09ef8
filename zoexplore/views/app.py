"""The explorer as a page: the document around the explorer, and the handling of failed callbacks."""

import asyncio
import logging
from collections.abc import Callable, Generator, Iterator
from functools import cache, partial
from html import escape
from ipaddress import ip_address
from typing import Any
from weakref import WeakKeyDictionary

import panel as pn
import param
from bokeh.document import Document
from panel.io.notifications import NotificationArea
from panel.io.resources import get_dist_path, parse_template

from zoexplore.compute.ask import ask, pool
from zoexplore.compute.prepare import TAKES, is_prepared, prepare
from zoexplore.questions.export import from_query
from zoexplore.views import first, preview
from zoexplore.views.explorer import Explorer

_LOG = logging.getLogger("zoexplore")
MOST_TOLD, LONGEST_TOLD = 5, 500  # failures that a page keeps, and the characters kept of each
_LOST = """The connection to the server is lost: nothing here follows the controls any more.
<a href="">Load the page again</a>: its address keeps what is set."""
UNGUARDED = "panel serve has no guards against others. To serve others: zoexplore serve --address 0.0.0.0 --origin HOST"
_begun: WeakKeyDictionary[Document, pn.viewable.Viewable] = WeakKeyDictionary()
_areas: WeakKeyDictionary[Document, NotificationArea] = WeakKeyDictionary()
# `zoexplore serve` sends what stands before the mark before there is a session.
MARK = "<!-- the session's -->"
_TEMPLATE = parse_template(f"""{{% extends base %}}
{{% block head %}}{{{{ opening }}}}{MARK}{{% endblock %}}
{{% block body %}}{{{{ bokeh_css }}}}{{{{ bokeh_js }}}}{{{{ self.inner_body() }}}}</body>{{% endblock %}}
""")


def report(error: Exception) -> None:
    """Log a callback's exception, and warn the reader that the page may be out of date."""
    _LOG.exception("a callback failed", exc_info=error)
    if area := _areas.get(pn.state.curdoc) if pn.state.curdoc else None:
        words = f"{type(error).__name__}: {reader_message(error)}. What is shown may not match the controls."
        area.notifications = area.notifications[-MOST_TOLD + 1 :]
        area.error(escape(words[:LONGEST_TOLD]), duration=0)  # messages are shown as HTML


def reader_message(error: Exception) -> str:
    """Return an error's message for the reader, without names of the server's files."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


@cache
def _prepare() -> None:
    """Start a server's computing processes, so that they load the accountant before the first
    request.
    """
    pool().begin()
    param.parameterized.async_executor = under_lock(param.parameterized.async_executor)


def under_lock(
    execute: Callable[[Callable[..., Any]], None],
) -> Callable[[Callable[..., Any]], None]:
    """Return an executor that runs a page's changes and clicks under its session's lock.

    Panel 1.9 does not hold the lock when a click immediately follows a change: writing to a figure
    then fails, and the change is lost. Panel submits changes and clicks as partials. The making of
    a download's file, which may take long, is no partial and runs without the lock.
    """
    return lambda function: execute(
        pn.io.with_lock(function) if isinstance(function, partial) else function
    )


def begin() -> Iterator[None]:
    """Make the current document's page in stages, so that other tasks may run between them. `serve`
    shows the page.
    """
    document = pn.state.curdoc
    search = _search(document)
    document.template = _TEMPLATE
    # without `dist_url`, a process of `panel serve --num-procs` that makes no page names Panel's CDN
    document.template_variables.update(opening=first.opening(search), dist_url=get_dist_path())
    explorer = yield from _made(search)
    yield
    _begun[document] = pn.panel(explorer)
    first.remember(search, explorer)


def _made(search: str) -> Generator[None, None, Explorer]:
    _prepare()
    _extend()
    explorer = Explorer(search=search, staged=True)
    yield from explorer.make()
    return explorer


def opening(query: str, where: str) -> str:
    """Return what a page shows before its session is made; its address is `where` with `query`."""
    return f'<!DOCTYPE html><html lang="en">{first.opening(f"?{query}" if query else "", where)}'


async def picture(query: str) -> bytes:
    """Return the picture of a query's run as PNG, for previews of a link to the run."""
    loaded = from_query(query)
    return bytes(await ask(preview.picture, loaded.setting, loaded.accounting))


async def ready() -> None:
    """Compile in other processes what is not compiled yet; meanwhile the first words say so."""
    if not is_prepared():
        _log(f"compiling, once: {TAKES}; until then pages show their first words")
        await asyncio.to_thread(prepare)


def prime() -> Iterator[None]:
    """Make an explorer that nobody sees, in order to load what all pages share and to keep a
    picture for the first page.
    """
    explorer = yield from _made("")
    pn.panel(explorer)
    first.remember("", explorer)
    # the odds are computed in the background: once they are known, keep a picture with them
    explorer.headline.odds.param.watch(lambda _: first.remember("", explorer, anew=True), "object")


def _search(document: Document) -> str:
    """Return the query of a page's address with its question mark, read from the request because
    Panel's own `Location` would evaluate the query.
    """
    request = document.session_context.request if document.session_context else None
    query = str(getattr(request, "uri", "")).partition("?")[2].partition("#")[0]
    return f"?{query}" if query else ""


def serve() -> None:
    """Show an explorer in the current document, or else in the notebook. `begin` may have made the
    document's explorer; any other is made now.
    """
    document = pn.state.curdoc
    if document is not None and document not in _begun:
        for _ in begin():
            pass
    elif document is None:
        _prepare()
        _extend()
    page = pn.panel(Explorer()) if document is None else _begun.pop(document)
    page.servable(title="zoexplore", location=False)
    if document is not None:
        area = _areas[document] = NotificationArea(
            js_events={"connection_lost": {"type": "error", "message": _LOST}}
        )
        area.servable(location=False)


def warn_others() -> None:
    """Warn readers on other machines that `panel serve` has no guards, and write it once to the
    log.
    """
    document = pn.state.curdoc
    request = document.session_context.request if document and document.session_context else None
    address = getattr(request, "remote_ip", None)
    if document and address and not ip_address(address.partition("%")[0]).is_loopback:
        _areas[document].warning(UNGUARDED, duration=0)
        _log(UNGUARDED)


@cache  # once a process
def _log(words: str) -> None:
    _LOG.warning(words)


def _extend() -> None:
    pn.extension("notifications", exception_handler=report)
    # Panel 1.9 leaks a notification area that it makes itself, so `serve` makes one
    pn.config.notifications = False
