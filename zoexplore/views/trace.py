"""What the page shows of one setting: every bound's curve along T, and every bound's guarantee. Computed once each.

Both are pure functions of frozen arguments and their values are never written to, so that sessions can share the
cache without sharing any state.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from zoexplore.bounds import BOUNDS, Guarantee, curve, guarantee
from zoexplore.setting import Accounting, Setting

T_MOST = 10**6
T_VALUES = np.unique(np.round(np.geomspace(1, T_MOST, 200)))
T_VALUES.flags.writeable = False
REFERENCE = "reference"  # the column of composition at beta = 1


@dataclass(frozen=True)
class Trace:
    """Every bound's epsilon along `T_VALUES`, inf where it does not apply, and composition at beta = 1 beside them."""

    epsilon: dict[str, np.ndarray]
    reference: np.ndarray


def trace(setting: Setting, accounting: Accounting) -> Trace:
    """The curves of a setting. Its own T does not matter, so that moving T computes nothing."""
    return _trace(setting.replace(T=1), accounting)


@lru_cache(maxsize=64)
def _trace(setting: Setting, accounting: Accounting) -> Trace:
    epsilon = curve(setting, "T", T_VALUES, accounting=accounting)
    public = curve(setting.replace(beta=1.0), "T", T_VALUES, ["composition"], accounting)["composition"]
    for values in (*epsilon.values(), public):
        values.flags.writeable = False
    return Trace(epsilon, public)


@lru_cache(maxsize=256)
def guarantees(setting: Setting, accounting: Accounting) -> dict[str, Guarantee]:
    """Every bound's guarantee, in the registry's order."""
    return {bound: guarantee(setting, bound, accounting) for bound in BOUNDS}


@lru_cache(maxsize=256)
def public_epsilon(setting: Setting, accounting: Accounting) -> float:
    """Composition at beta = 1: the same noise energy, and every iterate public."""
    return guarantee(setting.replace(beta=1.0), "composition", accounting).epsilon
