"""What a curve or a map can run over, a field's name, its values, and where they lie on a log axis; and which decades of epsilon
are worth showing.
"""

from collections.abc import Sequence
from math import ceil, floor, inf, log10

import numpy as np

from zoexplore.run.fields import FIELDS, Field
from zoexplore.run.formatting import format_power
from zoexplore.run.setting import LARGEST_INTEGER, Setting

POINTS = 81
T_MOST = int(FIELDS["T"].high)
T_VALUES = np.unique(np.round(np.geomspace(1, T_MOST, 200)))
T_VALUES.flags.writeable = False
_LEAST, _REST = 1e-6, 1e-7  # of a share, the least that is left beside it and still drawn, and what 1 is drawn as
MOST_DECADES = 5
NEAR = 100.0  # a comparator further below this run's bounds than this is left off the scale


class FieldAxis(Field):
    """A field to run over. Its range is that of its slider, as far as the other fields allow: K ends at d, d starts at K,
    n at the batch, and the ridge is at most m, which is at most M.
    """

    @property
    def title(self) -> str:
        """What the axis says."""
        return f"{self.symbol}, {self.noun}"

    def ends(self, setting: Setting) -> tuple[float, float]:
        """The first and the last value that the setting allows within the range."""
        s = setting
        least = {"d": s.K, "n": s.batch or 1, "M": s.m, "m": s.ridge}.get(self.name, 0)
        most = {"K": s.d, "m": s.M, "ridge": s.m}.get(self.name, LARGEST_INTEGER if self.whole else inf)
        start, end = self._reach(setting)
        high = max(min(end, most) if self.name != "K" else most, least)
        return min(max(least, start), high), high

    def _reach(self, setting: Setting) -> tuple[float, float]:
        """The range, by whole decades as far beyond the slider's as the value that is set."""
        now = getattr(setting, self.name)
        if self.linear or now is None or not 0 < now < inf:
            return self.low, self.high
        return min(self.low, 10.0 ** np.floor(np.log10(now))), max(self.high, 10.0 ** np.ceil(np.log10(now)))

    def frame(self, setting: Setting) -> tuple[float, float]:
        """The axis's ends, in places: whole decades for K, which otherwise would move with every d; what the rest of the loss
        allows for m, the ridge and M.
        """
        if self.name == "K":
            return 1.0, 10.0 ** max(np.ceil(np.log10(setting.d)), 1.0)
        start, end = self.ends(setting) if self.name in ("m", "ridge", "M") else self._reach(setting)
        if 0 < start < end or self.linear:
            return tuple(self.place(np.array([start, end])))
        return tuple(self.place(np.array([self.low, self.high])))

    def values(self, setting: Setting, points: int = POINTS) -> np.ndarray:
        """Values to evaluate at, ascending, evenly spread on the axis."""
        low, high = self.ends(setting)
        if self.name == "T" and points == POINTS:
            return T_VALUES if high <= T_MOST else np.unique(np.round(np.geomspace(1, high, 200)))
        if high == 0:  # a ridge below m = 0
            return np.zeros(1)
        if self.linear:
            return np.unique(np.concatenate([[low], high - np.geomspace(high - low, _LEAST, points - 1), [high]]))
        if self.whole:
            return _counts(low, high, points)
        return np.clip(np.geomspace(low, high, points), low, high)  # whose ends are rounded

    def place(self, values):
        """Where values lie on a log axis: a share by how little is left beside it, so that the cliff at 1 is a slope."""
        return self.high / np.maximum(self.high - values, _REST) if self.linear else values

    def value(self, place: float) -> float:
        """The value at a place, the inverse of `place`; a whole number for counts."""
        at = self.high - self.high / place if self.linear else place
        at = self.high if self.linear and place > self.high / (_LEAST * _REST) ** 0.5 else at
        at = float(min(max(at, self.low), self.high))
        return round(at) if self.whole else at

    def ticks(self) -> dict[float, str]:
        """Places and texts of the ticks of a share."""
        few = {x: f"{x:g}" for x in (0.0, 0.9, 0.99, 0.999)} | {1 - 1e-5: f"1 − {format_power(-5)}"}
        return {float(self.place(x)): text for x, text in (few | {1.0: "1"}).items()}


def _counts(low: float, high: float, points: int) -> np.ndarray:
    """Whole numbers as evenly spread on a log axis as may be: as many as asked for, or all that there are."""
    if high - low < points:
        return np.arange(low, high + 1.0)
    asked = points
    while (found := np.unique(np.clip(np.geomspace(low, high, asked), low, high).round())).size < points:
        asked = asked * 5 // 4
    return found


AXES = {name: FieldAxis(**vars(field)) for name, field in FIELDS.items() if name != "batch"}


def decades(low: float, high: float) -> dict[float, str]:
    """Ticks of a log axis, with their texts: whole decades, some of them where there are many.

    >>> decades(0.1, 1e5)[1e4]
    '10⁴'
    """
    exponents = range(ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9) + 1)
    every = ceil(len(exponents) / 12)
    return {10.0**e: f"{10.0**e:g}" if -4 < e < 4 else format_power(e) for e in exponents if e % every == 0}


def drawable(epsilon: np.ndarray) -> np.ndarray:
    """What a log axis has a place for; nan elsewhere."""
    return np.where(np.isfinite(epsilon) & (epsilon > 0), epsilon, np.nan)


def frame(own: np.ndarray, others: np.ndarray, now: Sequence[float] = ()) -> tuple[float, float]:
    """The decades worth showing: `MOST_DECADES` up from the lowest value of this run's bounds, and comparators below.

    A loss a million times the smallest says no more than that it is off the scale; drawing it would squeeze the rest. What is set
    now is always within: where a curve falls far below it, the decades down from the smallest of `now`.
    """
    own, others = own[np.isfinite(own)], others[np.isfinite(others)]
    own = own if own.size else others
    if not own.size:
        return 1e-2, 1e2
    near = others[others >= own.min() / NEAR]
    low = floor(log10(min(own.min(), near.min(initial=np.inf))))
    if now:
        low = max(low, floor(log10(min(now))) - MOST_DECADES)
    high, most = ceil(log10(own.max())), max(floor(log10(own.min())), low) + MOST_DECADES
    high = high if high <= most + 1 else most  # not for the sake of one decade
    if now:
        high = max(high, ceil(log10(max(value for value in now if value <= min(now) * 10.0**MOST_DECADES))))
    return 10.0**low, 10.0 ** max(high, low + 1)


def steady(wanted: tuple[float, float], shown: tuple[float, float]) -> tuple[float, float]:
    """The frame shown now, unless a curve leaves it or a side would have two empty decades."""
    start = shown[0] if shown[0] <= wanted[0] * 1.01 < 99 * shown[0] else wanted[0]
    end = shown[1] if wanted[1] <= shown[1] * 1.01 and shown[1] < 99 * wanted[1] else wanted[1]
    return start, end
