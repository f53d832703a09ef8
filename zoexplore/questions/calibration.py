"""Solve one field of a run for a target: epsilon, an attacker's advantage, or true positives at a
false-positive rate.

Epsilon need not be monotone in the field. So one call of `curve` evaluates a ladder of values over
the field's range, best first. Then a search narrows the gap between the best rung that meets the
target and the next better rung. It returns only a value that was found to meet the target, so an
inaccurate search costs only tightness.
"""

import dataclasses
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import inf, log
from typing import Any, NamedTuple

import numpy as np
import scipy

from zoexplore.bounds import BOUNDS, Guarantee, curve, guarantee
from zoexplore.bounds.epsilons import BEST, DEFAULT
from zoexplore.questions import attack_targets
from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import format_number, format_short
from zoexplore.run.limits import LARGEST_INTEGER
from zoexplore.run.refusals import number, shown
from zoexplore.run.setting import INTEGER_FIELDS, Accounting, Setting

NEAR = np.geomspace(1e-3, 1e3, 97)  # ratios to a run's own value
DECADES = 10.0 ** np.arange(-60, 61)
SHARES = np.concatenate([[0.0], 1 / (1 + np.exp(-np.linspace(-30, 30, 121))), [1.0]])
FEW, MANY = (
    60,
    600,
)  # the most rungs of a ladder of whole numbers: FEW, and MANY for K, along which epsilon may turn
TIGHT = 1e-8  # the relative distance that epsilon may keep from the target, unless epsilon jumps
# a bracket this narrow ends the search: around a jump, or between adjacent whole numbers
NARROW, ADJACENT = 1e-13, 0.2
STEEP = 50.0  # the search limits ln(epsilon/target) to this, since the logarithm may be infinite


class Unreachable(ValueError):
    """No value of the field meets the target. `epsilon` is the smallest epsilon, advantage or
    true-positive rate found, and `value` the field's value there. If no finite value is found, they
    are inf and None.
    """

    def __init__(self, message: str, epsilon: float = inf, value: float | None = None):
        super().__init__(message)
        self.epsilon, self.value = epsilon, value


class _Target(NamedTuple):
    """A target: the `measure` of a guarantee, which messages call `name`, must be at most `most`.

    Every guarantee of (`epsilon`, `delta`) meets the target.
    """

    name: str
    most: float
    measure: Callable[[Guarantee], float]
    epsilon: float
    delta: float


def _target(delta: float, wanted: dict[str, Any]) -> _Target:
    """Return the target of the one keyword given. Raises ValueError for no keyword, several, or an
    impossible value.
    """
    given = {name: value for name, value in wanted.items() if value is not None}
    if len(given) != 1:
        raise ValueError(
            f"{' and '.join(given) or 'no target'} is not allowed: give one of epsilon, advantage and tpr"
        )
    ((name, value),) = given.items()
    if name == "tpr":
        fpr, most = attack_targets.wanted_positives(value)
        name = f"true positives at a false-positive rate of {fpr:g}"
        pair = attack_targets.pair_for_positives(fpr, most)
        return _Target(name, most, lambda g: float(g.true_positive_rate(fpr)), *pair)
    if name == "advantage":
        most = number(name, value, above=0.0, below=1.0)
        return _Target(name, most, lambda g: g.advantage, *attack_targets.pair_for_advantage(most))
    most = number(name, value, above=0.0)
    return _Target("ε", most, lambda g: g.epsilon, most, delta)


