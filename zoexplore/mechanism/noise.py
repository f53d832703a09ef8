"""The noise of a step, along its directions and in every coordinate, and the projection onto the
ball, for many runs at once.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor


def hybrid(U: Tensor, sigma: Any, beta: Any, eta: Any, draw: Callable[[int], Tensor]) -> Tensor:
    """Draw (eta/sqrt(K)) sum_k G_k u_k + (eta/sqrt(d)) G for C runs, shape (C, d), with G_k ~ N(0,
    beta sigma^2) and G ~ N(0, (1-beta) sigma^2 I). Runs may share directions, never noise.

    Given the directions, the noise has variance s1^2 + s2^2 along each of them and s2^2 elsewhere
    (see `deviations`). Its mean squared length is (eta sigma)^2.

    Args:
        U: orthonormal directions, shape (d, K), or (C, d, K).
        sigma, beta, eta: numbers, or tensors of shape (C,).
        draw: `draw(m)` draws m independent standard normal numbers a run, shape (C, m), in no way
            derived from the directions (`Sources.noise`).
    """
    d, K = U.shape[-2:]
    along, across = (
        torch.as_tensor(s, dtype=U.dtype).unsqueeze(-1) for s in deviations(sigma, beta, eta, d, K)
    )
    inside = combine(U, along * draw(K))
    # isotropic noise is not drawn if all noise is directional
    return inside.add(across * draw(d)) if across.any() else inside


def combine(U: Tensor, coefficients: Tensor) -> Tensor:
    """Return sum_k c_k u_k, shape (..., d), for coefficients of shape (..., K) and U of shape (d,
    K) or (..., d, K).
    """
    if U.dim() == 2:
        return coefficients @ U.mT
    return (U @ coefficients.unsqueeze(-1)).squeeze(-1)


def deviations(sigma: Any, beta: Any, eta: Any, d: int, K: int) -> tuple[Any, Any]:
    """Return (s1, s2), the deviations of the noise along each direction and in every coordinate."""
    return eta * sigma * (beta / K) ** 0.5, eta * sigma * ((1 - beta) / d) ** 0.5


class Projected(NamedTuple):
    """The point in the ball, and whether the given one was outside (bool)."""

    point: Tensor
    hit: Tensor


def project(w: Tensor, R: float | Tensor) -> Projected:
    """Return the nearest point of the ball of radius R around 0, w itself if R is infinite.

    Args:
        w: shape (..., d).
        R: the radius, a number or a tensor that broadcasts with the shape (...).
    """
    length = w.norm(dim=-1)
    hit = length > R
    return Projected(w.where(~hit.unsqueeze(-1), w * (R / length).unsqueeze(-1)), hit)
