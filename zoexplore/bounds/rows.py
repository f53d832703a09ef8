"""Many runs as rows of numbers for the kernels: the one record of a run and of the choices made for
it.
"""

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
                "r",  # of a step (`RunArrays`): the ridge's factor,
                "low",
                "high",  # the curvatures,
                "slowest",  # the least size, as a part of eta,
                "clip",  # the kind of clip,
                "linear",  # and whether it is counted by the norm of linear models
                "B",  # what the record moves a step: entry by entry,
                "length",  # by its length,
                "remainder",
                "remainder_at_zero",
                "certain",  # nothing of the cost is random
                "known",  # the clip limits every entry of the record's part
                "delta",
                "times",
                "most",  # so many steps at most count
                "diameter",
                "beta",
                # so many last steps have the share `last_beta` of the noise along the directions,
                "cooled",
                "last_beta",
                "forgets",  # and do not use the record where this is 1
                "apart",  # steps between two that use the record, in epochs
                "q",  # the chance that a batch holds it
                "share",  # the chance of more than plans allow for
                # starts from the diameter and chooses the number of steps, at most `most`; else
                # counts them all from distance 0
                "far",
                # from 0 there are several fixed points: hides each step's data at once, or lets
                # distance build up to the end
                "late",
                "cube",  # every entry of the record's part is counted; else its length alone
                "order",  # of the norm
            )
        ],
    )
)
DRIFT = ["K", "d", "r", "low", "high", "slowest", "clip", "linear"]


class Rows(np.recarray):
    """Runs as an array of `ROW`, quantities of `RunArrays`, lengths in its unit: shape (rows,).

    Which choices a run may be counted by is a property of its own row (`may_count_entries`).
    """

    @classmethod
    def of(cls, runs: RunArrays, beta: Numbers, **choices: Numbers) -> "Rows":
        """The runs, with choices."""
        rows = np.zeros(int(np.prod(runs.shape)), ROW).view(cls)
        whole = (runs.cooled > 0) & (runs.cooled >= runs.T)  # every step is one of the cool-down
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
        """Some of the rows, in any order, repeated or not: a copy."""
        rows: Rows = self[index].view(Rows)
        return rows

    def changed(self, **columns: Numbers) -> "Rows":
        """A copy with these columns."""
        rows = self.copy().view(Rows)
        for name, column in columns.items():
            rows[name] = column
        return rows
