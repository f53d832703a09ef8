"""Privacy losses of a mechanism that is known by pairs (epsilon, delta), all of which hold
(docs/batches.md, "Several runs").

The mechanism's hockey-stick divergence at exp(epsilon_i) is at most delta_i in both directions, and
convex in exp(epsilon). So it lies below the lower hull of these points. The hull is the divergence
of a pair of discrete laws: at each corner its slope falls by the second law's mass.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from zoexplore.bounds.loss_distribution import Atoms
from zoexplore.bounds.tradeoff import TradeOff

SLACK = 1e-12  # the part by which each delta is raised for the hull's roundings
LARGEST = 600.0  # the largest loss whose exponential is taken
LEAST = 1e-6  # the least loss of a corner: below it, roundings are as large as the mass


@dataclass(frozen=True)
class Pairs:
    """Describes `count` mechanisms, each with all these pairs, shape (P,)."""

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    count: float = 1.0

    @cached_property
    def _corners(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """The hull's losses above 0, the masses of both laws there, all of shape (C,), and the mass
        that counts as infinite.
        """
        kept = [
            (e, d) for e, d in zip(self.epsilons, self.deltas, strict=True) if LEAST < e <= LARGEST
        ]
        whole = TradeOff(epsilons=self.epsilons, deltas=self.deltas).advantage
        points = [(0.0, 0.0, min(whole, 1.0))]  # the loss, exp(loss) - 1, and the divergence there
        for e, d in sorted(kept):
            point = (e, float(np.expm1(e)), min(d * (1 + SLACK), points[-1][2]))
            while len(points) > 1 and not _bends(points[-2], points[-1], point):
                points.pop()
            points.append(point)
        e, x, y = np.array(points).T
        slopes = np.append(np.diff(y) / np.diff(x), 0.0)
        second = np.diff(slopes).clip(min=0.0)
        return e[1:], second * np.exp(e[1:]), second, float(y[-1])

    @property
    def atoms(self) -> Atoms:
        """The losses on the hull, with those below 0 and 0 itself."""
        e, first, second, lost = self._corners
        rest = max(1.0 - lost - float((first + second).sum()), 0.0)
        return Atoms(np.r_[-e[::-1], 0.0, e], np.r_[second[::-1], rest, first], lost, self.count)


def _bends(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> bool:
    """Say whether b lies below the chord from a to c."""
    return (b[2] - a[2]) * (c[1] - b[1]) < (c[2] - b[2]) * (b[1] - a[1])
