"""Checksums of tensors, bit by bit: of a whole tensor, or of each record of a batch.

The bits are read as words of at most 32 bits and added up modulo 2^64, each times the 32-bit multiplier of
its place: a multilinear hash (Carter, Wegman 1979, doi:10.1016/0022-0000(79)90044-8). For multipliers drawn
at random any change whatever goes unseen with a chance of at most 2^-31. They are public and the same
everywhere, so that checksums can be saved and compared; who makes up a change to fit them is not kept out.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from zoexplore.bounds.kernels.compiling import kernel

MULTIPLIERS = np.random.Generator(np.random.PCG64(2**61 - 1)).integers(1, 2**32, 2**14, dtype=np.uint32)
STRIDE = 0x9E3779B97F4A7C15  # odd: what the multipliers are multiplied with each time they begin again
STRIDE_OF_COLUMNS = 0x2545F4914F6CDD1D  # odd, too
LANES = 4  # stretches of as many words as there are multipliers that are added up at once
AT_ONCE = 2**22  # words that are widened at once where torch adds up
WORDS = {1: torch.uint8, 2: torch.int16}  # by bytes; longer numbers are read as several words of 32 bits


def checksums(tensors: Iterable[Tensor]) -> list[int]:
    """One number a tensor. Equal bits in equal order have equal ones, on every device.

    Raises:
        ValueError: a tensor is sparse, or on the meta device.
    """
    found = [_of_rows(_words(tensor).view(1, -1)) for tensor in tensors]
    devices = {x.device for x in found}
    together = torch.cat(found) if len(devices) == 1 else torch.cat([x.cpu() for x in found]) if found else torch.empty(0)
    return together.tolist()  # a GPU is waited for once


def of_records(batch: Any, b: int) -> np.ndarray:
    """One number a record of a batch of tensors with b records in their first dimension, shape (b,), int64."""
    total = torch.zeros(b, dtype=torch.int64)
    for tensor in tree_leaves(batch):
        if isinstance(tensor, Tensor) and tensor.numel():
            total = total * STRIDE_OF_COLUMNS + _of_rows(_words(tensor.contiguous()).view(b, -1)).cpu()
    return total.numpy()


def _words(tensor: Tensor) -> Tensor:
    """All bits in the order in which they lie in memory, where numbers have no gaps between them; else row by
    row.
    """
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        raise ValueError(f"a tensor of layout {tensor.layout} on {tensor.device} is not allowed: give plain tensors with numbers")
    data = tensor.detach()
    data = torch.view_as_real(data.resolve_conj()) if data.is_complex() else data
    if not data.is_contiguous():
        dense = data.permute(sorted(range(data.dim()), key=data.stride, reverse=True))
        data = dense if dense.is_contiguous() and data.dim() == tensor.dim() else data.contiguous()
    return data.reshape(-1).view(WORDS.get(data.element_size(), torch.int32))


def _of_rows(words: Tensor) -> Tensor:
    """Of every row, shape (rows,), int64."""
    if words.device.type != "cpu":
        return _added_by_torch(words)
    array = words.numpy()
    return torch.from_numpy(_added(array.view(f"u{array.itemsize}"), MULTIPLIERS).view(np.int64))


@kernel
def _added(rows, multipliers):
    found, length = np.zeros(len(rows), np.uint64), len(multipliers)
    sums, step = np.zeros(LANES, np.uint64), np.uint64(STRIDE)
    for r in range(len(rows)):
        stride, start = np.uint64(1), 0
        while start < rows.shape[1]:
            lanes = LANES if start + LANES * length <= rows.shape[1] else 1
            if lanes == LANES:
                _add_four(rows[r, start : start + LANES * length], multipliers, sums)
            else:
                sums[0] = _total(rows[r, start : start + length], multipliers)
            for lane in range(lanes):
                found[r] += sums[lane] * stride
                stride *= step
            start += lanes * length
    return found


@kernel
def _total(words, multipliers):
    total = np.uint64(0)
    for i in range(len(words)):
        total += np.uint64(words[i]) * np.uint64(multipliers[i])
    return total


@kernel
def _add_four(words, multipliers, sums):
    """Four stretches at once, so that memory is read in several places and waited for less."""
    n = len(multipliers)
    one, two, three, four = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(n):
        multiplier = np.uint64(multipliers[i])
        one += np.uint64(words[i]) * multiplier
        two += np.uint64(words[n + i]) * multiplier
        three += np.uint64(words[2 * n + i]) * multiplier
        four += np.uint64(words[3 * n + i]) * multiplier
    sums[0], sums[1], sums[2], sums[3] = one, two, three, four


def _added_by_torch(words: Tensor) -> Tensor:
    """The same on a GPU, where sums of integers wrap around as well."""
    (rows, count), length = words.shape, len(MULTIPLIERS)
    multipliers = torch.from_numpy(MULTIPLIERS.astype(np.int64)).to(words.device)
    strides = torch.full((-(-count // length) + 1,), STRIDE - 2**64, dtype=torch.int64, device=words.device)
    strides[0] = 1
    strides, mask = strides.cumprod(0), 2 ** (8 * words.element_size()) - 1
    blocks, found = count // length, torch.zeros(rows, dtype=torch.int64, device=words.device)
    at_once = max(1, AT_ONCE // (rows * length))
    for first in range(0, blocks, at_once):
        last = min(first + at_once, blocks)
        part = words[:, first * length : last * length].reshape(rows, last - first, length).long() & mask
        found += ((part * multipliers).sum(2) * strides[first:last]).sum(1)
    rest = words[:, blocks * length :].long() & mask
    return found + (rest * multipliers[: rest.shape[1]]).sum(1) * strides[blocks]
