"""Pairs (epsilon, delta) that limit an attacker to a given risk (docs/concepts.md, "What an
attacker can do"). `Guarantee` has the risks of a run.
"""

from math import log, log1p

import numpy as np

from zoexplore.run.refusals import shown


def pair_for_advantage(advantage: float) -> tuple[float, float]:
    """Return a pair (epsilon, delta) that limits an attacker's advantage to `advantage`, with delta
    a little below `advantage`. The advantage is (e - 1 + 2 delta)/(e + 1) with e = exp(epsilon).
    """
    delta = 0.9 * advantage
    return log1p(2 * (advantage - delta) / (1 - advantage)), delta


def pair_for_positives(fpr: float, tpr: float) -> tuple[float, float]:
    """Return a pair (epsilon, delta) that limits the true-positive rate at the false-positive rate
    `fpr` to `tpr`. Epsilon is the larger of the values from both branches of the trade-off.
    """
    delta = 0.1 * (tpr - fpr)
    return max(log((tpr - delta) / fpr), log((1 - delta - fpr) / (1 - tpr))), delta


def wanted_positives(value: object) -> tuple[float, float]:
    """Check and return a target (false-positive rate, greatest true-positive rate). Raises
    ValueError unless 0 < fpr < tpr < 1.
    """
    try:
        fpr, tpr = (float(x) for x in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        fpr = tpr = np.nan
    if not 0 < fpr < tpr < 1:
        allowed = "two numbers (false-positive rate, most true positives) with 0 < the first < the second < 1"
        raise ValueError(f"tpr = {shown(value)} is not allowed: give {allowed}")
    return fpr, tpr
