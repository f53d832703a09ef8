"""Losses of linear models: products that depend on data or directions alone serve all parameter vectors."""

import torch
from torch import Tensor, nn

from zoexplore.training.models import LinearModel
from zoexplore.training.problem import CHUNK, Problem
from zoexplore.training.tasks import Task

BLOCK = 500_000  # numbers in a block of records, few enough for the processor's cache


class Linear(Problem):
    """A linear model: one product with the data for all parameter vectors, another for all directions."""

    def __init__(self, task: Task, model: LinearModel, dtype: torch.dtype):
        super().__init__(task, dtype)
        self.model = model
        self.width = self.model.scores(self.classes)
        self.length = self.X.norm(dim=1)

    def scores(self, w: Tensor, X: Tensor) -> Tensor:
        flat = w.to(self.dtype).reshape(len(w) * self.width, -1)
        if self.width == 1:
            return (flat @ X.T).unsqueeze(-1)  # half the time of the other order: few rows come first
        return (X @ flat.T).view(len(X), len(w), self.width).transpose(0, 1)

    def losses(self, z: Tensor, y: Tensor) -> Tensor:
        return self.model.losses(z, y)

    def label(self, z: Tensor) -> Tensor:
        return self.model.label(z)

    def start(self, initialisation: torch.Generator) -> Tensor:
        return torch.zeros(self.d, dtype=torch.float64)

    def module(self) -> nn.Module:
        return nn.Linear(self.X.shape[1], self.width, bias=False, dtype=self.dtype)

    def gradient(self, w: Tensor, rows: Tensor | None = None, count: int | None = None) -> tuple[Tensor, Tensor]:
        total, longest = w.new_zeros(len(w), self.d), w.new_zeros(len(w))
        records = *self.records(rows), self.length if rows is None else self.length[rows]
        block = max(1, BLOCK // self.X.shape[1])
        for X, y, length in zip(*(part.split(block) for part in records), strict=True):
            if len(X):
                residual = self.model.residual(self.scores(w, X), y)
                longest = torch.maximum(longest, (residual.norm(dim=-1) * length).amax(-1))
                total += self._sum(residual, X)
        return total / (count or max(1, len(records[0]))), longest

    def jointly_clipped(
        self, w: Tensor, U: Tensor | None, clip: Tensor, xi: float, rows: Tensor | None = None, count: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """As `Problem.jointly_clipped`. Derivatives need only their lengths: clipping scales each record's gradient."""
        if xi > 0:
            return super().jointly_clipped(w, U, clip, xi, rows, count)
        X, y = self.records(rows)
        residual = self.model.residual(self.scores(w, X), y)
        alone = self.length if rows is None else self.length[rows]
        length = residual.norm(dim=-1) * alone if U is None else self._lengths_along(residual, X, U)
        left = (clip[:, None] / length).clamp(max=1.0).nan_to_num(nan=1.0).to(residual.dtype)
        mean = self._sum(residual * left.unsqueeze(-1), X).to(w.dtype) / (count or max(1, len(X)))
        return (mean if U is None else mean @ U), (length > clip[:, None]).sum(-1)

    def _lengths_along(self, residual: Tensor, X: Tensor, U: Tensor) -> Tensor:
        """The lengths of the records' derivatives along the directions, shape (C, n)."""
        if self.width == 1:
            return residual.squeeze(-1).abs() * (X @ U.to(self.dtype)).norm(dim=-1)
        found, block = residual.new_empty(residual.shape[:2]), max(1, CHUNK // (U.shape[1] * max(self.width, len(residual))))
        for start in range(0, len(X), block):
            part = slice(start, start + block)
            found[:, part] = (self._along(X[part], U) @ residual[:, part].permute(1, 2, 0)).norm(dim=1).T
        return found

    def _sum(self, residual: Tensor, X: Tensor) -> Tensor:
        """The sum of the gradients of records X, shape (C, d), from the derivatives by their scores."""
        flat = residual.transpose(1, 2).reshape(-1, len(X))
        return (flat @ X).view(len(residual), self.d)

    def _along(self, X: Tensor, U: Tensor) -> Tensor:
        """The change of the records' scores along the directions, shape (n, K, c)."""
        found = X @ U.to(self.dtype).reshape(self.width, -1, U.shape[1])
        return found.permute(1, 2, 0).contiguous()

    def quotients(self, w: Tensor, U: Tensor, xi: float, X: Tensor, y: Tensor) -> Tensor:
        """Quotients of each record, shape (n, K, C). Terms of the directions alone are computed once for all parameter vectors.

        With p the probabilities of the scores and v the directions' scores, a loss changes by ln(sum_j p_j e^(xi v_j)) - xi v_y,
        which log1p and expm1 compute without cancellation however small xi is.
        """
        along = self._along(X, U)
        z = self.scores(w, X)
        if xi == 0:
            return along @ self.model.residual(z, y).permute(1, 2, 0)
        p = self.model.probabilities(z).permute(1, 2, 0)
        plus, minus = (torch.log1p(torch.expm1(step * along) @ p) for step in (xi, -xi))
        return (plus - minus) / (2 * xi) - self.model.chosen(along, y).unsqueeze(-1)
