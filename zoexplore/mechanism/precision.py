"""How much of a two-point quotient is rounding error: two losses close to each other are subtracted."""

from math import inf
from typing import Any

import torch

from zoexplore.mechanism.batches import number_of, part
from zoexplore.mechanism.estimators import quotient
from zoexplore.mechanism.frames import Mover
from zoexplore.mechanism.slopes import Losses

LOOKED_AT = 64  # records


def quotient_error(losses: Losses, mover: Mover, batch: Any, xi: float) -> float:
    """By how much quotients over a distance 2 xi and over 4 xi differ, relative to the latter, in the mean square over records;
    inf where those say nothing at all.

    For a smooth loss they differ by the third derivative's xi^2 and by rounding, which is twice as large over half the distance.
    """
    some = part(batch, slice(0, min(number_of(batch), LOOKED_AT)))
    found = []
    for scale in (xi, 2 * xi):
        mover.to(0, scale)
        ahead = losses.here(some)
        mover.to(0, -scale)
        found.append(quotient(ahead, losses.here(some), scale).double())
    mover.back()
    near, far = (x.where(x.isfinite(), 0.0) for x in found)
    signal = float(far.norm())
    return float((near - far).norm()) / signal if signal > 0 else inf


def check(error: float, xi: float, d: int, kind: torch.dtype) -> None:
    """Raises ValueError where rounding swamps the signal: the one that is left at xi is then larger than the other."""
    if kind != torch.float64 and error > 1:
        usual = 1e-3 * d**0.5  # of large models
        larger = f"a larger xi (1e-3 sqrt(d) = {usual:.2g} is usual for large models)" if xi < usual / 2 else f"xi = {4 * xi:.2g}"
        raise ValueError(
            f"xi = {xi:g} is not allowed in {kind}: at the first step the quotients' error is {error:.2g} times what they say. "
            f"Take {larger}, a more precise kind, or xi = 0"
        )
