"""What a curve or a map can run over: a field's name, its values, and where they lie on a log axis."""

from dataclasses import dataclass
from math import inf

import numpy as np

from zoexplore.setting import INTEGER_FIELDS, Setting

POINTS = 81
T_MOST = 10**6
T_VALUES = np.unique(np.round(np.geomspace(1, T_MOST, 200)))
T_VALUES.flags.writeable = False
_NEAR = 1e-3
_SPREAD = 4.0  # decades of the log axis that an interval from 0 to 1 is spread over


@dataclass(frozen=True)
class Abscissa:
    """A field to run over. Its range is that of its slider, as far as the other fields allow: K ends at d, d starts at K,
    n at the batch, and the ridge is at most m, which is at most M.
    """

    field: str
    symbol: str
    noun: str
    low: float
    high: float
    linear: bool = False

    @property
    def label(self) -> str:
        """What the axis says."""
        return f"{self.symbol}, {self.noun}"

    def ends(self, setting: Setting) -> tuple[float, float]:
        """The first and the last value that the setting allows within the range."""
        s = setting
        least = {"d": s.K, "n": s.batch or 1, "M": s.m, "m": s.ridge}.get(self.field, 0)
        most = {"K": s.d, "m": s.M, "ridge": s.m}.get(self.field, inf)
        high = max(min(self.high, most) if self.field != "K" else most, least)
        return min(max(least, self.low), high), high

    def frame(self, setting: Setting) -> tuple[float, float]:
        """The axis's ends, in places: whole decades for K, which otherwise would move with every d."""
        if self.field == "K":
            return 1.0, 10.0 ** max(np.ceil(np.log10(setting.d)), 1.0)
        return tuple(self.place(np.array([self.low, self.high])))

    def values(self, setting: Setting, points: int = POINTS) -> np.ndarray:
        """Values to evaluate at, ascending, evenly spread on the axis."""
        if self.field == "T" and points == POINTS:
            return T_VALUES
        low, high = self.ends(setting)
        if high == 0:  # a ridge below m = 0
            return np.zeros(1)
        if self.linear:
            near = [low + _NEAR, high - _NEAR] if points == POINTS else []  # a bound may end at the ends
            return np.unique(np.append(np.linspace(low, high, points), near))
        if self.field in INTEGER_FIELDS:
            return _counts(low, high, points)
        return np.clip(np.geomspace(low, high, points), low, high)  # whose ends are rounded

    def place(self, values):
        """Where values lie on a log axis: there an interval is even only after its exponential."""
        return 10.0 ** (_SPREAD * values) if self.linear else values

    def value(self, place: float) -> float:
        """The value at a place, the inverse of `place`; a whole number for counts."""
        at = np.log10(place) / _SPREAD if self.linear else place
        at = float(min(max(at, self.low), self.high))
        return round(at) if self.field in INTEGER_FIELDS else at

    def ticks(self) -> dict[float, str]:
        """Places and texts of the ticks of an interval."""
        return {float(self.place(x)): f"{x:g}" for x in np.linspace(self.low, self.high, 6)}


def _counts(low: float, high: float, points: int) -> np.ndarray:
    """Whole numbers as evenly spread on a log axis as may be: as many as asked for, or all that there are."""
    if high - low < points:
        return np.arange(low, high + 1.0)
    asked = points
    while (found := np.unique(np.clip(np.geomspace(low, high, asked), low, high).round())).size < points:
        asked = asked * 5 // 4
    return found


ABSCISSAE = {
    a.field: a
    for a in (
        Abscissa("T", "T", "steps", 1, T_MOST),
        Abscissa("K", "K", "directions per step", 1, 1e9),
        Abscissa("beta", "β", "share of the noise along the directions", 0.0, 1.0, linear=True),
        Abscissa("sigma", "σ", "noise scale", 1e-6, 10.0),
        Abscissa("n", "n", "records", 1, 1e8),
        Abscissa("d", "d", "parameters", 1, 1e9),
        Abscissa("delta", "δ", "target", 1e-12, 0.1),
        Abscissa("R", "R", "radius of the ball", 1e-3, 1e3),
        Abscissa("clip", "Δ", "clip norm", 1e-3, 1e3),
        Abscissa("M", "M", "smoothness", 1e-3, 1e3),
        Abscissa("m", "m", "strong convexity", 1e-3, 1e3),
        Abscissa("ridge", "λ", "ridge", 1e-3, 1e3),
        Abscissa("eta", "η", "step size", 1e-3, 1e6),
        Abscissa("xi", "ξ", "perturbation scale", 1e-12, 1.0),
    )
}
