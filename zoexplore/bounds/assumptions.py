"""What a bound takes for granted, in words, and the checks that numbers allow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.fields import OPTIONS
from zoexplore.formatting import format_count, format_short
from zoexplore.setting import NEIGHBOURS, Accounting


@dataclass(frozen=True)
class Assumption:
    """One assumption. Without `holds` no number in a setting can decide it: it is the user's to vouch for.

    Args:
        words: the assumption, as a lecturer would say it.
        holds: whether it holds, run by run.
        shortfall: for a single run where it fails, the violated condition with its numbers; empty where another
            assumption's says it already.
        when: the ways to count that need it; all of them where None.
        vouched: where `holds` does, the rest of it is still the user's to vouch for.
        unless: the single runs that can do without it; `holds` is true of these.
    """

    words: str
    holds: Callable[[RunArrays, Accounting], np.ndarray] | None = None
    shortfall: Callable[[RunArrays], str] | None = None
    when: Callable[[Accounting], bool] | None = None
    vouched: bool = False
    unless: Callable[[RunArrays], Any] | None = None

    def needed(self, accounting: Accounting) -> bool:
        return self.when is None or self.when(accounting)

    def listed(self, runs: RunArrays, accounting: Accounting) -> bool:
        """Whether a single run's guarantee rests on it."""
        return self.needed(accounting) and not (self.unless and bool(self.unless(runs)))


@dataclass(frozen=True)
class Check:
    """An assumption held against one run. `met` is None where only the user can know; `shortfall` says what is missing."""

    words: str
    met: bool | None
    shortfall: str = ""


def check(assumption: Assumption, runs: RunArrays, accounting: Accounting) -> Check:
    """The assumption held against a single run."""
    if assumption.holds is None:
        return Check(assumption.words, None)
    if assumption.holds(runs, accounting):
        return Check(assumption.words, None if assumption.vouched else True)
    return Check(assumption.words, False, assumption.shortfall(runs) if assumption.shortfall else "it does not hold")


START = Assumption("The start lies in the ball and does not depend on the data.")
LAST_ITERATE = Assumption(
    "Only the last iterate is released, and nobody who chooses the data knows the directions.",
    lambda r, a: r.releases == 1,
    lambda r: f"{format_count(r.releases)} iterates are released, and this bound covers the last one alone",
    vouched=True,
)
LAST_RELEASED = Assumption("Only the last iterate is released.", LAST_ITERATE.holds, LAST_ITERATE.shortfall, vouched=True)
RELEASED = Assumption(
    "Only the last iterate is released, or as many as stated, evenly spaced; and nobody who chooses the data knows the "
    "directions."
)
SMOOTH = Assumption(
    "Every record's loss is M-smooth, and convex or m-strongly convex where the regime says so.",
    lambda r, a: np.isfinite(r.M),
    lambda r: "M = ∞ says nothing about how smooth the loss is: give the smoothness of every record's loss, the ridge's included",
    vouched=True,
)
STEP_SIZE = Assumption(
    "The step size is set.",
    lambda r, a: np.isfinite(r.eta),
    lambda r: "η is not set, and with M = ∞ there is no K/M to use instead: give a step size",
)


def why_acting(r: RunArrays) -> str:
    """Why the clip of a single run may act, with its numbers."""
    if r.lipschitz <= r.clip:
        why = f"two points at ξ = {format_short(r.xi, 6)} can make a record's quotients {format_short(r.longest, 6)} long"
    elif np.isfinite(r.lipschitz):
        why = f"what is clipped is {format_short(r.lipschitz, 6)}-Lipschitz"
    else:
        why = "nothing is known about the slope of what is clipped"
    return f"the clip may act, as {why} and Δ = {format_short(r.clip, 6)}"


LIPSCHITZ = Assumption(
    "The loss that is clipped is Δ-Lipschitz on the ball of radius R + ξ, so the clip never acts.",
    lambda r, a: ~r.acting,
    lambda r: f"{why_acting(r)}: this bound needs it idle",
    vouched=True,
)
CLIPPED = Assumption("Every record's difference quotients are clipped at Δ, each or together. Nothing is assumed of the loss.")


