"""The frame of the curves: which decades of epsilon are worth showing, and when that may change."""

from math import ceil, floor, log10

import numpy as np

MOST_DECADES = 5
_NONE = np.array([])
NEAR = 100.0  # a comparator further below this run's bounds than this is left off the scale


def frame(own: np.ndarray, others: np.ndarray, now: np.ndarray = _NONE) -> tuple[float, float]:
    """The decades worth showing: `MOST_DECADES` up from the lowest value of this run's bounds, and comparators below.

    A loss a million times the smallest says no more than that it is off the scale; drawing it would squeeze the rest. What is set
    now is always within: where a curve falls far below it, the decades down from the smallest of `now`.
    """
    own = own if own.size else others
    if not own.size:
        return 1e-2, 1e2
    near = others[others >= own.min() / NEAR]
    low = floor(log10(min(own.min(), near.min(initial=np.inf))))
    if now.size:
        low = max(low, floor(log10(now.min())) - MOST_DECADES)
    high, most = ceil(log10(own.max())), max(floor(log10(own.min())), low) + MOST_DECADES
    high = high if high <= most + 1 else most  # not for the sake of one decade
    if now.size:
        high = max(high, ceil(log10(now[now <= now.min() * 10.0**MOST_DECADES].max())))
    return 10.0**low, 10.0 ** max(high, low + 1)


def steady(wanted: tuple[float, float], shown: tuple[float, float] | None) -> tuple[float, float]:
    """The frame shown now, unless a curve leaves it or a side would have two empty decades."""
    if shown is None:
        return wanted
    start = shown[0] if shown[0] <= wanted[0] * 1.01 < 99 * shown[0] else wanted[0]
    end = shown[1] if wanted[1] <= shown[1] * 1.01 and shown[1] < 99 * wanted[1] else wanted[1]
    return start, end