def calibrate(
    setting: Setting,
    field: str,
    *,
    epsilon: float | None = None,
    advantage: float | None = None,
    tpr: tuple[float, float] | None = None,
    bound: str = BEST,
    accounting: Accounting = DEFAULT,
) -> Setting:
    """Return the setting with one field at the best value that meets a target. Give one target:
    epsilon, advantage or tpr.

    The best sigma, n and K are the smallest; the best T, clip, R and beta are the largest. The
    largest beta costs least if the iterates become public after all. T = 2^53 or R = inf means that
    epsilon has stopped growing.

    Args:
        setting: the run. A step size of K/M follows K, and a full batch follows n. Under
            schedule="optimal" the result has the share that the bound chose, if it is a single one.
        field: one of `SOLVABLE_FIELDS`.
        epsilon: the greatest `epsilon(setting, bound, accounting)` allowed, above 0.
        advantage: the greatest `guarantee(...).advantage` allowed, in (0, 1).
        tpr: (false-positive rate, greatest true-positive rate at it), with 0 < first < second < 1.
        bound: an id of `BOUNDS`, or "best" for the least that applies.
        accounting: how to count. The printed constants give no guarantee.

    Returns:
        A setting that meets the target. In a continuous field epsilon is within a relative 1e-8 of
        the target, unless the best value is an end of the range (sigma, clip and R: 1e-60 to 1e60)
        or epsilon jumps there. Epsilon jumps by up to about 1e-4 on batches and in the sharper
        bound, and to inf where an assumption fails.

    Raises:
        Unreachable: no value meets the target.
        ValueError: the field, the bound or the target is not allowed.

    >>> from zoexplore import calibrate
    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> round(calibrate(DEMONSTRATION.replace(T=200), "sigma", epsilon=1.0).sigma, 6)
    3.8e-05
    """
    if field not in SOLVABLE_FIELDS:
        raise ValueError(
            f"field = {shown(field)} is not allowed: give one of {', '.join(SOLVABLE_FIELDS)}"
        )
    target = _target(setting.delta, {"epsilon": epsilon, "advantage": advantage, "tpr": tpr})
    if field == "n" and setting.full_batch:
        setting = setting.replace(batch=None)
    if field == "beta":  # the answer is the share that the bound counts
        accounting = accounting.replace(schedule="constant")
    found = _Search(setting, field, bound, accounting, target).found()
    share = guarantee(found, bound, accounting).beta
    if accounting.schedule == "constant" or not isinstance(share, float):
        return found
    own, counted = found.replace(beta=share), accounting.replace(schedule="constant")
    with suppress(Unreachable):  # rounding may have moved epsilon above the target
        found = _Search(own, field, bound, counted, target).found()
    return found


def changes_nothing(
    setting: Setting, field: str, bound: str = BEST, accounting: Accounting = DEFAULT
) -> bool:
    """Return whether epsilon is finite and the same at every value of a solvable field, as it is at
    every K if beta = 1.

    >>> from zoexplore import Setting
    >>> run = Setting(n=1000, d=10**6, K=16, T=100, sigma=0.1, beta=1.0)
    >>> changes_nothing(run, "K"), changes_nothing(run.replace(beta=0.5), "K")
    (True, False)
    """
    values = _LADDERS[field](setting)
    if field == "sigma":  # more noise never costs more
        values = values[[0, -1]]
    epsilons = curve(setting, field, values, [bound], accounting)[bound]
    return bool(np.isfinite(epsilons).all() and np.ptp(epsilons) <= 1e-9 * epsilons.max())


def _counts(low: int, high: int, most: int) -> np.ndarray:
    """Return whole numbers from low to high: all, or at most `most` in nearly equal ratios."""
    if high - low < most:
        return np.arange(low, high + 1.0)
    return np.unique(np.geomspace(low, high, most).round())


_LADDERS: dict[str, Callable[[Setting], np.ndarray]] = {  # every field's values, best first
    "sigma": lambda s: DECADES,
    "T": lambda s: _counts(1, LARGEST_INTEGER, FEW)[::-1],
    "n": lambda s: _counts(s.batch or 1, LARGEST_INTEGER, FEW),
    "K": lambda s: _counts(1, s.d, MANY),
    "beta": lambda s: SHARES[::-1],
    # some bounds apply only to clips near the length of gradients, over less than a decade
    "clip": lambda s: np.union1d(DECADES, s.clip * NEAR)[::-1],
    "R": lambda s: np.append(DECADES, inf)[::-1],
}
SOLVABLE_FIELDS = tuple(_LADDERS)


