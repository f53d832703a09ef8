"""A target epsilon that every entry of a run keeps: what is spent, what is left, and the noise for
the rest.
"""

from dataclasses import replace
from math import sqrt
from typing import NamedTuple

from zoexplore.mechanism.guarantees import composition
from zoexplore.mechanism.record import RunRecord, Step
from zoexplore.run.setting import LARGEST_INTEGER, Accounting

CLOSE = 1e-4  # relative, by which solved noise may exceed the least
# relative, below the target, at which noise is solved for: sums of losses are not smooth in it
MARGIN = 1e-5
HEADROOM = 1e-9  # relative: noise planned beyond the least, so that rounding exceeds no target


class Left(NamedTuple):
    """What a run may still spend.

    Args:
        spent: epsilon so far, by composition: it holds even if every iterate is seen.
        target: epsilon, at most.
        steps: how many more steps like the next one keep to it.
    """

    spent: float
    target: float
    steps: int


def spent(record: RunRecord, step: Step | None = None, count: int = 0) -> float:
    """Epsilon by composition of a record's entries, and of so many more."""
    stages = (*record.stages, (step, count)) if step is not None and count else record.stages
    whole = replace(record, stages=stages)
    return composition(whole, Accounting(sensitivity="clip")).epsilon if whole.steps else 0.0


def steps_left(record: RunRecord, step: Step, target: float) -> int:
    """How many more entries keep to a target."""
    if spent(record, step, 1) > target:
        return 0
    good, bad = 1, 2
    while bad < LARGEST_INTEGER and spent(record, step, bad) <= target:
        good, bad = bad, 2 * bad
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if spent(record, step, middle) <= target else (good, middle)
    return good


def noise_for(record: RunRecord, step: Step, count: int, target: float) -> float:
    """The least sigma, but for `CLOSE`, with which so many entries like this one keep to a target.

    Raises:
        ValueError: the record exceeds it already.
    """
    if (already := spent(record)) > target:
        raise ValueError(
            f"ε = {target:g} is not allowed: the steps so far cost {already:.4g}; give a larger one, or begin anew"
        )
    limit = target * (1 - MARGIN)
    bad = good = step.sigma
    while spent(record, replace(step, sigma=good), count) > limit:
        bad, good = good, 2 * good
        if good > 1e100:
            raise ValueError(
                f"ε = {target:g} leaves nothing for {count} more steps: give a larger one, or fewer steps"
            )
    while bad == good or spent(record, replace(step, sigma=bad), count) <= limit:
        bad, good = bad / 2, bad
    while good > bad * (1 + CLOSE):
        middle = sqrt(good * bad)
        good, bad = (
            (middle, bad)
            if spent(record, replace(step, sigma=middle), count) <= limit
            else (good, middle)
        )
    return good
