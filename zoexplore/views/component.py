"""`Component` and `Text`: parts that reach a notebook's page quickly and in order.

This module mends three faults of Panel, for the project's own components alone:

- Panel inlines a notebook's style sheets model by model, and Bokeh searches the whole document
  after each model: this took nine seconds for the explorer.
- Panel retries each change that is made before the page exists, and every such change has its own
  timer. So a later change may arrive first: an earlier, coarse map overwrote the finished one.
- Panel sends a pane's style sheets again with each change of its text. It may name them by ids of
  another cell's output, and the change is then lost.
"""

import asyncio
from html import escape
from types import SimpleNamespace
from typing import Any, ClassVar
from weakref import WeakSet

import panel as pn
from bokeh.document import Document
from bokeh.models import UIElement
from panel.io.notebook import patch_inline_stylesheets
from pyviz_comms import Comm, JupyterComm

from zoexplore.views.style import stylesheets

STILL = '<p role="note"><b>A picture: the controls do nothing.</b> zoexplore.lesson writes a file that moves.</p>'
AGAIN = 0.05  # seconds from one look for the page to the next


class InOrder(JupyterComm):
    """A queue that holds messages until Panel has opened its connection to a notebook's page."""

    def __init__(self, way: JupyterComm) -> None:
        super().__init__(way.id)
        self.way = way
        self._early: list[dict[str, Any]] = []
        # Panel takes any connection that has a `_comm` to be open
        self._comm = SimpleNamespace(send=self._queue, close=self._early.clear)

    def _queue(self, data: Any = None, metadata: Any = None, buffers: Any = ()) -> None:
        self._early.append({"data": data, "metadata": metadata, "buffers": list(buffers)})
        if len(self._early) == 1:
            self._pass_on()

    def _pass_on(self) -> None:
        try:
            page = self.way.comm
        except ValueError:  # not open yet
            asyncio.get_running_loop().call_later(AGAIN, self._pass_on)
            return
        for message in self._early:
            page.send(**message)
        self._early.clear()


class Text(pn.pane.HTML):
    """A pane of HTML that, when it changes, sends its text alone."""

    def _update(self, ref: str, model: Any) -> None:
        model.text = escape(self.object)


class Script(pn.custom.JSComponent):
    """A component that a script of the project draws, with its style sheets."""

    kind: ClassVar[str] = ""
    sheets: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **params: Any) -> None:
        look = {"css_classes": [f"zx-{self.kind}"], "stylesheets": [stylesheets.css(*self.sheets)]}
        super().__init__(**look | stylesheets.STRETCH | params)


class Named(pn.custom.JSComponent):
    """A component that labels Bokeh's unnamed elements in a notebook for screen readers."""

    _esm = stylesheets.script("named")


_with_names: WeakSet[Any] = WeakSet()  # roots of cells
_around: list[Any] = []  # the nested components whose models are being made, the outermost first


class Component(pn.Column):
    """A column whose style sheets are inlined as its models are made, if Panel inlines them."""

    def get_root(
        self, doc: Document | None = None, comm: Any = None, preprocess: bool = True
    ) -> Any:
        """Return the models of a notebook's cell, or of a page."""
        return super().get_root(
            doc, InOrder(comm) if isinstance(comm, JupyterComm) else comm, preprocess
        )

    def _get_model(
        self, doc: Document, root: Any = None, parent: Any = None, comm: Any = None
    ) -> Any:
        outermost = not _around
        _around.append(self)
        try:
            model = super()._get_model(doc, root, parent, comm)
        finally:
            _around.pop()
        if comm is not None and outermost and (whole := root or model) not in _with_names:
            _with_names.add(whole)
            names = Named(visible=False)._get_model(doc, whole, model, comm)
            saved = type(comm) is Comm and not pn.config.embed  # a file, in which no server answers
            still = [Text(STILL)._get_model(doc, whole, model, comm)] if saved else []
            model.children = [*still, *model.children, names]
        if comm is not None and pn.config.inline:
            for each in model.select({"type": UIElement}):
                patch_inline_stylesheets(each)
        return model
