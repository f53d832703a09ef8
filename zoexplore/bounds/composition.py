"""Composition: every iterate is public (BOUNDS section 3)."""

from zoexplore.bounds.assumptions import CLIPPED, FULL_BATCH
from zoexplore.bounds.bound import Bound, Solved
from zoexplore.bounds.runs import Runs
from zoexplore.setting import Accounting


def solve(runs: Runs, accounting: Accounting) -> Solved:
    """rho = T (2 Delta/n)^2 / (2 sigma^2 (beta + (1-beta) K/d)): the joint cost of the K orthonormal directions, T times."""
    B = runs.B / 2 if accounting.printed else runs.B
    return Solved.of(runs, accounting, runs.T * B**2 / (2 * (runs.s1 + runs.s2)), N=runs.T)


COMPOSITION = Bound(
    id="composition",
    title="Composition",
    latex=r"\rho = T\,\frac{(2\Delta/n)^2}{2\sigma^2\left(\beta + (1-\beta)K/d\right)}",
    says="Every iterate is taken to be public, so every step is paid for and the loss grows with T.",
    source="Paper, public-state baseline; BOUNDS section 3",
    assumptions=(CLIPPED, FULL_BATCH),
    solve=solve,
    printed="the sensitivity is Δ/n where replacing a record needs 2Δ/n, so ρ is four times too small",
)
