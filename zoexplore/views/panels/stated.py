"""The statement: what the smallest guarantee says, in full, to be copied as text or as JSON."""

from html import escape
from typing import Any

import panel as pn

from zoexplore.views.compute.ask import ask
from zoexplore.views.compute.curve_set import guarantees
from zoexplore.views.compute.statements import stated
from zoexplore.views.panels.readouts import smallest
from zoexplore.views.panels.toolbar import copier
from zoexplore.views.state import State
from zoexplore.views.style import theme
from zoexplore.views.view import View

_SAYS = "<p>For a paper or a model card: what is protected, what may be seen, what was assumed and what is not covered.</p>"


class Stated(View):
    """A card with the statement, which is written while it is open."""

    def __init__(self, state: State | None = None, dark: bool = False, **params: Any) -> None:
        super().__init__(state, dark, active=False, **params)
        self.text = pn.pane.HTML("", stylesheets=[theme.css("text", "code", "statement")], **theme.STRETCH)
        self.copiers = {"text": copier("Copy text", "#"), "json": copier("Copy JSON", "#")}
        look = {"css_classes": ["zx-tools"], "stylesheets": [theme.css("tools")], "margin": 0}
        row = pn.Row(*self.copiers.values(), **look)
        self.fold = pn.Card(
            pn.pane.HTML(_SAYS, stylesheets=[theme.css("text", "hint")], margin=0),
            pn.Column(row, self.text, **theme.STRETCH),  # which a closed card hides; the row's own sheet would show it
            title="Statement to copy",
            collapsed=True,
            css_classes=["zx-fold"],
            stylesheets=[theme.css("fold")],
            **theme.STRETCH,
        )
        self.fold.param.watch(lambda event: self.param.update(active=not event.new), "collapsed")
        self.follow(precedence=1)

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        best = smallest(await ask(guarantees, *run))
        words, data = await ask(stated, *run, best.bound)
        with pn.io.hold():
            self.copiers["text"].tags, self.copiers["json"].tags = [words], [data]
            self.text.object = f'<pre tabindex="0" aria-label="statement of the guarantee">{escape(words)}</pre>'

    def __panel__(self) -> pn.viewable.Viewable:
        return self.fold
