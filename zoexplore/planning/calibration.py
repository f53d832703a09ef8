"""One field of a run solved for a target epsilon.

The field's whole range is looked at on a ladder of values, best first, by one call of `curve`; epsilon need not be monotone.
Between the best rung that meets the target and the next better one, which does not, the edge is closed in on with `epsilon`
itself. Whatever is returned has been seen to meet the target, so a bound whose optimiser wobbles costs tightness at worst.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, isfinite, log
from numbers import Real

import numpy as np

from zoexplore.bounds import curve, epsilon, guarantee
from zoexplore.bounds.guarantee import DEFAULT
from zoexplore.setting import INTEGER_FIELDS, LARGEST_INTEGER, Accounting, Setting, shown

DECADES = 10.0 ** np.arange(-60, 61)
RUNGS = 256  # at most, of the ladder for K
TIGHT = 1e-8  # epsilon is this close to the target, relatively, unless it jumps
NARROW = 1e-13  # a bracket as narrow as this holds a jump
ZOOMS, FINER = 3, 33  # looks between the rungs around the smallest epsilon, when no rung meets the target


class Unreachable(ValueError):
    """No value of the field meets the target. `epsilon` is the smallest found, `value` where; inf and None if none is."""

    def __init__(self, message: str, epsilon: float = inf, value: float | None = None):
        super().__init__(message)
        self.epsilon, self.value = epsilon, value


def calibrate(
    setting: Setting, field: str, *, epsilon: float, bound: str = "sharp", accounting: Accounting = DEFAULT
) -> Setting:
    """The setting with one field at the best value for which `epsilon(setting, bound, accounting)` is at most a target.

    Best is: the smallest sigma, n and K (least noise, fewest records, fewest forward passes), the largest T, clip and R, and
    the largest beta: utility does not depend on beta (BOUNDS section 11), and of the shares that meet the target the largest
    costs least if the iterates should become known after all. Where even the largest T allowed by `Setting`, 2^53, meets the
    target, that is the answer: epsilon has stopped growing. Likewise R = inf.

    Args:
        setting: the run; its own value of `field` is not used. A step size that follows K/M keeps following it, and a full
            batch stays full when n changes.
        field: one of `FIELDS`.
        epsilon: the target, above 0.
        bound: an id of `BOUNDS`.
        accounting: how to count. With the printed constants the target is met by the printed bound, which is no guarantee.

    Returns:
        A setting that meets the target. In a continuous field its epsilon is within 1e-8 of it, relatively, unless epsilon
        jumps there (by up to about 1e-4 in the sharper bound, whose choices are partly integers; to inf where an assumption
        ends) or the best value is an end of the field's range. sigma, clip and R are sought from 1e-60 to 1e60.

    Raises:
        Unreachable: no value meets the target; the message says how near it comes, and at which value.
        ValueError: the field or the bound is unknown, or the target is not a finite number above 0.

    >>> from zoexplore import Setting, calibrate
    >>> round(calibrate(Setting(T=200), "sigma", epsilon=1.0).sigma, 6)
    0.000945
    """
    if field not in FIELDS:
        raise ValueError(f"field = {shown(field)} is not allowed: give one of {', '.join(FIELDS)}")
    if isinstance(epsilon, bool) or not isinstance(epsilon, Real) or not 0 < epsilon < inf:
        raise ValueError(f"epsilon = {shown(epsilon)} is not allowed: give a finite number above 0")
    if field == "n" and setting.full_batch:
        setting = setting.replace(batch=None)
    search = _Search(setting, field, bound, accounting, float(epsilon))
    return search.verified(search.best(_LADDERS[field](setting)))


def _geometric(low: int, high: int) -> np.ndarray:
    """Whole numbers from low to high: all, or RUNGS of them in nearly constant ratios."""
    few = high - low < 2 * RUNGS
    return np.arange(low, high + 1.0) if few else np.unique(np.geomspace(low, high, RUNGS).round())


def _doublings(low: int) -> np.ndarray:
    """low, 2 low, 4 low, ... and the largest whole number that a Setting takes."""
    return np.minimum(low * 2.0 ** np.arange(np.ceil(np.log2(LARGEST_INTEGER / low)) + 1), LARGEST_INTEGER)


def _shares() -> np.ndarray:
    inner = 1 / (1 + np.exp(-np.linspace(-30, 30, 121)))
    return np.concatenate([[0.0], inner, [1.0]])


_LADDERS: dict[str, Callable[[Setting], np.ndarray]] = {  # every field's values, best first
    "sigma": lambda s: DECADES,
    "T": lambda s: _doublings(1)[::-1],
    "n": lambda s: _doublings(s.batch or 1),
    "K": lambda s: _geometric(1, s.d),
    "beta": lambda s: _shares()[::-1],
    "clip": lambda s: DECADES[::-1],
    "R": lambda s: np.append(DECADES, inf)[::-1],
}
FIELDS = tuple(_LADDERS)


@dataclass(frozen=True)
class _Search:
    """The search for one field's best value. An excess is ln(epsilon/target): at most 0 where the target is met."""

    setting: Setting
    field: str
    bound: str
    accounting: Accounting
    target: float
    known: dict[float, float] = dataclasses.field(default_factory=dict)

    def at(self, value: float) -> Setting:
        return self.setting.replace(**{self.field: value})

    def excess(self, value: float) -> float:
        if value not in self.known:
            found = epsilon(self.at(value), self.bound, self.accounting)
            excess = log(found / self.target) if found > 0 else -inf
            self.known[value] = max(excess, 1e-300) if found > self.target else excess  # the ratio may round to 1
        return self.known[value]

    def best(self, ladder: np.ndarray) -> float:
        """The best value, from a ladder of them, best first.

        Raises:
            Unreachable: none meets the target, nor any between the rungs around the smallest epsilon.
        """
        values = ladder
        for _ in range(1 + ZOOMS):
            found = curve(self.setting, self.field, values, [self.bound], self.accounting)[self.bound]
            least = int(found.argmin())
            # the curve is a little off the point (choices are shared along it): its smallest value gets a chance in any case
            for i in [*np.flatnonzero(found <= self.target), least]:
                if self.excess(float(values[i])) <= 0:
                    return self._climb(values, int(i))
            nearest = float(values[least])
            around = values[max(least - 1, 0)], values[min(least + 1, values.size - 1)]
            if found[least] == inf or not np.isfinite(around).all() or around[0] == around[1]:
                break
            values = self._between(*around)
        raise self._unreachable(ladder, nearest)

    def _climb(self, values: np.ndarray, i: int) -> float:
        """From rung i, which meets the target, to better ones as long as they do, and on between two rungs."""
        while i > 0 and self.excess(float(values[i - 1])) <= 0:
            i -= 1
        return float(values[0]) if i == 0 else self.edge(float(values[i - 1]), float(values[i]))

    def _between(self, low: float, high: float) -> np.ndarray:
        to, back = self._scale()
        values = back(np.linspace(to(low), to(high), FINER))
        values = np.unique(values.round() if self.field in INTEGER_FIELDS else values)
        return values if low < high else values[::-1]

    def _scale(self):
        """Coordinates in which ln epsilon is nearly straight: the logarithm, but for beta."""
        return (np.asarray, np.asarray) if self.field == "beta" else (np.log, np.exp)

    def edge(self, bad: float, good: float) -> float:
        """The last value that meets the target, from `good`, which does, towards `bad`, which does not.

        False position with halved weights (Illinois), towards a point a little inside; halves the bracket where a side is
        infinite, and at every fourth step. The end that meets the target is kept throughout.
        """
        whole = self.field in INTEGER_FIELDS
        aim = 0.0 if whole else -TIGHT / 2
        over, under, last = self.excess(bad) - aim, self.excess(good) - aim, 0
        step = 0
        while not (abs(good - bad) <= 1 if whole else self.excess(good) >= -TIGHT or abs(good - bad) <= NARROW * abs(good)):
            step += 1
            straight = step % 4 and isfinite(over) and isfinite(under) and under < over
            value = self._inside(bad, good, under / (under - over) if straight else 0.5)
            excess = self.excess(value)
            if excess <= 0:
                good, under = value, excess - aim
                over, last = over / 2 if last < 0 else over, -1
            else:
                bad, over = value, excess - aim
                under, last = under / 2 if last > 0 else under, 1
        return good

    def _inside(self, bad: float, good: float, part: float) -> float:
        """The value at that part of the way from good to bad, never an end."""
        low, high = min(bad, good), max(bad, good)
        if self.field in INTEGER_FIELDS:
            # the logarithm of whole numbers next to each other may round to one value
            at = good + part * (bad - good) if high < 2 * low else exp(log(good) + part * (log(bad) - log(good)))
            return float(min(max(round(at), low + 1), high - 1))
        if self.field == "beta" or high < 2 * low:
            at = good + part * (bad - good)
        else:
            at = exp(log(good) + part * (log(min(bad, 1e300)) - log(good)))
        return at if low < at < high else (low + high) / 2

    def verified(self, value: float) -> Setting:
        """The setting at a value, asked once more by the function that users call."""
        result = self.at(value)
        found = epsilon(result, self.bound, self.accounting)
        if not found <= self.target:
            raise Unreachable(f"{self.field} = {value:g} gives ε = {found:g}, not {self.target:g} or less", found, value)
        return result

    def _unreachable(self, ladder: np.ndarray, nearest: float) -> Unreachable:
        ends = f"from {ladder.min():g} to {'∞' if ladder.max() == inf else f'{ladder.max():g}'}"
        where = f"no {self.field} {ends} brings the bound '{self.bound}' to ε = {self.target:g}"
        g = guarantee(self.at(nearest), self.bound, self.accounting)
        if not g.valid:
            return Unreachable(f"{where}: it does not apply; at {self.field} = {nearest:g}: {g.reason}")
        near = f"the smallest it gives is {g.epsilon:.6g}, at {self.field} = {nearest:g}"
        return Unreachable(f"{where}: {near}", g.epsilon, nearest)
