"""zoexplore: the privacy loss of zeroth-order training, by every bound that is known, and a page to explore it."""

from zoexplore.bounds import BOUNDS, Guarantee, curve, epsilon, guarantee
from zoexplore.setting import Accounting, Setting

__all__ = ["BOUNDS", "Accounting", "Guarantee", "Setting", "curve", "epsilon", "guarantee"]
