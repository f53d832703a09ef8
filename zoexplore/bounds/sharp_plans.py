"""Plans of the sharper bound for many runs, and the tails of their random cost (docs/sharp.md, "The
recursion").

Every choice made here is sound, because the bound holds for any fractions and any order of the
norm.
"""

from typing import NamedTuple

import numpy as np

from zoexplore.bounds.drifts import norms_of
from zoexplore.bounds.kernels import sharp_plans as kernels
from zoexplore.bounds.kernels.blocks import blocks_of
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.rows import Rows

# the orders of the norm at which tails are taken
ORDERS = np.array([2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 256.0, 2048.0])
# the number of parts into which an epoch is cut: the step that uses the record, and PARTS - 1
# stretches of the other steps, each with constant fractions
PARTS = 9


class Plans(NamedTuple):
    """Holds one plan for each row: the typical distances `x`, shape (rows, parts); the `fractions`,
    shape (rows, 4, parts); and, each of shape (rows,), how many blocks are `counted`, their number
    of `steps` or epochs, and the planned `cost`.
    """

    x: np.ndarray
    fractions: np.ndarray
    counted: np.ndarray
    steps: np.ndarray
    cost: np.ndarray

    def at(self, index: np.ndarray) -> "Plans":
        """Return the plans at `index`."""
        return Plans(*(column[index] for column in self))


class Tails(NamedTuple):
    """Says how likely plans are to cost more than a number: a plan's cost exceeds Y + X
    p^(-1/power) with a probability of at most p. All shapes are (rows, tails).
    """

    X: np.ndarray
    Y: np.ndarray
    power: np.ndarray

    def at(self, index: np.ndarray) -> "Tails":
        """Return the tails of the rows at `index`."""
        return Tails(*(column[index] for column in self))

    def exceeded(self, level: np.ndarray) -> Numbers:
        """Return the cost that each tail exceeds with a probability of at most `level`, shape
        (rows, tails).
        """
        with np.errstate(all="ignore"):
            return np.nan_to_num(
                self.Y + self.X * np.exp(-np.log(level)[:, None] / self.power), nan=np.inf
            )


def _parts(rows: Rows) -> int:
    """Return the number of parts into which a period is cut: a step that uses the record, and the
    steps before it that do not.
    """
    return PARTS if rows.apart.any() else 1


def plan(rows: Rows, rounds: int) -> Plans:
    """Plan each row at its own order, in at most `rounds` rounds."""
    norms = norms_of(rows, rows.order[:, None].copy())
    blocks = max(
        blocks_of(rows.most[of], far)
        for far in (False, True)
        if (of := (rows.far > 0) == far).any()
    )
    size = blocks * _parts(rows)
    x, fractions = np.empty((rows.size, size)), np.zeros((rows.size, 4, size))
    X, Y, counted, steps = kernels.plan_rows(rows, norms, _parts(rows), rounds, x, fractions).T
    return Plans(x, fractions, counted, steps, norms.tilt[:, 0] ** 2 * X + Y)


def tails_of(rows: Rows, plans: Plans, orders: np.ndarray) -> Tails:
    """Compute the tails of the plans' costs, one from the norm at each of the `orders`, shape
    (rows, orders).
    """
    found = kernels.tails_of(
        rows, norms_of(rows, orders), _parts(rows), plans.x, plans.fractions, plans.counted
    )
    X, Y, sure = found[..., 0], found[..., 1], rows.certain[:, None] > 0
    return Tails(np.where(sure, 0.0, X), np.where(sure, X + Y, Y), orders)


def followed(rows: Rows, plans: Plans) -> tuple[np.ndarray, np.ndarray]:
    """Return (z, lengths) for one row's plan: the typical distance in each block, and the block's
    number of steps. Both have shape (blocks,), and the run's last block comes first.
    """
    count = int(plans.counted[0])
    run = kernels.run_of(rows, norms_of(rows, rows.order[:, None].copy()), 0, 1, plans.x.shape[1])
    z = np.zeros(count)
    kernels.forward(run, kernels.Plan(z, plans.fractions[0]), count, 0.0)
    return z, np.diff(run.edges[: count + 1]).astype(int)
