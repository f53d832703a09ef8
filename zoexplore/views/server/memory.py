"""Memory: what a closed session held is given back, and nobody's slider waits for it.

Python's own full collection looks at every object there is and takes a few tenths of a second, in the middle of whatever goes on.
Here it comes only after sessions have been closed.
"""

import asyncio
import gc
from typing import Any

import panel as pn
from bokeh.document import Document

from zoexplore.views.server import sessions

PART = 0.25  # collect when the sessions closed since the last time are this share of those open, as Python does with objects
LATER = 1.0  # seconds after a session's end, when the server has let go of it, too
_NEVER = 2**31 - 1

_closed = 0


def settle() -> None:
    """Once all is imported: what is there stays, and is never looked through again.

    Before the first session: what is frozen keeps whatever it is in a cycle with, and a session is a cycle.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _NEVER)


def forget(context: Any) -> None:
    """Let a destroyed session go."""
    global _closed
    _release(context._document)  # Bokeh's own destroyed sessions have no public name for it
    _closed += 1
    if _closed >= PART * sessions.taken():
        _closed = 0
        asyncio.get_running_loop().call_later(LATER, gc.collect)


def _release(document: Document) -> None:
    """Panel 1.9 keeps the models of its notification area, and with them its whole document."""
    for ref in [ref for ref, (_, _, held, _) in pn.state._views.items() if held is document]:
        del pn.state._views[ref]
