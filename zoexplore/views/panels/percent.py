"""A probability as a box of text: 1 %, or 0.01."""

from typing import Any

import panel as pn
import param

from zoexplore.formatting import format_share, parse_share
from zoexplore.views.style import theme


class Percent(pn.viewable.Viewer):
    """One param that is a probability, typed as a share or as a percentage; what cannot be is refused, and the text goes back."""

    refusal = param.String("", doc="why the last text was refused; empty once one is accepted")

    def __init__(self, owner: param.Parameterized, name: str, label: str, sheet: str = "share", **params: Any) -> None:
        super().__init__(**params)
        self.owner, self.of = owner, name
        self.text = pn.widgets.TextInput(
            label=label, value=self.shown(), css_classes=["zx-field"],
            stylesheets=[theme.css("field", "target", sheet)], **theme.STRETCH,
        )  # fmt: skip
        self.text.param.watch(self._typed, "value")
        owner.param.watch(self.show, name)

    def shown(self) -> str:
        """The param's value as text."""
        return format_share(getattr(self.owner, self.of))

    def show(self, *_: Any) -> None:
        """Write the param's value into the text."""
        self.text.value = self.shown()

    def _typed(self, event: Any) -> None:
        if event.new == self.shown():
            return
        try:
            self.owner.param.update(**{self.of: parse_share(event.new)})
            self.refusal = ""
        except ValueError as error:
            self.refusal = f"{self.text.label} = {event.new[:40]!r} is not allowed: {error}"
        self.show()

    def __panel__(self) -> pn.viewable.Viewable:
        return self.text
