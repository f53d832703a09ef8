"""Plan a run for a target epsilon before training: directions, steps, share and noise."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from itertools import product
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from zoexplore.bounds import BOUNDS, curve, guarantee
from zoexplore.bounds.epsilons import BEST, DEFAULT
from zoexplore.questions.calibration import Unreachable, calibrate
from zoexplore.run.formatting import format_short, round_up
from zoexplore.run.limits import LARGEST_INTEGER
from zoexplore.run.refusals import Refused, number
from zoexplore.run.setting import Accounting, Setting
from zoexplore.run.text import written

PASSES = 100.0  # the default number of forward passes per record
# the number of steps up to which further steps teach more than further directions, as measured on
# four problems (docs/finetuning.md)
MANY = 3000
FEW = 1000  # batches are made smaller until this many steps fit
SMALL = 64  # the most records of a batch
# another K is taken only if it raises a step's ratio to its noise by this factor
BETTER = 1.05
PROBES = 20  # steps of each of two searches: for the length of a step, and for the clip
LEAST_CLIP, MOST_CLIP = 0.25, 4.0  # the range of the clip, in units of the median quotient
# shares to try if noise across the directions helps
SHARES = np.append(1 / (1 + np.exp(-np.linspace(-5, 5, 21))), 1.0)


@dataclass(frozen=True)
class Plan:
    """A run that meets a target epsilon within a budget of forward passes.

    Args:
        setting: the run.
        epsilon: the bound's value, at most the target.
        bound: the bound's id.
        signal: the longest step over its noise, by `signal_to_noise`.
        passes: forward passes per record over the whole run, 2KTb/n.
        reasons: why the plan has these values, with numbers. The first reason says if the noise
            drowns the steps.
        supposed: assumptions that no number can check.
        warnings: other cautions.
    """

    setting: Setting
    epsilon: float
    bound: str
    signal: float
    passes: float
    reasons: tuple[str, ...]
    supposed: tuple[str, ...]
    warnings: tuple[str, ...]


def signal_to_noise(setting: Setting) -> float:
    """Return the longest step over its noise eta sigma: C/(K sigma) for a joint clip C. A step is
    longest if all records push the same way.

    With gradients of length at most L, L sqrt(K/d) replaces C where it is less (docs/concepts.md,
    "A step and its noise").

    >>> run = Setting(n=1000, d=10**6, K=16, T=100, sigma=0.01, beta=1.0, clipping="joint")
    >>> signal_to_noise(run)
    6.25
    """
    slope = setting.longest_gradient
    longest = min(setting.clip_each * sqrt(setting.K), slope * sqrt(setting.K / setting.d))
    return longest / (setting.K * setting.sigma)


def passes_of(setting: Setting) -> float:
    """Return the mean number of forward passes per record in the whole run, 2KTb/n: two for each
    direction of each step that uses the record.

    >>> passes_of(Setting(n=1000, d=10**6, K=16, T=100, sigma=0.01, beta=1.0, batch=50))
    160.0
    """
    return 2 * setting.K * setting.T * setting.b / setting.n


def recommend(
    setting: Setting | None = None,
    *,
    epsilon: float,
    passes: float | None = None,
    bound: str = BEST,
    accounting: Accounting = DEFAULT,
    **known: Any,
) -> Plan:
    """Plan a run for a target epsilon from what is known before training: the data, the model's
    size, the batch and a budget of forward passes.

    By default the plan assumes nothing about the loss, puts all noise along the directions (beta = 1),
    and clips jointly. What a run learns depends on the number of steps (docs/concepts.md, "A step
    and its noise"). So the plan takes batches of at most 64 records, and one direction unless the
    passes would pay for more than 3000 steps. If a bound for hidden iterates needs less noise, the
    plan chooses beta for that bound, and more directions if they make a step clearer.

    Args:
        setting: a run with the known fields, whose K and T count only as a budget of passes.
        epsilon: the target.
        passes: forward passes per record, 2KTb/n; by default the setting's own, or 100.
        bound: the bound that meets the target: an id of `BOUNDS`, or "best".
        accounting: how to count; a plan has a single share.
        known: fields of `Setting` that replace the setting's. K, T and beta are chosen, and there
            is no cool-down, unless given here. The batch is chosen if neither a batch, nor T, nor a
            setting is given.

    Raises:
        Unreachable: no noise meets the target by that bound.
        Refused: a value is not allowed, or the budget does not cover one step.

    >>> plan = recommend(n=20_000, d=10**6, batch=64, epsilon=2.0, passes=200)
    >>> plan.setting.K, plan.setting.T, plan.setting.beta, plan.bound, plan.epsilon <= 2, plan.signal > 3
    (10, 3125, 1.0, 'composition', True, True)
    """
    base, counted = _known(setting, known), accounting.replace(schedule="constant")
    if passes is None:
        passes = passes_of(setting) if setting is not None else PASSES
    passes = number("passes", passes, above=0.0)
    shares = (base.beta,) if "beta" in known else (1.0, 0.5) if base.M < inf else (1.0,)
    if setting is None and bound in ON_BATCHES:
        base = _on_small_batches(base, passes, known)

    def least_noise(run: Setting) -> Setting:
        return calibrate(run, "sigma", epsilon=epsilon, bound=bound, accounting=counted)

    splits = _splits(base, passes, known, base.M < inf and bound != "composition")
    runs = [run.replace(beta=beta) for run, beta in product(splits, shares)]
    best = _clearest(runs, least_noise)
    if best.beta < 1 and best.K < best.d and "beta" not in known:
        tried = curve(best, "beta", SHARES, [bound], counted)[bound]
        other = least_noise(best.replace(beta=float(SHARES[tried.argmin()])))
        best = min(best, other, key=lambda run: run.sigma)
    return _planned(best, epsilon, bound, counted)


def _clearest(runs: Iterable[Setting], least_noise: Callable[[Setting], Setting]) -> Setting:
    """Return the run with the clearest steps when every run has its least noise. Raises Unreachable
    if no noise suffices for any run.
    """
    best, failed = None, list[Unreachable]()
    for run in runs:
        try:
            found = least_noise(run)
        except Unreachable as unreachable:
            failed.append(unreachable)
            continue
        enough = BETTER if best and best.K != found.K else 1.0
        if best is None or signal_to_noise(found) > enough * signal_to_noise(best):
            best = found
    if best is None:
        raise failed[0]
    return best


ON_BATCHES = (BEST, "composition", "sharp")  # bounds that cover batches drawn afresh


def _on_small_batches(base: Setting, passes: float, known: Collection[str]) -> Setting:
    """Return the run on batches small enough to leave it enough steps, unless its batch or steps
    are known.
    """
    batch = int(min(SMALL, max(1.0, passes * base.n / (2 * base.K * FEW))))
    if {"batch", "T"} & {*known} or base.records_per_person > 1 or batch >= base.n:
        return base
    poisson = base.neighbours == "add-remove" and "sampling" not in known
    return base.replace(batch=batch, sampling="poisson" if poisson else base.sampling)


def _known(setting: Setting | None, known: dict[str, Any]) -> Setting:
    """Make a run from the known fields, with one direction, one step and no cool-down unless these
    are given.
    """
    unset: dict[str, Any] = {"clipping": "joint", "K": 1, "T": 1, "cooldown": 0}
    if setting is not None:
        return setting.replace(**unset | known)
    if missing := [name for name in ("n", "d") if name not in known]:
        raise Refused(
            f"{' and '.join(missing)} is missing: give the number of records n and of parameters d",
            missing[0],
        )
    return Setting(**{"sigma": 1.0, "beta": 1.0} | unset | known)


def _splits(base: Setting, passes: float, known: Collection[str], is_hidden: bool) -> list[Setting]:
    """Return runs that split the passes into directions and steps: the usual run and, if iterates
    are hidden, runs with more and fewer directions.
    """
    if "K" in known and "T" in known:
        return [base]
    if passes < (need := passes_of(base)):
        raise Refused(
            f"passes = {passes:g} is not allowed: one step in one direction takes {need:.3g}; give at least that",
            "passes",
        )
    work = min(passes * base.n / (2 * base.b), LARGEST_INTEGER)  # K times T
    if "T" in known:
        return [base.replace(K=min(int(work // base.T), base.d))]
    if "K" in known:
        return [base.replace(T=int(work // base.K))]
    Ks = [max(1, min(int(work // MANY), base.d))]
    if is_hidden:
        largest = min(base.d, max(work / 200, 1))
        Ks += sorted({int(largest / 4**i) or 1 for i in range(int(log(largest, 4)) + 2)})
    return [base.replace(K=K, T=int(work // K)) for K in dict.fromkeys(Ks)]


def _planned(run: Setting, epsilon: float, bound: str, accounting: Accounting) -> Plan:
    """Make the plan of a run, with its reasons."""
    g, signal = guarantee(run, bound, accounting), signal_to_noise(run)
    alone = guarantee(run, g.bound, CLIP).epsilon
    by_clip = g.bound == "composition" and alone <= g.epsilon * (1 + SAME)
    public = run
    if g.bound != "composition" and run.beta_at(run.T - 1) < 1:
        at, by = run.replace(beta=1.0, cooldown=0), "composition"
        public = calibrate(at, "sigma", epsilon=epsilon, bound=by, accounting=accounting)
    noise = run.sigma / run.clip_each * sqrt(run.b)
    reasons = written(
        "questions/texts/plan.txt",
        run=run,
        signal=signal,
        passes=passes_of(run),
        epsilon=epsilon,
        by=BOUNDS[g.bound].in_text,
        public=public.sigma,
        by_clip=by_clip,
        probes=2 * PROBES,
        found=in_words({"lr", "clip", "xi"}, noise, "linear"),
        meanings=meanings(run),
    )
    told, said = tuple(filter(None, reasons.splitlines())), tuple(filter(None, (g.reason, g.note)))
    return Plan(run, g.epsilon, g.bound, signal, passes_of(run), told, g.supposes, said)


CLIP = Accounting(sensitivity="clip")
SAME = 1e-6  # the relative difference up to which epsilons count as equal


def in_words(auto: Collection[str], noise: float, decay: str) -> str:
    """Say what `NoisyZOGD.for_epsilon` chooses by itself. `noise` is sigma sqrt(b) divided by the
    clip on each quotient.

    >>> in_words({"clip"}, 0.4, "linear")
    'Clip: 2.5 × the median quotient, found in training.'
    """
    clip = min(max(1 / noise, LEAST_CLIP), MOST_CLIP)
    said = written("questions/texts/scale.txt", auto=auto, clip=clip, decay=decay)
    return " ".join(said.splitlines())


def meanings(run: Setting) -> str:
    """State epsilon by composition for both kinds of neighbours; return "" if one of the two
    epsilons is not known.

    >>> meanings(Setting(n=1000, d=100, K=1, T=100, sigma=0.02, beta=1.0, delta=1e-5))
    'With one record replaced ε ≤ 4.38, with one added or removed, its place left empty, ε ≤ 2.'
    """
    own = guarantee(run, "composition", CLIP).epsilon
    other = otherwise(run, own)
    both = (own, other) if run.neighbours == "replace-one" else (other, own)
    if inf in both:
        return ""
    replaced, removed = (format_short(round_up(x, 3)) for x in both)
    return f"With one record replaced ε ≤ {replaced}, with one added or removed, its place left empty, ε ≤ {removed}."


def otherwise(run: Setting, own: float) -> float:
    """Return epsilon by composition, from the clip alone, for the other kind of neighbours. A
    record that leaves its place empty moves a mean half as far as one that is replaced. Replacing a
    record is removing one and adding another, each with epsilon' at delta' <= delta/(1 +
    e^epsilon').

    >>> round(otherwise(Setting(n=1000, d=100, K=1, T=100, sigma=0.02, beta=1.0, delta=1e-5), 4.38), 2)
    1.99
    """
    if run.neighbours == "replace-one":
        sampled = not run.full_batch and run.sampling == "without-replacement"
        half = {"clip": run.clip / 2} if sampled else {"neighbours": "add-remove"}
        return guarantee(run.replace(**half), "composition", CLIP).epsilon
    if run.full_batch or run.sampling != "poisson":
        return guarantee(run.replace(neighbours="replace-one"), "composition", CLIP).epsilon
    epsilon = own
    for _ in range(50):
        at = guarantee(
            run.replace(delta=run.delta / (1 + exp(min(epsilon, 500.0)))), "composition", CLIP
        ).epsilon
        if at <= epsilon:
            return 2 * epsilon
        epsilon = at
    return inf
