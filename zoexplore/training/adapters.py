"""A transformer's adapters and last layer as a problem: each record's gradient by torch, one parameter vector after the other."""

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy

from zoexplore.mechanism.estimators import gradients, two_point
from zoexplore.mechanism.rng import normal
from zoexplore.training.models import Adapters
from zoexplore.training.problem import Problem
from zoexplore.training.tasks import Task
from zoexplore.training.texts import WIDTH, Transformer, base

BLOCK = 2_000  # records whose gradients are taken at once
DIRECTIONS = 4  # that the transformer is evaluated along at once


class Adapted(Problem):
    """What is trained of the transformer, as a flat vector in the order of its module's parameters."""

    width = 1

    def __init__(self, task: Task, model: Adapters, dtype: torch.dtype):
        super().__init__(task, dtype)
        self.model, self._module = model, self.module()
        self._kept: list[tuple[Tensor, Tensor, Tensor]] = []  # parameters, records and gradients of the last call of `gradient`

    def module(self) -> nn.Module:
        return Transformer(self.classes, base()).to(self.dtype)

    def start(self, initialisation: torch.Generator) -> Tensor:
        """The layers that adapters end in, and the last one, start at zero: the scores too."""
        drawn = {
            name: normal(initialisation, tuple(p.shape)) / WIDTH**0.5 if name.endswith("down.weight") else torch.zeros(p.shape)
            for name, p in self._module.named_parameters()
        }
        return torch.cat([p.flatten() for p in drawn.values()]).double()

    def _named(self, v: Tensor) -> dict[str, Tensor]:
        parts = v.to(self.dtype).split([p.numel() for p in self._module.parameters()])
        return {name: part.view(p.shape) for (name, p), part in zip(self._module.named_parameters(), parts, strict=True)}

    def scores(self, w: Tensor, X: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.stack([functional_call(self._module, self._named(v), (X,)) for v in w])

    def losses(self, z: Tensor, y: Tensor) -> Tensor:
        return torch.stack([cross_entropy(part, y, reduction="none") for part in z])

    def label(self, z: Tensor) -> Tensor:
        return z.argmax(-1)

    def gradient(self, w: Tensor, rows: Tensor | None = None, count: int | None = None) -> tuple[Tensor, Tensor]:
        X, y = self.records(rows)
        found = [self._gradients(v, X, y) for v in w]
        self._kept = [(v, X, g) for v, g in zip(w, found, strict=True)]  # a clip that acts asks for them again
        longest = [g.norm(dim=1).amax() if len(X) else w.new_zeros(()) for g in found]
        return torch.stack([g.sum(0) / (count or len(X)) for g in found]), torch.stack(longest)

    def quotients(self, w: Tensor, U: Tensor, xi: float, X: Tensor, y: Tensor) -> Tensor:
        if xi == 0:
            return torch.stack([self._gradients(v, X, y) @ U for v in w], -1)
        return torch.stack([two_point(lambda v: self._each(v, X, y), v, U, xi, DIRECTIONS) for v in w], -1)

    def _each(self, v: Tensor, X: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(functional_call(self._module, self._named(v), (X,)), y, reduction="none").to(v.dtype)

    def _gradients(self, v: Tensor, X: Tensor, y: Tensor) -> Tensor:
        """Each record's gradient, shape (n, d)."""
        for known, records, found in self._kept:
            if torch.equal(known, v) and torch.equal(records, X):
                return found
        return gradients(lambda v, batch: self._each(v, *batch), v, (X, y), BLOCK) if len(X) else v.new_zeros(0, len(v))
