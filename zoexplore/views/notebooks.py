"""`Component`: parts that a notebook's page is sent quickly and in order.

Panel puts a notebook's style sheets inline model by model, and after each of them Bokeh searches the whole document:
nine seconds for the explorer. And what changes before the page is there it sends again and again, each message by a
timer of its own, so that a later one may arrive first: a map that was complete ended as its coarse version. Both are
mended here for our own components, and for nobody else's.
"""

import asyncio
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import panel as pn
from bokeh.document import Document
from bokeh.models import UIElement
from panel.io.notebook import patch_inline_stylesheets
from pyviz_comms import JupyterComm

from zoexplore.views.style import theme

AGAIN = 0.05  # seconds after which it is asked again whether the page is there


class InOrder(JupyterComm):
    """A queue before Panel's own way to a notebook's page, which Panel opens when the page is there."""

    def __init__(self, way: JupyterComm) -> None:
        super().__init__(way.id)
        self.way = way
        self._early: list[dict[str, Any]] = []
        self._comm = SimpleNamespace(send=self._queue, close=self._early.clear)  # by which Panel takes it for open

    def _queue(self, data: Any = None, metadata: Any = None, buffers: Any = ()) -> None:
        self._early.append({"data": data, "metadata": metadata, "buffers": list(buffers)})
        if len(self._early) == 1:
            self._pass_on()

    def _pass_on(self) -> None:
        try:
            page = self.way.comm
        except ValueError:  # it is not open yet
            asyncio.get_running_loop().call_later(AGAIN, self._pass_on)
            return
        for message in self._early:
            page.send(**message)
        self._early.clear()


class Named(pn.custom.JSComponent):
    """Gives names to what Bokeh leaves without, for screen readers; a page has its own script for it."""

    _esm = theme.script("named")


_with_names: WeakSet[Any] = WeakSet()  # roots of cells


class Component(pn.Column):
    """A column that is complete as it is made: with its style sheets, where a notebook has them inline."""

    def get_root(self, doc: Document | None = None, comm: Any = None, preprocess: bool = True) -> Any:
        """The models of a notebook's cell, or of a page."""
        return super().get_root(doc, InOrder(comm) if isinstance(comm, JupyterComm) else comm, preprocess)

    def _get_model(self, doc: Document, root: Any = None, parent: Any = None, comm: Any = None) -> Any:
        model = super()._get_model(doc, root, parent, comm)
        if comm is not None and (whole := root or model) not in _with_names:
            _with_names.add(whole)
            model.children = [*model.children, Named(visible=False)._get_model(doc, whole, model, comm)]
        if comm is not None and pn.config.inline:
            for each in model.select({"type": UIElement}):
                patch_inline_stylesheets(each)
        return model
