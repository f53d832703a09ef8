"""Sums of clipped quotients that come out the same in whatever order they are made, and wherever.

Each number, at most the clip, is cut into two whole numbers of 38 bits, which are added exactly. What is cut off is
below 2^-76 of the clip and towards 0, so that no record says more than the clip allows, and sums add nothing to it.
"""

from math import frexp, ldexp

import numpy as np
import torch
from torch import Tensor

BITS = 38
MOST = 2**24  # numbers in a sum of 64 bits


def split(values: Tensor, clip: float) -> Tensor:
    """The sums over the records of both parts, shape (2, K), int64, on the CPU; add those of other records, and `join` them.

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
