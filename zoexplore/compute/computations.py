"""The computations behind the page: each bound's curves, guarantee, trade-off and statement, and
plans. The module imports no Panel.

Most are `cached`: pure functions of frozen arguments, whose answers nobody changes.
"""

import json
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
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.refusals import LARGEST_INTEGER
from zoexplore.run.setting import Accounting, Setting

_EVEN, _FEW = np.linspace(0.01, 0.99, 99), np.geomspace(1e-6, 0.01, 81)
# rates of false alarms: even, and close together at either end
RATES = np.unique(np.concatenate([_FEW, _EVEN, 1 - _FEW]))
COARSE = 5  # the places of a curve for each place of its sketch


def timed(function: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Call a function; return its result and the processor seconds it took. It stands here because
    workers import this module, but not Panel.
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


def any_T(setting: Setting, accounting: Accounting, field: str) -> tuple[Any, ...]:
    """Replace a run's own T on curves along T, so that moving T computes nothing. A T beyond the
    axis keeps its decade.
    """
    if field != "T":
        return setting, accounting, field
    T = setting.T if setting.T <= T_MOST else 10 ** ceil(log10(setting.T))
    return setting.replace(T=min(T, LARGEST_INTEGER) if T > T_MOST else 1), accounting, field


@cached(any_T)
def curve_set(setting: Setting, accounting: Accounting, field: str) -> CurveSet:
    """Compute the data of the curves along a field."""
    values = AXES[field].values(setting)
    return CurveSet(values, curve(setting, field, values, accounting=accounting))


@cached(any_T)
def curve_sketch(setting: Setting, accounting: Accounting, field: str) -> CurveSet:
    """Compute the curves at a few of their places, for which a moving slider waits."""
    values = AXES[field].values(setting)
    few = np.append(values[:-1:COARSE], values[-1:])
    return CurveSet(few, curve(setting, field, few, accounting=accounting))


@cached()
def guarantees(setting: Setting, accounting: Accounting) -> dict[str, Guarantee]:
    """Return every bound's guarantee, in the registry's order."""
    return {bound: guarantee(setting, bound, accounting) for bound in BOUNDS}


def smallest(found: dict[str, Guarantee]) -> Guarantee:
    """Return the guarantee of this run with the least epsilon; if several tie, the first in the
    registry's order.
    """
    return min(
        (g for bound, g in found.items() if BOUNDS[bound].of_this_run), key=lambda g: g.epsilon
    )


@cached(in_background=True)
def attack(setting: Setting, accounting: Accounting, bound: str) -> TradeOff:
    """Return the trade-off curve of one bound's guarantee, uninformative if the bound does not
    apply.
    """
    return guarantees(setting, accounting)[bound].risk


@cached()
def attacks(setting: Setting, accounting: Accounting) -> dict[str, TradeOff]:
    """Return the trade-off curve of every bound, in the registry's order."""
    return {bound: attack(setting, accounting, bound) for bound in BOUNDS}


@cached(in_background=True)
def stated(setting: Setting, accounting: Accounting, bound: str) -> tuple[str, str]:
    """Return a bound's statement about a run, in words and as JSON."""
    found = statement(setting, bound, accounting)
    return str(found), json.dumps(found.as_dict(), ensure_ascii=False, indent=2)


@cached(in_background=True)
def said_of_truth(setting: Setting) -> str:
    """Say that hiding cannot help a run, with the number; return "" if it may help."""
    return truth(setting)


@cached(in_background=True)
def forgotten(
    setting: Setting, accounting: Accounting, steps: tuple[int, ...]
) -> tuple[np.ndarray, str]:
    """Return epsilon after each of these numbers of steps without a record, and the reason if it is
    not known.
    """
    last = forgetting(setting, steps[-1], accounting)
    found = [forgetting(setting, N, accounting).epsilon if last.valid else inf for N in steps]
    return np.minimum.accumulate(found), last.reason


def anywhere(
    setting: Setting,
    accounting: Accounting,
    x: str,
    y: str,
    xs: tuple[Any, ...],
    ys: tuple[Any, ...],
) -> tuple[Any, ...]:
    """Replace a run's own values of a map's two fields, so that moving them computes nothing."""
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
    """Return the gain from hiding iterates over two fields, with a row for each value of y."""
    return gain_map(setting, x, y, xs, ys, accounting)


def solved(
    setting: Setting, field: str, epsilon: float, bound: str, accounting: Accounting
) -> Setting | str:
    """Call `calibrate` for epsilon; if it raises, return the reason."""
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
    """Call `recommend` for the data and loss of a setting, and for `passes` or the setting's own;
    if it raises, return the reason.
    """
    try:
        return recommend(
            setting, epsilon=epsilon, bound=bound, accounting=accounting, passes=passes
        )
    except ValueError as error:
        return str(error)
