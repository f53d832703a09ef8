"""An attacker's advantage, true positives and posterior (docs/concepts.md, "What an attacker can do").

`Guarantee` answers for one run, from its trade-off function (`bounds/tradeoff.py`). This module answers for a single pair
(epsilon, delta), and gives the pair that guarantees a wanted answer.

>>> from zoexplore import guarantee
>>> from zoexplore.run.presets import DEMONSTRATION
>>> from zoexplore.questions.risk import of_pair
>>> g = guarantee(DEMONSTRATION, "sharp")
>>> g.advantage < 0.1, of_pair(g.epsilon, DEMONSTRATION.delta).advantage > 0.4
(True, True)
"""

from math import inf, log, log1p
from numbers import Real

import numpy as np

from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.run.formatting import format_count, format_short
from zoexplore.run.setting import Setting, shown

__all__ = ["TradeOff", "of_pair"]


def of_pair(epsilon: float, delta: float) -> TradeOff:
    """The trade-off of a single pair (epsilon, delta); a run with a known budget has a better one.

    Raises:
        ValueError: epsilon is negative, or delta not in [0, 1].
    """
    if not epsilon >= 0:
        raise ValueError(f"epsilon = {shown(epsilon)} is not allowed: give a number of at least 0")
    if not 0 <= delta <= 1:
        raise ValueError(f"delta = {shown(delta)} is not allowed: give a number from 0 to 1")
    return TradeOff(epsilons=(epsilon,), deltas=(delta,))


def pair_for_advantage(advantage: float) -> tuple[float, float]:
    """(epsilon, delta), delta just below it, that limits the advantage (e - 1 + 2 delta)/(e + 1), e = exp(epsilon), to it."""
    delta = 0.9 * advantage
    return log1p(2 * (advantage - delta) / (1 - advantage)), delta


def pair_for_positives(fpr: float, tpr: float) -> tuple[float, float]:
    """(epsilon, delta) that limits the true positives at a false-positive rate: the larger epsilon of both branches."""
    delta = 0.1 * (tpr - fpr)
    few = log((1 - delta - fpr) / (1 - tpr)) if tpr < 1 else inf
    return max(log((tpr - delta) / fpr) if fpr > 0 else 0.0, few), delta


def remark_on_delta(setting: Setting) -> str:
    """What to say of a delta of at least 1/n; empty below.

    >>> remark_on_delta(Setting(n=200, d=10, K=1, T=1, sigma=1.0, beta=1.0, delta=0.1)).partition(": ")[0]
    'δ = 0.1 is at least 1/n'
    """
    if setting.delta * setting.n < 1:
        return ""
    shown_all = f"{format_short(setting.delta * setting.n)} of {format_count(setting.n)}"
    by_chance = f"publishing every record with this probability, {shown_all}, would be (0, δ)-private"
    return f"δ = {format_short(setting.delta)} is at least 1/n: {by_chance}; take a far smaller one"


def wanted_advantage(value: object) -> float:
    """A checked target advantage. Raises ValueError unless it is in (0, 1)."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"advantage = {shown(value)} is not allowed: give a number above 0 and below 1")
    return float(value)


def wanted_positives(value: object) -> tuple[float, float]:
    """A checked target (false-positive rate, greatest true-positive rate). Raises ValueError unless 0 < fpr < tpr < 1."""
    try:
        fpr, tpr = (float(x) for x in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        fpr = tpr = np.nan
    if not 0 < fpr < tpr < 1:
        allowed = "two numbers (false-positive rate, most true positives) with 0 < the first < the second < 1"
        raise ValueError(f"tpr = {shown(value)} is not allowed: give {allowed}")
    return fpr, tpr
