"""Linear models' losses: what depends on the data or the directions alone is computed once for all parameter vectors."""

import torch
from torch import Tensor, nn

from zoexplore.training.models import LinearModel
from zoexplore.training.problem import CHUNK, Problem
from zoexplore.training.tasks import Task


class Linear(Problem):
    """A linear model: one product with the data serves all parameter vectors, another one all directions."""

    def __init__(self, task: Task, model: LinearModel, dtype: torch.dtype):
        super().__init__(task, dtype)
        self.model = model
        self.width = self.model.scores(self.classes)
        self.transposed = self.X.T.contiguous()  # the product with it is twice as fast as with a view
        self.length = self.X.norm(dim=1)

    def scores(self, w: Tensor, X: Tensor) -> Tensor:
        flat = X @ w.to(self.dtype).reshape(len(w) * self.width, -1).T
        return flat.view(len(X), len(w), self.width).transpose(0, 1)

    def losses(self, z: Tensor, y: Tensor) -> Tensor:
        return self.model.losses(z, y)

    def label(self, z: Tensor) -> Tensor:
        return self.model.label(z)

    def start(self, initialisation: torch.Generator) -> Tensor:
        return torch.zeros(self.d, dtype=torch.float64)

    def module(self) -> nn.Module:
        return nn.Linear(self.X.shape[1], self.width, bias=False, dtype=self.dtype)

    def gradient(self, w: Tensor, rows: Tensor | None = None, count: int | None = None) -> tuple[Tensor, Tensor]:
        X, y = self.records(rows)
        residual = self.model.residual(self.scores(w, X), y)
        longest = self._lengths(residual, rows).amax(-1) if len(X) else w.new_zeros(len(w))
        return self._mean(residual, rows, count).to(w.dtype), longest

    def jointly_clipped(
        self, w: Tensor, U: Tensor | None, clip: Tensor, xi: float, rows: Tensor | None = None, count: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """As for every problem. Of derivatives only the lengths are needed: a multiple of each record's gradient is left."""
        if xi > 0:
            return super().jointly_clipped(w, U, clip, xi, rows, count)
        X, y = self.records(rows)
        residual = self.model.residual(self.scores(w, X), y)
        length = self._lengths(residual, rows) if U is None else self._lengths_along(residual, X, U)
        left = (clip[:, None] / length).clamp(max=1.0).nan_to_num(nan=1.0).to(residual.dtype)
        mean = self._mean(residual * left.unsqueeze(-1), rows, count).to(w.dtype)
        return (mean if U is None else mean @ U), (length > clip[:, None]).sum(-1)

    def _lengths(self, residual: Tensor, rows: Tensor | None) -> Tensor:
        """Of the records' gradients, shape (C, n)."""
        return residual.norm(dim=-1) * (self.length if rows is None else self.length[rows])

    def _lengths_along(self, residual: Tensor, X: Tensor, U: Tensor) -> Tensor:
        """Of the records' derivatives along the directions, shape (C, n)."""
        if self.width == 1:
            return residual.squeeze(-1).abs() * (X @ U.to(self.dtype)).norm(dim=-1)
        found, block = residual.new_empty(residual.shape[:2]), max(1, CHUNK // (U.shape[1] * max(self.width, len(residual))))
        for start in range(0, len(X), block):
            part = slice(start, start + block)
            found[:, part] = (self._along(X[part], U) @ residual[:, part].permute(1, 2, 0)).norm(dim=1).T
        return found

    def _mean(self, residual: Tensor, rows: Tensor | None, count: int | None) -> Tensor:
        """The mean gradient, shape (C, d), of records with these derivatives by the scores."""
        flat = residual.transpose(0, 1).reshape(residual.shape[1], -1)
        sums = (self.transposed if rows is None else self.X[rows].T) @ flat
        return sums.T.reshape(len(residual), self.d) / (count or max(1, residual.shape[1]))

    def _along(self, X: Tensor, U: Tensor) -> Tensor:
        """What directions add to the scores of records, shape (n, K, c)."""
        found = X @ U.to(self.dtype).reshape(self.width, -1, U.shape[1])
        return found.permute(1, 2, 0).contiguous()

    def quotients(self, w: Tensor, U: Tensor, xi: float, X: Tensor, y: Tensor) -> Tensor:
        """Record by record, shape (n, K, C). What depends on the directions alone is computed once for all parameter vectors.

        Two points need no difference of losses: with p the probabilities of the scores and v the directions' scores, the loss
        moves by ln(sum_j p_j e^(xi v_j)) - xi v_y, which log1p and expm1 give without cancellation however small xi is.
        """
        along = self._along(X, U)
        z = self.scores(w, X)
        if xi == 0:
            return along @ self.model.residual(z, y).permute(1, 2, 0)
        p = self.model.probabilities(z).permute(1, 2, 0)
        plus, minus = (torch.log1p(torch.expm1(step * along) @ p) for step in (xi, -xi))
        return (plus - minus) / (2 * xi) - self.model.chosen(along, y).unsqueeze(-1)
