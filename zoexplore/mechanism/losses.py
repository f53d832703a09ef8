"""Computes the records' losses of a module or a flat vector, at the current parameters or at
others.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules import module as of_all
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from zoexplore.mechanism.batches import number_of, part
from zoexplore.mechanism.checksums import Changed, Fingerprint
from zoexplore.mechanism.parameters import HALVES
from zoexplore.mechanism.rounding import coarse_products

Loss = Callable[[Any, Any], Tensor]
LOSS_OF = ("outputs", "model")


class Vector(nn.Module):
    """A module that holds one flat vector and returns it."""

    def __init__(self, start: Tensor) -> None:
        super().__init__()
        if start.dim() != 1:
            raise ValueError(
                f"parameters of shape {tuple(start.shape)} are not allowed: give one flat vector, or a module"
            )
        self.w = nn.Parameter(start.detach().clone(), requires_grad=False)

    def forward(self) -> Tensor:
        return self.w


class Objective:
    """The records' losses: `loss(outputs, targets)` of a module's outputs, `loss(module, batch)` of
    the module itself, or `loss(w, batch)` of a flat vector.

    For a loss of outputs a batch is `(inputs, targets)`; inputs in a tuple or list go to the module
    as its arguments. Only parameters with `requires_grad` are trained, in the order of
    `named_parameters`; tied parameters count once.

    Attributes:
        trained: the trained tensors by name; `tensors` has them in order.
        plain: the trained module, without the wrapper of torch.compile.
        is_compiled: whether the module has that wrapper.

    Raises:
        ValueError: `loss_of` is unknown.
    """

    plain: nn.Module

    def __init__(self, parameters: nn.Module | Tensor, loss: Loss, loss_of: str) -> None:
        if loss_of not in LOSS_OF:
            raise ValueError(
                f"loss_of = {loss_of!r} is not allowed: give one of {', '.join(map(repr, LOSS_OF))}"
            )
        self.module = parameters if isinstance(parameters, nn.Module) else Vector(parameters)
        self.loss, self.loss_of, self.of_vector = loss, loss_of, self.module is not parameters
        self.plain = getattr(self.module, "_orig_mod", self.module)
        self.trained = {
            name: p
            for name, p in self.plain.named_parameters()
            if p.requires_grad or self.of_vector
        }
        self.tensors = list(self.trained.values())
        self.is_compiled = self.plain is not self.module
        self.check()

    def losses(self, batch: Any) -> Tensor:
        """Compute the records' losses, shape (b,), at the current parameters."""
        with _slow_path():
            return self._of(self.module, batch)

    def losses_at(self, parts: list[Tensor], batch: Any) -> Tensor:
        """Compute the losses with other tensors in place of the trained ones. Use plain attention,
        since no other kernel of attention supports forward derivatives or vmap.
        """
        named = zip(self.trained, parts, strict=True)
        moved = {f"module.{name}": part for name, part in named}
        with sdpa_kernel(SDPBackend.MATH), _slow_path():
            losses: Tensor = functional_call(Whole(self.plain, self._of), moved, (batch,))
        return losses

    def _of(self, model: Callable[..., Any], batch: Any) -> Tensor:
        if self.of_vector or self.loss_of == "model":
            return self.loss(model() if self.of_vector else model, batch)
        if isinstance(batch, Mapping):
            raise ValueError(
                f"a batch with the entries {', '.join(map(repr, batch))} is not allowed: give (inputs, targets), or take "
                "loss_of='model' and a loss of (model, batch)"
            )
        inputs, targets = batch
        many = inputs if isinstance(inputs, tuple | list) else (inputs,)
        return self.loss(model(*many), targets)

    def check(self) -> None:
        """Raise RuntimeError if the module's parameters have been replaced."""
        now = dict(self.plain.named_parameters())
        if any(now.get(name) is not p for name, p in self.trained.items()):
            raise RuntimeError(
                "the module's parameters were replaced since the optimiser was made: change the module first"
            )

    def structure(self) -> tuple[Any, ...]:
        """Identify everything that could make losses mix records: the loss, the module's parts, and
        the writes to buffers.
        """
        versions = tuple((id(b), _version(b)) for b in self.buffers().values())
        return id(self.loss), *(_structure(module) for module in self._modules().values()), versions

    def buffers(self) -> dict[str, Tensor]:
        """Return the modules' buffers by name."""
        return self._named(nn.Module.named_buffers)

    def rest(self) -> dict[str, Tensor]:
        """Return everything that is not trained: buffers, extra state as bytes, and parameters that
        are frozen or were added later.
        """
        trained = set(map(id, self.tensors))
        named = self._named(nn.Module.named_parameters) | self.buffers()
        extra = {
            f"{name}._extra_state".replace("..", ".").lstrip("."): _bytes(part.get_extra_state())
            for name, part in self._named(nn.Module.named_modules).items()
            if type(part).get_extra_state is not nn.Module.get_extra_state
        }
        return {name: x for name, x in named.items() if id(x) not in trained} | extra

    def saved(self) -> set[str]:
        """Return the names in the modules' `state_dict`."""
        return {*self._named(lambda module: module.state_dict().items())}

    def _named(self, of: Callable[[nn.Module], Iterable[tuple[str, Any]]]) -> dict[str, Any]:
        return {
            prefix + name: x for prefix, module in self._modules().items() for name, x in of(module)
        }

    def _modules(self) -> dict[str, nn.Module]:
        """Return the module, and the loss if it is a module or a method of one, by the prefix of
        their names.
        """
        holder = (
            self.loss if isinstance(self.loss, nn.Module) else getattr(self.loss, "__self__", None)
        )
        return {
            prefix: x
            for prefix, x in (("", self.plain), ("loss.", holder))
            if isinstance(x, nn.Module)
        }


