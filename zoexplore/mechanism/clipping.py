"""Clipping: bounds one record's influence on a step; and exact sums of clipped values."""

from math import frexp, ldexp
from typing import NamedTuple

import numpy as np
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
        values of the same shape; active of the same shape.
    """
    limit = torch.as_tensor(clip, dtype=quotients.dtype, device=quotients.device)
    return Clipped(quotients.clamp(-limit, limit), quotients.abs() > limit)


def joint(quotients: Tensor, clip: float | Tensor) -> Clipped:
    """Shorten every record's K-vector of difference quotients to length `clip`, keeping its direction.

    Args:
        quotients: shape (..., n, K), record by record.
        clip: C, the longest K-vector a record may have, a number or a tensor that broadcasts with (..., n, 1).

    Returns:
        values of the same shape; active of shape (..., n).
    """
    length = quotients.norm(dim=-1, keepdim=True)
    active = length > clip
    return Clipped(quotients.where(~active, quotients * (clip / length)), active.squeeze(-1))


RULES = {"each": each, "joint": joint}


BITS = 38
MOST = 2**24  # numbers in a sum of 64 bits


def split(values: Tensor, clip: float) -> Tensor:
    """The sums over the records in two parts, shape (2, K), int64, on the CPU, to be added to those of other records and joined.

    Each number becomes two whole numbers of 38 bits, whose sums are exact in any order. Truncation is below 2^-76 of the clip and
    towards 0, so no record exceeds the clip.

    Args:
        values: of magnitude at most the clip, shape (b, K).

    Raises:
        ValueError: there are more than 2^24 records.
    """
    if len(values) > MOST:
        raise ValueError(f"a step on {len(values)} records is not allowed: give at most {MOST}")
    scaled = np.ldexp(values.double().cpu().numpy(), BITS - frexp(clip)[1])
    high = np.trunc(scaled)
    low = np.trunc(np.ldexp(scaled - high, BITS))
    return torch.from_numpy(np.stack([part.astype(np.int64).sum(0) for part in (high, low)]))


def join(parts: Tensor, clip: float) -> Tensor:
    """The sums, shape (K,), float64, rounded once."""
    wholes = ((int(high) << BITS) + int(low) for high, low in parts.T)
    return torch.tensor([ldexp(whole / (1 << 2 * BITS), frexp(clip)[1]) for whole in wholes], dtype=torch.float64)
