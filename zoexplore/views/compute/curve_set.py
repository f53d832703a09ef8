"""What the page shows of one setting: every bound's curve along a field, its guarantee, what that allows an attacker, and what it
says in words. Computed once each. No Panel here.

All are pure functions of frozen arguments and their values are never written to, so that sessions can share the
cache without sharing any state.
"""

import json
from dataclasses import dataclass
from math import ceil, log10

import numpy as np

from zoexplore.bounds import BOUNDS, Guarantee, curve, guarantee
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.export import to_csv
from zoexplore.setting import LARGEST_INTEGER, Accounting, Setting
from zoexplore.statement import statement
from zoexplore.views.compute.remember import recall, remembered
from zoexplore.views.figures.axes import AXES, T_MOST

REFERENCE = "reference"  # the column of composition at beta = 1
_EVEN = np.linspace(0.01, 0.99, 99)
_FEW = np.geomspace(1e-6, 0.01, 81)
RATES = np.unique(np.concatenate([_FEW, _EVEN, 1 - _FEW]))  # of false alarms: even, and close together at either end
RATES.flags.writeable = False


@dataclass(frozen=True)
class CurveSet:
    """Every bound's epsilon along `values`, inf where it does not apply, and composition at beta = 1 beside them."""

    values: np.ndarray
    epsilon: dict[str, np.ndarray]
    reference: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.values, *self.epsilon.values(), self.reference):
            array.flags.writeable = False

    def minimum(self, other: "CurveSet") -> "CurveSet":
        """Of two accounts of one run along the same values the smaller: either is a bound."""
        least = {bound: np.minimum(epsilon, other.epsilon[bound]) for bound, epsilon in self.epsilon.items()}
        return CurveSet(self.values, least, np.minimum(self.reference, other.reference))

    def __reduce__(self) -> tuple:
        """Made anew by another process, so that nobody writes to it there either."""
        return CurveSet, (self.values, self.epsilon, self.reference)


def any_T(setting: Setting, accounting: Accounting, field: str) -> tuple:
    """A run's own T does not matter along T, so that moving T computes nothing; beyond the axis, its decade does."""
    if field != "T":
        return setting, accounting, field
    T = setting.T if setting.T <= T_MOST else 10 ** ceil(log10(setting.T))
    return setting.replace(T=min(T, LARGEST_INTEGER) if T > T_MOST else 1), accounting, field


def sketched(setting: Setting, accounting: Accounting, field: str) -> Accounting:
    """How a run's curves are counted until there is time: on batches drawn afresh by Renyi divergence, sound and found many times
    sooner than what is exact; as they are asked for elsewhere, and where that was found already.
    """
    afresh = not setting.full_batch and setting.sampling in ("without-replacement", "poisson")
    if not afresh or accounting.printed or accounting.conversion != "gaussian":
        return accounting
    try:
        recall(curve_set, any_T(setting, accounting, field))
    except KeyError:
        return accounting.replace(conversion="cks")
    return accounting


@remembered(any_T)
def curve_set(setting: Setting, accounting: Accounting, field: str) -> CurveSet:
    """The curves of a setting along a field."""
    values = AXES[field].values(setting)
    epsilon = curve(setting, field, values, accounting=accounting)
    public = curve(setting.replace(beta=1.0), field, values, ["composition"], accounting)["composition"]
    if field == "beta":
        public = np.full(values.shape, public_epsilon(setting, accounting))
    return CurveSet(values, epsilon, public)


def csv(setting: Setting, accounting: Accounting, field: str) -> str:
    """The curves of a setting along a field, as CSV."""
    return to_csv(setting, accounting, field, AXES[field].values(setting))


@remembered()
def guarantees(setting: Setting, accounting: Accounting) -> dict[str, Guarantee]:
    """Every bound's guarantee, in the registry's order."""
    return {bound: guarantee(setting, bound, accounting) for bound in BOUNDS}


def of_this_run(bound: str) -> bool:
    """Whether a bound is of the run that is set, and not of another mechanism beside it."""
    return not BOUNDS[bound].comparator


def smallest(found: dict[str, Guarantee]) -> Guarantee:
    """The guarantee of this run with the least epsilon; the first in the registry's order where several tie."""
    return min((g for bound, g in found.items() if of_this_run(bound)), key=lambda g: g.epsilon)


@remembered()
def public_epsilon(setting: Setting, accounting: Accounting) -> float:
    """Composition at beta = 1: the same noise energy, and every iterate public."""
    return guarantee(setting.replace(beta=1.0), "composition", accounting).epsilon


@remembered()
def shares(setting: Setting, accounting: Accounting) -> tuple[float, float]:
    """The smallest epsilon of this run with all noise along the directions, beta = 1, and with none of it, beta = 0."""
    own = [bound for bound in BOUNDS if not BOUNDS[bound].comparator]
    found = curve(setting, "beta", [1.0, 0.0], own, accounting.replace(schedule="constant"))
    along, across = np.minimum.reduce(list(found.values()))
    return float(along), float(across)


@remembered(beside=True)
def attack(setting: Setting, accounting: Accounting, bound: str) -> TradeOff:
    """What one bound's guarantee allows an attacker; nothing is known where it does not apply."""
    return guarantees(setting, accounting)[bound].risk


@remembered()
def attacks(setting: Setting, accounting: Accounting) -> dict[str, TradeOff]:
    """What every bound's guarantee allows an attacker, in the registry's order."""
    return {bound: attack(setting, accounting, bound) for bound in BOUNDS}


@remembered(beside=True)
def stated(setting: Setting, accounting: Accounting, bound: str) -> tuple[str, str]:
    """What a bound says of a run, to be published: in words, and for a program."""
    found = statement(setting, bound, accounting)
    return str(found), json.dumps(found.as_dict(), ensure_ascii=False, indent=2)
