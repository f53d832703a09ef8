"""What a notebook is sent: in the order in which it was sent, before its page is ready too; style
sheets inline, once for all.
"""

import asyncio
import json
import re
from types import SimpleNamespace

import panel as pn
import pytest
from bokeh.document import Document
from bokeh.document.models import DocumentModelManager
from bokeh.models import ImportedStyleSheet, UIElement
from panel.io.model import add_to_doc
from panel.io.notebook import JupyterCommManagerBinary, patch_inline_stylesheets
from panel.io.state import set_curdoc
from panel.models.markup import HTML

from tests.waiting import until
from zoexplore.questions.statement import in_a_line
from zoexplore.views import Explorer
from zoexplore.views.style import widgets

SENT = [f"{number:02}" for number in range(25)]


def test_a_page_that_opens_late_ends_with_what_was_sent_last(monkeypatch):
    arrived = []

    def send(data=None, metadata=None, buffers=()):
        message = json.loads(data) if data else {}
        arrived.extend(
            event["new"] for event in message.get("events", ()) if event.get("attr") == "text"
        )

    monkeypatch.setattr(
        "ipykernel.comm.Comm",
        lambda **given: SimpleNamespace(send=send, on_msg=lambda function: None),
    )

    async def shown():
        words, page, way = (
            pn.pane.HTML("nothing yet"),
            Document(),
            JupyterCommManagerBinary.get_server_comm(),
        )
        add_to_doc(widgets.component("curves", words).get_root(page, way), page, True)
        for text in SENT[:-1]:
            words.object = text
            # Panel tries again every tenth of a second, counted from each message
            await asyncio.sleep(0.011)
        assert arrived == []
        way.init()
        await until(lambda: len(arrived) == len(SENT) - 1)
        words.object = SENT[-1]

    asyncio.run(shown())
    assert arrived == SENT


@pytest.mark.parametrize("around", [pn.panel, pn.Column], ids=["alone", "in a column of Panel's"])
def test_style_sheets_are_inline_before_a_document_is_searched_for_each(monkeypatch, around):
    monkeypatch.setattr(pn.config, "inline", True)
    searched, recompute, document = [], DocumentModelManager.recompute, Document()
    page = around(Explorer())
    with_sheets = sum(
        bool(urls(model)) for model in page.get_root(Document()).select({"type": UIElement})
    )
    assert with_sheets > 50
    root = page.get_root(document, JupyterCommManagerBinary.get_server_comm())
    add_to_doc(root, document)
    monkeypatch.setattr(
        DocumentModelManager, "recompute", lambda models: (searched.append(1), recompute(models))
    )
    shown = list(document.select({"type": UIElement}))
    for model in shown:  # as Panel does
        patch_inline_stylesheets(model)
    # for a column of Panel's own
    assert not any(urls(model) for model in shown) and len(searched) <= 1
    assert all(
        sheet.document is document
        for model in shown
        for sheet in model.stylesheets
        if not isinstance(sheet, str)
    )


def test_a_text_that_two_outputs_share_sends_no_style_sheet_again(monkeypatch):
    """Else Panel sends one by the id that it has in the output whose slider moved, which the other
    does not know.
    """
    monkeypatch.setattr(pn.config, "inline", True)
    outputs, words = [Document(), Document()], widgets.html("before", "words")
    for output in outputs:
        add_to_doc(
            widgets.component("curves", words).get_root(
                output, JupyterCommManagerBinary.get_server_comm()
            ),
            output,
            True,
        )

    async def moved():
        with set_curdoc(outputs[0]):
            words.object = "after < now"

    asyncio.run(moved())
    shown = [output.select_one({"type": HTML}) for output in outputs]
    assert [text.text for text in shown] == ["after &lt; now"] * 2 and not any(
        urls(text) for text in shown
    )


def test_where_notebooks_load_style_sheets_they_stay_addresses(monkeypatch):
    monkeypatch.setattr(pn.config, "inline", False)
    root = widgets.component("curves", pn.pane.HTML("words")).get_root(
        Document(), JupyterCommManagerBinary.get_server_comm()
    )
    assert any(urls(model) for model in root.select({"type": UIElement}))


def urls(model):
    """The addresses that a model's style sheets are loaded from."""
    return [sheet.url for sheet in model.stylesheets if isinstance(sheet, ImportedStyleSheet)]


def test_where_a_notebook_is_not_trusted_the_run_is_named_in_words(monkeypatch):
    """JupyterLab leaves scripts and styles out there; elsewhere the style hides the words."""
    shown = [None, ({"text/html": "<script></script>"}, {})]
    monkeypatch.setattr(pn.viewable.Viewer, "_repr_mimebundle_", lambda *_: shown.pop(0))
    explorer = Explorer()
    assert explorer._repr_mimebundle_() is None  # before `pn.extension()`
    html = explorer._repr_mimebundle_()[0]["text/html"]
    words, style, rest = re.fullmatch("(<p.*</p>)\n<style>(.*)</style>(.*)", html, re.S).groups()
    assert in_a_line(explorer.state.setting) in words and "trust this notebook" in words
    assert "display: none" in style and rest == "<script></script>"
