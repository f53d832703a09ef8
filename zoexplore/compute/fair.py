"""Fairness: whoever has spent more of the server's time waits behind whoever has spent less, by start-time fair queueing.

Every address has one account, in seconds. It pays for its bytes, messages, pages and redraws, and for calls in worker processes.
The cost need not be known beforehand, and an idle address saves up nothing.

P. Goyal, H. M. Vin, H. Cheng, Start-time fair queueing, IEEE/ACM Transactions on Networking 5 (1997), doi:10.1109/90.649569.
"""

import threading
from collections.abc import Callable, Hashable
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Generic, TypeVar

T = TypeVar("T")
HOUSEHOLD = 48  # bits of an IPv6 address that its owner does not choose
MANY = 1000  # accounts after which those that owe nothing are closed


class Budget:
    """The accounts of all addresses, for several threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paid: dict[Hashable, float] = {}  # seconds up to which an address has been served, on the budget's own clock
        self._now = 0.0  # that clock: the start of the last call served

    def place(self, address: Hashable) -> float:
        """Where an address stands, in seconds on the budget's own clock: the lowest place comes first."""
        return max(self._now, self._paid.get(address, 0.0))

    def begin(self, address: Hashable) -> None:
        """Note that this address is served next."""
        self._now = self.place(address)

    def charge(self, address: Hashable, seconds: float) -> None:
        """Charge an address; a negative amount is a refund."""
        with self._lock:
            if len(self._paid) > MANY:
                self._paid = {of: paid for of, paid in self._paid.items() if paid > self._now}
            self._paid[address] = self.place(address) + seconds


class FairQueue(Generic[T]):
    """A queue that serves addresses fairly, by their accounts in `budget`, or in one of its own. Among one address's items the
    least `rank` comes first, then the oldest.
    """

    def __init__(self, budget: Budget | None = None, rank: Callable[[T], Any] = lambda _: 0) -> None:
        self.budget, self._rank = budget or Budget(), rank
        self._waiting: dict[Hashable, list[T]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, address: Hashable, thing: T) -> None:
        """Add an item to the queue."""
        self._waiting.setdefault(address, []).append(thing)

    def take(self, allowed: Callable[[T], bool] = lambda _: True) -> T | None:
        """Remove and return the next allowed item. None where there is none."""
        for address in sorted(self._waiting, key=self.budget.place):
            thing = min(filter(allowed, self._waiting[address]), key=self._rank, default=None)
            if thing is not None:
                self.budget.begin(address)
                self.remove(address, thing)
                return thing
        return None

    def remove(self, address: Hashable, thing: T) -> bool:
        """Remove an item; returns whether it was waiting."""
        things = self._waiting.get(address, [])
        if thing not in things:
            return False
        things.remove(thing)
        if not things:
            del self._waiting[address]
        return True


budget = Budget()  # of this process


def counted_address(given: str) -> str:
    """The counted address: a holder of one IPv6 address may hold its whole /48 network, so that network counts as one."""
    address = ip_address(given.partition("%")[0])
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ip_network((address, HOUSEHOLD), strict=False))
