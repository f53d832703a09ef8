"""An attacker's advantage, true positives and posterior (docs/concepts.md, "What an attacker can do").

`Guarantee` answers for one run, from its trade-off function (`bounds/tradeoff.py`). Here are the same answers along a field, for
a single pair (epsilon, delta), and the pair that a wanted answer comes to.

>>> from zoexplore import guarantee
>>> from zoexplore.run.presets import DEMONSTRATION
>>> from zoexplore.questions.risk import of_pair
>>> g = guarantee(DEMONSTRATION, "sharp")
>>> g.advantage < 0.1, of_pair(g.epsilon, DEMONSTRATION.delta).advantage > 0.4
(True, True)
"""

from collections.abc import Iterable
from math import inf, log, log1p
from numbers import Real

import numpy as np

from zoexplore.bounds import guarantee
from zoexplore.bounds.guarantee import DEFAULT
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.run.setting import Accounting, Setting, shown

__all__ = ["TradeOff", "along", "of_pair"]


def of_pair(epsilon: float, delta: float) -> TradeOff:
    """All that a single pair (epsilon, delta) says; a run whose budget is known says more.

    Raises:
        ValueError: epsilon is negative, or delta not in [0, 1].
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon = {shown(epsilon)} is not allowed: give a number of at least 0")
    if not 0 <= delta <= 1:
        raise ValueError(f"delta = {shown(delta)} is not allowed: give a number from 0 to 1")
    return TradeOff(epsilons=(epsilon,), deltas=(delta,))


def along(
    setting: Setting, field: str, values: Iterable[float], bound: str = "sharp", accounting: Accounting = DEFAULT
) -> list[TradeOff]:
    """The trade-off at each value of one field of a run; nothing is known where the bound does not apply.

    Raises:
        ValueError: the bound or the field is unknown, or a value is not allowed.
    """
    return [guarantee(setting.replace(**{field: value}), bound, accounting).risk for value in values]


def pair_for_advantage(advantage: float) -> tuple[float, float]:
    """(epsilon, delta) with delta close to it, which keeps the advantage: (e - 1 + 2 delta)/(e + 1), e = exp(epsilon)."""
    delta = 0.9 * advantage
    return log1p(2 * (advantage - delta) / (1 - advantage)), delta


def pair_for_positives(fpr: float, tpr: float) -> tuple[float, float]:
    """(epsilon, delta) which keeps the true positives at a false-positive rate: the larger of both branches' epsilon."""
    delta = 0.1 * (tpr - fpr)
    few = log((1 - delta - fpr) / (1 - tpr)) if tpr < 1 else inf
    return max(log((tpr - delta) / fpr) if fpr > 0 else 0.0, few), delta


def wanted_advantage(value: object) -> float:
    """An advantage as a target. Raises ValueError unless it is in (0, 1)."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"advantage = {shown(value)} is not allowed: give a number above 0 and below 1")
    return float(value)


def wanted_positives(value: object) -> tuple[float, float]:
    """(false-positive rate, most true positives) as a target. Raises ValueError unless 0 < fpr < tpr < 1."""
    try:
        fpr, tpr = (float(x) for x in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        fpr = tpr = np.nan
    if not 0 < fpr < tpr < 1:
        allowed = "two numbers (false-positive rate, most true positives) with 0 < the first < the second < 1"
        raise ValueError(f"tpr = {shown(value)} is not allowed: give {allowed}")
    return fpr, tpr