def clip_idle(runs: RunArrays, accounting: Accounting) -> np.ndarray:
    """Whether the strong convexity inside the clip leaves the clip idle, run by run."""
    if runs.regime != "strongly-convex" or accounting.printed:
        return np.ones(runs.shape, bool)
    outside = runs.m == runs.ridge  # all the strong convexity is outside the clip: nothing to check, even on an infinite ball
    reach = np.where(outside, 0.0, (runs.m - runs.ridge) * np.where(outside, 1.0, runs.R + runs.xi))
    return reach <= runs.lipschitz


CLIP_IDLE = Assumption(
    "The strong convexity that is inside the clip leaves the clip idle: (m − ridge)(R + ξ) ≤ Δ.",
    clip_idle,
    lambda r: (
        f"the clip cannot be idle: (m − ridge)(R + ξ) = {format_short((r.m - r.ridge) * (r.R + r.xi), 4)} exceeds "
        f"{'Δ' if r.lipschitz == r.clip else 'L'} = {format_short(r.lipschitz, 4)}; "
        "add the strong convexity as a ridge outside the clip, or shrink R"
    ),
    unless=lambda r: r.lipschitz == np.inf,
)

HALF_DIMENSION = Assumption(
    "At most half the dimension is probed in a step: 2K ≤ d.",
    lambda r, a: 2 * r.K <= r.d,
    lambda r: f"2K = {format_count(2 * r.K)} exceeds d = {format_count(r.d)}",
)

FULL_BATCH = Assumption(
    "Every step uses all n records.",
    lambda r, a: r.batch == r.n,
    lambda r: f"b = {format_count(r.batch)} is below n = {format_count(r.n)}, and this bound does not cover mini-batches",
)


_DIFFERS = {"replace-one": "replaced", "add-remove": "added or removed"}


def _named(runs: RunArrays) -> str:
    s = runs.setting
    batches = f"batches of {format_count(runs.batch)} of {format_count(runs.n)} records"
    return f"{batches}, {OPTIONS['sampling'][s.sampling]}, with one record {_DIFFERS[s.neighbours]}"


def drawn(*allowed: tuple[str, str], words: str) -> Assumption:
    """That a run's batches are all records, or of a sampling and with neighbours that the bound covers."""
    return Assumption(
        words,
        lambda r, a: (r.batch == r.n) | ((r.setting.sampling, r.setting.neighbours) in allowed),
        lambda r: f"this bound does not cover {_named(r)}",
        vouched=True,
    )


BATCHES = drawn(
    ("without-replacement", "replace-one"),
    words="Every step uses all n records, or a fresh batch drawn uniformly without replacement that nobody sees.",
)
EPOCHS = drawn(
    ("without-replacement", "replace-one"),
    *((sampling, who) for sampling in ("cyclic", "shuffled") for who in NEIGHBOURS),
    words="Every step uses all n records, or a batch: a fresh one, drawn uniformly without replacement, that nobody sees; or one "
    "part of a partition made without looking at the data, in order (cyclic) or in a secret random order (shuffled).",
)  # fmt: skip
COMPOSABLE_BATCHES = drawn(
    ("without-replacement", "replace-one"),
    ("poisson", "add-remove"),
    *((sampling, who) for sampling in ("cyclic", "shuffled") for who in NEIGHBOURS),
    words="Every step uses all n records, or a batch: a fresh one, drawn uniformly without replacement or as Poisson, that "
    "nobody sees; or one part of a partition made without looking at the data, in order (cyclic) or in a secret random order "
    "(shuffled).",
)  # fmt: skip
PEOPLE = Assumption(
    "Nobody has more records than stated; with batches, nobody has more than one.",
    lambda r, a: (r.batch == r.n) | (r.records_per_person == 1),
    lambda r: (
        f"a person may have {format_count(r.records_per_person)} records, which is covered only if every step uses all n records"
    ),
    vouched=True,
)

DIRECTIONAL_NOISE = Assumption(
    "Some noise lies along the directions: β > 0 (or the share is free).",
    lambda r, a: (r.beta > 0) | (a.schedule == "optimal"),
    lambda r: f"β = {format_short(r.beta, 6)} leaves no noise along the directions to hide one step's data",
)

FINITE_BALL = Assumption(
    "The ball is bounded: R < ∞.", lambda r, a: np.isfinite(r.R), lambda r: "R = ∞ leaves the iterates unbounded"
)
