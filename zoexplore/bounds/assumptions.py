"""The assumptions of bounds in words, with checks of those that numbers can decide."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.fields import OPTIONS
from zoexplore.run.formatting import format_count, format_short
from zoexplore.run.setting import NEIGHBOURS, Accounting


@dataclass(frozen=True)
class Assumption:
    """Holds one assumption. If `holds` is None, no setting can decide the assumption, and the user
    must guarantee it.

    Args:
        words: the assumption, as a lecturer would say it.
        holds: says for each run whether the assumption holds.
        shortfall: says with numbers which condition a single run violates; empty if another
            assumption says so already.
        when: says which ways to count need the assumption; all ways do if None.
        vouched: whether the user must guarantee a part that `holds` cannot check.
        unless: says which single runs do not need the assumption; `holds` must be true for these.
        said: states the assumption for a single run, with only what applies to the run; `words` if
            None.
    """

    words: str
    holds: Callable[[RunArrays, Accounting], np.ndarray] | None = None
    shortfall: Callable[[RunArrays], str] | None = None
    when: Callable[[Accounting], bool] | None = None
    vouched: bool = False
    unless: Callable[[RunArrays], Any] | None = None
    said: Callable[[RunArrays], str] | None = None

    def needed(self, accounting: Accounting) -> bool:
        return self.when is None or self.when(accounting)

    def listed(self, runs: RunArrays, accounting: Accounting) -> bool:
        """Say whether a single run's guarantee rests on the assumption."""
        return self.needed(accounting) and not (self.unless and bool(self.unless(runs)))


@dataclass(frozen=True)
class Check:
    """Holds an assumption checked for one run. `met` is None if only the user can know. `shortfall`
    says what is missing.
    """

    words: str
    met: bool | None
    shortfall: str = ""


def check(assumption: Assumption, runs: RunArrays, accounting: Accounting) -> Check:
    """Check the assumption for a single run."""
    words = assumption.said(runs) if assumption.said else assumption.words
    if assumption.holds is None:
        return Check(words, None)
    if assumption.holds(runs, accounting):
        return Check(words, None if assumption.vouched else True)
    return Check(
        words, False, assumption.shortfall(runs) if assumption.shortfall else "it does not hold"
    )


def _or_of(usual: str, of: Callable[[RunArrays], Any], other: str) -> Callable[[RunArrays], str]:
    """Return a function that gives the `other` words for a run of which `of` is true, and else the
    `usual` words.
    """
    return lambda runs: other if bool(of(runs)) else usual


def on_the_ball(runs: RunArrays) -> str:
    """Name the region where assumptions on the loss must hold; return "" if R = inf."""
    return (
        ""
        if runs.R == np.inf
        else " on the ball of radius R + ξ"
        if runs.xi > 0
        else " on the ball of radius R"
    )


_STARTS = "The start lies in the ball and does not depend on the data."
START = Assumption(
    _STARTS, said=_or_of(_STARTS, lambda r: r.R == np.inf, "The start does not depend on the data.")
)
LAST_ITERATE = Assumption(
    "Only the last iterate is released, and nobody who chooses the data knows the directions.",
    lambda r, a: r.releases == 1,
    lambda r: (
        f"{format_count(r.releases)} iterates are released, and this bound covers the last one alone"
    ),
    vouched=True,
)
LAST_RELEASED = Assumption(
    "Only the last iterate is released.", LAST_ITERATE.holds, LAST_ITERATE.shortfall, vouched=True
)
_SOME = (
    "Only the last iterate is released, or as many as stated, evenly spaced; and nobody who chooses the data knows the "
    "directions."
)
RELEASED = Assumption(_SOME, said=_or_of(_SOME, lambda r: r.releases == 1, LAST_ITERATE.words))
_SHAPES = {"strongly-convex": ", and m-strongly convex", "convex": ", and convex", "non-convex": ""}
SMOOTH = Assumption(
    "Every record's loss is M-smooth, and convex or m-strongly convex where the regime says so.",
    lambda r, a: np.isfinite(r.M),
    lambda r: (
        "M = ∞ says nothing about how smooth the loss is: give the smoothness of every record's loss, the ridge's included"
    ),
    vouched=True,
    said=lambda r: f"Every record's loss is M-smooth{_SHAPES[r.regime]}.",
)
STEP_SIZE = Assumption(
    "The step size is set.",
    lambda r, a: np.isfinite(r.eta),
    lambda r: "η is not set, and with M = ∞ there is no K/M to use instead: give a step size",
)


def why_acting(r: RunArrays) -> str:
    """Say, with numbers, why the clip of a single run may act."""
    if r.lipschitz <= r.clip:
        why = f"two points at ξ = {format_short(r.xi, 6)} can make a record's quotients {format_short(r.longest, 6)} long"
    elif np.isfinite(r.lipschitz):
        why = f"gradients may be as long as {format_short(r.lipschitz, 6)}"
    else:
        why = "nothing is known of gradients"
    return f"the clip may act, as {why} and Δ = {format_short(r.clip, 6)}"


def _gradients(runs: RunArrays) -> str:
    longest = (
        "at most Δ"
        if runs.lipschitz == runs.clip
        else f"at most L = {format_short(runs.lipschitz, 6)}"
    )
    return f"For every record, the gradient of what is clipped of its loss has length {longest}{on_the_ball(runs)}"


