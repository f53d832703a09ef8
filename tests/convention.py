"""Runs and questions by the paper's convention: the clip is supposed idle, and a record is counted
by it all the same.

What is compared with the paper, with references of its constants, or with an adversary who has the
whole clip to himself, is of this kind. What the length of gradients is worth is
`tests/bounds/test_supposed.py`'s.
"""

from functools import partial

import zoexplore
from zoexplore import questions
from zoexplore.run.presets import DEMONSTRATION as LEARNS
from zoexplore.run.presets import PAPER_CONVENTION

DEMONSTRATION = LEARNS.replace(sigma=1e-3, lipschitz=None)
__all__ = ["DEFAULT", "DEMONSTRATION", "Accounting", "Setting", "calibrate", "curve", "epsilon"]
__all__ += ["guarantee"]

Accounting = partial(zoexplore.Accounting, sensitivity="clip")
Setting = partial(zoexplore.Setting, lipschitz=None)
DEFAULT = PAPER_CONVENTION


def epsilon(setting, bound, accounting=DEFAULT):
    return zoexplore.epsilon(setting, bound, accounting)


def guarantee(setting, bound, accounting=DEFAULT):
    return zoexplore.guarantee(setting, bound, accounting)


def curve(setting, field, values, bounds=None, accounting=DEFAULT):
    return zoexplore.curve(setting, field, values, bounds, accounting)


def calibrate(setting, field, bound="sharp", accounting=DEFAULT, **target):
    return questions.calibrate(setting, field, bound=bound, accounting=accounting, **target)
