"""The explorer as a page of its own: the document around it, and what happens when a callback fails."""

import logging

import panel as pn
from panel.io.resources import parse_template

from zoexplore.views import theme
from zoexplore.views.explorer import Explorer

_LOG = logging.getLogger("zoexplore")
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
        told = f"{type(error).__name__}: {error}. What is shown may not match the controls."
        pn.state.notifications.error(told, duration=0)


def serve() -> Explorer:
    """The explorer, made servable on the current document."""
    pn.extension("mathjax", notifications=True, exception_handler=report)
    address = pn.state.location if pn.state.curdoc else None
    explorer = Explorer(search=address.search if address else None)
    explorer.servable(title="zoexplore")
    if pn.state.curdoc:
        parts = {"VARIABLES": theme.VARIABLES, "SHEET": theme.css("page"), "SCRIPT": theme.script()}
        template = _TEMPLATE
        for name, text in parts.items():
            template = template.replace(name, text)
        pn.state.curdoc.template = parse_template(template)
    return explorer
