"""The values a slider steps through: round numbers, evenly spread on a log scale or along an interval."""

from bisect import bisect_left
from functools import lru_cache
from math import ceil, floor, log10

STEPS_PER_DECADE = 40


class Ladder:
    """Ascending values, and the rung next to any number.

    A slider moves over the rungs' numbers 0 .. top, so that every key press changes the value, at either end of
    a scale of ten decades as well.
    """

    def __init__(self, values: tuple[float, ...]) -> None:
        self.values = values

    @property
    def top(self) -> int:
        """The last rung's number; at least 1, since a slider needs somewhere to go."""
        return max(len(self.values) - 1, 1)

    def value(self, rung: int) -> float:
        """The value on a rung."""
        return self.values[min(max(rung, 0), len(self.values) - 1)]

    def rung(self, value: float) -> int:
        """The rung nearest to a value: by ratio between positive numbers, by difference next to 0."""
        above = bisect_left(self.values, value)
        if above in (0, len(self.values)):
            return min(above, len(self.values) - 1)
        low, high = self.values[above - 1], self.values[above]
        nearer_low = value * value < low * high if low > 0 else value - low < high - value
        return above - 1 if nearer_low else above


@lru_cache(maxsize=256)
def decades(low: float, high: float, whole: bool = False) -> Ladder:
    """From low to high in equal ratios, rounded to two significant digits, both ends included."""
    first, last = floor(STEPS_PER_DECADE * log10(low)), ceil(STEPS_PER_DECADE * log10(high))
    between = (_two_digits(10 ** (k / STEPS_PER_DECADE), whole) for k in range(first, last + 1))
    values = {x for x in between if low < x < high} | {low, high}
    return Ladder(tuple(sorted(int(x) if whole else float(x) for x in values)))


@lru_cache(maxsize=16)
def interval(low: float, high: float, step: float) -> Ladder:
    """From low to high in equal differences."""
    count = round((high - low) / step)
    return Ladder(tuple(round(low + (high - low) * k / count, 12) for k in range(count + 1)))


def _two_digits(x: float, whole: bool) -> float:
    rounded = float(f"{x:.1e}")
    return round(rounded) if whole else rounded