@dataclass(frozen=True)
class _Search:
    """The search for one field's best value. The excess ln(measure/target) is at most 0 if the
    target is met.
    """

    setting: Setting
    field: str
    bound: str
    accounting: Accounting
    target: _Target
    known: dict[float, float] = dataclasses.field(default_factory=dict)

    def at(self, value: float) -> Setting:
        return self.setting.replace(**{self.field: value})

    def measured(self, value: float) -> float:
        return self.target.measure(guarantee(self.at(value), self.bound, self.accounting))

    def excess(self, value: float) -> float:
        if value not in self.known:
            found, most = self.measured(value), self.target.most
            excess = log(found / most) if found > 0 else -inf
            # found/most may round to 1
            self.known[value] = max(excess, 1e-300) if found > most else excess
        return self.known[value]

    def found(self) -> Setting:
        """Find the field's best value from a ladder of values, and return the run with it.

        Raises:
            Unreachable: no rung meets the target.
        """
        values = _LADDERS[self.field](self.setting).tolist()
        if self._along(values[:1]) <= self.target.epsilon and self.excess(values[0]) <= 0:
            # the best value meets the target: the others, which may take long, need not be computed
            return self.at(values[0])
        found = self._along(values)
        least = int(found.argmin())
        # a curve may lie slightly above its points, so its smallest value is always checked
        for i in [*np.flatnonzero(found <= self.target.epsilon).tolist(), least]:
            if self.excess(values[i]) <= 0:
                while i > 0 and self.excess(values[i - 1]) <= 0:
                    i -= 1
                return self.at(self.edge(values[i - 1], values[i]) if i else values[0])
        raise self._unreachable(values[least])

    def _along(self, values: list[float]) -> np.ndarray:
        at = self.setting.replace(delta=self.target.delta)
        return curve(at, self.field, values, [self.bound], self.accounting)[self.bound]

    def edge(self, bad: float, good: float) -> float:
        """Search by Brent's method between `good`, which meets the target, and `bad`, which does
        not, until the target is met tightly. Return the best value found to meet the target.
        """
        whole = self.field in INTEGER_FIELDS
        even = whole or self.field == "beta"
        # coordinates in which ln epsilon is nearly linear
        to: Callable[..., Any] = np.asarray if even else np.log
        back: Callable[..., Any] = np.round if whole else np.asarray if even else np.exp
        ends = {float(to(good)): good, float(to(min(bad, 1e300))): bad}

        def over(place: float) -> float:
            excess = self.excess(ends.get(place, float(back(place))))
            if whole:
                return excess if excess > 0 else min(excess, -TIGHT)
            return (
                0.0 if -TIGHT <= excess <= 0 else float(np.clip(excess + TIGHT / 2, -STEEP, STEEP))
            )

        scipy.optimize.brentq(over, *ends, xtol=ADJACENT if whole else NARROW)
        met = [value for value, excess in self.known.items() if excess <= 0]
        return max(met) if bad > good else min(met)

    def _unreachable(self, nearest: float) -> Unreachable:
        symbol = FIELDS[self.field].symbol
        at = f"{symbol} = {format_short(nearest)}"
        g = guarantee(self.at(nearest), self.bound, self.accounting)
        by = BOUNDS[g.bound].in_text
        if not g.valid:
            as_set = guarantee(self.setting, self.bound, self.accounting).reason
            why = f": {as_set}" if as_set == g.reason else f"; at {at}, {g.reason}"
            return Unreachable(f"out of reach: {by} applies at no {symbol}{why}")
        found = self.measured(nearest)
        least = f"{self.target.name} = {format_number(found)}"
        said = f"even {at} gives {least} by {by}"
        if changes_nothing(self.setting, self.field, self.bound, self.accounting):
            said = f"{symbol} changes nothing here, and leaves {least} by {by}"
        elif self.field in ("sigma", "clip", "R"):  # their ranges end at extremes that say nothing
            said = f"no {symbol} brings {by} below {least}"
        return Unreachable(f"out of reach: {said}", found, nearest)
