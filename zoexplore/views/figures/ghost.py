"""The ghost of a curve: its shape and number before a change, shown for two seconds."""

import asyncio
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import param

from zoexplore.bounds.bound import Style
from zoexplore.compute.session_task import SessionTask, event_loop_is_running
from zoexplore.run.setting import Accounting, Setting
from zoexplore.views.figures.chart import line
from zoexplore.views.state import State
from zoexplore.views.style import theme

SECONDS = 2.0
STYLE = Style(theme.COLOURS["edge"], (3, 4), 1.6)
# Numbers under different suppositions are never compared.
SUPPOSED = ("regime", "lipschitz", "clipping", "linear", "neighbours", "records_per_person", "releases", "sampling", "delta")


def supposition(setting: Setting, accounting: Accounting) -> tuple[Any, ...]:
    """The supposition of a guarantee."""
    return (*(getattr(setting, name, None) for name in SUPPOSED), replace(accounting, schedule="constant"))


class Ghost(param.Parameterized):
    """The curve before a change of the run, or before a drag, with its number."""

    before = param.Number(None, allow_None=True, doc="epsilon before the change; none where nothing is compared")
    lines = param.List([], doc="the curve before it, if any")

    def __init__(self, state: State) -> None:
        super().__init__()
        self._fading = SessionTask()
        self._shown: tuple[Any, ...] = ()  # the drawn run, its supposition, the curve, epsilon and places
        self._from: tuple[Any, ...] = ()  # the same, at the start of a drag
        state.param.watch(self._released, "moving")

    def follow(self, state: State, kind: str, epsilon: float, x: np.ndarray, y: np.ndarray) -> None:
        """Show a redrawn curve's previous shape, unless that had another supposition."""
        now = (state.setting, supposition(state.setting, state.accounting), kind, epsilon, x, y)
        before = self._from or self._shown
        if before and before[0] != now[0] and before[1:3] == now[1:3]:
            if state.moving:
                self._from = before
            if before[3] != epsilon and max(before[3], epsilon) < inf:
                self._show(before)
        elif before and before[1:3] != now[1:3]:
            self._clear()
        self._shown = now

    def _released(self, event: Any) -> None:
        if not event.new:
            self._from = ()

    def _show(self, before: tuple[Any, ...]) -> None:
        self.param.update(before=before[3], lines=[line("ghost", before[4], before[5], STYLE, reads=False)])
        self._fading.stop()
        if event_loop_is_running():
            self._fading = SessionTask(self._fade)

    async def _fade(self) -> None:
        await asyncio.sleep(SECONDS)
        self._clear()

    def _clear(self) -> None:
        self._from = ()
        self.param.update(before=None, lines=[])
