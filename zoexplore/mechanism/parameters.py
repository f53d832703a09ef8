"""The trained tensors as one vector of length d, which is read and moved block by block."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import inf

import torch
from torch import Tensor

from zoexplore.run.setting import Setting

# the numbers in a block on a CPU: few enough for its cache, enough to keep it busy
BLOCK = 2**16
# the numbers in a block on other devices, where every operation costs a launch
LAUNCHED = 2**23
# the most parameters for which directions, and for which a copy, are kept in memory
SMALL, MIDDLING = 2**19, 2**22
HALVES = (torch.bfloat16, torch.float16)
# the bits of a float32's exponent, and the least normal float32
EXPONENT, LEAST_NORMAL = 0x7F800000, torch.finfo(torch.float32).tiny
KINDS = (torch.float64, torch.float32, *HALVES)


class Parameters:
    """The trained tensors, whose concatenated entries are the iterate w.

    Args:
        tensors: floating-point tensors on one device, with or without gradients.
        block: the most numbers in a block; if None, the device decides.

    Attributes:
        d: how many numbers there are.
        sizes: how many numbers each block has.
        firsts: the index of each tensor's first block.
        displaced: whether the parameters are being moved, or an interruption left them displaced.
        working: the dtype of directions: float64 if all tensors have it, otherwise float32.

    Raises:
        ValueError: there is no tensor, or the tensors are on several devices, sparse, sharded, not
            floating-point numbers, or share memory.
    """

    def __init__(self, tensors: Sequence[Tensor], block: int | None = None) -> None:
        if not tensors:
            raise ValueError("there is no parameter with requires_grad: there is nothing to train")
        kinds, devices = {t.dtype for t in tensors}, {t.device for t in tensors}
        plain = all(
            type(t) in (Tensor, torch.nn.Parameter)
            and t.layout == torch.strided
            and t.device.type != "meta"
            for t in tensors
        )
        if not plain or len(devices) > 1 or not kinds <= {*KINDS}:
            found = ", ".join(sorted(map(str, {*kinds, *devices})))
            raise ValueError(
                f"parameters of {found}, sparse or sharded ones are not allowed: give plain tensors of floating-point numbers on "
                "one device"
            )
        self.tensors, self.device = list(tensors), devices.pop()
        self.d = sum(t.numel() for t in tensors)
        self.working = torch.float64 if kinds == {torch.float64} else torch.float32
        self.has_halves = bool(kinds & {*HALVES})
        self.longest_block = block or (BLOCK if self.device.type == "cpu" else LAUNCHED)
        self.sizes = [part.numel() for part in self.blocks]
        counts = (len(flat(t).split(self.longest_block)) for t in tensors)
        self.firsts = list(accumulate(counts, initial=0))
        self._kinds = [t.dtype for t in tensors]
        self._check_apart()
        self.displaced = False

    @property
    def blocks(self) -> list[Tensor]:
        """Flat views of the tensors, each of at most `longest_block` numbers, in the order of w."""
        return [part for t in self.tensors for part in flat(t).split(self.longest_block)]

    def vector(self) -> Tensor:
        """Return a copy of w, shape (d,), in the most precise of the tensors' dtypes."""
        return torch.cat(self.blocks)

    def parts(self, w: Tensor) -> list[Tensor]:
        """Cut a vector, shape (d,), into parts of the tensors' shapes."""
        return [
            part.view_as(t)
            for part, t in zip(
                w.split([t.numel() for t in self.tensors]), self.tensors, strict=True
            )
        ]

    def scale(self, factor: float) -> None:
        for block in self.blocks:
            block.mul_(factor)

    def length(self) -> float:
        """Return |w|."""
        lengths = [torch.linalg.vector_norm(block, dtype=torch.float64) for block in self.blocks]
        return float(torch.linalg.vector_norm(torch.stack(lengths)))

    def check_start(self, setting: Setting) -> None:
        """Raise ValueError if a run with this setting cannot start from the parameters."""
        if self.d != setting.d:
            raise ValueError(
                f"d = {setting.d} is not allowed: there are {self.d} parameters to train"
            )
        if not torch.stack([block.isfinite().all() for block in self.blocks]).all():
            raise ValueError("the start has numbers that are not finite")
        if setting.R < inf and (length := self.length()) > setting.R:
            raise ValueError(
                f"the start has length {length:.4g}, beyond R = {setting.R:.4g}: scale it down, or take a larger R"
            )

    def check_in_place(self) -> None:
        """Raise RuntimeError if `model.to(...)` has changed a tensor's device or dtype."""
        devices = {t.device for t in self.tensors}
        if devices != {self.device} or [t.dtype for t in self.tensors] != self._kinds:
            raise RuntimeError(
                "the parameters were moved since the optimiser was made: move the model first, then make it"
            )

    def _check_apart(self) -> None:
        """Raise ValueError if two tensors share numbers, which would move and count twice."""
        spans = sorted((t.data_ptr(), t.nbytes) for t in self.tensors)
        if any(start + size > after for (start, size), (after, _) in pairwise(spans)):
            raise ValueError(
                "parameters that share memory are not allowed: tie them as one nn.Parameter, or clone one of them"
            )


def add(block: Tensor, update: Tensor, rounding: torch.Generator | None) -> None:
    """Add `update`, shape (numbers,), to a block. `update` may be overwritten. In half precision
    the sum is rounded up or down at random, so that updates smaller than the last digit count on
    average. The sum contains the noise, so rounding it is post-processing.
    """
    if block.dtype not in HALVES or rounding is None:
        # several times as fast as adding in place in the block's own dtype
        block.copy_(update.double().add_(block))
        return
    total, kind = block.float().add_(update), torch.finfo(block.dtype)
    # the power of two below each number, which gives the distance to its neighbours
    powers = total.view(torch.int32).bitwise_and(EXPONENT).view(torch.float32)
    apart = powers.mul_(kind.eps).clamp_(min=max(kind.tiny * kind.eps, LEAST_NORMAL))
    chance = torch.rand(total.shape, generator=rounding, device=total.device)
    block.copy_(total.div_(apart).add_(chance).floor_().mul_(apart))


def flat(tensor: Tensor) -> Tensor:
    """View all numbers of a tensor, shape (numbers,).

    Raises:
        ValueError: the numbers do not lie one after the other in memory.
    """
    if not tensor.is_contiguous():
        raise ValueError(
            f"a parameter of strides {tensor.stride()} is not allowed: call contiguous() on it first"
        )
    return tensor.detach().view(-1)
