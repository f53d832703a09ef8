"""What only the browser can do: its address and history, what it remembers, and turning a picture into a file."""

from pathlib import Path

import panel as pn
import param


class Bridge(pn.custom.JSComponent):
    """Two params the page writes, `search` and `picture`; the others come from the browser.

    A new `search` becomes an entry in the browser's history; going back and forth sets it and counts in `visits`.
    """

    search = param.String("", doc="the query of the page's address, with its question mark")
    visits = param.Integer(0, doc="how often the reader has gone back or forth")
    scheme = param.String("", doc="the colour scheme that this browser was last used with: dark, light or none")
    picture = param.Tuple(None, length=2, allow_None=True, doc="an SVG to be saved as PNG, and the file's name")
    ready = param.Boolean(False, doc="whether a browser is there")

    _esm = Path(__file__).parent / "bridge.js"
