"""`Bound`, an entry of the registry, and `Solved`, what its function returns."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from zoexplore.bounds.assumptions import Assumption
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.runs import Runs
from zoexplore.setting import Accounting


@dataclass(frozen=True)
class Trajectory:
    """What happens inside a bound: arrays over the counted steps t = tau .. T-1.

    z (one longer) bounds the distance at the start of each step and at the end; beta is the directional share; p and a are the
    shifts bought in the span and in the complement (for the theorem: the data's part, and the drift's in any direction); rho is
    the budget spent. alpha and pi are the fractions of section 7, None for the theorem.
    """

    tau: int
    z: np.ndarray
    beta: np.ndarray
    p: np.ndarray
    a: np.ndarray
    rho: np.ndarray
    alpha: np.ndarray | None = None
    pi: np.ndarray | None = None


@dataclass(frozen=True)
class Solved:
    """A bound over many runs: arrays that broadcast against each other. epsilon is inf where nothing was found.

    delta_f is the part of delta kept for the coupling to fail, N the counted steps, z the distance they start from.
    """

    epsilon: np.ndarray
    rho: np.ndarray
    delta_f: np.ndarray
    N: np.ndarray
    z: np.ndarray
    extra: dict[str, np.ndarray] = field(default_factory=dict)  # what the bound's own trajectory needs

    ARRAYS = ("epsilon", "rho", "delta_f", "N", "z")

    @classmethod
    def of(cls, runs: Runs, accounting: Accounting, rho, delta_f=0.0, N=np.nan, z=0.0, **extra) -> "Solved":
        """Convert a budget rho at delta - delta_f."""
        epsilon = epsilon_of(rho, runs.delta - delta_f, accounting.conversion)
        rho, delta_f, N, z = map(np.asarray, (rho, delta_f, N, z))
        return cls(epsilon, rho, delta_f, N, z, {k: np.asarray(v) for k, v in extra.items()})

    def where(self, allowed) -> "Solved":
        """The same where `allowed`, nothing found elsewhere."""
        return replace(self, epsilon=np.where(allowed, self.epsilon, np.inf))

    def least(self, other: "Solved") -> "Solved":
        """Row by row, whichever has the smaller epsilon; where both are equal (0, say), the smaller budget."""
        tied = (self.epsilon == other.epsilon) & ~(other.rho < self.rho)
        mine = (self.epsilon < other.epsilon) | tied

        def pick(a, b):
            return np.where(mine, a, b)

        extra = {k: pick(self.extra.get(k, np.nan), other.extra.get(k, np.nan)) for k in self.extra | other.extra}
        return Solved(**{k: pick(getattr(self, k), getattr(other, k)) for k in self.ARRAYS}, extra=extra)

    def spread(self, rows, shape) -> "Solved":
        """These rows in their places among all of `shape`; nothing found elsewhere."""

        def put(x):
            full = np.full(shape, np.inf, object if x.dtype == object else float)
            full[rows] = x
            return full

        return Solved(**{k: put(getattr(self, k)) for k in self.ARRAYS}, extra={k: put(v) for k, v in self.extra.items()})

    def reshape(self, shape) -> "Solved":
        """The same rows in another shape."""
        extra = {k: v.reshape(shape) for k, v in self.extra.items()}
        return Solved(**{k: getattr(self, k).reshape(shape) for k in self.ARRAYS}, extra=extra)


@dataclass(frozen=True)
class Bound:
    """One way to bound the privacy loss of a run.

    Args:
        id: its key in `BOUNDS`.
        title: its name, as shown.
        latex: its formula.
        says: the idea in a sentence.
        source: where it is from (paper section, BOUNDS section, DOI).
        assumptions: what it takes for granted.
        solve: the bound over many runs, where its checkable assumptions hold.
        trajectory: for a single run, what happens inside; None where there is nothing to show.
        printed: what differs with the paper's printed constants; empty where nothing does.
    """

    id: str
    title: str
    latex: str
    says: str
    source: str
    assumptions: tuple[Assumption, ...]
    solve: Callable[[Runs, Accounting], Solved]
    trajectory: Callable[[Runs, Accounting, Solved], Trajectory | None] | None = None
    printed: str = ""
