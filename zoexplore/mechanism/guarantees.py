"""Computes guarantees for the steps that a run made. Those steps may differ from one another, or
break assumptions.

The accountant knows only runs whose steps are all alike. So this module replaces a run by such a
run that is no more private, or adds up the costs of the run's own steps.
"""

from dataclasses import replace
from math import inf, nan, sqrt
from typing import Any

import numpy as np

from zoexplore.bounds import BOUNDS, Guarantee, guarantee
from zoexplore.bounds.assumptions import LIPSCHITZ
from zoexplore.bounds.guarantee import EXACT
from zoexplore.bounds.kernels.gaussian import ROUND_UP
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.mechanism.record import RunRecord, Step
from zoexplore.questions.several import Composed, Part, Steps
from zoexplore.run.setting import Accounting, Setting, VariedSetting

ULPS_UP = 1 + 4e-16
SAME = 1e-8  # the relative difference up to which costs count as equal


def composition(record: RunRecord, accounting: Accounting) -> Guarantee:
    """Return composition's guarantee, which holds for any loss. A declared Lipschitz constant can
    lower its epsilon.
    """
    alike = alike_of(record)
    if alike is None:
        return _added_up(record, accounting)
    return guarantee(
        alike, "composition", accounting.replace(sensitivity="clip") if record.plan else accounting
    )


def alike_of(record: RunRecord) -> Setting | None:
    """Return a constant run whose steps cost as much as each entry of the record; None if the
    entries' costs differ. If each entry costs as much as a step of the plan, up to rounding, that
    run is the plan with `record.steps` steps, since the target was met by the plan's epsilon.
    """
    if record.skips_batches:
        return None
    plan = record.plan
    if plan is not None and {(step.sampling, step.batch) for step in record.looked} == {
        (plan.sampling, plan.batch)
    }:
        planned = _moved(plan, plan)
        costs = [cost(record, step) for step in record.looked]
        if planned * (1 - SAME) <= min(costs) <= max(costs) <= planned:
            return plan.replace(T=record.steps)
    return record.of(record.last, record.steps) if len(record.looked) == 1 else None


def of_last(record: RunRecord, bound: str, accounting: Accounting) -> Guarantee:
    """Return a bound's guarantee for the last iterate. `against` must list nothing against it."""
    if bound == "output-perturbation":  # only the last step's noise counts
        last = replace(record.last, R=max(step.R for step in record.moving))
        return guarantee(
            record.of(last, record.steps), bound, accounting.replace(sensitivity="clip")
        )
    note = "steps of several rates count as the worst of them" if record.varies("eta") else ""
    return _noted(guarantee(constant(record), bound, accounting), note)


def against(record: RunRecord, bound: str) -> list[str]:
    """List why a bound does not apply to a run, apart from the accountant's own conditions."""
    if bound == "composition" or record.flaw:
        return [record.flaw] if record.flaw else []
    declared, last, d = record.declared, record.last, record.setting.d
    missing: dict[str, object] = {
        "the parameters went back to an earlier iterate, and only what covers every iterate covers the choice": record.returned,
        "probes of the data chose its constants, and this bound is for constants that data did not choose": record.probes,
        "parameters in half precision are rounded at every step, which no proof about distances covers": record.rounded,
        "losses were computed in half precision, whose rounding parts two runs where a proof brings them together": record.halves,
    }
    if bound != "output-perturbation":
        # the share may change once; the last steps then have the second share
        varied = [*record.varies(*CONSTANT), *["beta"] * (len(record.shares) > 2)]
        missing |= {
            f"{', '.join(varied)} changed during the run, which the proof does not cover": varied,
            "some of the cyclic batches moved nothing, which the proof does not cover": record.skips_batches,
            "the smoothness M of the loss is not declared": declared.M is None,
            _of_clip(record, bound): True,
            f"the run is not gradient descent: K = {last.K} of d = {d} directions, ξ = {last.xi:g}": (
                bound == "noisy-gd" and (d > last.K or last.xi > 0)
            ),
        }
    return [words for words, holds in missing.items() if words and holds]


CONSTANT = "K", "clipping", "batch", "sampling", "xi", "ridge", "R", "sigma", "clip"


def _of_clip(record: RunRecord, bound: str) -> str:
    """Say why the clip keeps a bound from applying; return "" if it does not."""
    last, unproved = record.last, record.unproved
    if record.disproved or not unproved:
        return record.disproved
    idle = LIPSCHITZ in BOUNDS[bound].assumptions
    if idle or (bound == "noisy-gd" and last.clipping == "each"):
        return unproved
    if last.clipping == "joint" and record.xi_factor > 1 and last.xi > 0:
        return f"{unproved}; of a joint clip that acts, two points along streamed directions are not covered"
    return ""


