"""`Tab`, a view that works only while somebody looks at it."""

from typing import Any

import panel as pn
import param

from zoexplore.views.ahead import Ahead, Need
from zoexplore.views.state import State


class Tab(pn.viewable.Viewer):
    """A view of a state that can be put to sleep: while `active` is false it computes nothing; shown, it catches up.

    Subclasses build themselves in `__init__`, redraw in `refresh`, say in `needs` what that calls, and call `follow` last.
    """

    active = param.Boolean(True, doc="whether anybody looks at it")
    waiting = param.Boolean(False, doc="whether what is drawn is of an earlier state, and the present one is computed")

    def __init__(self, state: State | None = None, dark: bool = False, **params: Any) -> None:
        super().__init__(**params)
        self.state = state or State()
        self.dark = dark
        self._stale = False
        self._ahead = Ahead(self.needs, self._catch_up, lambda waiting: self.param.update(waiting=waiting))

    def follow(self) -> None:
        """Redraw with every change of the run or of the accounting."""
        self.state.param.watch(self.changed, ["setting", "accounting"])
        self.param.watch(self._woken, "active")

    def changed(self, *_: Any) -> None:
        """Redraw now, or as soon as somebody looks, and as soon as what that needs is computed."""
        self._stale = not self.active
        if self.active:
            self._ahead()

    def _woken(self, *_: Any) -> None:
        if self.active and self._stale:
            self.changed()

    def _catch_up(self) -> None:
        self._stale = not self.active  # nobody may look any more when what was computed comes
        if self.active:
            self.refresh()

    def settle(self) -> None:
        """Redraw now, even if that takes a second: what is saved must be of the state that its title names."""
        if self.waiting or self._stale:
            self.waiting = self._stale = False
            self.refresh()

    def needs(self) -> list[Need]:
        """What `refresh` calls."""
        return []

    def refresh(self) -> None:
        """Show what the state is now."""

    def paint(self, dark: bool) -> None:
        """Draw in the colours of a scheme."""
        self.dark = dark
