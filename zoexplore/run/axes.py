"""Axes of curves and maps: a field's values, their places on a log axis, and the decades of epsilon
to show.
"""

from collections.abc import Sequence
from math import ceil, floor, inf, log10
from typing import Any

import numpy as np

from zoexplore.run.fields import FIELDS, Field
from zoexplore.run.limits import LARGEST_INTEGER
from zoexplore.run.setting import Setting

POINTS = 81
T_MOST = int(FIELDS["T"].high)
EDGE, DEEP = 0.99, 4  # the share up to which the axis is even; decades of 1 - share above it
_STRIP = 0.08  # the part of the axis above `EDGE`
MOST_DECADES = 5
NEAR = 100.0  # comparators this many times below this run's least epsilon are off the scale


def _steps(most: float) -> np.ndarray:
    """Return numbers of steps from 1 to `most`, each rounded to three digits."""
    return np.unique([min(float(f"{T:.3g}"), most) for T in np.geomspace(1, most, 200).round()])


T_VALUES = _steps(T_MOST)


class FieldAxis(Field):
    """A field as an axis. Its range is the slider's, limited by other fields: K by d, d by K, n by
    the batch, ridge by m, m by M.
    """

    @property
    def title(self) -> str:
        """The axis label."""
        return f"{self.symbol}, {self.noun}"

    def ends(self, setting: Setting) -> tuple[float, float]:
        """Return the least and the greatest value that the setting allows on the axis."""
        s = setting
        least = {"d": s.K, "n": s.batch or 1, "M": s.m, "m": s.ridge}.get(self.name, 0)
        most = {"K": s.d, "m": s.M, "ridge": s.m}.get(
            self.name, LARGEST_INTEGER if self.whole else inf
        )
        start, end = self._reach(setting)
        high = most if self.name == "K" else max(min(end, most), least)
        return min(max(least, start), high), high

    def _reach(self, setting: Setting) -> tuple[float, float]:
        """Return the slider's range, extended by whole decades to include the current value."""
        now = getattr(setting, self.name)
        if self.linear or now is None or not 0 < now < inf:
            return self.low, self.high
        exponent = log10(now)
        return min(self.low, 10.0 ** floor(exponent)), max(self.high, 10.0 ** ceil(exponent))

    def frame(self, setting: Setting) -> tuple[float, float]:
        """Return the places of the axis's ends. For K they are whole decades, so that the axis
        seldom moves as d changes; for m, ridge and M they are what the loss's other constants
        allow.
        """
        if self.name == "K":
            return 1.0, 10.0 ** max(ceil(log10(setting.d)), 1)
        bounded = self.name in ("m", "ridge", "M")
        start, end = self.ends(setting) if bounded else self._reach(setting)
        if not (0 < start < end or self.linear):
            start, end = self.low, self.high
        return tuple(self.place(np.array([start, end])))

    def values(self, setting: Setting, points: int = POINTS) -> np.ndarray:
        """Return ascending values, evenly spaced on the axis."""
        low, high = self.ends(setting)
        if self.name == "T" and points == POINTS:
            return T_VALUES if high <= T_MOST else _steps(high)
        if high == 0:  # a ridge has only this value if m = 0
            return np.zeros(1)
        if self.linear:
            rest = np.geomspace(high - EDGE, 10.0**-DEEP * (high - EDGE), points // 4)
            return np.concatenate([np.linspace(low, EDGE, points), high - rest[1:], [high]])
        if self.whole and high - low < points:
            return np.arange(low, high + 1.0)
        spread = np.geomspace(low, high, points).clip(low, high)  # geomspace rounds its ends
        return np.unique(spread.round()) if self.whole else spread

    def place(self, values: Any) -> Any:
        """Return the positions of values on a log axis. Those of a share are even up to `EDGE`, and
        logarithmic in 1 - share above it.
        """
        if not self.linear:
            return values
        shares = np.asarray(values, float)
        deep = np.log10((1 - EDGE) / np.maximum(1 - shares, 1e-300)).clip(0, DEEP) / DEEP
        even = shares / EDGE * (1 - _STRIP)
        return np.where(shares <= EDGE, even, 1 - _STRIP + _STRIP * deep)

    def value(self, place: float) -> float:
        """Invert `place`; round a count to a whole number, a share up to `EDGE` to two digits."""
        at = place
        if self.linear and place <= 1 - _STRIP:
            at = round(place / (1 - _STRIP) * EDGE, 2)
        elif self.linear:
            at = (
                self.high
                if place >= 1 - 1e-3
                else 1 - (1 - EDGE) * 10 ** (-DEEP * (place - 1 + _STRIP) / _STRIP)
            )
        at = float(min(max(at, self.low), self.high))
        return round(at) if self.whole else at

    def ticks(self) -> dict[float, str]:
        """Return the positions and labels of a share's ticks."""
        return {float(self.place(x)): f"{x:g}" for x in (0.0, 0.25, 0.5, 0.75, EDGE, 1.0)}


AXES = {name: FieldAxis(**vars(field)) for name, field in FIELDS.items() if name != "batch"}


def nice(x: float) -> float:
    """Return the next round number, where an axis can end."""
    tens = 10.0 ** floor(log10(x))
    return next(m * tens for m in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if m * tens >= x * 0.999)


def whole_decades(values: Sequence[float], more: int = 0) -> tuple[float, float]:
    """Return the ends of the decades around positive values, with `more` decades on either side."""
    low = floor(log10(min(values)))
    return 10.0 ** (low - more), 10.0 ** (max(ceil(log10(max(values))), low + 1) + more)


def drawable(epsilon: np.ndarray) -> np.ndarray:
    """Keep finite positive values, and replace the others by nan, because a log axis has no place
    for them.
    """
    return np.where(np.isfinite(epsilon) & (epsilon > 0), epsilon, np.nan)


def frame(own: np.ndarray, others: np.ndarray, now: Sequence[float] = ()) -> tuple[float, float]:
    """Return the decades to show: `MOST_DECADES` up from the lowest value of this run's bounds, and
    down to comparators near it.

    Values a million times the smallest are cut off, since they would squeeze the rest. The smallest
    of the current values `now` is always shown: if a curve falls far below that value, the frame
    ends `MOST_DECADES` below it.
    """
    own, others = own[np.isfinite(own)], others[np.isfinite(others)]
    own = own if own.size else others
    if not own.size:
        return 1e-2, 1e2
    near = others[others >= own.min() / NEAR]
    low = floor(log10(min([*own, *near])))
    if now:
        low = max(low, floor(log10(min(now))) - MOST_DECADES)
    high, most = ceil(log10(own.max())), max(floor(log10(own.min())), low) + MOST_DECADES
    high = high if high <= most + 1 else most  # cutting one decade is not worth it
    seen = [value for value in now if value <= min(now) * 10.0**MOST_DECADES]
    high = max([high, low + 1, *(ceil(log10(value)) for value in seen)])
    return 10.0**low, 10.0**high


def steady(wanted: tuple[float, float], shown: tuple[float, float]) -> tuple[float, float]:
    """Keep each end of the frame `shown`, unless a curve passes it or leaves two decades empty."""
    start = shown[0] if shown[0] <= wanted[0] * 1.01 < 99 * shown[0] else wanted[0]
    end = shown[1] if wanted[1] <= shown[1] * 1.01 and shown[1] < 99 * wanted[1] else wanted[1]
    return start, end
