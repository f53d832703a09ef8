"""What only the browser can do: its address and history, and what it remembers."""

from pathlib import Path

import panel as pn
import param


class Bridge(pn.custom.JSComponent):
    """`search` is written by the page and by the browser; the other params come from the browser.

    A new `search` becomes an entry in the browser's history; going back and forth sets it and counts in `visits`.
    """

    search = param.String("", doc="the query of the page's address, with its question mark")
    visits = param.Integer(0, doc="how often the reader has gone back or forth")
    scheme = param.String("", doc="the colour scheme that this browser was last used with, or else prefers: dark or light")
    ready = param.Boolean(False, doc="whether a browser is there")

    _esm = Path(__file__).parent / "bridge.js"
