"""`Guarantee`: what one bound says of one run, and what follows from that."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from zoexplore.bounds.assumptions import Check, check
from zoexplore.bounds.bound import Bound, Solved, Trajectory
from zoexplore.bounds.epsilons import (
    BEST,
    DEFAULT,
    accounting_for,
    curve,
    entry_of,
    on_this_run,
    solve,
)
from zoexplore.bounds.lower import truth
from zoexplore.bounds.registry import BOUNDS
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.bounds.subsampling import remark
from zoexplore.bounds.tradeoff import Answers, TradeOff
from zoexplore.run.formatting import format_short
from zoexplore.run.setting import Accounting, Setting

EXACT = "converted exactly, by the composed privacy-loss distribution of the steps"
# the deltas at which a guarantee's risk is computed
RISK_DELTAS = np.concatenate([np.geomspace(1e-12, 1e-2, 61)[:-1], np.geomspace(1e-2, 0.9, 60)])


class GaussianDP(NamedTuple):
    """Says that a coupled run is mu-Gaussian differentially private. The actual run differs from
    the coupled one with probability at most delta_f.
    """

    mu: float
    delta_f: float


class ZeroConcentrated(NamedTuple):
    """Says that a coupled run is rho-zCDP. The actual run differs from the coupled one with
    probability at most delta_f.
    """

    rho: float
    delta_f: float


@dataclass(frozen=True)
class Guarantee(Answers):
    """Holds what one bound says of one run: (epsilon, setting.delta)-differential privacy of what
    the run releases.

    Args:
        bound: the registry's id.
        title: the bound's name, marked if the constants are as printed.
        setting: the run.
        accounting: how the run's privacy loss was counted; without printed constants if the bound
            has none.
        epsilon: the privacy loss; inf if the bound does not apply.
        reason: why the bound does not apply, with numbers; or how the printed constants err; empty
            otherwise.
        rho: the Gaussian shift budget; nan if there is none.
        order: the Renyi order at which epsilon was converted; nan if none was used.
        moment: the order lambda of the moments that give the sharper bound's tails; nan for the
            other bounds.
        note: what else to know of epsilon, apart from the assumptions; empty if nothing.
        delta_f: the part of delta that is set aside in case the coupling fails; epsilon is taken at
            delta - delta_f.
        N: the number of steps counted.
        start: the distance from which the steps are counted, between 0 and 2R.
        checks: every assumption, checked for the run.
        source: where the bound comes from.
    """

    bound: str
    title: str
    setting: Setting
    accounting: Accounting
    epsilon: float
    reason: str
    rho: float
    order: float
    moment: float
    note: str
    delta_f: float
    N: float
    start: float
    checks: tuple[Check, ...]
    source: str
    _solved: Solved

    @property
    def valid(self) -> bool:
        return self.epsilon < inf

    @property
    def supposes(self) -> tuple[str, ...]:
        """The guarantee's assumptions that no number can check, one sentence each. A comparison of
        epsilons should say if their assumptions differ.
        """
        return tuple(c.words for c in self.checks if c.met is None)

    @property
    def truth(self) -> str:
        """Says how near composition is to what can be proved of this run, or how little hiding is
        worth; empty if neither is known (docs/bounds.md, section 11).
        """
        return truth(self.setting)

    @cached_property
    def beta(self) -> float | np.ndarray:
        """The directional share for which epsilon holds: the run's own share, or the accountant's
        choice under schedule="optimal". The choice is a constant, or a share for each of the last N
        steps, shape (N,); earlier steps may have any share.
        """
        if not self._share_is_chosen:
            return self.setting.beta
        if not np.isnan(self._solved.beta):
            return float(self._solved.beta)
        path = self.trajectory
        return self.setting.beta if path is None else path.beta

    @property
    def _share_is_chosen(self) -> bool:
        return (
            self.valid
            and self.accounting.schedule == "optimal"
            and BOUNDS[self.bound].chooses_share
        )

    @cached_property
    def risk(self) -> TradeOff:
        """What the guarantee allows an attacker (docs/concepts.md, "What an attacker can do"). This
        follows from the Gaussian shift and, if choices or conversion depend on delta, from epsilon
        at about a hundred deltas.
        """
        if not self.valid:
            return TradeOff()
        gaussian = (self.rho, self.delta_f) if self.rho < inf else (inf, 0.0)
        epsilons, deltas = np.array([self.epsilon]), np.array([self.setting.delta])
        if self._depends_on_delta and self._can_be_taken_anew:
            epsilons, deltas = (
                np.append(epsilons, self._at_other_deltas()),
                np.append(deltas, RISK_DELTAS),
            )
        return TradeOff(*gaussian, epsilons=tuple(epsilons), deltas=tuple(deltas))

    def _at_other_deltas(self) -> np.ndarray:
        """Return epsilon at `RISK_DELTAS`, shape (deltas,). The same choices are used if they serve
        all deltas; otherwise the bound is computed anew.
        """
        of_bound, run, accounting = BOUNDS[self.bound].epsilons, self.setting, self.accounting
        if of_bound is not None:
            with np.errstate(all="ignore"):
                epsilons = of_bound(
                    RunArrays.of(run).counted_by(accounting), accounting, self._solved, RISK_DELTAS
                )
            if epsilons is not None:
                return epsilons
        if self._share_is_chosen:  # the run keeps its share at all deltas
            run, accounting = run.replace(beta=self.beta), accounting.replace(schedule="constant")
        return curve(run, "delta", RISK_DELTAS, [self.bound], accounting)[self.bound]

    @property
    def _depends_on_delta(self) -> bool:
        """Whether the bound's choices or its conversion depend on delta. If so, the bound says more
        at other deltas than its Gaussian shift does.
        """
        return not self.rho < inf or self.delta_f > 0 or BOUNDS[self.bound].chooses_share

    @property
    def _can_be_taken_anew(self) -> bool:
        """Whether `curve` can compute the bound at other deltas. It cannot if shares vary with the
        step, or if the mechanism replaced the bound's numbers because the run's steps differ
        (`mechanism.guarantees`).
        """
        varies = self._share_is_chosen and np.ndim(self.beta) > 0
        own, found = ((float(of.epsilon), float(of.rho)) for of in (self, self._solved))
        return not varies and np.array_equal(own, found, equal_nan=True)

    @property
    def gaussian_dp(self) -> GaussianDP | None:
        """The guarantee as mu-GDP, up to a failure probability of delta_f; None without a Gaussian
        budget.
        """
        return (
            GaussianDP(sqrt(2 * self.rho), self.delta_f) if self.valid and self.rho < inf else None
        )

    @property
    def zero_concentrated(self) -> ZeroConcentrated | None:
        """The guarantee as rho-zCDP, up to a failure probability of delta_f; None without a
        Gaussian budget.
        """
        return ZeroConcentrated(self.rho, self.delta_f) if self.valid and self.rho < inf else None

    @cached_property
    def trajectory(self) -> Trajectory | None:
        """The shifts, distances and shares behind epsilon; None if the bound has none or does not
        apply.
        """
        of_bound = BOUNDS[self.bound].trajectory
        if of_bound is None or not self.valid:
            return None
        runs = RunArrays.of(self.setting).counted_by(self.accounting)
        with np.errstate(all="ignore"):
            path, unit = of_bound(runs, self.accounting, self._solved), float(runs.unit)
            if path is None:
                return None
            drift = None if path.drift is None else path.drift * unit
            return replace(path, z=path.z * unit, p=path.p * unit, a=path.a * unit, drift=drift)


def guarantee(setting: Setting, bound: str, accounting: Accounting = DEFAULT) -> Guarantee:
    """Return what a bound says of a run, or the reason why the bound does not apply.

    Args:
        setting: the run.
        bound: an id of `BOUNDS`, or "best" for the least of the bounds on this run, under that
            bound's assumptions; `.bound` names it. "best" never takes printed constants, because
            they guarantee nothing.
        accounting: how to count.

    Raises:
        ValueError: the bound is unknown.

    >>> from zoexplore import guarantee
    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> g = guarantee(DEMONSTRATION.replace(K=52), "corollary")
    >>> g.epsilon, g.reason
    (inf, "K = 52 is too small: the chance that a step fails exceeds δ/2 (the paper's K_min is enough, 259; at most d/2 = 260 is allowed)")
    """
    if bound == BEST:
        proved = accounting.replace(printed=False)
        return min(
            (guarantee(setting, each, proved) for each in on_this_run()), key=lambda g: g.epsilon
        )
    entry = entry_of(bound)
    assert entry is not None
    counted = accounting_for(entry, accounting)
    runs = RunArrays.of(setting).counted_by(counted)
    with np.errstate(all="ignore"):
        checks = tuple(
            check(assumption, runs, counted)
            for assumption in entry.assumptions
            if assumption.listed(runs, counted)
        )
    failed = [c for c in checks if c.met is False]
    solved = solve(entry, runs, counted, np.asarray(not failed))
    epsilon = float(solved.epsilon)
    order = float(solved.renyi_order) if epsilon < inf else np.nan
    printed = as_printed(bound, accounting)
    return Guarantee(
        bound=bound,
        title=entry.title + (" (as printed)" if printed else ""),
        setting=setting,
        accounting=counted,
        epsilon=epsilon,
        reason=_joined(printed, _why_not(failed, epsilon)),
        **{k: float(getattr(solved, k)) for k in ("rho", "delta_f", "N")},
        order=order,
        moment=float(solved.moment) if epsilon < inf else np.nan,
        note=_note(entry, runs, solved, accounting) if epsilon < inf else "",
        start=_start(runs, solved),
        checks=checks,
        source=entry.cites,
        _solved=solved,
    )


def _start(runs: RunArrays, solved: Solved) -> float:
    """Return the distance from which the steps are counted, in the run's units."""
    with np.errstate(all="ignore"):
        if solved.z == runs.diameter:
            return float(2 * runs.R)
        return float(np.where(solved.z == 0, 0.0, solved.z * runs.unit))


