"""What the page shows of one setting: every bound's curve along a field, and its guarantee. Computed once each.

Both are pure functions of frozen arguments and their values are never written to, so that sessions can share the
cache without sharing any state.
"""

from dataclasses import dataclass

import numpy as np

from zoexplore.bounds import BOUNDS, Guarantee, curve, guarantee
from zoexplore.setting import Accounting, Setting
from zoexplore.views import theme
from zoexplore.views.abscissa import ABSCISSAE, T_MOST, T_VALUES
from zoexplore.views.kept import Kept, kept

__all__ = ["REFERENCE", "T_MOST", "T_VALUES", "Trace", "guarantees", "public_epsilon", "shares", "trace", "traced"]
REFERENCE = "reference"  # the column of composition at beta = 1


@dataclass(frozen=True)
class Trace:
    """Every bound's epsilon along `values`, inf where it does not apply, and composition at beta = 1 beside them."""

    values: np.ndarray
    epsilon: dict[str, np.ndarray]
    reference: np.ndarray

    def __post_init__(self) -> None:
        for array in (self.values, *self.epsilon.values(), self.reference):
            array.flags.writeable = False

    def __reduce__(self) -> tuple:
        """Made anew by another process, so that nobody writes to it there either."""
        return Trace, (self.values, self.epsilon, self.reference)


def trace(setting: Setting, accounting: Accounting, field: str = "T") -> Trace:
    """The curves of a setting along a field. Its own T does not matter along T, so that moving T computes nothing."""
    call, args = traced(setting, accounting, field)
    return call(*args)


def traced(setting: Setting, accounting: Accounting, field: str = "T") -> tuple[Kept, tuple]:
    """The function and the arguments that `trace` calls."""
    return _trace, (setting.replace(T=1) if field == "T" else setting, accounting, field)


@kept(256)
def _trace(setting: Setting, accounting: Accounting, field: str) -> Trace:
    values = ABSCISSAE[field].values(setting)
    epsilon = curve(setting, field, values, accounting=accounting)
    public = curve(setting.replace(beta=1.0), field, values, ["composition"], accounting)["composition"]
    if field == "beta":
        public = np.full(values.shape, public_epsilon(setting, accounting))
    return Trace(values, epsilon, public)


@kept(256)
def guarantees(setting: Setting, accounting: Accounting) -> dict[str, Guarantee]:
    """Every bound's guarantee, in the registry's order."""
    return {bound: guarantee(setting, bound, accounting) for bound in BOUNDS}


@kept(256)
def public_epsilon(setting: Setting, accounting: Accounting) -> float:
    """Composition at beta = 1: the same noise energy, and every iterate public."""
    return guarantee(setting.replace(beta=1.0), "composition", accounting).epsilon


@kept(256)
def shares(setting: Setting, accounting: Accounting) -> tuple[float, float]:
    """The smallest epsilon of this run with all noise along the directions, beta = 1, and with none of it, beta = 0."""
    own = [bound for bound in BOUNDS if theme.style_of(bound).of_this_run]
    found = curve(setting, "beta", [1.0, 0.0], own, accounting.replace(schedule="constant"))
    along, across = np.minimum.reduce(list(found.values()))
    return float(along), float(across)
