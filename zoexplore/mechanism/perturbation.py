"""The parameters at points w + xi v along a direction, where losses are evaluated.

They move in place and back, or each layer runs with moved copies. Copies leave the layer's own
parameters untouched: w is exact in every dtype and after an interruption, and only one layer is
copied.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from zoexplore.mechanism.batches import number_of, part
from zoexplore.mechanism.directions import Frame
from zoexplore.mechanism.losses import Hook
from zoexplore.mechanism.parameters import MIDDLING, Parameters, flat

# layers that read their children's parameters and do not call them
READ_BY_PARENT = (nn.MultiheadAttention,)


class Perturbation:
    """Evaluates losses at w + xi v: layer by layer if the module allows it, or by moving the
    parameters in place and restoring a copy. It does the latter with `keep_copy`, or, where that is
    None, if the parameters are few.
    """

    def __init__(
        self, parameters: Parameters, module: nn.Module | None, keep_copy: bool | None
    ) -> None:
        self.parameters = parameters
        self.module = (
            None if (parameters.d <= MIDDLING if keep_copy is None else keep_copy) else module
        )
        self._copy: list[Tensor] = []
        self._is_known = False

    def along(self, frame: Frame, losses: Callable[[Any], Tensor], batch: Any) -> "Perturbed":
        """The parameters during one step. They move in place from now on if the module reads any
        outside the layers that hold them, as the first step shows.
        """
        if self.module is not None and not self._is_known and number_of(batch):
            self._is_known = True
            if not self._reaches_all(losses, part(batch, slice(0, 1)), self.module):
                self.module = None
        if self.module is not None:
            return Layerwise(self.parameters, frame, self.module)
        return InPlace(self.parameters, frame, self._copy)

    def _reaches_all(self, losses: Callable[[Any], Tensor], batch: Any, module: nn.Module) -> bool:
        """Whether the module reads parameters only in the layers that hold them. If so, losses stay
        the same when parameters are nan while their layers do not run.
        """
        tensors = self.parameters.tensors
        expected, own = losses(batch), [t.data for t in tensors]
        try:
            for t in tensors:
                t.data = t.data.new_full((), torch.nan).expand(t.shape)
            with Lent(module, tensors, own.__getitem__):
                found = losses(batch)
        except (RuntimeError, ValueError):  # a kernel that does not take such a tensor got one
            return False
        finally:
            for t, data in zip(tensors, own, strict=True):
                t.data = data
        return torch.equal(found.nan_to_num(), expected.nan_to_num()) and torch.equal(
            found.isnan(), expected.isnan()
        )


class Perturbed:
    """The parameters during a step: at w, or at a point where losses are evaluated.

    Attributes:
        point: where they are: at w + xi v_k, for the number k of a probe and xi; None at w.
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
        self.point = None


class InPlace(Perturbed):
    """Moves the parameters in place, and back to exactly w, by a copy that steps share: made here
    where it is empty.
    """

    def __init__(self, parameters: Parameters, frame: Frame, copy: list[Tensor]) -> None:
        super().__init__(parameters, frame)
        self.copy = copy

    def to(self, k: int, xi: float) -> None:
        """Move; to the other side of the same probe by the copy alone, without the probe."""
        blocks = self.parameters.blocks
        if not self.copy:
            with torch.inference_mode(False):  # steps may be made under it, and later ones not
                self.copy += [torch.empty_like(block) for block in blocks]
        if self.point is None:  # first whole, since an interruption brings w back from it
            for own, block in zip(self.copy, blocks, strict=True):
                own.copy_(block)
        before, self.point, self.parameters.displaced = self.point, (k, xi), True
        for own, block in zip(self.copy, blocks, strict=True) if before is not None else ():
            if before == (k, -xi):  # from w + v to w - v
                torch.sub(own, block, out=block).add_(own)
            else:
                block.copy_(own)
        if before != (k, -xi):
            self.frame.add(k, xi)

    def back(self) -> None:
        if self.point is not None:
            for own, block in zip(self.copy, self.parameters.blocks, strict=True):
                block.copy_(own)
            self.point, self.parameters.displaced = None, False


class Layerwise(Perturbed):
    """w stays in place: while open, layers run with copies at w + xi v_k."""

    def __init__(self, parameters: Parameters, frame: Frame, module: nn.Module) -> None:
        super().__init__(parameters, frame)
        self._lent = Lent(module, parameters.tensors, self._moved)

    def __enter__(self) -> "Layerwise":
        self._lent.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._lent.__exit__(*error)

    def to(self, k: int, xi: float) -> None:
        self.point = k, xi

    def _moved(self, i: int) -> Tensor | None:
        if self.point is None:
            return None
        (k, xi), moved, blocks = (
            self.point,
            self.parameters.tensors[i].data.clone(),
            self.parameters.blocks_of[i],
        )
        parts = flat(moved).split(self.parameters.sizes[blocks.start : blocks.stop])
        for j, piece in zip(blocks, parts, strict=True):
            piece.add_(self.frame.part(k, j), alpha=xi)
        return moved


class Lent:
    """While open, a module's layers run with other numbers as their parameters: `of` gives each by
    its index, None for itself.
    """

    def __init__(
        self, module: nn.Module, tensors: Sequence[Tensor], of: Callable[[int], Tensor | None]
    ) -> None:
        self.tensors, self.of = tensors, of
        self._layers = list(_layers(module, {id(t): i for i, t in enumerate(tensors)}))
        self._own: dict[int, Tensor] = {}  # the layers' own parameters, while replaced
        self._running = [0] * len(tensors)  # how many layers that hold it
        self._handles: list[Any] = []

    def __enter__(self) -> "Lent":
        for layer, held in self._layers:
            self._handles.append(layer.register_forward_pre_hook(Hook(partial(self._lend, held))))
            self._handles.append(
                layer.register_forward_hook(Hook(partial(self._give_back, held)), always_call=True)
            )
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()
        for i, own in self._own.items():
            self.tensors[i].data = own
        self._handles, self._own = [], {}

    def _lend(self, held: list[int]) -> None:
        for i in held:
            self._running[i] += 1
            if self._running[i] == 1 and (lent := self.of(i)) is not None:
                self._own[i], self.tensors[i].data = self.tensors[i].data, lent

    def _give_back(self, held: list[int]) -> None:
        for i in held:
            self._running[i] -= 1
            if self._running[i] == 0 and i in self._own:
                self.tensors[i].data = self._own.pop(i)


def _layers(module: nn.Module, numbers: dict[int, int]) -> Iterator[tuple[nn.Module, list[int]]]:
    """The parts of a module that hold some of the parameters, and which."""
    for layer in module.modules():
        own = layer.parameters(recurse=isinstance(layer, READ_BY_PARENT))
        held = [numbers[id(p)] for p in own if id(p) in numbers]
        if held:
            yield layer, held
