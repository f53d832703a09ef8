"""`Guarantee`, and the three questions one asks of a bound: `guarantee`, `epsilon`, `curve`."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

import numpy as np

from zoexplore.bounds.assumptions import Check, check
from zoexplore.bounds.bound import Bound, Solved, Trajectory
from zoexplore.bounds.registry import BOUNDS
from zoexplore.bounds.runs import Runs
from zoexplore.bounds.subsampling import remark
from zoexplore.setting import Accounting, Setting

DEFAULT = Accounting()
FREE_SHARES = ("theorem", "sharp")  # bounds that take schedule="optimal" at its word


@dataclass(frozen=True)
class Guarantee:
    """What one bound says of one run: (epsilon, setting.delta)-differential privacy for the last iterate.

    Args:
        bound: the registry's id.
        title: the bound's name, marked where the constants are as printed.
        epsilon: the loss; inf where the bound does not apply.
        reason: why it does not apply, with numbers; or how the printed constants err; empty otherwise.
        rho: the Gaussian shift budget; nan where there is none.
        order: the Renyi order at which epsilon was converted; nan where a Gaussian budget needs none (rho is not nan).
        moment: the order lambda of the moments that a sharper bound's tails are taken at; nan for the other bounds.
        note: what to know of the number beside its assumptions; empty if nothing.
        delta_f: the part of delta kept for the coupling to fail; epsilon is taken at delta - delta_f.
        N: steps counted.
        start: the distance from which they are counted: 0, up to 2R.
        checks: every assumption, held against the run.
        source: where the bound is from.
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

    @cached_property
    def trajectory(self) -> Trajectory | None:
        """The shifts, distances and shares behind the number; None where the bound has none or does not apply."""
        of_bound = BOUNDS[self.bound].trajectory
        if of_bound is None or not self.valid:
            return None
        runs = Runs.of(self.setting)
        with np.errstate(all="ignore"):
            path, unit = of_bound(runs, _counted(BOUNDS[self.bound], self.accounting), self._solved), float(runs.unit)
            return path and replace(path, z=path.z * unit, p=path.p * unit, a=path.a * unit)


def guarantee(setting: Setting, bound: str, accounting: Accounting = DEFAULT) -> Guarantee:
    """What a bound says of a run, with the reason where it says nothing.

    Raises:
        ValueError: the bound is unknown.

    >>> from zoexplore import Setting, guarantee
    >>> g = guarantee(Setting(K=52), "corollary")
    >>> g.epsilon, g.reason
    (inf, "K = 52 is below the needed 94 (the paper's sufficient K_min is 259)")
    """
    entry, runs = _entry(bound), Runs.of(setting)
    counted = _counted(entry, accounting)
    with np.errstate(all="ignore"):
        checks = tuple(check(assumption, runs, counted) for assumption in entry.assumptions if assumption.needed(counted))
    failed = [c.shortfall for c in checks if c.met is False]
    solved = _solve(entry, runs, counted, np.asarray(not failed))
    with np.errstate(all="ignore"):
        start = float(2 * runs.R if solved.z == runs.diameter else solved.z * runs.unit)
    epsilon = float(solved.epsilon)
    order = float(solved.extra.get("alpha", np.nan)) if epsilon < inf else np.nan
    reason = "; ".join(failed)
    if not failed and epsilon == inf:
        reason = "no choice of steps gives a finite number: the budget is infinite or beyond floating-point numbers"
    printed = as_printed(bound, accounting)
    reason = "; ".join(filter(None, (printed, reason)))
    return Guarantee(
        bound=bound,
        title=entry.title + (" (as printed)" if printed else ""),
        setting=setting,
        accounting=accounting,
        epsilon=epsilon,
        reason=reason,
        **{k: float(getattr(solved, k)) for k in ("rho", "delta_f", "N")},
        order=order,
        moment=float(solved.extra.get("order", np.nan)) if epsilon < inf else np.nan,
        note="; ".join(filter(None, (remark(accounting, order), _of_other_shares(setting, bound, accounting, epsilon)))),
        start=start,
        checks=checks,
        source=entry.source,
        _solved=solved,
    )