def refused(like: Guarantee, bound: str, reasons: list[str]) -> Guarantee:
    """Return the guarantee of a bound that does not apply: epsilon is inf, with the reasons."""
    silent: dict[str, Any] = dict.fromkeys(("rho", "order", "moment", "N", "start"), nan)
    silent |= {"bound": bound, "title": BOUNDS[bound].title, "source": BOUNDS[bound].cites}
    silent |= {"epsilon": inf, "delta_f": 0.0, "note": "", "checks": ()}
    return replace(like, **silent, reason="; ".join(reasons))


def constant(record: RunRecord) -> Setting:
    """Return a run with one rate, whose epsilon by each bound is at least the given run's. The
    given run's rate may vary, and its share of the noise may change once, as in a cool-down.

    Take a run in which every step has the noise of the least noisy step. Adding independent noise
    turns it into the given run. Conditionally on the added noise, the same vector shifts the step
    maps for both data sets. So every bound holds conditionally, and hence for the mixture.

    The bounds use the factor by which two runs approach each other. They also use the most that a
    record (eta clip, or eta times the slope of its loss) and two-point quotients (eta xi) move a
    step. The factor is convex in eta, so it is largest at the least or the largest eta. Which of
    the two that is depends on the norm's order, so both count (`VariedSetting`): the larger epsilon
    of two constant runs, each at its best order, may be too small.
    """
    rates, shares = [step.eta for step in record.moving], record.shares
    eta, part = max(rates), min(rates) / max(rates)
    late = (
        dict(zip(("cooldown_beta", "cooldown"), shares[-1], strict=True)) if len(shares) > 1 else {}
    )
    sigma = record.last.sigma * part / (ROUND_UP if part < 1 else 1)
    setting = record.of(
        replace(record.last, eta=eta, sigma=sigma, beta=shares[0][0]), record.steps, **late
    )
    return VariedSetting(**setting.as_dict(), slowest=part / ULPS_UP) if part < 1 else setting


def _added_up(record: RunRecord, accounting: Accounting) -> Guarantee:
    """Compose steps that differ. Compose the privacy losses of the steps on secret batches, and add
    up the budgets of all other steps.
    """
    how, first = accounting.replace(sensitivity="clip"), next(iter(record.looked))
    for step in {(s.sampling, s.on_all(record.setting.n)): s for s in record.looked}.values():
        one = guarantee(record.of(step, 1), "composition", how)
        if any(check.met is False for check in one.checks):
            return one
    n, rho = record.setting.n, _budget(record)
    secret = [
        Steps(float(count), (s.batch or n) / n, cost(record, s))
        for s, count in record.looked.items()
        if s.is_secret(n)
    ]
    like, losses = (
        record.of(first, record.steps, batch=None),
        (*secret, Steps(1.0, 1.0, sqrt(2 * rho))),
    )
    together = Composed((Part(None, 0.0, losses),), like.delta, like.neighbours)
    return replace(
        guarantee(like, "composition", how),
        epsilon=together.epsilon,
        rho=nan if secret else rho,
        order=nan,
        reason="",
        note=EXACT,
    )


def cost(record: RunRecord, step: Step) -> float:
    """Return mu, how far a record moves a step that uses it, in standard deviations of the step's
    noise within the span.
    """
    return _moved(record.setting, step)


def _moved(setting: Setting, of: Step | Setting) -> float:
    """Return the `cost` of a step, or of each step of a run, on the setting's data."""
    noise = of.sigma * sqrt(of.beta + (1 - of.beta) * of.K / setting.d)
    share = float(RunArrays.of(setting).person_share)
    return share * 2 * of.clip_each / (of.batch or setting.n) / noise


def _budget(record: RunRecord) -> float:
    """Add up half the squared costs of the steps on all records, and of the cyclic steps that use
    one record, the record for which this sum is largest.
    """
    n, t, met = record.setting.n, 0, dict[int, np.ndarray]()
    for step, count in record.stages:
        if step.eta > 0 and not step.is_secret(n):
            each = cost(record, step) ** 2 / 2
            batch = step.batch or n
            cycle = -(-n // batch)
            sums = met.setdefault(batch, np.zeros(cycle))
            sums += count // cycle * each
            sums[np.arange(t, t + count % cycle) % cycle] += each
        t += count
    return sum(float(sums.max()) for sums in met.values()) * ROUND_UP


def _noted(found: Guarantee, *notes: str) -> Guarantee:
    return replace(found, note="; ".join(filter(None, (found.note, *notes))))
