"""Pace: tabs of one address take turns at having their changes taken up, fewer of them while the process has too much to do.

A connection's own limit bounds one tab; many tabs of one visitor, each with a slider that is dragged, would hold up all others.
"""

import asyncio
from math import inf

from zoexplore.views.server.limits import MOVES_PER_ADDRESS

LOOK = 0.1  # seconds between two looks at how late the event loop is
LATE = 0.05  # seconds late at which the tabs of an address have half of their turns
FORGET = 0.8  # the share of an earlier lateness that still counts at the next look
MANY = 1000  # addresses after which those that wait for nothing are forgotten


class Pace:
    """When the next change from each address may be taken up."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, int]] = {}  # each address's last turn: when it is, and which tab's
        self.late = 0.0  # seconds, lately

    def wait(self, address: str, tab: int, now: float) -> float:
        """Take a turn: how long a tab of an address has to wait for it from `now` on, in seconds of the event loop's clock."""
        if len(self._last) > MANY:
            self._last = {of: turn for of, turn in self._last.items() if turn[0] > now}
        due, other = self._last.get(address, (-inf, tab))
        shares = 1.0 if other == tab else 1 + self.late / LATE
        start = max(now, due + shares / MOVES_PER_ADDRESS.value)
        self._last[address] = start, tab
        return start - now

    async def watch(self) -> None:
        """Look again and again how late the event loop is."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LOOK
            await asyncio.sleep(LOOK)
            self.late = max(loop.time() - due, FORGET * self.late)
