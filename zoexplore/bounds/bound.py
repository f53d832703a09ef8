"""`Bound`, an entry of the registry, and `Solved`, what its function returns."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from zoexplore.bounds.assumptions import Assumption
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.documents import Reference
from zoexplore.run.setting import Accounting


@dataclass(frozen=True)
class Trajectory:
    """What happens inside a bound: arrays over the counted steps t = tau .. T-1.

    All have shape (N,), z (N + 1,). z bounds the distance at the start of each step and at the end,
    beta is the directional share, rho the budget spent. p and a are the shifts in the span and in
    the complement; for the theorem they are the data's part, and the drift's in any direction.
    alpha and pi are the sharper bound's fractions, drift the lengths at which its squares are split
    (any will do); None for the theorem.
    """

    tau: int
    z: np.ndarray
    beta: np.ndarray
    p: np.ndarray
    a: np.ndarray
    rho: np.ndarray
    alpha: np.ndarray | None = None
    pi: np.ndarray | None = None
    drift: np.ndarray | None = None


NONE: Any = np.float64(np.nan)


@dataclass(frozen=True)
class Solved:
    """A bound over many runs: arrays that broadcast against each other. epsilon is inf where no
    bound applies.

    delta_f is the part of delta kept for the coupling to fail, N the counted steps, z the distance
    they start from. The others are nan in the rows that they do not concern.

    Args:
        renyi_order: the order at which a Renyi divergence was converted.
        exact: 1 where the composed privacy losses were converted.
        beta: the constant share of the noise along the directions that the number is for.
        moment: the order lambda of the norm, or that a plan was made for.
        kind: what the sharper bound was the least by (`sharp.BY_COMPOSITION` and others).
        by_linear_norm: 1 where it counted distances by the norm of linear models.
        far, late, cube: of its plan (`rows.ROW`).
    """

    epsilon: np.ndarray
    rho: np.ndarray
    delta_f: np.ndarray
    N: np.ndarray
    z: np.ndarray
    renyi_order: np.ndarray = NONE
    exact: np.ndarray = NONE
    beta: np.ndarray = NONE
    moment: np.ndarray = NONE
    kind: np.ndarray = NONE
    by_linear_norm: np.ndarray = NONE
    far: np.ndarray = NONE
    late: np.ndarray = NONE
    cube: np.ndarray = NONE

    @classmethod
    def of(
        cls,
        runs: RunArrays,
        accounting: Accounting,
        rho: Numbers,
        delta_f: Numbers = 0.0,
        N: Numbers = np.nan,
        z: Numbers = 0.0,
        **others: Numbers,
    ) -> "Solved":
        """Convert a budget rho at delta - delta_f."""
        epsilon = epsilon_of(rho, runs.delta - delta_f, accounting.conversion)
        return cls(
            epsilon,
            *map(np.asarray, (rho, delta_f, N, z)),
            **{k: np.asarray(x) for k, x in others.items()},
        )

    @classmethod
    def nothing(cls, shape: tuple[int, ...]) -> "Solved":
        """No finite bound."""
        nan = np.full(shape, np.nan)
        return cls(np.full(shape, np.inf), nan, np.zeros(shape), nan, nan)

    def mask(self, allowed: Numbers) -> "Solved":
        """The same where `allowed`, nothing found elsewhere."""
        return replace(self, epsilon=np.where(allowed, self.epsilon, np.inf))

    def minimum(self, other: "Solved") -> "Solved":
        """Row by row, whichever has the smaller epsilon; where both are equal (0, say), the smaller
        budget.
        """
        tied = (self.epsilon == other.epsilon) & ~(other.rho < self.rho)
        mine = (self.epsilon < other.epsilon) | tied
        return Solved(
            *(np.where(mine, a, b) for a, b in zip(self._columns(), other._columns(), strict=True))
        )

    def scatter(self, rows: np.ndarray, shape: tuple[int, ...]) -> "Solved":
        """These rows in their places among all of `shape`; nothing found elsewhere."""

        def put(x: Numbers) -> Numbers:
            full = np.full(shape, np.inf)
            full[rows] = x
            return full

        return Solved(*map(put, self._columns()))

    def reshape(self, shape: tuple[int, ...]) -> "Solved":
        """The same rows in another shape."""
        return Solved(*(x.reshape(shape) if x.ndim else x for x in self._columns()))

    @property
    def by_losses(self) -> bool:
        """Whether a single run's number is of privacy losses on batches, without a budget."""
        return bool(self.exact == 1) or bool(np.isfinite(self.renyi_order))

    def _columns(self) -> list[np.ndarray]:
        return [getattr(self, each.name) for each in fields(self)]


@dataclass(frozen=True)
class Bound:
    """One way to bound the privacy loss of a run; `words` says and draws it.

    Args:
        id: its key in `BOUNDS`.
        title: its name, as shown.
        summary: the idea in a sentence.
        source: where it is from: the paper's section, a DOI.
        proofs: where the project's own pages state and prove it.
        assumptions: what it takes for granted.
        solve: the bound over many runs, where its checkable assumptions hold.
        trajectory: for a single run, what happens inside; None where there is nothing to show.
        epsilons: a single run's epsilon at other deltas by the same choices; None where each delta
            needs its own.
        printed: what differs with the paper's printed constants; empty where nothing does.
        remark: what to know of a single run's number beside its assumptions.
        chooses_share: whether schedule="optimal" lets it choose the directional share in place of
            the run's beta.
        comparator: whether it bounds another mechanism than the run's, for comparison.
        name: its name within a sentence or beside a curve; the title in small letters where empty.
        bare: whether its name takes no article.
    """

    id: str
    title: str
    summary: str
    source: str
    assumptions: tuple[Assumption, ...]
    solve: Callable[[RunArrays, Accounting], Solved]
    trajectory: Callable[[RunArrays, Accounting, Solved], Trajectory | None] | None = None
    epsilons: Callable[[RunArrays, Accounting, Solved, np.ndarray], np.ndarray | None] | None = None
    proofs: tuple[Reference, ...] = ()
    printed: str = ""
    remark: Callable[[RunArrays, Solved], str] | None = None
    chooses_share: bool = False
    comparator: bool = False
    name: str = ""
    bare: bool = False

    @property
    def cites(self) -> str:
        """Source and proofs, as a line of text."""
        return "; ".join(filter(None, (self.source, *map(str, self.proofs))))

    @property
    def short(self) -> str:
        """Its name within a sentence."""
        return self.name or self.title.lower()

    @property
    def in_text(self) -> str:
        """Its name within a sentence, with its article."""
        return self.short if self.bare else f"the {self.short}"

    @property
    def of_this_run(self) -> bool:
        """Whether it bounds the run itself, not another mechanism for comparison."""
        return not self.comparator

    @property
    def hides_iterates(self) -> bool:
        """Whether it is a bound on this run that follows hidden iterates step by step."""
        return self.trajectory is not None and self.of_this_run
