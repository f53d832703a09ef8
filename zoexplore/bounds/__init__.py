"""Bounds on the privacy loss of a run, one module each, in the order of the mathematics."""

from zoexplore.bounds import cache

cache.ensure()  # before any module imports numba

from zoexplore.bounds.guarantee import Guarantee, curve, epsilon, guarantee  # noqa: E402
from zoexplore.bounds.registry import BOUNDS  # noqa: E402

__all__ = ["BOUNDS", "Guarantee", "curve", "epsilon", "guarantee"]
