"""What an attacker can do at a single pair (epsilon, delta): the pair that guarantees a wanted
answer (docs/concepts.md, "What an attacker can do"). `Guarantee` answers for a run.
"""

from math import log, log1p

import numpy as np

from zoexplore.run.setting import shown


def pair_for_advantage(advantage: float) -> tuple[float, float]:
    """(epsilon, delta), delta just below it, that limits the advantage (e - 1 + 2 delta)/(e + 1), e
    = exp(epsilon), to it.
    """
    delta = 0.9 * advantage
    return log1p(2 * (advantage - delta) / (1 - advantage)), delta


def pair_for_positives(fpr: float, tpr: float) -> tuple[float, float]:
    """(epsilon, delta) that limits the true positives at a false-positive rate: the larger epsilon
    of both branches.
    """
    delta = 0.1 * (tpr - fpr)
    return max(log((tpr - delta) / fpr), log((1 - delta - fpr) / (1 - tpr))), delta


def wanted_positives(value: object) -> tuple[float, float]:
    """A checked target (false-positive rate, greatest true-positive rate). Raises ValueError unless
    0 < fpr < tpr < 1.
    """
    try:
        fpr, tpr = (float(x) for x in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        fpr = tpr = np.nan
    if not 0 < fpr < tpr < 1:
        allowed = "two numbers (false-positive rate, most true positives) with 0 < the first < the second < 1"
        raise ValueError(f"tpr = {shown(value)} is not allowed: give {allowed}")
    return fpr, tpr
