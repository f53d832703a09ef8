"""Privacy losses of a mechanism of which only pairs (epsilon, delta) are known. All pairs hold
(docs/batches.md, "Several runs").

The mechanism's hockey-stick divergence at exp(epsilon_i) is at most delta_i in both directions, and
convex in exp(epsilon). So it lies below the lower hull of the points (exp(epsilon_i), delta_i). The
hull is the divergence of a pair of discrete laws: at each corner the hull's slope rises by the
mass that the second law has there.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from zoexplore.bounds.loss_distribution import Atoms
from zoexplore.bounds.tradeoff import TradeOff

SLACK = 1e-12  # the fraction by which each delta is raised, against the hull's rounding
LARGEST = 600.0  # the largest loss whose exponential is taken
LEAST = 1e-6  # the least loss of a corner; below it, rounding errors are as large as the mass


@dataclass(frozen=True)
class Pairs:
    """Describes `count` mechanisms with the same known pairs (epsilon, delta), shape (P,)."""

    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    count: float = 1.0

    @cached_property
    def _corners(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """(losses, first, second, lost): the losses above 0 at the hull's corners, the masses of
        both laws there, each of shape (C,), and the mass whose loss counts as infinite.
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
        """The losses at the hull's corners, their negatives, and 0."""
        e, first, second, lost = self._corners
        rest = max(1.0 - lost - float((first + second).sum()), 0.0)
        return Atoms(np.r_[-e[::-1], 0.0, e], np.r_[second[::-1], rest, first], lost, self.count)


def _bends(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> bool:
    """Say whether b lies below the chord from a to c."""
    return (b[2] - a[2]) * (c[1] - b[1]) < (c[2] - b[2]) * (b[1] - a[1])
