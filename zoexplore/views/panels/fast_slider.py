"""`Quick`, a slider that is followed as fast as its moves come."""

from bokeh.document import Document
from panel.widgets import IntSlider


class Quick(IntSlider):
    """A slider whose moves reach the state as soon as the server has acknowledged them, rather than after Panel's 50 ms.

    While an acknowledgement is on its way, Panel 1.9 holds back whatever a callback writes until the callback ends, so that the
    figure would wait for the texts. Moves that come while the last one is still being worked on are merged by Panel.
    """

    _debounce = 1

    async def _change_coroutine(self, doc: Document, event_id: str | None = None) -> None:
        await _written(doc)
        await super()._change_coroutine(doc, event_id)


async def _written(doc: Document) -> None:
    """Wait until what is being written to the document's readers is written."""
    for connection in doc.session_context.session._subscribed_connections:
        lock = getattr(connection._socket, "write_lock", None)
        if lock:
            with await lock.acquire():
                pass
