"""The computations behind the page: curves, guarantees, trade-offs, statements and plans. This
module does not import Panel.

Most functions here are `cached`, so they must be pure, and nobody may change their answers.
"""

import time
from collections.abc import Callable
from math import ceil, inf, log10
from typing import Any, NamedTuple

import numpy as np

from zoexplore.bounds import BOUNDS, Guarantee, curve, guarantee
from zoexplore.bounds.lower import truth
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.compute.cache import cached
from zoexplore.questions import Plan, calibrate, recommend
from zoexplore.questions.forgotten import forgetting
from zoexplore.questions.hiding import Gain, gain_map
from zoexplore.questions.statement import statement
from zoexplore.run.axes import AXES, T_MOST
from zoexplore.run.limits import LARGEST_INTEGER
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting, Setting

_EVEN, _FEW = np.linspace(0.01, 0.99, 99), np.geomspace(1e-6, 0.01, 81)
# rates of false alarms: evenly spaced, and denser towards 0 and 1
RATES = np.unique(np.concatenate([_FEW, _EVEN, 1 - _FEW]))
COARSE = 5  # how many points of a curve there are for each point of its sketch


def timed(function: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Call a function, and return (result, seconds): what it returned, and the processor time that
    it took. Workers need this function, so it is in a module that does not import Panel.
    """
    begun = time.thread_time()
    return function(*args), time.thread_time() - begun


def load() -> None:
    """Import what a page needs first, and load the compiled kernels."""
    guarantees(DEMONSTRATION, Accounting())
    curve_set(DEMONSTRATION, Accounting(), "T")


class CurveSet(NamedTuple):
    """Every bound's epsilon along `values`, inf where it does not apply."""

    values: np.ndarray
    epsilon: dict[str, np.ndarray]


def any_T(setting: Setting, accounting: Accounting, field: str, *end: float) -> tuple[Any, ...]:
    """Replace the run's own T by 1 for curves along T, so that moving T computes nothing new. A T
    beyond the axis is rounded up to a power of ten instead.
    """
    if field != "T":
        return setting, accounting, field, *end
    T = setting.T if setting.T <= T_MOST else 10 ** ceil(log10(setting.T))
    any_run = setting.replace(T=min(T, LARGEST_INTEGER) if T > T_MOST else 1)
    return any_run, accounting, field, *end


@cached(any_T)
def curve_set(setting: Setting, accounting: Accounting, field: str) -> CurveSet:
    """Compute every bound's curve along a field."""
    values = AXES[field].values(setting)
    return CurveSet(values, curve(setting, field, values, accounting=accounting))


@cached(any_T)
def curve_sketch(
    setting: Setting, accounting: Accounting, field: str, end: float = inf
) -> CurveSet:
    """Compute a few points of the curves along a field, to draw while a slider moves: those up to
    `end`, and one beyond.
    """
    values = AXES[field].values(setting)
    few = np.append(values[:-1:COARSE], values[-1:])
    few = few[: np.searchsorted(few, end) + 1]
    return CurveSet(few, curve(setting, field, few, accounting=accounting))


@cached()
def guarantees(setting: Setting, accounting: Accounting) -> dict[str, Guarantee]:
    """Return every bound's guarantee, in the registry's order."""
    return {bound: guarantee(setting, bound, accounting) for bound in BOUNDS}


def smallest(guaranteed: dict[str, Guarantee]) -> Guarantee:
    """Return the guarantee with the least epsilon, without those for other mechanisms than the
    run's. Of several with the same epsilon, return the first in the registry's order.
    """
    return min(
        (g for bound, g in guaranteed.items() if BOUNDS[bound].of_this_run), key=lambda g: g.epsilon
    )


@cached(in_background=True)
def attack(setting: Setting, accounting: Accounting, bound: str) -> TradeOff:
    """Return the trade-off curve of one bound's guarantee. If the bound does not apply, the curve
    is uninformative.
    """
    return guarantees(setting, accounting)[bound].risk


@cached()
def attacks(setting: Setting, accounting: Accounting) -> dict[str, TradeOff]:
    """Return the trade-off curve of every bound, in the registry's order."""
    return {bound: attack(setting, accounting, bound) for bound in BOUNDS}


@cached(in_background=True)
def stated(setting: Setting, accounting: Accounting, bound: str) -> str:
    """Return a bound's statement about a run."""
    return str(statement(setting, bound, accounting))


@cached(in_background=True)
def said_of_truth(setting: Setting) -> str:
    """Say that hiding iterates helps a run little or not at all, and how little; return "" if it
    may help.
    """
    return truth(setting)


@cached(in_background=True)
def forgotten(
    setting: Setting, accounting: Accounting, steps: tuple[int, ...]
) -> tuple[np.ndarray, str]:
    """Return (epsilons, reason): epsilon after each of these numbers of steps without the record,
    and why it is unknown, or "" if it is known.
    """
    last = forgetting(setting, steps[-1], accounting)
    epsilons = [forgetting(setting, N, accounting).epsilon if last.valid else inf for N in steps]
    return np.minimum.accumulate(epsilons), last.reason


def anywhere(
    setting: Setting,
    accounting: Accounting,
    x: str,
    y: str,
    xs: tuple[Any, ...],
    ys: tuple[Any, ...],
) -> tuple[Any, ...]:
    """Replace a run's values of a map's two fields, so that moving them computes nothing new."""
    return setting.replace(**{x: xs[0], y: ys[0]}), accounting, x, y, xs, ys


@cached(anywhere)
def gains(
    setting: Setting,
    accounting: Accounting,
    x: str,
    y: str,
    xs: tuple[Any, ...],
    ys: tuple[Any, ...],
) -> Gain:
    """Return the gain from hiding iterates over two fields, as a map with a row for each value of
    y.
    """
    return gain_map(setting, x, y, xs, ys, accounting)


def solved(
    setting: Setting, field: str, epsilon: float, bound: str, accounting: Accounting
) -> Setting | str:
    """Return the run that `calibrate` finds for epsilon, or the reason why it finds none."""
    try:
        return calibrate(setting, field, epsilon=epsilon, bound=bound, accounting=accounting)
    except ValueError as error:
        return str(error)


def recommended(
    setting: Setting,
    epsilon: float,
    bound: str,
    accounting: Accounting,
    passes: float | None = None,
) -> Plan | str:
    """Return the plan that `recommend` makes for a setting's data and loss, or the reason why it
    makes none. If `passes` is None, the setting's own passes are the budget.
    """
    try:
        return recommend(
            setting, epsilon=epsilon, bound=bound, accounting=accounting, passes=passes
        )
    except ValueError as error:
        return str(error)
