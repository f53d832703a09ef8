"""What a record's loss says along each direction: two-point quotients, their limit, and gradients where few of them are
clipped.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor
from torch.func import grad_and_value, jvp, vmap
from torch.utils._pytree import tree_map

Losses = Callable[[Tensor], Tensor]  # a flat parameter vector (d,) to the records' losses (b,)


def two_point(losses: Losses, w: Tensor, U: Tensor, xi: float, chunk_size: int | None = None) -> Tensor:
    """(l_i(w + xi u_k) - l_i(w - xi u_k))/(2 xi), shape (b, K), from two evaluations a direction.

    Losses close to each other are subtracted, so that their rounding error comes back divided by xi.

    Args:
        losses: the records' losses at a flat parameter vector.
        w: shape (d,).
        U: directions, shape (d, K).
        xi: perturbation scale, above 0.
        chunk_size: directions evaluated at once; all where None. Memory grows with it.
    """
    return _along(lambda u: quotient(losses(w + xi * u), losses(w - xi * u), xi), U, chunk_size)


def quotient(ahead: Tensor, behind: Tensor, xi: float) -> Tensor:
    """The difference of two losses over the distance between their points, at least in single precision."""
    kind = torch.promote_types(ahead.dtype, torch.float32)
    return (ahead.to(kind) - behind.to(kind)) / (2 * xi)


def directional(losses: Losses, w: Tensor, U: Tensor, chunk_size: int | None = None) -> Tensor:
    """The directional derivatives <grad l_i(w), u_k>, shape (b, K), in forward mode: the limit of `two_point` for xi to 0.

    nan wherever the loss itself is not finite.
    """

    def derivative(u: Tensor) -> Tensor:
        value, slope = cast(tuple[Tensor, Tensor], jvp(losses, (w,), (u,)))
        return slope.where(value.isfinite(), torch.nan)

    return _along(derivative, U, chunk_size)


def gradients(losses: Callable[[Tensor, Any], Tensor], w: Tensor, batch: Any, chunk_size: int) -> Tensor:
    """Every record's gradient, shape (b, d), one backward pass each, `chunk_size` of them at once; nan where its loss is not
    finite.

    Args:
        losses: of a flat parameter vector and a batch.
        batch: b records, tensors with the records in their first dimension.
    """

    def of_one(record: Any) -> Tensor:
        alone = tree_map(lambda x: x.unsqueeze(0) if isinstance(x, Tensor) else x, record)
        gradient, value = grad_and_value(lambda w: losses(w, alone).squeeze(0))(w)
        return gradient.where(value.isfinite(), torch.nan)

    return vmap(of_one, chunk_size=chunk_size)(batch)


def _along(quotient: Callable[[Tensor], Tensor], U: Tensor, chunk_size: int | None) -> Tensor:
    columns = vmap(quotient, in_dims=1, chunk_size=chunk_size)(U)  # so that a loss that is the same everywhere has K of them too
    return columns.mT
