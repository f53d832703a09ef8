"""The small network's losses, with single records' gradients only where the clip may act."""

import torch
from torch import Tensor, nn

from zoexplore.mechanism import clipping
from zoexplore.mechanism.slopes import two_point
from zoexplore.training.models import Perceptron
from zoexplore.training.problem import CHUNK, Problem
from zoexplore.training.tasks import Task

DIRECTIONS = 16  # directions evaluated at once


class Network(Problem):
    """The small network, one parameter vector at a time."""

    def __init__(self, task: Task, model: Perceptron, dtype: torch.dtype):
        super().__init__(task, dtype)
        self.model, self.width = model, model.hidden

    def start(self, initialisation: torch.Generator) -> Tensor:
        return self.model.start(self.X.shape[1], self.classes, initialisation)

    def label(self, z: Tensor) -> Tensor:
        return self.model.label(z)

    def scores(self, w: Tensor, X: Tensor) -> Tensor:
        return torch.stack([self.model.forward(v, X, self.classes) for v in w])

    def losses(self, z: Tensor, y: Tensor) -> Tensor:
        return torch.stack([self.model.losses(part, y) for part in z])

    def module(self) -> nn.Module:
        return self.model.module(self.X.shape[1], self.classes).to(self.dtype)

    def gradient(self, w: Tensor, rows: Tensor | None = None, count: int | None = None) -> tuple[Tensor, Tensor]:
        X, y = self.records(rows)
        found = [self._gradient(v, X, y, count) for v in w]
        return torch.stack([mean for mean, _ in found]), torch.stack([lengths.max() for _, lengths in found])

    def clipped(
        self, w: Tensor, U: Tensor | None, clip: Tensor, xi: float, rows: Tensor | None = None, count: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """As `Problem.clipped`. Only records whose gradient exceeds the clip need single derivatives."""
        if xi > 0:
            return super().clipped(w, U, clip, xi, rows, count)
        X, y = self.records(rows)
        U = torch.eye(self.d, dtype=torch.float64) if U is None else U
        means, active = [], torch.zeros(len(w), dtype=torch.long)
        block = max(1, CHUNK // (U.shape[1] * self.width))
        for i, v in enumerate(w):
            mean, lengths = self._gradient(v, X, y, 1)
            total, over = mean @ U, ~self.idle(lengths, clip[i])
            for part in zip(X[over].split(block), y[over].split(block), strict=True):
                slopes = self._derivatives(v, U, *part)
                limited, beyond = clipping.each(slopes, clip[i])
                total += (limited - slopes).sum(0)
                active[i] += beyond.sum()
            means.append(total / (count or len(X)))
        return torch.stack(means), active

    def quotients(self, w: Tensor, U: Tensor, xi: float, X: Tensor, y: Tensor) -> Tensor:
        if xi == 0:
            return torch.stack([self._derivatives(v, U, X, y) for v in w], -1)
        return torch.stack([two_point(lambda v: self._each(v, X, y), v, U, xi, DIRECTIONS) for v in w], -1)

    def _each(self, v: Tensor, X: Tensor, y: Tensor) -> Tensor:
        return self.model.losses(self.model.forward(v, X, self.classes), y)

    def _gradient(self, v: Tensor, X: Tensor, y: Tensor, count: int | None = None) -> tuple[Tensor, Tensor]:
        """The mean gradient, and each record's gradient length, shape (n,), from lengths of outer products' factors."""
        units, inner, outer = self.model.deltas(v, X, y, self.classes)
        total = torch.cat([(inner.T @ X).flatten(), inner.sum(0), (outer.T @ units).flatten(), outer.sum(0)])
        squares = inner.square().sum(1) * (X.square().sum(1) + 1) + outer.square().sum(1) * (units.square().sum(1) + 1)
        return total / (count or len(X)), squares.sqrt()

    def _derivatives(self, v: Tensor, U: Tensor, X: Tensor, y: Tensor) -> Tensor:
        """Each record's derivatives along the directions, shape (n, K)."""
        units, inner, outer = self.model.deltas(v, X, y, self.classes)
        first, first_offset, second, second_offset = self.model.parts(U.T, X.shape[1], self.classes)
        moved_units = torch.einsum("nf,khf->nkh", X, first) + first_offset
        moved_scores = torch.einsum("nh,kch->nkc", units, second) + second_offset
        return (moved_units @ inner.unsqueeze(-1) + moved_scores @ outer.unsqueeze(-1)).squeeze(-1)
