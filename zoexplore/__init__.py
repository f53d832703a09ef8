"""zoexplore: the privacy loss of zeroth-order training by several bounds, and a page to explore it."""

from typing import TYPE_CHECKING

from zoexplore.bounds import BOUNDS, Guarantee, curve, epsilon, guarantee
from zoexplore.questions import calibrate, compose, forgetting, recommend
from zoexplore.run.setting import Accounting, Setting, shown

if TYPE_CHECKING:
    from zoexplore.views import Explorer

__version__ = "0.1.0"
__all__ = ["BOUNDS", "Accounting", "Guarantee", "Setting"]
__all__ += ["calibrate", "compose", "curve", "epsilon", "explore", "forgetting", "guarantee", "recommend"]


def explore(setting: Setting | None = None, accounting: Accounting | None = None) -> "Explorer":
    """The whole explorer for a notebook cell, opened at a setting and an accounting.

    Raises:
        ValueError: what is given is no setting.
    """
    if not isinstance(setting, Setting | None):
        made = "of a run file: zoexplore.questions.export.from_yaml(text).setting"
        raise ValueError(f"setting = {shown(setting)} is not allowed: give a Setting; {made}")
    from zoexplore.views import Explorer  # here, so that the accountant imports without Panel

    return Explorer(setting, accounting)
