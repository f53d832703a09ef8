"""A record's visits: the steps of a run on batches that use the record, either all steps or one in
each epoch (docs/batches.md).
"""

import numpy as np

from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.rows import Rows
from zoexplore.bounds.run_arrays import RunArrays


def batches_per_epoch(runs: RunArrays) -> Numbers:
    """Return the number of batches, J = n/b rounded up, in the runs' shape. A shorter last batch
    counts as b records.
    """
    return np.ceil(runs.n / runs.batch)


def most_visits(runs: RunArrays) -> Numbers:
    """Return the most visits of a record, in the runs' shape: one in each epoch begun."""
    return np.ceil(runs.T / batches_per_epoch(runs))


def cyclic(runs: RunArrays) -> bool:
    """Say whether any run goes through batches of a partition in order."""
    return runs.setting.sampling == "cyclic" and bool((runs.batch < runs.n).any())


def met_steps(runs: RunArrays) -> Numbers:
    """Return the number of steps that use the record in the longest stretch between two releases,
    in the runs' shape.
    """
    longest = np.ceil(runs.T / runs.releases)
    return np.ceil(longest / batches_per_epoch(runs)) if cyclic(runs) else longest


def rows_of_batches(runs: RunArrays, beta: Numbers, **choices: Numbers) -> Rows:
    """Make the rows of batches that all hold the record. No freshly drawn batch costs more."""
    if (runs.batch == runs.n).all():
        return Rows.of(runs, beta, **choices)
    whole = dict(
        B=runs.B_clip * runs.n / runs.batch,
        length=runs.B_lipschitz * runs.n / runs.batch,
        remainder_at_zero=runs.remainder / runs.batch,
    )
    return Rows.of(runs, beta, **whole | choices)


def rows_of_epochs(runs: RunArrays, beta: Numbers, far: bool, **choices: Numbers) -> Rows:
    """Make the rows of cyclic batches. Between two releases the last step and every J-th step
    before it use the record of the worst position, if any step does.

    From the diameter only whole epochs count, each with a step that uses the record and the J - 1
    steps before it.
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
