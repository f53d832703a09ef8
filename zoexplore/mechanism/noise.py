"""The noise of a step, along its directions and in every coordinate, and the ball: for many runs at
once.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from zoexplore.mechanism.rng import Generator, normal


def hybrid(
    U: Tensor,
    sigma: float | Tensor,
    beta: float | Tensor,
    eta: float | Tensor,
    generator: Generator | Sequence[Generator],
) -> Tensor:
    """(eta/sqrt(K)) sum_k G_k u_k + (eta/sqrt(d)) G, with G_k ~ N(0, beta sigma^2) and G ~ N(0,
    (1-beta) sigma^2 I).

    Given the directions its variance is s1 + s2 along each of them and s2 elsewhere (see
    `variances`); its mean squared length is (eta sigma)^2.

    Args:
        U: orthonormal directions, shape (d, K), or (C, d, K) for C runs; the noise has its dtype
            and device.
        sigma, beta, eta: numbers, or tensors of shape (C,) for C runs; runs may share directions,
            never noise.
        generator: source of the noise, in no way derived from the directions' (`Sources.noise`);
            for C runs also C of them.

    Returns:
        Shape (d,), or (C, d) where an argument tells C runs apart.
    """
    d, K = U.shape[-2:]
    sigma, beta, eta = (
        torch.as_tensor(x, dtype=U.dtype, device=U.device) for x in (sigma, beta, eta)
    )
    # torch's would import sympy first
    runs = np.broadcast_shapes(U.shape[:-2], sigma.shape, beta.shape, eta.shape)
    along, across = (s.expand(runs).unsqueeze(-1) for s in deviations(sigma, beta, eta, d, K))

    def draw(size: int) -> Tensor:
        if isinstance(generator, Sequence):
            return torch.stack(
                [normal(g, (size,), dtype=U.dtype, device=U.device) for g in generator]
            )
        return normal(generator, (*runs, size), dtype=U.dtype, device=U.device)

    inside = combine(U, along * draw(K))
    if not across.any():  # isotropic noise is not drawn where all of it is directional
        return inside
    return inside.add(across * draw(d))


def combine(U: Tensor, coefficients: Tensor) -> Tensor:
    """sum_k c_k u_k: coefficients of shape (..., K) to vectors of shape (..., d), with U of shape
    (d, K) or (..., d, K).
    """
    if U.dim() == 2:
        return coefficients @ U.mT
    return (U @ coefficients.unsqueeze(-1)).squeeze(-1)


def variances(sigma: Any, beta: Any, eta: Any, d: int, K: int) -> tuple[Any, Any]:
    """(s1, s2): the variance that is added along each direction, and the one in every coordinate."""
    along, across = deviations(sigma, beta, eta, d, K)
    return along**2, across**2


def deviations(sigma: Any, beta: Any, eta: Any, d: int, K: int) -> tuple[Any, Any]:
    """The square roots of `variances`, which do not underflow where eta and sigma are small."""
    return eta * sigma * (beta / K) ** 0.5, eta * sigma * ((1 - beta) / d) ** 0.5


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
