"""`Bound` is an entry of the registry. Its functions return `Solved` and `Trajectory`."""

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
    """Holds what happens inside a bound in each of the counted steps t = tau .. T-1.

    All arrays have shape (N,), except z, which has shape (N + 1,). z bounds the distance at the
    start of each step and at the end. beta is the directional share, and rho the budget spent. p is
    the shift in the span, and a the shift in the complement. For the theorem p is the shift for the
    data, and a the shift for the distance, in any direction. alpha and pi are the sharper bound's
    fractions. drift has the lengths at which the sharper bound splits the squares of sums; any
    lengths are sound. alpha, pi and drift are None where a bound has none.
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
    """Holds a bound over many runs, as arrays that broadcast against each other. epsilon is inf
    where the bound does not apply.

    delta_f is the part of delta that is set aside in case the coupling fails. N is the number of
    counted steps, and z the distance from which they start. Each other array is nan in the rows
    that it does not concern.

    Args:
        renyi_order: the order at which a Renyi divergence was converted.
        exact: 1 if epsilon was converted from the composed privacy losses.
        beta: the constant share of the noise along the directions for which epsilon holds.
        moment: the order lambda of the norm that the bound or its plan uses.
        kind: which part of the sharper bound gave the least epsilon (`sharp.BY_COMPOSITION` and
            others).
        by_linear_norm: 1 if the sharper bound counted distances by the norm of linear models.
        far, late, cube: the choices of the sharper bound's plan (`rows.ROW`).
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
        """Return a result without a finite bound."""
        nan = np.full(shape, np.nan)
        return cls(np.full(shape, np.inf), nan, np.zeros(shape), nan, nan)

    def mask(self, allowed: Numbers) -> "Solved":
        """Keep the result where `allowed` is true, and set epsilon to inf elsewhere."""
        return replace(self, epsilon=np.where(allowed, self.epsilon, np.inf))

    def minimum(self, other: "Solved") -> "Solved":
        """Take, row by row, the result with the smaller epsilon, or the smaller budget if both
        epsilons are equal.
        """
        tied = (self.epsilon == other.epsilon) & ~(other.rho < self.rho)
        mine = (self.epsilon < other.epsilon) | tied
        return Solved(
            *(np.where(mine, a, b) for a, b in zip(self._columns(), other._columns(), strict=True))
        )

    def scatter(self, rows: np.ndarray, shape: tuple[int, ...]) -> "Solved":
        """Put these results at `rows` in arrays of `shape`, with inf elsewhere."""

        def put(x: Numbers) -> Numbers:
            full = np.full(shape, np.inf)
            full[rows] = x
            return full

        return Solved(*map(put, self._columns()))

    def reshape(self, shape: tuple[int, ...]) -> "Solved":
        """Return the same rows in another shape."""
        return Solved(*(x.reshape(shape) if x.ndim else x for x in self._columns()))

    @property
    def by_losses(self) -> bool:
        """Whether a single run's epsilon comes from privacy losses on batches, not from a budget."""
        return bool(self.exact == 1) or bool(np.isfinite(self.renyi_order))

    def _columns(self) -> list[np.ndarray]:
        return [getattr(self, each.name) for each in fields(self)]


@dataclass(frozen=True)
class Bound:
    """Describes one way to bound the privacy loss of a run. Its formula and colours are in `words`.

    Args:
        id: its key in `BOUNDS`.
        title: its name, as shown.
        summary: the idea in a sentence.
        source: the origin of the bound: the paper's section, or a DOI.
        proofs: the places in the project's own pages that state and prove the bound.
        assumptions: what the bound takes for granted.
        solve: computes the bound over many runs whose checkable assumptions hold.
        trajectory: says what happens inside the bound for a single run; None if there is nothing to
            show.
        epsilons: computes a single run's epsilon at other deltas by the same choices; None if each
            delta needs its own choices.
        printed: how the paper's printed constants err; empty if they do not.
        remark: says what to know of a single run's epsilon apart from the assumptions.
        chooses_share: whether the bound chooses the directional share under schedule="optimal", in
            place of the run's beta.
        comparator: whether the bound is for another mechanism, with which the run is compared.
        name: its name within a sentence or beside a curve; the title in lower case if empty.
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
        """The source and the proofs, as a line of text."""
        return "; ".join(filter(None, (self.source, *map(str, self.proofs))))

    @property
    def short(self) -> str:
        """The bound's name within a sentence."""
        return self.name or self.title.lower()

    @property
    def in_text(self) -> str:
        """The bound's name within a sentence, with its article."""
        return self.short if self.bare else f"the {self.short}"

    @property
    def of_this_run(self) -> bool:
        """Whether the bound is for the run itself, not for another mechanism."""
        return not self.comparator

    @property
    def hides_iterates(self) -> bool:
        """Whether the bound is for the run itself and follows hidden iterates step by step."""
        return self.trajectory is not None and self.of_this_run
