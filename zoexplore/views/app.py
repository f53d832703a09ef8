"""The explorer as a page of its own: the document around it, and what happens when a callback fails."""

import logging
from functools import cache
from html import escape
from weakref import WeakKeyDictionary

import panel as pn
from bokeh.document import Document
from panel.io.resources import parse_template

from zoexplore.presets import DEMONSTRATION
from zoexplore.setting import Accounting
from zoexplore.views.compute.ask import pool
from zoexplore.views.compute.grid import Sheet, row
from zoexplore.views.explorer import Explorer
from zoexplore.views.server import memory, sessions
from zoexplore.views.style import theme

_LOG = logging.getLogger("zoexplore")
_LOST = """The connection to the server is lost: nothing here follows the controls any more.
<a href="">Load the page again</a>: its address keeps what is set."""
_begun: WeakKeyDictionary[Document, pn.viewable.Viewable] = WeakKeyDictionary()
_TEMPLATE = """{% extends base %}
{% block postamble %}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<style>:root{color-scheme:light dark;VARIABLES}SHEET</style>
<script>SCRIPT</script>
{% endblock %}
"""


def report(error: Exception) -> None:
    """Log an exception of a callback, and tell the reader that what is shown may be old."""
    _LOG.exception("a callback failed", exc_info=error)
    if pn.state.notifications:
        told = f"{type(error).__name__}: {told_of(error)}. What is shown may not match the controls."
        pn.state.notifications.error(escape(told), duration=0)  # which are shown as HTML


def told_of(error: Exception) -> str:
    """What a reader is told of an error: no name of the server's files."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


@cache
def _prepare() -> None:
    """Once a server: begin the computing processes and have them load the accountant, before anybody waits for them."""
    first = Sheet(DEMONSTRATION, Accounting(), "sharp", "T", "beta")
    pool().load = (row, first, 0.5)
    pool().begin()


def begin() -> None:
    """Make the current document's explorer, whose models `serve` makes later."""
    _begun[pn.state.curdoc] = _made(pn.state.curdoc)


def _made(document: Document | None) -> pn.viewable.Viewable:
    """The explorer's components; or where all seats are taken, words that say so."""
    _prepare()
    pn.extension("mathjax", notifications=True, exception_handler=report, disconnect_notification=_LOST)
    if document is None:
        return pn.panel(Explorer())
    _dress(document)
    if full := sessions.take(document):
        return pn.pane.HTML(f"<h1>zoexplore</h1><p>{full}</p>")
    return pn.panel(Explorer(search=pn.state.location.search))


def serve() -> None:
    """Put the explorer on the current document."""
    document = pn.state.curdoc
    (_begun.pop(document) if document in _begun else _made(document)).servable(title="zoexplore")


def _dress(document: Document) -> None:
    """The page around what is served, and what happens at the session's end."""
    document.on_session_destroyed(memory.forget)
    template = _TEMPLATE
    for name, text in {"VARIABLES": theme.VARIABLES, "SHEET": theme.css("page"), "SCRIPT": theme.script()}.items():
        template = template.replace(name, text)
    document.template = parse_template(template)
