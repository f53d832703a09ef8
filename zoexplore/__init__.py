"""zoexplore: the privacy loss of zeroth-order training by several bounds, and a page to explore it."""

from zoexplore.bounds import BOUNDS, Guarantee, curve, epsilon, guarantee
from zoexplore.questions import calibrate, compose, recommend
from zoexplore.run.setting import Accounting, Setting

__version__ = "0.1.0"
__all__ = ["BOUNDS", "Accounting", "Guarantee", "Setting"]
__all__ += ["calibrate", "compose", "curve", "epsilon", "explore", "guarantee", "recommend"]


def explore(setting: Setting | None = None, accounting: Accounting | None = None):
    """The whole explorer for a notebook cell, opened at a setting and an accounting."""
    from zoexplore.views import Explorer  # here, so that the accountant imports without Panel

    return Explorer(setting, accounting)
