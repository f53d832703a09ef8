"""What an attacker can do, by every bound, for the page. No Panel here."""

import numpy as np

from zoexplore.bounds import BOUNDS
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.setting import Accounting, Setting
from zoexplore.views.compute.curve_set import guarantees
from zoexplore.views.compute.remember import remembered

_EVEN = np.linspace(0.01, 0.99, 99)
_FEW = np.geomspace(1e-6, 0.01, 81)
RATES = np.unique(np.concatenate([_FEW, _EVEN, 1 - _FEW]))  # of false alarms: even, and close together at either end
RATES.flags.writeable = False


@remembered(beside=True)
def attack(setting: Setting, accounting: Accounting, bound: str) -> TradeOff:
    """What one bound's guarantee allows an attacker; nothing is known where it does not apply."""
    return guarantees(setting, accounting)[bound].risk


@remembered()
def attacks(setting: Setting, accounting: Accounting) -> dict[str, TradeOff]:
    """What every bound's guarantee allows an attacker, in the registry's order."""
    return {bound: attack(setting, accounting, bound) for bound in BOUNDS}