def _joined(*said: str) -> str:
    return "; ".join(filter(None, said))


def _why_not(failed: list[Check], epsilon: float) -> str:
    """Say, with numbers, why the bound gives no epsilon; empty if it gives one."""
    if failed or epsilon < inf:
        return _joined(*(c.shortfall for c in failed))
    return "no choice of steps gives a finite number: the budget is infinite or beyond floating-point numbers"


def _note(entry: Bound, runs: RunArrays, solved: Solved, accounting: Accounting) -> str:
    """Say how a single run's finite epsilon was converted, what the bound remarks on it, and for
    which share of the noise it holds.
    """
    converted = EXACT if solved.exact == 1 else remark(accounting, float(solved.renyi_order))
    said = entry.remark(runs, solved) if entry.remark else ""
    return _joined(converted, said, _about_share(entry, runs, solved, accounting))


def _about_share(entry: Bound, runs: RunArrays, solved: Solved, accounting: Accounting) -> str:
    """Say for which share epsilon holds; empty if that is the run's own constant."""
    if accounting.schedule != "optimal" or not entry.chooses_share:
        return ""
    own, chosen = runs.setting.beta, float(solved.beta)
    if chosen == own:
        return ""
    share = (
        "shares β_t that vary with the step"
        if np.isnan(chosen)
        else f"the share β = {format_short(chosen, 4)}"
    )
    return f"for {share}, which the accountant chose; not for this run's β = {format_short(own, 6)}"


def as_printed(bound: str, accounting: Accounting) -> str:
    """Say how the printed constants of a bound err; empty if the accounting does not use them.

    >>> as_printed("output-perturbation", Accounting(printed=True))
    'as printed, not a guarantee: the last update is taken to move nothing: the distance before the noise is 2R alone'
    >>> as_printed("sharp", Accounting(printed=True))
    ''
    """
    entry = BOUNDS[bound]
    return (
        f"as printed, not a guarantee: {entry.printed}"
        if accounting.printed and entry.printed
        else ""
    )
