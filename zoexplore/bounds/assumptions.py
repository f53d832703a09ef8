"""What a bound takes for granted, in words, and the checks that numbers allow."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from zoexplore.bounds.runs import Runs
from zoexplore.setting import Accounting


@dataclass(frozen=True)
class Assumption:
    """One assumption. Without `holds` no number in a setting can decide it: it is the user's to vouch for.

    Args:
        words: the assumption, as a lecturer would say it.
        holds: whether it holds, run by run.
        shortfall: for a single run where it fails, the violated condition with its numbers.
        when: the ways to count that need it; all of them where None.
    """

    words: str
    holds: Callable[[Runs, Accounting], np.ndarray] | None = None
    shortfall: Callable[[Runs], str] | None = None
    when: Callable[[Accounting], bool] | None = None

    def needed(self, accounting: Accounting) -> bool:
        return self.when is None or self.when(accounting)


@dataclass(frozen=True)
class Check:
    """An assumption held against one run. `met` is None where only the user can know; `shortfall` says what is missing."""

    words: str
    met: bool | None
    shortfall: str = ""


def check(assumption: Assumption, runs: Runs, accounting: Accounting) -> Check:
    """The assumption held against a single run."""
    if assumption.holds is None:
        return Check(assumption.words, None)
    if assumption.holds(runs, accounting):
        return Check(assumption.words, True)
    return Check(assumption.words, False, assumption.shortfall(runs) if assumption.shortfall else "it does not hold")


START = Assumption("The start lies in the ball and does not depend on the data.")
LAST_ITERATE = Assumption("Only the last iterate is released, and nobody who chooses the data knows the directions.")
SMOOTH = Assumption("Every record's loss is M-smooth, and convex or m-strongly convex where the regime says so.")
LIPSCHITZ = Assumption("The loss that is clipped is Δ-Lipschitz on the ball of radius R + ξ, so the clip never acts.")
CLIPPED = Assumption("Every record's difference quotient is clipped at Δ. Nothing is assumed of the loss.")


def clip_idle(runs: Runs, accounting: Accounting) -> np.ndarray:
    """Whether the strong convexity inside the clip leaves the clip idle, run by run."""
    if runs.regime != "strongly-convex" or accounting.printed:
        return np.ones(runs.shape, bool)
    outside = runs.m == runs.ridge  # all the strong convexity is outside the clip: nothing to check, even on an infinite ball
    reach = np.where(outside, 0.0, (runs.m - runs.ridge) * np.where(outside, 1.0, runs.R + runs.xi))
    return reach <= runs.clip


CLIP_IDLE = Assumption(
    "The strong convexity that is inside the clip leaves the clip idle: (m − ridge)(R + ξ) ≤ Δ.",
    clip_idle,
    lambda r: (
        f"the clip cannot be idle: (m − ridge)(R + ξ) = {(r.m - r.ridge) * (r.R + r.xi):.4g} exceeds Δ = {r.clip:.4g}; "
        "add the strong convexity as a ridge outside the clip, or shrink R"
    ),
)

HALF_DIMENSION = Assumption(
    "At most half the dimension is probed in a step: 2K ≤ d.",
    lambda r, a: 2 * r.K <= r.d,
    lambda r: f"2K = {2 * r.K:.0f} exceeds d = {r.d:.0f}",
)

FULL_BATCH = Assumption(
    "Every step uses all n records.",
    lambda r, a: r.batch == r.n,
    lambda r: f"batch = {r.batch:.0f} is below n = {r.n:.0f}, and this bound has no account of mini-batches",
)

BATCHES = Assumption("Every step uses all n records, or a fresh batch drawn uniformly without replacement that nobody sees.")

DIRECTIONAL_NOISE = Assumption(
    "Some noise lies along the directions: β > 0 (or the share is free).",
    lambda r, a: (r.beta > 0) | (a.schedule == "optimal"),
    lambda r: f"β = {r.beta:g} leaves no noise along the directions to hide one step's data",
)

FINITE_BALL = Assumption(
    "The ball is bounded: R < ∞.", lambda r, a: np.isfinite(r.R), lambda r: "R = ∞ leaves the iterates unbounded"
)
