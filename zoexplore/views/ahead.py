"""`Ahead`: draw what is quick to compute at once, and all else when another process has computed it."""

from collections.abc import Callable
from typing import Any

from zoexplore.views.kept import Kept
from zoexplore.views.tasks import change, start
from zoexplore.views.worker import LIVE, compute

Need = tuple[Kept, tuple]  # a function, and the arguments that drawing will call it with


class Ahead:
    """Sees to it that whatever a drawing needs is computed before it is drawn, and never on the event loop if it is slow.

    Args:
        needs: what drawing the present state calls.
        draw: draws it.
        waiting: told True when drawing has to wait, False when it need not, or nothing will come.

    One call at a time is in the air; a state that is overtaken is computed no further.
    """

    def __init__(self, needs: Callable[[], list[Need]], draw: Callable[[], None], waiting: Callable[[bool], None]) -> None:
        self._needs, self._draw, self._waiting = needs, draw, waiting
        self._missing: list[Need] = []
        self._running = False

    def __call__(self) -> None:
        """Draw the present state, now or as soon as what it needs is there."""
        self._missing = _missing(self._needs())
        self._waiting(bool(self._missing))
        if not self._missing:
            self._draw()
        elif not self._running:
            self._running = True
            start(self._compute, self._failed)

    async def _compute(self) -> None:
        while self._missing:
            call, args = self._missing[0]
            call.keep(args, await compute(call, *args, lane=LIVE))
            self._missing = _missing(self._missing)
        self._running = False
        change(self)

    def _failed(self) -> None:
        self._running, self._missing = False, []
        self._waiting(False)


def _missing(needs: list[Need]) -> list[Need]:
    return [(call, args) for call, args in needs if not call.ready(*args)]


def now(state: Any, *calls: Kept) -> list[Need]:
    """Functions of a state's setting and accounting."""
    return [(call, (state.setting, state.accounting)) for call in calls]
