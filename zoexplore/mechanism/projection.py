"""Projection onto the ball that every iterate stays in."""

from typing import NamedTuple

from torch import Tensor


class Projected(NamedTuple):
    """The point in the ball, and whether it had left it (bool)."""

    point: Tensor
    hit: Tensor


def project(w: Tensor, R: float | Tensor) -> Projected:
    """The nearest point of the ball of radius R around 0; with R infinite, w itself.

    Args:
        w: shape (..., d).
        R: radius, a number or a tensor that broadcasts with the shape (...).
    """
    length = w.norm(dim=-1)
    hit = length > R
    return Projected(w.where(~hit.unsqueeze(-1), w * (R / length).unsqueeze(-1)), hit)
