"""What the page shows of one setting: every bound's curve along a field, and its guarantee. Computed once each.

Both are pure functions of frozen arguments and their values are never written to, so that sessions can share the
cache without sharing any state.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from zoexplore.bounds import BOUNDS, Guarantee, curve, guarantee
from zoexplore.setting import Accounting, Setting
from zoexplore.views.abscissa import ABSCISSAE, T_MOST, T_VALUES

__all__ = ["REFERENCE", "T_MOST", "T_VALUES", "Trace", "guarantees", "public_epsilon", "trace"]
REFERENCE = "reference"  # the column of composition at beta = 1


@dataclass(frozen=True)
class Trace:
    """Every bound's epsilon along `values`, inf where it does not apply, and composition at beta = 1 beside them."""

    values: np.ndarray
    epsilon: dict[str, np.ndarray]
    reference: np.ndarray


def trace(setting: Setting, accounting: Accounting, field: str = "T") -> Trace:
    """The curves of a setting along a field. Its own T does not matter along T, so that moving T computes nothing."""
    return _trace(setting.replace(T=1) if field == "T" else setting, accounting, field)


@lru_cache(maxsize=64)
def _trace(setting: Setting, accounting: Accounting, field: str) -> Trace:
    values = ABSCISSAE[field].values(setting)
    epsilon = curve(setting, field, values, accounting=accounting)
    public = curve(setting.replace(beta=1.0), field, values, ["composition"], accounting)["composition"]
    if field == "beta":
        public = np.full(values.shape, public_epsilon(setting, accounting))
    for array in (values, *epsilon.values(), public):
        array.flags.writeable = False
    return Trace(values, epsilon, public)


@lru_cache(maxsize=256)
def guarantees(setting: Setting, accounting: Accounting) -> dict[str, Guarantee]:
    """Every bound's guarantee, in the registry's order."""
    return {bound: guarantee(setting, bound, accounting) for bound in BOUNDS}


@lru_cache(maxsize=256)
def public_epsilon(setting: Setting, accounting: Accounting) -> float:
    """Composition at beta = 1: the same noise energy, and every iterate public."""
    return guarantee(setting.replace(beta=1.0), "composition", accounting).epsilon
