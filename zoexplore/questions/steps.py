"""The step from which a bound is below composition, and the step after which it stops growing."""

from collections.abc import Callable
from math import inf

import numpy as np

from zoexplore.bounds import curve
from zoexplore.bounds.guarantee import DEFAULT
from zoexplore.run.setting import LARGEST_INTEGER, Accounting, Setting

STEPS = 257  # values evaluated at once
ALL_STEPS = np.unique(np.geomspace(1, LARGEST_INTEGER, STEPS).round())


def crossover_step(setting: Setting, bound: str = "sharp", accounting: Accounting = DEFAULT) -> float:
    """T*, the step from which a bound is strictly below composition; inf if it never is up to 2^53 steps.

    Raises:
        ValueError: the bound is unknown.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> crossover_step(DEMONSTRATION, "theorem")
    134
    """

    def below(T: np.ndarray) -> np.ndarray:
        found = curve(setting, "T", T, [bound, "composition"], accounting)
        return found[bound] < found["composition"]

    return from_which_on(below)


def flat_step(setting: Setting, bound: str = "sharp", accounting: Accounting = DEFAULT, *, growth: float = 0.01) -> float:
    """The step after which epsilon grows by less than `growth` in all, up to 2^53 steps, the most that a Setting allows.

    inf where epsilon is infinite or grows that much over the last half of them.

    Raises:
        ValueError: the bound is unknown, or the growth is not above 0.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> flat_step(DEMONSTRATION)
    10
    """
    if not growth > 0:
        raise ValueError(f"growth = {growth!r} is not allowed: give a number above 0")
    (last,) = curve(setting, "T", [LARGEST_INTEGER], [bound], accounting)[bound]
    if last == inf:
        return inf
    step = from_which_on(lambda T: last <= (1 + growth) * curve(setting, "T", T, [bound], accounting)[bound])
    return step if step <= LARGEST_INTEGER // 2 else inf


def from_which_on(holds: Callable[[np.ndarray], np.ndarray], T: np.ndarray = ALL_STEPS, finer: int = STEPS) -> float:
    """The smallest T from which a condition holds, sought between ascending values of T and then on ever finer grids; inf where
    it fails at the last.

    >>> from_which_on(lambda T: T**2 > 10**6)
    1001
    """
    while True:
        failing = np.flatnonzero(~holds(T))
        if failing.size == 0:
            return int(T[0])
        if failing[-1] == T.size - 1:
            return inf
        low, high = T[failing[-1]], T[failing[-1] + 1]
        if high - low <= 1:
            return int(high)
        T = np.unique(np.linspace(low, high, finer).round())
