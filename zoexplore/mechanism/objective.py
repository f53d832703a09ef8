"""The records' losses at the parameters as they stand, and as a function of them, of a module or of a flat vector."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules import module as of_all
from torch.nn.modules.batchnorm import _BatchNorm

from zoexplore.mechanism.on_the_way import Hook

Loss = Callable[[Any, Any], Tensor]
LOSS_OF = ("outputs", "model")
LABELS = ("labels", "label", "targets", "target", "y")  # of a batch that is a dict


def objective(
    parameters: nn.Module | Tensor, loss: Loss, loss_of: str, device: torch.device | str | None
) -> "OfModule | OfVector":
    """The loss of a module or of a flat vector. `tensors` are what is trained, in place; `losses(batch)` are the records'
    there, shape (b,), and `losses_at(parts, batch)` with other tensors in their place.
    """
    if loss_of not in LOSS_OF:
        raise ValueError(f"loss_of = {loss_of!r} is not allowed: give one of {', '.join(map(repr, LOSS_OF))}")
    if isinstance(parameters, nn.Module):
        return OfModule(parameters, loss, loss_of, device)
    return OfVector(parameters, loss, device)


class OfVector:
    """A loss given as a function of a flat vector: `loss(w, batch)` returns the records' losses."""

    is_module = False

    def __init__(self, start: Tensor, loss: Loss, device: torch.device | str | None) -> None:
        if start.dim() != 1:
            raise ValueError(f"parameters of shape {tuple(start.shape)} are not allowed: give one flat vector, or a module")
        self.w = start.detach().to(device=device, copy=True)
        self.tensors, self.loss = [self.w], loss
        self.trained = {"w": self.w}

    def losses(self, batch: Any) -> Tensor:
        return self.loss(self.w, batch)

    def losses_at(self, parts: list[Tensor], batch: Any) -> Tensor:
        return self.loss(parts[0], batch)

    def check(self) -> None:
        """A function has no state to check."""

    def structure(self) -> tuple:
        return id(self.loss), *_structure(_holder(self.loss))

    def buffers(self) -> dict[str, Tensor]:
        return _named_buffers(_holder(self.loss), "loss.")

    def rest(self) -> dict[str, Tensor]:
        return _named_parameters(_holder(self.loss), "loss.") | self.buffers()

    def saved(self) -> set[str]:
        return _saved(_holder(self.loss), "loss.")


class OfModule:
    """A module and a loss of its outputs, `loss(outputs, targets)`, or of itself, `loss(module, batch)`: the records' losses.

    With outputs a batch is `(inputs, targets)`, or a dict with an entry called label, labels, target, targets or y. Inputs that
    are a dict go to the module as keywords, a tuple or list as arguments. Only parameters with `requires_grad` are trained; the
    vector has them in the order of `named_parameters`, tied ones once.
    """

    is_module = True

    def __init__(self, module: nn.Module, loss: Loss, loss_of: str, device: torch.device | str | None) -> None:
        if device is not None:
            module.to(device)
        self.module, self.loss, self.loss_of = module, loss, loss_of
        self.plain = getattr(module, "_orig_mod", module)  # what torch.compile has wrapped
        self.is_compiled = self.plain is not module
        self.trained = {name: p for name, p in self.plain.named_parameters() if p.requires_grad}
        self.tensors: list[Tensor] = list(self.trained.values())
        self.check()

    def losses(self, batch: Any) -> Tensor:
        return self._of(self.module, batch)

    def losses_at(self, parts: list[Tensor], batch: Any) -> Tensor:
        """With plain attention, as no other kernel knows forward derivatives, nor vmap."""
        changed = dict(zip(self.trained, parts, strict=True))

        def model(*args, **keywords):
            return functional_call(self.plain, changed, args, keywords)

        with sdpa_kernel(SDPBackend.MATH), _slow_path():
            return self._of(model, batch)

    def check(self) -> None:
        """Raises ValueError where a part of the module mixes records, RuntimeError where its parameters are others by now."""
        now = dict(self.plain.named_parameters())
        if any(now.get(name) is not p for name, p in self.trained.items()):
            raise RuntimeError("the module's parameters were replaced since the optimiser was made: change the module first")
        for name, part in self.plain.named_modules():
            if isinstance(part, _BatchNorm) and (part.training or not part.track_running_stats):
                raise ValueError(
                    f"{name or 'the module'} normalises over the batch and mixes records: use LayerNorm or GroupNorm, or eval()"
                )

    def structure(self) -> tuple:
        """What may change how records meet: the loss, the parts, and whether buffers were written to."""
        versions = tuple((id(b), _version(b)) for b in self.plain.buffers())
        return id(self.loss), _structure(_holder(self.loss)), _structure(self.plain), versions

    def buffers(self) -> dict[str, Tensor]:
        """What the module, and a loss that is one, hold beside their parameters, by name."""
        return _named_buffers(self.plain) | _named_buffers(_holder(self.loss), "loss.")

    def rest(self) -> dict[str, Tensor]:
        """All of them that is not trained: buffers, and parameters that are frozen or came later."""
        parameters = _named_parameters(self.plain) | _named_parameters(_holder(self.loss), "loss.")
        trained = set(map(id, self.tensors))
        return {name: p for name, p in parameters.items() if id(p) not in trained} | self.buffers()

    def saved(self) -> set[str]:
        """The names of what a `state_dict` holds."""
        return _saved(self.plain) | _saved(_holder(self.loss), "loss.")

    def _of(self, model: Callable[..., Any], batch: Any) -> Tensor:
        if self.loss_of == "model":
            return self.loss(model, batch)
        inputs, targets = _inputs_and_targets(batch)
        if isinstance(inputs, Mapping):
            return self.loss(model(**inputs), targets)
        return self.loss(model(*inputs) if isinstance(inputs, tuple | list) else model(inputs), targets)


