"""Bounds on the privacy loss of a run, one module each, in the order of the mathematics."""

from zoexplore.bounds.guarantee import Guarantee, curve, epsilon, guarantee
from zoexplore.bounds.registry import BOUNDS

__all__ = ["BOUNDS", "Guarantee", "curve", "epsilon", "guarantee"]