def epsilon(setting: Setting, bound: str, accounting: Accounting = DEFAULT) -> float:
    """epsilon of a run at setting.delta by one bound; inf where it does not apply.

    Raises:
        ValueError: the bound is unknown.

    >>> from zoexplore import Setting, epsilon
    >>> round(epsilon(Setting(T=200), "composition"), 3), round(epsilon(Setting(T=200), "sharp"), 3)
    (7.809, 0.94)
    """
    return float(_epsilons(_entry(bound), Runs.of(setting), accounting))


def curve(
    setting: Setting, field: str, values: Iterable[float], bounds: Iterable[str] | None = None, accounting: Accounting = DEFAULT
) -> dict[str, np.ndarray]:
    """epsilon of each bound along one numeric field of the setting.

    Args:
        setting: the run; its own value of `field` is not used.
        field: any numeric field of `Setting`.
        values: the field's values, shape (P,).
        bounds: ids, all of `BOUNDS` where None.
        accounting: how to count.

    Returns:
        The epsilons of each bound, shape (P,), inf where it does not apply.

    Raises:
        ValueError: a bound or the field is unknown, or a value is not allowed.

    >>> from zoexplore import Setting, curve
    >>> curve(Setting(), "T", [1, 100, 10_000], ["theorem"])["theorem"].round(2)
    array([0.5 , 3.74, 3.74])
    """
    entries = [_entry(bound) for bound in (BOUNDS if bounds is None else bounds)]
    asked = getattr(Runs.along(setting, field, values if isinstance(values, np.ndarray) else list(values)), field)
    ascending, places = np.unique(asked, return_inverse=True)  # a bound that is searched for in turn looks at neighbours
    runs = Runs.along(setting, field, ascending)
    return {entry.id: np.broadcast_to(_epsilons(entry, runs, accounting), runs.shape)[places] for entry in entries}


def as_printed(bound: str, accounting: Accounting) -> str:
    """How the printed constants of a bound err, where they are asked for; else empty.

    >>> as_printed("output-perturbation", Accounting(printed=True))
    'as printed, not a guarantee: the last update is taken to move nothing: the distance before the noise is 2R alone'
    >>> as_printed("sharp", Accounting(printed=True))
    ''
    """
    entry = BOUNDS[bound]
    return f"as printed, not a guarantee: {entry.printed}" if accounting.printed and entry.printed else ""


def _of_other_shares(setting: Setting, bound: str, accounting: Accounting, epsilon: float) -> str:
    if accounting.schedule == "constant" or bound not in FREE_SHARES or epsilon == inf:
        return ""
    return f"for shares β_t of the accountant's choice (`trajectory`), not for a run at β = {setting.beta:g}"


def _entry(bound: str) -> Bound:
    if bound not in BOUNDS:
        raise ValueError(f"bound = {bound!r} is not allowed: give one of {', '.join(map(repr, BOUNDS))}")
    return BOUNDS[bound]


def _counted(entry: Bound, accounting: Accounting) -> Accounting:
    """A bound without a printed form is the same either way."""
    return accounting if entry.printed else accounting.replace(printed=False)


def _epsilons(entry: Bound, runs: Runs, accounting: Accounting) -> np.ndarray:
    accounting = _counted(entry, accounting)
    with np.errstate(all="ignore"):
        checkable = [a.holds(runs, accounting) for a in entry.assumptions if a.holds and a.needed(accounting)]
    return _solve(entry, runs, accounting, np.logical_and.reduce(np.broadcast_arrays(True, *checkable))).epsilon


def _solve(entry: Bound, runs: Runs, accounting: Accounting, applies: np.ndarray) -> Solved:
    """The bound where it applies, inf elsewhere and where numbers leave the floating-point range."""
    if not applies.any():
        nothing = np.full((), np.nan)
        return Solved(np.full((), inf), nothing, np.zeros(()), nothing, nothing)
    with np.errstate(all="ignore"):
        solved = entry.solve(runs, accounting)
    sound = applies & (solved.epsilon >= 0)  # false for nan too
    return Solved(np.where(sound, solved.epsilon, inf), solved.rho, solved.delta_f, solved.N, solved.z, solved.extra)
