"""Linear models' losses: what depends on the data or the directions alone is computed once for all parameter vectors."""

import torch
from torch import Tensor, nn

from zoexplore.training.models import LinearModel
from zoexplore.training.problem import Problem
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

    def gradient(self, w: Tensor, rows: Tensor | None = None) -> tuple[Tensor, Tensor]:
        X, y = self._records(rows)
        residual = self.model.residual(self.scores(w, X), y)
        length = self.length if rows is None else self.length[rows]
        longest = (residual.norm(dim=-1) * length).amax(-1)
        flat = residual.transpose(0, 1).reshape(len(X), -1)
        sums = (self.transposed if rows is None else X.T) @ flat
        return sums.T.reshape(len(w), self.d).to(w.dtype) / len(X), longest

    def quotients(self, w: Tensor, U: Tensor, xi: float, X: Tensor, y: Tensor) -> Tensor:
        """Record by record, shape (n, K, C). What depends on the directions alone is computed once for all parameter vectors.

        Two points need no difference of losses: with p the probabilities of the scores and v the directions' scores, the loss
        moves by ln(sum_j p_j e^(xi v_j)) - xi v_y, which log1p and expm1 give without cancellation however small xi is.
        """
        along = X @ U.to(self.dtype).reshape(self.width, -1, U.shape[1])
        along = along.permute(1, 2, 0).contiguous()  # (n, K, c)
        z = self.scores(w, X)
        if xi == 0:
            return along @ self.model.residual(z, y).permute(1, 2, 0)
        p = self.model.probabilities(z).permute(1, 2, 0)
        plus, minus = (torch.log1p(torch.expm1(step * along) @ p) for step in (xi, -xi))
        return (plus - minus) / (2 * xi) - self.model.chosen(along, y).unsqueeze(-1)
