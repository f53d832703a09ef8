"""Whose turn it is: of those who wait, the address that has spent least, by start-time fair queueing.

P. Goyal, H. M. Vin, H. Cheng, Start-time fair queueing, IEEE/ACM Transactions on Networking 5 (1997), doi:10.1109/90.649569.
What a thing costs need not be known before it is done, and who comes back after a while has saved up nothing.
"""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
MANY = 1000  # addresses after which those that owe nothing are forgotten


class FairQueue(Generic[T]):
    """What waits, by address.

    Args:
        rank: of the things of one address, those of the least rank come first, and of equal ones those that came first.
    """

    def __init__(self, rank: Callable[[T], Any] = lambda _: 0) -> None:
        self._rank = rank
        self._lines: dict[Hashable, list[T]] = {}
        self._paid: dict[Hashable, float] = {}  # seconds up to which an address has been served, on the queue's own clock
        self._now = 0.0  # that clock: where whoever was served last began

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def count(self, address: Hashable) -> int:
        """How many things of an address wait."""
        return len(self._lines.get(address, ()))

    def add(self, address: Hashable, thing: T) -> None:
        """Have a thing wait."""
        self._lines.setdefault(address, []).append(thing)

    def take(self, allowed: Callable[[T], bool] = lambda _: True) -> T | None:
        """The next thing, of those that are allowed; it waits no longer. None where there is none."""
        for address in sorted(self._lines, key=self.due):
            thing = min(filter(allowed, self._lines[address]), key=self._rank, default=None)
            if thing is not None:
                self._now = self.due(address)
                self.remove(address, thing)
                return thing
        return None

    def remove(self, address: Hashable, thing: T) -> bool:
        """Have a thing wait no longer; whether it did."""
        line = self._lines.get(address, [])
        if thing not in line:
            return False
        line.remove(thing)
        if not line:
            del self._lines[address]
        return True

    def due(self, address: Hashable) -> float:
        """The place of an address in the order, on the queue's own clock."""
        return max(self._now, self._paid.get(address, 0.0))

    def charge(self, address: Hashable, seconds: float) -> None:
        """Have an address pay for what it was given; a negative amount gives back what was charged too much."""
        if len(self._paid) > MANY:
            self._paid = {of: paid for of, paid in list(self._paid.items()) if paid > self._now}
        self._paid[address] = self.due(address) + seconds


event_loop: FairQueue[Any] = FairQueue()  # of a server's one thread, in seconds of a processor
