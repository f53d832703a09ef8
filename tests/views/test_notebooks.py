"""What a notebook is sent: in the order in which it was sent, before its page is ready too; style sheets inline, all at once."""

import asyncio
import json
from types import SimpleNamespace

import panel as pn
from bokeh.document import Document
from bokeh.document.models import DocumentModelManager
from bokeh.models import ImportedStyleSheet, UIElement
from panel.io.model import add_to_doc
from pyviz_comms import JupyterCommManager

from tests.waiting import until
from zoexplore.views import Explorer, notebooks

SENT = [f"{number:02}" for number in range(25)]


def test_a_page_that_opens_late_ends_with_what_was_sent_last(monkeypatch):
    arrived = []

    def send(data=None, metadata=None, buffers=()):
        message = json.loads(data) if data else {}
        arrived.extend(event["new"] for event in message.get("events", ()) if event.get("attr") == "text")

    monkeypatch.setattr("ipykernel.comm.Comm", lambda **given: SimpleNamespace(send=send, on_msg=lambda function: None))
    monkeypatch.setattr(JupyterCommManager, "server_comm", notebooks.InOrder)

    async def shown():
        words, page, way = pn.pane.HTML("nothing yet"), Document(), JupyterCommManager.get_server_comm()
        add_to_doc(words.get_root(page, way), page, True)
        for text in SENT[:-1]:
            words.object = text
            await asyncio.sleep(0.011)  # Panel tries again every tenth of a second, counted from each message
        assert arrived == []
        way.init()
        await until(lambda: len(arrived) == len(SENT) - 1)
        words.object = SENT[-1]

    asyncio.run(shown())
    assert arrived == SENT


def test_style_sheets_are_put_inline_and_the_document_is_looked_through_once(monkeypatch):
    looked, recompute, document = [], DocumentModelManager.recompute, Document()
    page = pn.panel(Explorer())
    add_to_doc(page.get_root(document), document)
    shown = list(document.select({"type": UIElement}))
    assert sum(bool(urls(model)) for model in shown) > 50
    monkeypatch.setattr(DocumentModelManager, "recompute", lambda models: (looked.append(1), recompute(models)))
    for model in shown:
        pn.viewable.patch_inline_stylesheets(model)
    assert not any(urls(model) for model in shown) and len(looked) == 1
    assert all(sheet.document is document for model in shown for sheet in model.stylesheets if not isinstance(sheet, str))


def urls(model):
    """The addresses that a model's style sheets are loaded from."""
    return [sheet.url for sheet in model.stylesheets if isinstance(sheet, ImportedStyleSheet)]
