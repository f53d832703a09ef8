"""Batches as the accountant takes them to be: every step a fresh one, uniform without replacement."""

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map


def draw(n: int, size: int, generator: np.random.Generator) -> Tensor:
    """`size` distinct indices below n, every subset equally likely, in no particular order."""
    return torch.from_numpy(generator.choice(n, size, replace=False, shuffle=False))


def checked(batch, size: int, device: torch.device):
    """The batch on the device, if every tensor in it (lists, tuples and dicts are looked into) has `size` records.

    Raises:
        ValueError: it holds no tensor, or one with another number of records in its first dimension.
    """
    tensors = [x for x in tree_leaves(batch) if isinstance(x, Tensor)]
    if not tensors:
        raise ValueError("the batch holds no tensor")
    for x in tensors:
        if x.dim() == 0 or x.shape[0] != size:
            raise ValueError(
                f"a batch tensor of shape {tuple(x.shape)} is not allowed: give {size} records in the first dimension; the "
                "noise and the sensitivity are those of a step on so many"
            )
    return tree_map(lambda x: x.to(device) if isinstance(x, Tensor) else x, batch)


def first_record(batch):
    """A batch of the first record alone."""
    return tree_map(lambda x: x[:1] if isinstance(x, Tensor) else x, batch)
