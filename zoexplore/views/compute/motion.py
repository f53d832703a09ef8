"""The miniature's runs and what the accountant says of it, for the page. No Panel here."""

from dataclasses import dataclass

from zoexplore.bounds import BOUNDS
from zoexplore.motion import Motion, simulate
from zoexplore.setting import Accounting, Setting
from zoexplore.views.compute.curve_set import guarantees
from zoexplore.views.compute.remember import remembered


@dataclass(frozen=True)
class Played:
    """What is played of a miniature: its pairs of runs, the smallest epsilon of its own, by which bound, and the least overlap
    that this leaves to any attacker.
    """

    motion: Motion
    bound: str
    epsilon: float
    least: float


@dataclass(frozen=True)
class Question:
    """A miniature, how it is accounted, and whether its pairs start apart. Never answered on the event loop: it takes a while."""

    run: Setting
    accounting: Accounting
    apart: bool


@remembered()
def played(question: Question) -> Played:
    """Simulate and account a miniature."""
    found = guarantees(question.run, question.accounting)
    best = min((g for g in found.values() if not BOUNDS[g.bound].comparator), key=lambda g: g.epsilon)
    least = 1 - best.advantage if best.valid else 0.0
    return Played(simulate(question.run, question.apart), best.bound, best.epsilon, least)
