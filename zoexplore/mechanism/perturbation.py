"""Puts the parameters at points w + xi v along a probe v, where losses are evaluated.

Either the parameters move in place and back, or each operation that reads a parameter gets a moved
copy of it. Copies keep w exact in every dtype, even after an interruption.
"""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from zoexplore.mechanism.directions import Frame
from zoexplore.mechanism.parameters import Parameters, flat


class Perturbed:
    """The parameters during a step: at w, or at a point where losses are evaluated.

    Attributes:
        point: (k, xi) at w + xi v_k, where k is the index of a probe; None at w.
    """

    def __init__(self, parameters: Parameters, frame: Frame) -> None:
        self.parameters, self.frame = parameters, frame
        self.point: tuple[int, float] | None = None

    def __enter__(self) -> "Perturbed":
        return self

    def __exit__(self, *_: object) -> None:
        self.back()

    def to(self, k: int, xi: float) -> None:
        """Go to w + xi v_k."""
        raise NotImplementedError

    def back(self) -> None:
        """Go back to w."""
        raise NotImplementedError


class InPlace(Perturbed):
    """Moves the parameters in place, and restores w exactly from a copy."""

    def __init__(self, parameters: Parameters, frame: Frame) -> None:
        super().__init__(parameters, frame)
        self._copy: list[Tensor] = []

    def to(self, k: int, xi: float) -> None:
        """Go to w + xi v_k. From w - xi v_k, use the copy of w rather than make the probe again."""
        blocks = self.parameters.blocks
        if self.point == (k, -xi):
            for own, block in zip(self._copy, blocks, strict=True):
                torch.sub(own, block, out=block).add_(own)
        else:
            self.back()
            # the copy is whole before anything moves, so that w can be restored after an
            # interruption
            self._copy = self._copy or [block.clone() for block in blocks]
            self.point, self.parameters.displaced = (k, xi), True
            self.frame.add(k, xi)
        self.point = k, xi

    def back(self) -> None:
        if self.point is not None:
            for own, block in zip(self._copy, self.parameters.blocks, strict=True):
                block.copy_(own)
            self.point, self.parameters.displaced = None, False


class Lent(Perturbed, TorchDispatchMode):
    """Leaves w as it is: torch's operations, even `data` and `detach`, get copies at w + xi v_k."""

    def __init__(self, parameters: Parameters, frame: Frame) -> None:
        TorchDispatchMode.__init__(self)
        Perturbed.__init__(self, parameters, frame)
        self._numbers = {id(t): i for i, t in enumerate(parameters.tensors)}

    def to(self, k: int, xi: float) -> None:
        if self.point is None:
            TorchDispatchMode.__enter__(self)
        self.point = k, xi

    def back(self) -> None:
        if self.point is not None:
            TorchDispatchMode.__exit__(self, None, None, None)
            self.point = None

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        args, kwargs = tree_map(self._moved, (args, kwargs or {}))
        return operation(*args, **kwargs)

    def _moved(self, x: Any) -> Any:
        """Return a copy of a trained tensor at the point; return anything else as it is."""
        if id(x) not in self._numbers or self.point is None:
            return x
        (k, xi), moved = self.point, x.detach().clone()
        first = self.parameters.firsts[self._numbers[id(x)]]
        for j, piece in enumerate(flat(moved).split(self.parameters.longest_block), first):
            piece.add_(self.frame.part(k, j), alpha=xi)
        return moved
