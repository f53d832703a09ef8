"""What is sent to a notebook before its page is ready arrives there in the order in which it was sent."""

import asyncio
import json
from types import SimpleNamespace

import panel as pn
from bokeh.document import Document
from panel.io.model import add_to_doc
from pyviz_comms import JupyterCommManager

from zoexplore.views import view

SENT = [f"{number:02}" for number in range(25)]


def test_a_page_that_opens_late_ends_with_what_was_sent_last(monkeypatch):
    arrived = []

    def send(data=None, metadata=None, buffers=()):
        message = json.loads(data) if data else {}
        arrived.extend(event["new"] for event in message.get("events", ()) if event.get("attr") == "text")

    monkeypatch.setattr("ipykernel.comm.Comm", lambda **given: SimpleNamespace(send=send, on_msg=lambda function: None))
    monkeypatch.setattr(JupyterCommManager, "server_comm", view.InOrder)

    async def shown():
        words, page, way = pn.pane.HTML("nothing yet"), Document(), JupyterCommManager.get_server_comm()
        add_to_doc(words.get_root(page, way), page, True)
        for text in SENT[:-1]:
            words.object = text
            await asyncio.sleep(0.011)  # Panel tries again every tenth of a second, counted from each message
        assert arrived == []
        way.init()
        await asyncio.sleep(0.25)
        words.object = SENT[-1]

    asyncio.run(shown())
    assert arrived == SENT