GRADIENTS = Assumption(
    "For every record, the gradient of what is clipped of its loss has length at most L on the ball of radius R + ξ.",
    unless=lambda r: r.slope == np.inf,
    said=lambda r: f"{_gradients(r)}.",
)
LIPSCHITZ = Assumption(
    "For every record, the gradient of what is clipped of its loss has length at most Δ on the ball of radius R + ξ, so the clip "
    "never acts.",
    lambda r, a: ~r.acting,
    lambda r: f"{why_acting(r)}: this bound needs it idle",
    vouched=True,
    said=lambda r: f"{_gradients(r)}, so the clip never acts.",
)
_NOTHING = "Nothing is assumed of the loss."
CLIPPED = Assumption(
    "A record's difference quotients are clipped at Δ, each by itself or together. Nothing is assumed of the loss.",
    unless=lambda r: r.slope < np.inf,
    said=lambda r: (
        f"A record's difference quotients are clipped at Δ, {'together' if r.joint else 'each by itself'}. {_NOTHING}"
    ),
)
TWO_POINTS = Assumption(
    "Every record's loss is M-smooth, so that two points say nearly what a derivative does.",
    unless=lambda r: r.slope == np.inf or r.xi == 0,
)
LINEAR = Assumption(
    "What is clipped of every record's loss is a function of one linear form of the parameters (a generalised linear model)."
)
CLIP_IDLE = Assumption(
    "The strong convexity that is inside the clip leaves the clip idle: (m − ridge)(R + ξ) ≤ Δ.",
    lambda r, a: r.consistent | a.printed,
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
    lambda r: (
        f"b = {format_count(r.batch)} is below n = {format_count(r.n)}, and this bound does not cover mini-batches"
    ),
)


_DIFFERS = {"replace-one": "replaced", "add-remove": "added or removed"}


def _named(runs: RunArrays) -> str:
    s = runs.setting
    batches = f"batches of {format_count(runs.batch)} of {format_count(runs.n)} records"
    return f"{batches}, {OPTIONS['sampling'][s.sampling]}, with one record {_DIFFERS[s.neighbours]}"


_DRAWN = {
    "without-replacement": "a fresh batch, drawn uniformly without replacement, that nobody sees",
    "poisson": "a fresh Poisson batch that nobody sees, and divides its sum by b, whatever its size",
    "cyclic": "one part of a partition made without looking at the data, in order",
    "shuffled": "one part of a partition made without looking at the data, in a secret random order",
}


def _seen(runs: RunArrays) -> str:
    """Say which records a step of a single run uses."""
    return f"Every step uses {'all n records' if runs.batch == runs.n else _DRAWN[runs.setting.sampling]}."


_COVERED = {
    "poisson": "Poisson batches are covered with one record added or removed; replacing one is removing it and adding another",
    "without-replacement": "batches drawn without replacement are covered with one record replaced",
}


def _what_it_covers(runs: RunArrays, allowed: Numbers) -> str:
    """Say which neighbours the bound covers for the run's way of drawing batches; empty if none."""
    sampling = runs.setting.sampling
    return f": {_COVERED[sampling]}" if sampling in _COVERED and sampling in dict(allowed) else ""


def drawn(*allowed: tuple[str, str], words: str) -> Assumption:
    """Return the assumption that every batch is all records, or that the run's pair (sampling,
    neighbours) is one of `allowed`.
    """
    return Assumption(
        words,
        lambda r, a: (r.batch == r.n) | ((r.setting.sampling, r.setting.neighbours) in allowed),
        lambda r: f"this bound does not cover {_named(r)}{_what_it_covers(r, allowed)}",
        vouched=True,
        said=_seen,
    )


PARTITION = "It is made without looking at the data; its parts are used in order (cyclic) or in a secret random order (shuffled)."
BATCHES = drawn(
    ("without-replacement", "replace-one"),
    words="Every step uses all n records, or a fresh batch drawn uniformly without replacement that nobody sees.",
)
COMPOSABLE_BATCHES = drawn(
    ("without-replacement", "replace-one"),
    ("poisson", "add-remove"),
    *((sampling, who) for sampling in ("cyclic", "shuffled") for who in NEIGHBOURS),
    words="Every step uses all n records, a fresh batch drawn uniformly without replacement or as Poisson that nobody sees, or "
    f"one part of a partition. {PARTITION}",
)
PEOPLE = Assumption(
    "Nobody has more records than stated; with batches, nobody has more than one.",
    lambda r, a: (r.batch == r.n) | (r.records_per_person == 1),
    lambda r: (
        f"a person may have {format_count(r.records_per_person)} records, which is covered only if every step uses all n records"
    ),
    vouched=True,
    said=lambda r: (
        "Nobody has more than one record."
        if r.records_per_person == 1
        else f"Nobody has more than {format_count(r.records_per_person)} records."
    ),
)

DIRECTIONAL_NOISE = Assumption(
    "Some noise lies along the directions: β > 0 (or the share is free).",
    lambda r, a: (r.beta > 0) | (a.schedule == "optimal"),
    lambda r: (
        f"β = {format_short(r.beta, 6)} leaves no noise along the directions to hide one step's data"
    ),
)

NO_COOLDOWN = Assumption(
    "Every step has the same share of its noise along the directions.",
    lambda r, a: r.cooled == 0,
    lambda r: (
        f"the last {format_count(r.cooled)} steps have another share of the noise, and this bound takes one for all"
    ),
    unless=lambda r: r.cooled == 0,
)
SHARE_AS_SET = Assumption(
    "The share is the run's own where it has a cool-down.",
    lambda r, a: (r.cooled == 0) | (a.schedule == "constant"),
    lambda r: (
        'schedule="optimal" chooses one share for all steps, and the run has a cool-down: take schedule="constant"'
    ),
    unless=lambda r: r.cooled == 0,
)
FINITE_BALL = Assumption(
    "The ball is bounded: R < ∞.",
    lambda r, a: np.isfinite(r.R),
    lambda r: "R = ∞ leaves the iterates unbounded",
)
