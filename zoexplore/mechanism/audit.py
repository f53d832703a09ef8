"""An empirical audit: train many times on two neighbouring data sets, and measure how well the outcomes can be distinguished.

That bounds the true epsilon from below, with confidence, and checks mechanism and accountant together: no reported epsilon may
be smaller.
"""

import numpy as np
from scipy.special import betaincinv

THRESHOLDS = 400  # quantiles of the scores, tried on the first halves


def audit(first, second, delta: float, *, confidence: float = 0.95) -> float:
    """A lower bound on epsilon at `delta`, true with probability `confidence`, from outcomes on two neighbouring data sets.

    The first half of the outcomes fits Fisher's linear discriminant and chooses threshold and side; the other half counts that
    one test's errors, both bounded by Clopper and Pearson.

    Args:
        first, second: independent outcomes, shape (runs, d) each, at least 4 runs.
        delta: in [0, 1).
        confidence: in (0, 1).

    Returns:
        A bound of at least 0, which is trivial.

    Raises:
        ValueError: the shapes do not fit, or a number is out of range.
    """
    first, second = (np.asarray(x, float) for x in (first, second))
    if first.ndim != 2 or second.ndim != 2 or first.shape[1] != second.shape[1] or min(len(first), len(second)) < 4:
        raise ValueError(
            f"outcomes of shapes {first.shape} and {second.shape} are not allowed: give (runs, d) each, 4 runs or more"
        )
    if not 0 <= delta < 1 or not 0 < confidence < 1:
        raise ValueError(f"delta = {delta!r} with confidence = {confidence!r} is not allowed: give numbers in [0, 1) and (0, 1)")
    (first, first_counted), (second, second_counted) = (np.array_split(x, 2) for x in (first, second))
    direction = _discriminant(first, second)
    thresholds = np.quantile(np.concatenate([first, second]) @ direction, np.linspace(0, 1, THRESHOLDS))

    def found(first, second, side, thresholds):
        return _separation(first @ direction, second @ direction, side, thresholds, delta, confidence)

    tried = {side: found(first, second, side, thresholds) for side in (1.0, -1.0)}
    side = max(tried, key=lambda side: tried[side].max())
    threshold = thresholds[np.argmax(tried[side])]
    return max(0.0, float(found(first_counted, second_counted, side, threshold)))


def _discriminant(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    spread = np.atleast_2d(np.cov(first.T) + np.cov(second.T))
    return np.linalg.pinv(spread) @ (second.mean(0) - first.mean(0))


def _separation(first: np.ndarray, second: np.ndarray, side: float, thresholds, delta: float, confidence: float) -> np.ndarray:
    """ln((p - delta)/q), with p from below and q from above; -inf where p may be at most delta.

    Side 1: p is the second's chance to score above a threshold, q the first's; side -1: p is the first's to score below it.
    """
    likely, unlikely = (second, first) if side > 0 else (first, second)
    right, wrong = (_above(side * scores, side * thresholds) for scores in (likely, unlikely))
    tail = (1 - confidence) / 2
    p = np.where(right > 0, betaincinv(np.maximum(right, 1), len(likely) - right + 1, tail), 0.0)
    q = np.where(wrong < len(unlikely), betaincinv(wrong + 1, np.maximum(len(unlikely) - wrong, 1), 1 - tail), 1.0)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(p - delta, 0.0)) - np.log(q)


def _above(scores: np.ndarray, thresholds) -> np.ndarray:
    """The number of scores above each threshold."""
    return len(scores) - np.searchsorted(np.sort(scores), thresholds, side="right")
