"""Many runs as rows of numbers for the kernels."""

from typing import NamedTuple

import numpy as np

from zoexplore.bounds.run_arrays import RunArrays


class Rows(NamedTuple):
    """Runs as flat arrays (quantities of `RunArrays`, lengths in its unit), each with the choices made for it.

    `far` rows start from z0 and choose the number of steps, at most `most`; the others count `most` steps from distance 0.
    From 0 the recursion has several fixed points. Some plans hide each step's data at once; others let distance build up
    (`high`) and work it off at the end. Each row looks for one of them. `share` is the chance of more than plans allow for;
    `cube` is 1 where every entry of the record's part is counted, 0 where its length alone is. Where the clip is joint no entry
    is `known`: which choices a run may be counted by is a property of its own row (`may_count_entries`, `may_take_moments`).
    """

    K: np.ndarray
    d: np.ndarray
    r: np.ndarray
    low: np.ndarray
    top: np.ndarray
    slowest: np.ndarray  # the least step size, as a part of eta
    acting: np.ndarray
    linear: np.ndarray  # counted by the norm of linear models
    certain: np.ndarray
    B: np.ndarray
    data: np.ndarray
    remainder: np.ndarray
    remainder_at_zero: np.ndarray
    delta: np.ndarray
    times: np.ndarray
    most: np.ndarray
    z0: np.ndarray
    far: np.ndarray
    high: np.ndarray
    beta: np.ndarray
    order: np.ndarray
    share: np.ndarray
    cube: np.ndarray
    apart: np.ndarray  # steps between two that use the record
    known: np.ndarray  # 1 where the clip limits every entry of the record's part
    cooled: np.ndarray  # so many last steps have the share `last_beta` of the noise along the directions,
    last_beta: np.ndarray
    forgets: np.ndarray  # and do not use the record where this is 1

    @classmethod
    def of(cls, runs: RunArrays, beta, most, far: bool = False, high: bool = False) -> "Rows":
        """The runs, with the choices that a search starts from."""
        z0 = runs.diameter if far else 0.0
        whole = (runs.cooled > 0) & (runs.cooled >= runs.T)  # every step is one of the cool-down
        beta, last = np.where(whole, runs.last_beta, beta), np.where(runs.cooled > 0, runs.last_beta, beta)
        cooled = np.where(whole, 0.0, runs.cooled)
        size = int(np.prod(runs.shape))
        columns = (
            runs.K, runs.d, runs.ridge_factor, runs.low_curvature, runs.top_curvature, runs.slowest, runs.clip_kind,
            runs.linear & runs.by_linear_norm, runs.certain,
            runs.B_clip, runs.B_lipschitz, runs.remainder, runs.remainder_at_zero, runs.delta, runs.releases,
            most, z0, far, high, beta, 9.0, 1.0, 0.0, 0.0, ~runs.joint, cooled, last, 0.0,
        )  # fmt: skip
        return cls(*(np.full(size, x) for x in columns))

    @property
    def nothing_random(self) -> np.ndarray:
        """Whether nothing of a run's cost is random, shape (rows,)."""
        return self.certain & (self.K == self.d)

    @property
    def may_count_entries(self) -> np.ndarray:
        """Whether a run's record may be counted entry by entry, shape (rows,)."""
        return (self.known > 0) & ~self.nothing_random

    @property
    def may_take_moments(self) -> np.ndarray:
        """Whether a run's tails may be exponential moments, shape (rows,): their caps know no steps without the record."""
        return self.apart == 0

    def at(self, index) -> "Rows":
        """Some of the rows, in any order, repeated or not."""
        return Rows(*(column[index] for column in self))

    def put(self, index, other: "Rows") -> "Rows":
        """A copy with the other's rows at those places."""
        ours = [column.copy() for column in self]
        for column, theirs in zip(ours, other, strict=True):
            column[index] = theirs
        return Rows(*ours)

    @staticmethod
    def stack(*parts: "Rows") -> "Rows":
        """All rows of the parts, one part after the other."""
        return Rows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
