"""`Tab`, a view that works only while somebody looks at it."""

from typing import Any

import panel as pn
import param

from zoexplore.views.state import State


class Tab(pn.viewable.Viewer):
    """A view of a state that can be put to sleep: while `active` is false it computes nothing; shown, it catches up.

    Subclasses build themselves in `__init__`, redraw in `refresh`, and call `follow` last.
    """

    active = param.Boolean(True, doc="whether anybody looks at it")

    def __init__(self, state: State | None = None, dark: bool = False, **params: Any) -> None:
        super().__init__(**params)
        self.state = state or State()
        self.dark = dark
        self._stale = False

    def follow(self) -> None:
        """Redraw with every change of the run or of the accounting."""
        self.state.param.watch(self.changed, ["setting", "accounting"])
        self.param.watch(self._woken, "active")

    def changed(self, *_: Any) -> None:
        """Redraw now, or as soon as somebody looks."""
        self._stale = not self.active
        if self.active:
            self.refresh()

    def _woken(self, *_: Any) -> None:
        if self.active and self._stale:
            self.changed()

    def refresh(self) -> None:
        """Show what the state is now."""

    def paint(self, dark: bool) -> None:
        """Draw in the colours of a scheme."""
        self.dark = dark
