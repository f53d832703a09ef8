"""Runs that the accountant does not know by themselves: a joint clip, shares that vary, assumptions that it did not keep.

Each is put down to settings that it does know and that are no more private than the run.
"""

from dataclasses import replace
from math import inf, nan, sqrt

from zoexplore.bounds import BOUNDS, Guarantee, guarantee
from zoexplore.mechanism.ran import Ran
from zoexplore.mechanism.schedule import constant_of_composition, dominated, theorem_of
from zoexplore.setting import Accounting, Setting

UNCLIPPED = "the clip was skipped: this number too rests on the declared Lipschitz constant"
CLIP_ALONE = ("composition", "output-perturbation")  # bounds that ask nothing else of the loss


def composition(ran: Ran, accounting: Accounting) -> Guarantee:
    """Composition, whatever the loss. With the Lipschitz sensitivity, for runs whose clip is idle."""

    def with_shares(setting: Setting) -> Setting:
        if ran.shares is None:
            return setting
        if setting.full_batch:
            return setting.replace(beta=constant_of_composition(ran.shares, setting))
        return dominated(ran.shares, setting)  # on batches the cost is no function of the mean

    found = _least(guarantee(with_shares(s), "composition", a) for s, a in _clips(ran, accounting))
    return _noted(found, _about(ran, found), _unclipped(ran))


def of_last(ran: Ran, bound: str, accounting: Accounting) -> Guarantee:
    """A bound for the last iterate, where nothing in `against` speaks against it."""
    unclipped = _unclipped(ran) if bound in CLIP_ALONE else ""
    found = [g for s, a in _clips(ran, accounting) for g in _with_shares(ran, s, bound, a)]
    return _least(_noted(g, _about(ran, g), unclipped) for g in found)


def against(ran: Ran, bound: str) -> list[str]:
    """What keeps a bound from applying to a run, beyond what the accountant itself asks."""
    if bound in CLIP_ALONE:
        return [f"the clip was skipped, and {ran.why_not_idle}"] if ran.skipped_clip and ran.why_not_idle else []
    setting, missing = ran.setting, []
    if ran.declared.M is None:
        missing.append("the smoothness M of the loss is not declared")
    if ran.why_not_idle:
        missing.append(ran.why_not_idle)
    if bound == "noisy-gd" and (setting.K < setting.d or setting.xi > 0):
        missing.append(f"the run is not gradient descent: K = {setting.K} of d = {setting.d} directions, ξ = {setting.xi:g}")
    return missing


def refused(like: Guarantee, bound: str, reasons: list[str]) -> Guarantee:
    """A bound that says nothing of a run."""
    named = replace(like, bound=bound, title=BOUNDS[bound].title, source=BOUNDS[bound].source, note="", checks=())
    silent = replace(named, epsilon=inf, rho=nan, order=nan, moment=nan, delta_f=0.0, N=nan, start=nan)
    return replace(silent, reason="; ".join(reasons))


def _clips(ran: Ran, accounting: Accounting) -> list[tuple[Setting, Accounting]]:
    """The run with a clip of each quotient, in every form that holds.

    Joint clip C: a record's K-vector has length at most C, so that replacing it moves the mean by at most 2C/n and the step by
    2 eta C/(nK), at two points by 2 eta C/K. Clipping each quotient at C/sqrt(K) gives the same two numbers, on which every bound
    that does not look into the clip depends. Where the clip is idle, so is one of each quotient at C.
    """
    setting = ran.declared.describe(ran.setting).replace(T=ran.counts.steps)
    if ran.clipping == "each":
        return [(setting, accounting)]
    equivalent = setting.replace(clip=setting.clip / sqrt(setting.K)), accounting.replace(sensitivity="clip")
    return [equivalent] if ran.why_not_idle else [equivalent, (setting, accounting)]


def _with_shares(ran: Ran, setting: Setting, bound: str, accounting: Accounting) -> list[Guarantee]:
    """A bound for the run's shares, by every way that holds."""
    if ran.shares is None:
        return [guarantee(setting, bound, accounting)]
    if bound == "output-perturbation":
        return [guarantee(setting.replace(beta=float(ran.shares[-1])), bound, accounting)]  # only the last step's noise counts
    found = [guarantee(dominated(ran.shares, setting), bound, accounting)]
    if bound == "theorem" and setting.full_batch:
        found.append(theorem_of(ran.shares, setting, accounting))
    return found


def _unclipped(ran: Ran) -> str:
    return UNCLIPPED if ran.skipped_clip else ""


def _about(ran: Ran, found: Guarantee) -> str:
    """How the setting that was accounted differs from the run's."""
    s, own, said = found.setting, ran.setting, []
    if s.clip != own.clip:
        said.append(f"the joint clip {own.clip:.4g} counts as {s.clip:.4g} = C/√K on each quotient")
    if ran.shares is not None and (s.beta, s.sigma) != (own.beta, own.sigma):
        said.append(f"the shares β_t count as the constant β = {s.beta:.4g} at σ = {s.sigma:.4g}")
    return "; ".join(said)


def _noted(found: Guarantee, *notes: str) -> Guarantee:
    return replace(found, note="; ".join(filter(None, (found.note, *notes))))


def _least(found) -> Guarantee:
    return min(found, key=lambda g: g.epsilon)
