"""Clips quotients, to bound one record's influence on a step."""

from typing import NamedTuple

import torch
from torch import Tensor


class Clipped(NamedTuple):
    """The clipped values, and where the clip changed them (bool)."""

    values: Tensor
    active: Tensor


def each(quotients: Tensor, clip: float | Tensor) -> Clipped:
    """Limit every difference quotient of every record to [-clip, clip], as in the paper.

    Args:
        quotients: shape (..., n, K), record by record.
        clip: Delta, a number or a tensor that broadcasts with the quotients.

    Returns:
        `Clipped`: values and active have the shape of the quotients.
    """
    limit = torch.as_tensor(clip, dtype=quotients.dtype, device=quotients.device)
    return Clipped(quotients.clamp(-limit, limit), quotients.abs() > limit)


def joint(quotients: Tensor, clip: float | Tensor) -> Clipped:
    """Shorten every record's K-vector of difference quotients to length `clip`, keeping its
    direction.

    Args:
        quotients: shape (..., n, K), record by record.
        clip: C, the longest K-vector a record may have, a number or a tensor that broadcasts with
            (..., n, 1).

    Returns:
        `Clipped`: values have the shape of the quotients, active has the shape (..., n).
    """
    length = quotients.norm(dim=-1, keepdim=True)
    active = length > clip
    return Clipped(quotients.where(~active, quotients * (clip / length)), active.squeeze(-1))


RULES = {"each": each, "joint": joint}
