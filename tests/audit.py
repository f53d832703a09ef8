"""An empirical audit: train many times on two neighbouring data sets, and measure how well the
outcomes can be distinguished.

That bounds the true epsilon from below, with confidence, and checks mechanism and accountant
together: no reported epsilon may be smaller.
"""

from typing import Any

import numpy as np
from scipy.special import betaincinv

THRESHOLDS = 400  # quantiles of the scores, tried on the first halves
SIDES = 1, -1  # whether the second data set's scores are the larger ones


def audit(first: Any, second: Any, delta: float, *, confidence: float = 0.95) -> float:
    """A lower bound on epsilon at `delta`, true with probability `confidence`, from outcomes on two
    neighbouring data sets.

    The first half of the outcomes fits Fisher's linear discriminant and chooses threshold and side;
    the other half counts that one test's errors, both bounded by Clopper and Pearson.

    Args:
        first, second: independent outcomes, shape (runs, d) each, at least 4 runs.
        delta: in [0, 1).
        confidence: in (0, 1).

    Returns:
        A bound of at least 0, which is trivial.
    """
    tried, counted = zip(*(np.array_split(x, 2) for x in (first, second)), strict=True)
    spread = np.atleast_2d(sum(np.cov(x.T) for x in tried))
    direction = np.linalg.pinv(spread) @ (tried[1].mean(0) - tried[0].mean(0))

    def separation(halves: Any, side: int, thresholds: Any) -> np.ndarray:
        """ln((p - delta)/q), p from below and q from above: of scores beyond thresholds in one
        world, and in the other.
        """
        likely, unlikely = (side * (x @ direction) for x in halves[::-side])
        right, wrong = ((x[:, None] > side * thresholds).sum(0) for x in (likely, unlikely))
        tail = (1 - confidence) / 2
        p = np.nan_to_num(betaincinv(right, len(likely) - right + 1, tail))
        q = np.nan_to_num(betaincinv(wrong + 1, len(unlikely) - wrong, 1 - tail), nan=1.0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(p - delta, 0.0)) - np.log(q))

    thresholds = np.quantile(np.concatenate(tried) @ direction, np.linspace(0, 1, THRESHOLDS))
    found = [separation(tried, side, thresholds) for side in SIDES]
    side, at = np.unravel_index(np.argmax(found), np.shape(found))
    return max(0.0, float(separation(counted, SIDES[side], thresholds[[at]])[0]))
