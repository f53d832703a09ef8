"""The explorer: controls, tabs and read-outs over one state."""

from typing import Any

import panel as pn

from zoexplore.setting import Accounting, Setting
from zoexplore.views import theme
from zoexplore.views.controls import Controls
from zoexplore.views.readouts import Readouts
from zoexplore.views.state import State
from zoexplore.views.tabs import Tabs

_TITLE = """<h1>zoexplore</h1>
<p>How private is a zeroth-order training run of which only the last iterate is released?</p>"""
_SCHEME = "document.documentElement.style.colorScheme = cb_obj.active ? 'dark' : 'light'"


class Explorer(pn.viewable.Viewer):
    """The whole page as one component, for `app.py` and for a notebook cell alike."""

    def __init__(
        self, setting: Setting | None = None, accounting: Accounting | None = None, **params: Any
    ) -> None:
        super().__init__(**params)
        self.state = State(setting, accounting)
        self.controls, self.tabs, self.readouts = (part(state=self.state) for part in (Controls, Tabs, Readouts))
        self.curves = self.tabs["curves"]
        self.dark = pn.widgets.Toggle(
            label="Dark", css_classes=["zx-scheme"], stylesheets=[theme.css("button")], margin=0, align="center"
        )
        self.dark.jscallback(active=_SCHEME)
        self.dark.param.watch(lambda event: self.tabs.paint(event.new), "value")
        self._follow_the_browser()

    def _follow_the_browser(self) -> None:
        """Start in the scheme that the reader's browser prefers, as soon as it has told."""
        browser = pn.state.browser_info if pn.state.curdoc else None
        if browser is None:
            return
        if browser.dark_mode is not None:
            self.dark.value = browser.dark_mode
        browser.param.watch(lambda event: self.dark.param.update(value=bool(event.new)), "dark_mode")

    def __panel__(self) -> pn.viewable.Viewable:
        layout = theme.STRETCH
        title = pn.pane.HTML(_TITLE, stylesheets=[theme.css("text", "title")], **layout)
        header = pn.Row(title, self.dark, css_classes=["zx-header"], **layout)
        answer = pn.Column(self.readouts.verdict, self.tabs.__panel__(), css_classes=["zx-answer"], **layout)
        numbers = pn.Column(self.readouts.table, self.readouts.fold, css_classes=["zx-numbers"], **layout)
        return pn.Column(
            header,
            self.controls.__panel__(),
            answer,
            numbers,
            css_classes=["zx-explorer"],
            stylesheets=[theme.root("explorer")],
            **layout,
        )
