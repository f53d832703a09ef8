"""A record's visits: the steps of a run on batches that use it, which is all of them or one in each epoch (docs/batches.md)."""

import numpy as np

from zoexplore.bounds.rows import Rows
from zoexplore.bounds.run_arrays import RunArrays


def batches_per_epoch(runs: RunArrays) -> np.ndarray:
    """The number of batches, J = n/b rounded up, in the runs' shape; a shorter last one counts as b records."""
    return np.ceil(runs.n / runs.batch)


def most_visits(runs: RunArrays) -> np.ndarray:
    """The most visits of a record, in the runs' shape: one in each epoch begun."""
    return np.ceil(runs.T / batches_per_epoch(runs))


def cyclic(runs: RunArrays) -> bool:
    """Whether any run uses batches of a part of the records in order."""
    return runs.setting.sampling == "cyclic" and bool((runs.batch < runs.n).any())


def met_steps(runs: RunArrays) -> np.ndarray:
    """The steps that use the record in the longest stretch between two releases, in the runs' shape."""
    longest = np.ceil(runs.T / runs.releases)
    return np.ceil(longest / batches_per_epoch(runs)) if cyclic(runs) else longest


def of_batches(rows: Rows, runs: RunArrays) -> Rows:
    """The rows of batches that all hold the record: no freshly drawn batch costs more."""
    return rows._replace(
        B=_flat(runs, runs.B_clip * runs.n / runs.batch), data=_flat(runs, runs.B_lipschitz * runs.n / runs.batch),
        remainder_at_zero=_flat(runs, runs.remainder / runs.batch),
    )  # fmt: skip


def of_epochs(rows: Rows, runs: RunArrays) -> Rows:
    """The rows of cyclic batches: between two releases the last step and every J-th before it use the record of the worst
    position, if any step does.

    From the diameter only whole epochs count, each of them a step that uses the record and the J - 1 before it.
    """
    present = np.minimum(runs.n - (batches_per_epoch(runs) - 1) * runs.batch, runs.batch) / runs.batch
    low = np.where(runs.low_curvature > 0, runs.low_curvature * present, runs.low_curvature)
    none = rows.far & (rows.most < 2)
    return of_batches(rows, runs)._replace(
        low=_flat(runs, low), apart=_flat(runs, batches_per_epoch(runs) - 1),
        times=np.minimum(rows.times, _flat(runs, most_visits(runs))), most=np.maximum(rows.most - rows.far, 1),
        z0=np.where(none, np.inf, rows.z0),
    )  # fmt: skip


def _flat(runs: RunArrays, x) -> np.ndarray:
    return np.array(np.broadcast_to(x, runs.shape).ravel(), float)
