"""A record's visits: the steps of a run that use the record. They are counted as all steps, or as
one in each epoch (docs/batches.md).
"""

import numpy as np

from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.rows import Rows
from zoexplore.bounds.run_arrays import RunArrays


def batches_per_epoch(runs: RunArrays) -> Numbers:
    """Return the number of batches in an epoch, J = n/b rounded up, in the runs' shape. A smaller
    last batch counts as one of b records.
    """
    return np.ceil(runs.n / runs.batch)


def most_visits(runs: RunArrays) -> Numbers:
    """Return the most visits of a record, in the runs' shape: one in each epoch that begins."""
    return np.ceil(runs.T / batches_per_epoch(runs))


def cyclic(runs: RunArrays) -> bool:
    """Say whether any run goes through the batches of a partition in a fixed order."""
    return runs.setting.sampling == "cyclic" and bool((runs.batch < runs.n).any())


def met_steps(runs: RunArrays) -> Numbers:
    """Return the number of steps that use the record in the longest stretch between two releases,
    in the runs' shape.
    """
    longest = np.ceil(runs.T / runs.releases)
    return np.ceil(longest / batches_per_epoch(runs)) if cyclic(runs) else longest


def rows_of_batches(runs: RunArrays, beta: Numbers, **choices: Numbers) -> Rows:
    """Make the runs' rows as if every batch held the record. Freshly drawn batches cost no more."""
    if (runs.batch == runs.n).all():
        return Rows.of(runs, beta, **choices)
    whole = dict(
        B=runs.B_clip * runs.n / runs.batch,
        length=runs.B_lipschitz * runs.n / runs.batch,
        remainder_at_zero=runs.remainder / runs.batch,
    )
    return Rows.of(runs, beta, **whole | choices)


def rows_of_epochs(runs: RunArrays, beta: Numbers, far: bool, **choices: Numbers) -> Rows:
    """Make the runs' rows for cyclic batches. The record's position is the worst one: in a stretch
    between two releases that uses the record at all, the last step uses it, and so does every J-th
    step before that.

    From the diameter, only whole epochs are counted. Each is a step that uses the record and the J
    - 1 steps before that step.
    """
    J, most = batches_per_epoch(runs), met_steps(runs)
    present = np.minimum(runs.n - (J - 1) * runs.batch, runs.batch) / runs.batch
    low = np.where(runs.low_curvature > 0, runs.low_curvature * present, runs.low_curvature)
    diameter = np.where(far & (most < 2), np.inf, runs.diameter)
    return rows_of_batches(
        runs,
        beta,
        low=low,
        apart=J - 1,
        times=np.minimum(runs.releases, most_visits(runs)),
        most=np.maximum(most - far, 1),
        diameter=diameter,
        far=far,
        **choices,
    )