def _holder(loss: Loss) -> Any:
    """The module that a loss is, or is a method of; else the loss."""
    owner = getattr(loss, "__self__", None)
    return owner if isinstance(owner, nn.Module) else loss


def _named_parameters(of: Any, prefix: str = "") -> dict[str, Tensor]:
    return {prefix + name: p for name, p in of.named_parameters()} if isinstance(of, nn.Module) else {}


def _named_buffers(of: Any, prefix: str = "") -> dict[str, Tensor]:
    return {prefix + name: b for name, b in of.named_buffers()} if isinstance(of, nn.Module) else {}


def _saved(of: Any, prefix: str = "") -> set[str]:
    return {prefix + name for name in of.state_dict()} if isinstance(of, nn.Module) else set()


def _structure(of: Any) -> tuple:
    """The parts of a module, their switches and hooks, those of all modules included; of another function that it is this one."""
    if not isinstance(of, nn.Module):
        return (id(of),)
    hooks = (*of_all._global_forward_pre_hooks, *of_all._global_forward_hooks)
    return hooks, *(
        (id(m), type(m), *_switches(m), *_hooks(m._forward_pre_hooks), *_hooks(m._forward_hooks)) for m in of.modules()
    )


def _hooks(of_part: Mapping[int, Any]) -> Iterator[int]:
    """By number, but for the mechanism's own."""
    return (number for number, hook in of_part.items() if not isinstance(hook, Hook))


def _switches(part: nn.Module) -> Iterator[tuple]:
    """Attributes that are on or off, a word or a function: `training`, another `forward`, an activation."""
    for name, x in vars(part).items():
        if isinstance(x, bool | str) or callable(x):
            yield name, x if isinstance(x, bool | str) else id(x)


def _version(buffer: Tensor) -> int:
    """How often it was written to; torch does not count where tensors are for inference alone."""
    return -1 if buffer.is_inference() else buffer._version


def _inputs_and_targets(batch: Any) -> tuple[Any, Any]:
    """Raises ValueError where a dict has no entry, or several, that is called as targets are."""
    if not isinstance(batch, Mapping):
        inputs, targets = batch
        return inputs, targets
    found = [name for name in LABELS if name in batch]
    if len(found) != 1:
        raise ValueError(
            f"a batch with the entries {', '.join(map(repr, batch))} is not allowed: name one of them "
            f"{', '.join(map(repr, LABELS))}, or take loss_of='model' and a loss of (model, batch)"
        )
    return {name: x for name, x in batch.items() if name != found[0]}, batch[found[0]]


@contextmanager
def _slow_path():
    """Without the fused encoder layers that torch takes in eval()."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)
