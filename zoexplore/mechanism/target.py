"""A run's target epsilon: what is spent, what is left, and the noise that keeps to the target."""

from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import NamedTuple

from zoexplore.mechanism.guarantees import composition
from zoexplore.mechanism.record import RunRecord, Step
from zoexplore.run.limits import LARGEST_INTEGER
from zoexplore.run.setting import Accounting

CLOSE = 1e-4  # the relative excess that solved noise may have over the least
POWERS = range(-200_000, 200_000)  # the powers of 1 + `CLOSE` to try, from 2e-9 to 5e8
# the relative margin below the target for which noise is solved: epsilon is not smooth in noise
MARGIN = 1e-5
HEADROOM = 1e-9  # the relative excess of planned noise over the least, for rounding


class Left(NamedTuple):
    """What a run may still spend.

    Args:
        spent: epsilon so far by composition, which holds even if every iterate is seen.
        target: the largest epsilon allowed.
        steps: how many more steps like the next one keep to the target.
    """

    spent: float
    target: float
    steps: int


def spent(record: RunRecord, step: Step | None = None, count: int = 0) -> float:
    """Return epsilon by composition for a record's entries and `count` more entries like `step`."""
    stages = (*record.stages, (step, count)) if step is not None and count else record.stages
    whole = replace(record, stages=stages)
    return composition(whole, Accounting(sensitivity="clip")).epsilon if whole.steps else 0.0


def steps_left(record: RunRecord, step: Step, target: float) -> int:
    """Return how many more entries like `step` keep to a target."""

    def reached(count: int) -> float:
        return spent(record, step, count)

    bad = 1
    while bad < LARGEST_INTEGER and reached(bad) <= target:
        bad *= 2
    return bisect_right(range(1, bad), target, key=reached)


def noise_for(record: RunRecord, step: Step, count: int, target: float) -> float:
    """Find the least sigma, up to a factor of 1 + `CLOSE`, with which `count` more entries like
    `step` keep to a target.

    Raises:
        ValueError: the record exceeds the target already, or leaves nothing for more entries.
    """
    if (already := spent(record)) > target:
        raise ValueError(
            f"ε = {target:g} is not allowed: the steps so far cost {already:.4g}; give a larger one, or begin anew"
        )

    def at(power: int) -> Step:
        return replace(step, sigma=step.sigma * (1 + CLOSE) ** power)

    def keeps(power: int) -> bool:
        return spent(record, at(power), count) <= target * (1 - MARGIN)

    found = POWERS[0] + bisect_left(POWERS, True, key=keeps)
    if found not in POWERS:
        raise ValueError(
            f"ε = {target:g} leaves nothing for {count} more steps: give a larger one, or fewer steps"
        )
    return at(found).sigma
