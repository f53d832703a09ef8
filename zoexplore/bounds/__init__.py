"""Bounds on the privacy loss of a run.

Each bound has a module (`composition`, `output_perturbation`, `corollary`, `theorem`, `sharp`,
`noisy_gd`) that ends with its `Bound(...)`. `registry` lists the bounds. The other modules support
them.
"""

from zoexplore.bounds import kernel_cache

kernel_cache.install()  # before any module imports numba

from zoexplore.bounds.epsilons import curve, epsilon  # noqa: E402
from zoexplore.bounds.guarantee import Guarantee, guarantee  # noqa: E402
from zoexplore.bounds.registry import BOUNDS  # noqa: E402

__all__ = ["BOUNDS", "Guarantee", "curve", "epsilon", "guarantee"]
