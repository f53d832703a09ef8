"""What a notebook's page is sent: in the order in which it was sent, and with style sheets that are put inline all at once."""

from types import SimpleNamespace
from typing import Any

import panel as pn
from bokeh.models import ImportedStyleSheet, UIElement
from panel.io.notebook import patch_inline_stylesheets
from pyviz_comms import JupyterComm, JupyterCommManager


class InOrder(JupyterComm):
    """A way to a notebook's page that may be used from the beginning; `init` is called when the page opens it.

    Panel gives every early message a timer of its own, so that a later one may arrive first: a map that was complete before its
    page was there ended as its coarse version, under a bar that did not go away.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._early: list[dict[str, Any]] = []  # what is sent before there is a page

        def keep(data: Any = None, metadata: Any = None, buffers: Any = ()) -> None:
            self._early.append({"data": data, "metadata": metadata, "buffers": list(buffers)})

        self._comm = SimpleNamespace(send=keep, close=self._early.clear)

    def init(self) -> None:
        super().init()
        for message in self._early:
            self._comm.send(**message)
        self._early.clear()


def put_inline(model: UIElement) -> None:
    """Put the style sheets of a model's whole document inline.

    Panel does so model by model, and after each of them Bokeh looks through the document for new models: six of the seven seconds
    that the explorer took to appear.
    """
    if model.document is None:
        patch_inline_stylesheets(model)
    elif any(isinstance(sheet, ImportedStyleSheet) for sheet in model.stylesheets):
        with model.document.models.freeze():
            for each in model.document.select({"type": UIElement}):
                patch_inline_stylesheets(each)


def prepare() -> None:
    """Have whatever this process shows in notebooks be sent so."""
    JupyterCommManager.server_comm = InOrder
    pn.viewable.patch_inline_stylesheets = put_inline
