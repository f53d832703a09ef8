"""What a record's loss says along each direction: difference quotients, their limit, and their mean where nothing is clipped."""

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor
from torch.func import grad_and_value, jvp, vmap

Losses = Callable[[Tensor], Tensor]  # a flat parameter vector (d,) to the records' losses (b,)


def two_point(losses: Losses, w: Tensor, U: Tensor, xi: float, chunk_size: int | None = None) -> Tensor:
    """(l_i(w + xi u_k) - l_i(w - xi u_k))/(2 xi), shape (b, K), from two evaluations a direction.

    Losses close to each other are subtracted, so that their rounding error comes back divided by xi: use float64.

    Args:
        losses: the records' losses at a flat parameter vector.
        w: shape (d,).
        U: directions, shape (d, K).
        xi: perturbation scale, above 0.
        chunk_size: directions evaluated at once; all where None. Memory grows with it.
    """
    return _along(lambda u: (losses(w + xi * u) - losses(w - xi * u)) / (2 * xi), U, chunk_size)


def directional(losses: Losses, w: Tensor, U: Tensor, chunk_size: int | None = None) -> Tensor:
    """The directional derivatives <grad l_i(w), u_k>, shape (b, K), in forward mode: the limit of `two_point` for xi to 0.

    nan wherever the loss itself is not finite.
    """

    def derivative(u: Tensor) -> Tensor:
        value, slope = cast(tuple[Tensor, Tensor], jvp(losses, (w,), (u,)))
        return slope.where(value.isfinite(), torch.nan)

    return _along(derivative, U, chunk_size)


def mean_directional(losses: Losses, w: Tensor, U: Tensor) -> Tensor:
    """The mean of `directional` over records, shape (K,), from one gradient: U' grad L. For where no record is clipped."""
    gradient, value = grad_and_value(lambda w: losses(w).mean())(w)
    return (gradient @ U).where(value.isfinite(), torch.nan)


def _along(quotient: Callable[[Tensor], Tensor], U: Tensor, chunk_size: int | None) -> Tensor:
    return vmap(quotient, in_dims=1, out_dims=1, chunk_size=chunk_size)(U)
