"""Many runs as rows of numbers for the kernels. Each row holds a run and the choices made for it."""

import numpy as np

from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays

ROW = np.dtype(
    (
        np.record,
        [
            (name, float)
            for name in (
                "K",
                "d",
                "r",  # the factor of the ridge's step (`RunArrays.ridge_factor`)
                "low",  # the least curvature
                "high",  # the largest curvature
                "slowest",  # the least size of a step, as a fraction of eta
                "clip",  # the kind of clip
                "linear",  # 1 if the norm of linear models counts
                "B",  # the most by which the record moves a step, by the clip
                # the most by which the record moves a step, by the length of its gradient
                "length",
                "remainder",  # the two-point error
                "remainder_at_zero",  # the record's own part of the two-point error
                "certain",  # 1 if nothing of the cost is random
                "known",  # 1 if the clip limits every entry of what the record adds to a step
                "delta",
                "times",  # the number of stretches between releases, each paid for
                "most",  # the most steps, or epochs, that count
                "diameter",
                "beta",
                "cooled",  # the number of last steps with the share `last_beta` of the noise
                "last_beta",
                "forgets",  # 1 if these last steps do not use the record
                "apart",  # in epochs: the number of steps between two that use the record
                "q",  # the chance that a batch holds the record
                "share",  # the chance of a larger cost than plans allow for
                # 1 to start from the diameter and choose the number of steps, at most `most`; 0 to
                # count all steps from distance 0
                "far",
                # 0 to hide each step's data at once, 1 to let the distance build up towards the end
                "late",
                "cube",  # 1 to count every entry of what the record adds, 0 to count its length
                "order",  # the order of the norm
            )
        ],
    )
)
DRIFT = ["K", "d", "r", "low", "high", "slowest", "clip", "linear"]


class Rows(np.recarray):
    """Holds runs as an array of dtype `ROW`, shape (rows,). Lengths are in units of
    `RunArrays.unit`.
    """

    @classmethod
    def of(cls, runs: RunArrays, beta: Numbers, **choices: Numbers) -> "Rows":
        """Make one row for each run; `choices` are further columns."""
        rows = np.zeros(int(np.prod(runs.shape)), ROW).view(cls)
        whole = (runs.cooled > 0) & (runs.cooled >= runs.T)  # every step is in the cool-down
        columns = dict(
            K=runs.K,
            d=runs.d,
            r=runs.ridge_factor,
            low=runs.low_curvature,
            high=runs.top_curvature,
            slowest=runs.slowest,
            clip=runs.clip_kind,
            linear=runs.linear & runs.by_linear_norm,
            B=runs.B_clip,
            length=runs.B_lipschitz,
            remainder=runs.remainder,
            remainder_at_zero=runs.remainder * runs.own_part,
            certain=runs.certain & (runs.K == runs.d),
            known=~runs.joint,
            delta=runs.delta,
            times=runs.releases,
            diameter=runs.diameter,
            beta=np.where(whole, runs.last_beta, beta),
            cooled=np.where(whole, 0.0, runs.cooled),
            last_beta=np.where(runs.cooled > 0, runs.last_beta, beta),
            q=runs.batch / runs.n,
            share=1.0,
            order=9.0,
        )
        for name, column in (columns | choices).items():
            rows[name] = np.broadcast_to(column, runs.shape).ravel()
        return rows

    @property
    def may_count_entries(self) -> Numbers:
        """Whether a run's record may be counted entry by entry, shape (rows,)."""
        return (self.known > 0) & (self.certain == 0)

    def at(self, index: np.ndarray) -> "Rows":
        """Copy the rows at `index`, which may name rows in any order and repeatedly."""
        rows: Rows = self[index].view(Rows)
        return rows

    def changed(self, **columns: Numbers) -> "Rows":
        """Copy the rows with these columns in place of their own."""
        rows = self.copy().view(Rows)
        for name, column in columns.items():
            rows[name] = column
        return rows
