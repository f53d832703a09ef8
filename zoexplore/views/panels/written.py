"""A view that is one pane of text, under the numbers that it belongs to."""

from typing import Any, ClassVar

import panel as pn

from zoexplore.views.state import State
from zoexplore.views.style import theme
from zoexplore.views.view import View


class Written(View):
    """Its `refresh` writes the pane, which is veiled while it is of an earlier state; no figure waits for it."""

    css_class: ClassVar[str]
    sheet: ClassVar[str]

    def __init__(self, state: State | None = None, dark: bool = False, **params: Any) -> None:
        super().__init__(state, dark, **params)
        sheets = [theme.root("text", self.sheet, "waiting")]
        self.pane = pn.pane.HTML("", css_classes=[self.css_class], stylesheets=sheets, **theme.STRETCH)
        self.param.watch(self._veil, "waiting")
        self.follow(precedence=1)

    def _veil(self, *_: Any) -> None:
        self.pane.css_classes = [self.css_class, *([theme.VEILED] if self.waiting else [])]

    def __panel__(self) -> pn.viewable.Viewable:
        return self.pane
