"""Where along a run a bound starts to pay, and where it stops growing."""

from collections.abc import Callable
from math import inf

import numpy as np

from zoexplore.bounds import curve
from zoexplore.bounds.guarantee import DEFAULT
from zoexplore.run.setting import LARGEST_INTEGER, Accounting, Setting

STEPS = 257  # looked at together
ALL_STEPS = np.unique(np.geomspace(1, LARGEST_INTEGER, STEPS).round())


def crossover_step(setting: Setting, bound: str = "sharp", accounting: Accounting = DEFAULT) -> float:
    """T*, the step from which on a bound is below composition; inf where it never is, up to 2^53 steps.

    The sharper bound is never above composition; here it counts from where it is truly below.

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
    """The step after which epsilon grows by less than `growth` in all, however long the run.

    "However long" is up to 2^53 steps, the most that a Setting takes; inf where epsilon is infinite or still grows that much
    over the last half of them.

    Raises:
        ValueError: the bound is unknown, or the growth is not above 0.

    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> flat_step(DEMONSTRATION)
    13
    """
    if not growth > 0:
        raise ValueError(f"growth = {growth!r} is not allowed: give a number above 0")
    (last,) = curve(setting, "T", [LARGEST_INTEGER], [bound], accounting)[bound]
    if last == inf:
        return inf
    step = from_which_on(lambda T: last <= (1 + growth) * curve(setting, "T", T, [bound], accounting)[bound])
    return step if step <= LARGEST_INTEGER // 2 else inf


def from_which_on(holds: Callable[[np.ndarray], np.ndarray], T: np.ndarray = ALL_STEPS, finer: int = STEPS) -> float:
    """The smallest T from which on something holds, looked for between numbers of steps T, ascending, and then on finer and finer
    grids; inf where it fails at the last.

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
