"""The loss as a function of one flat vector, whether it was given as such or as a module and a loss of its outputs."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.modules.batchnorm import _BatchNorm

Loss = Callable[[Any, Any], Tensor]


def objective(parameters: nn.Module | Tensor, loss: Loss, device: torch.device | str | None) -> "OfModule | OfVector":
    """The loss of a module or of a flat vector. `start` is where training starts, `losses(w, batch)` are the records', shape
    (b,), and `write(w)` puts a vector where the user looks for it.
    """
    if isinstance(parameters, nn.Module):
        return OfModule(parameters, loss, device)
    return OfVector(parameters, loss, device)


class OfVector:
    """A loss given as a function of a flat vector: `loss(w, batch)` returns the records' losses."""

    def __init__(self, start: Tensor, loss: Loss, device: torch.device | str | None) -> None:
        if start.dim() != 1:
            raise ValueError(f"parameters of shape {tuple(start.shape)} are not allowed: give one flat vector, or a module")
        self.start = start.detach().to(device=device, copy=True)
        self.losses = loss

    def write(self, w: Tensor) -> None:
        """Nothing else holds the parameters."""


class OfModule:
    """A module and a loss of its outputs: `loss(outputs, targets)` returns the records' losses, a batch is (inputs, targets).

    Only parameters with `requires_grad` are trained; the vector has them in the order of `named_parameters`.
    """

    def __init__(self, module: nn.Module, loss: Loss, device: torch.device | str | None) -> None:
        if device is not None:
            module.to(device)
        for name, part in module.named_modules():
            if isinstance(part, _BatchNorm) and (part.training or not part.track_running_stats):
                raise ValueError(
                    f"{name or 'the module'} normalises over the batch and mixes records: use LayerNorm or GroupNorm"
                )
        self.module, self.loss = module, loss
        self.trained = {name: p for name, p in module.named_parameters() if p.requires_grad}
        if not self.trained:
            raise ValueError("the module has no parameter with requires_grad: there is nothing to train")
        kinds = {(p.dtype, p.device) for p in self.trained.values()}
        if len(kinds) > 1:
            raise ValueError(f"the parameters are of several kinds, {kinds}: give them one dtype and one device")
        self.start = torch.cat([p.detach().reshape(-1) for p in self.trained.values()])

    def losses(self, w: Tensor, batch: Any) -> Tensor:
        inputs, targets = batch
        return self.loss(functional_call(self.module, self._split(w), inputs), targets)

    def write(self, w: Tensor) -> None:
        for name, part in self._split(w).items():
            self.trained[name].data.copy_(part)

    def _split(self, w: Tensor) -> dict[str, Tensor]:
        parts = w.split([p.numel() for p in self.trained.values()])
        return {name: part.view(p.shape) for (name, p), part in zip(self.trained.items(), parts, strict=True)}