class Whole(nn.Module):
    """A loss as a module that holds the trained module, so that both see moved tensors."""

    def __init__(self, module: nn.Module, of: Callable[[nn.Module, Any], Tensor]) -> None:
        super().__init__()
        self.module, self.of = module, of

    def forward(self, batch: Any) -> Tensor:
        return self.of(self.module, batch)


class Losses:
    """The records' losses of a batch, some records at a time.

    Raises:
        ValueError: there is not one loss for each record.
        Changed: computing the losses changed trained tensors.
    """

    def __init__(self, objective: Objective, microbatch: int, fingerprint: Fingerprint) -> None:
        self.objective, self.microbatch, self.fingerprint = objective, microbatch, fingerprint

    def parts(self, batch: Any) -> Iterator[Any]:
        b = number_of(batch)
        if b <= self.microbatch:
            return iter((batch,))
        return (part(batch, slice(i, i + self.microbatch)) for i in range(0, b, self.microbatch))

    def here(self, batch: Any) -> Tensor:
        """Compute the losses at the current parameters."""
        return torch.cat(
            [self._checked(self.objective.losses, piece) for piece in self.parts(batch)]
        )

    def at(self, piece: Any, parts: list[Tensor]) -> Tensor:
        """Compute the losses of some records with other tensors in place of the trained ones."""
        return self._checked(lambda piece: self.objective.losses_at(parts, piece), piece)

    def use_halves(self, batch: Any) -> bool:
        """Return whether any part of a record's loss is computed in half precision, or by products
        that are as coarse.
        """
        with (seen := _Kinds(self.objective.plain)):
            self.here(part(batch, slice(0, 1)))
        return seen.has_halves

    def _checked(self, losses: Callable[[Any], Tensor], piece: Any) -> Tensor:
        before = self.fingerprint.versions()
        try:
            values = losses(piece)
        finally:  # a loss that fails may have moved tensors before it failed
            if self.fingerprint.versions() != before:
                raise Changed(
                    "the loss, or the module, moved its own parameters while losses were computed"
                )
        if not isinstance(values, Tensor) or values.shape != (number_of(piece),):
            shape = tuple(values.shape) if isinstance(values, Tensor) else type(values).__name__
            raise ValueError(
                f"losses of shape {shape} are not allowed: give one loss a record, shape ({number_of(piece)},), as torch's "
                "losses do with reduction='none'"
            )
        return values


class _Kinds(TorchDispatchMode):
    """Notes, while active, whether a module computes anything in half precision, or any product as
    coarsely.
    """

    def __init__(self, module: nn.Module) -> None:
        TorchDispatchMode.__init__(self)
        self.module, self.has_halves = module, False

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        found = operation(*args, **(kwargs or {}))
        made = [x for x in tree_leaves(found) if isinstance(x, Tensor)]
        rounded = any(
            x.dtype in HALVES or coarse_products(x.device, self.module) is not None for x in made
        )
        self.has_halves = self.has_halves or rounded
        return found


def _bytes(state: Any) -> Tensor:
    return torch.frombuffer(bytearray(pickle.dumps(state)), dtype=torch.uint8)


def _structure(module: nn.Module) -> tuple[Any, ...]:
    """Identify a module's parts, their switches and hooks, and the hooks of all modules."""
    hooks = (*of_all._global_forward_pre_hooks, *of_all._global_forward_hooks)
    return hooks, *(
        (id(m), type(m), *_switches(m), *m._forward_pre_hooks, *m._forward_hooks)
        for m in module.modules()
    )


def _switches(part: nn.Module) -> Iterator[tuple[Any, ...]]:
    """Yield a module's attributes that are flags, words or functions, such as `training`, a
    replaced `forward` or an activation.
    """
    for name, x in vars(part).items():
        if isinstance(x, bool | str) or callable(x):
            yield name, x if isinstance(x, bool | str) else id(x)


def _version(buffer: Tensor) -> int:
    """Return torch's count of writes to a buffer; -1 for inference tensors, which have no count."""
    return -1 if buffer.is_inference() else buffer._version


@contextmanager
def _slow_path() -> Iterator[None]:
    """Switch off the fused encoder layers that torch uses in eval(). Those have no derivatives, and
    they pack all records' tokens, so that a record's rounding depends on the others' padding.
    """
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
