"""Points w + xi v that no parameter is moved to: each layer is lent moved ones while it runs, and its own are never written to.

So the way back is exact in every kind of number, nothing is copied but one layer, and what stops a step leaves w as it was.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from zoexplore.mechanism.frames import Frame, Mover
from zoexplore.mechanism.parameters import Parameters, flat

READ_BY_PARENT = (nn.MultiheadAttention,)  # layers that read their children's parameters and do not call them


class Lending:
    """While it is open, the layers of a module hold other numbers for their parameters as long as they run.

    Args:
        module: whose layers.
        tensors: its parameters that may be lent.
        of: by their number, what to lend for one; None for itself.
    """

    def __init__(self, module: nn.Module, tensors: Sequence[Tensor], of: Callable[[int], Tensor | None]) -> None:
        self.tensors, self.of = tensors, of
        self._layers = list(_layers(module, {id(t): i for i, t in enumerate(tensors)}))
        self._own: dict[int, Tensor] = {}  # what was there, of those that are lent
        self._running = [0] * len(tensors)  # how many layers that hold it
        self._handles: list[Any] = []

    def __enter__(self) -> "Lending":
        for layer, held in self._layers:
            self._handles.append(layer.register_forward_pre_hook(Hook(partial(self._lend, held))))
            self._handles.append(layer.register_forward_hook(Hook(partial(self._give_back, held)), always_call=True))
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


class Hook:
    """A hook of ours, which tells nothing of how the module computes."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call

    def __call__(self, *_: Any) -> None:
        self.call()


class OnTheWay(Mover):
    """A mover that moves nothing: while it is open, layers are lent w + xi v_k."""

    def __init__(self, parameters: Parameters, frame: Frame, module: nn.Module) -> None:
        super().__init__(parameters, frame, None)
        self._lending = Lending(module, parameters.tensors, self._moved)

    def __enter__(self) -> "OnTheWay":
        self._lending.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._lending.__exit__(*error)

    def to(self, k: int, xi: float) -> None:
        self.pending = {k: xi}

    def back(self) -> None:
        self.pending = {}

    def leave_to_update(self) -> dict[int, float]:
        """Nothing to take back; until the update is done parameters are astray."""
        self.parameters.astray, self.pending = True, {}
        return {}

    def _moved(self, i: int) -> Tensor | None:
        if not self.pending:
            return None
        moved, blocks = self.parameters.tensors[i].data.clone(), self.parameters.blocks_of[i]
        parts = flat(moved).split([len(self.parameters.blocks[j]) for j in blocks])
        for j, part in zip(blocks, parts, strict=True):
            for k, xi in self.pending.items():
                part.add_(self.frame.part(k, j), alpha=xi)
        return moved


def reaches_all(losses: Callable[[Any], Tensor], batch: Any, parameters: Parameters, module: nn.Module) -> bool:
    """Whether a module reads its parameters within the layers that hold them alone, so that what they are lent is all it sees.

    Its losses are the same where parameters are nan whenever no layer that holds them runs.
    """
    expected, own = losses(batch), [t.data for t in parameters.tensors]
    try:
        for t in parameters.tensors:
            t.data = t.data.new_full((), torch.nan).expand(t.shape)
        with Lending(module, parameters.tensors, own.__getitem__):
            found = losses(batch)
    except (RuntimeError, ValueError):  # a kernel that does not take such a tensor was given one
        return False
    finally:
        for t, data in zip(parameters.tensors, own, strict=True):
            t.data = data
    return torch.equal(found.nan_to_num(), expected.nan_to_num()) and torch.equal(found.isnan(), expected.isnan())


def _layers(module: nn.Module, numbers: dict[int, int]) -> Iterator[tuple[nn.Module, list[int]]]:
    """The parts of a module that hold some of the parameters, and which."""
    for part in module.modules():
        own = part.parameters(recurse=isinstance(part, READ_BY_PARENT))
        held = [numbers[id(p)] for p in own if id(p) in numbers]
        if held:
            yield part, held
