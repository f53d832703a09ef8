"""A linear task's losses for many parameter vectors at once: mean gradients, clipped derivatives,
and losses on held-out records.

Products that depend on data or directions alone serve all parameter vectors.
"""

import torch
from torch import Tensor

from zoexplore.mechanism.clipping import RULES
from zoexplore.training.models import MODELS
from zoexplore.training.tasks import Task

CHUNK = 2_000_000  # the most numbers in one block of derivatives
BLOCK = 500_000  # the most numbers in a block of records, so that it fits the processor's cache
ROUNDINGS = 8  # the most rounding errors in a length that is compared with the clip


class Problem:
    """The losses of a task. Shapes count C parameter vectors, n records, f features, c scores, d
    parameters and K directions.
    """

    def __init__(self, task: Task, dtype: torch.dtype):
        data = task.data
        self.model, self.d, self.dtype = MODELS[task.model], task.d, dtype
        self.width = self.model.scores(data.classes)
        self.X, self.X_test = (torch.from_numpy(X).to(dtype) for X in (data.X, data.X_test))
        self.y, self.y_test = torch.from_numpy(data.y), torch.from_numpy(data.y_test)
        self.length = self.X.norm(dim=1)

    def held_out(self, w: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean loss (without the ridge) and the accuracy on held-out records, each of
        shape (C,).
        """
        z = self.scores(w, self.X_test)
        loss = self.model.losses(z, self.y_test).mean(-1)
        return loss, (self.model.label(z) == self.y_test).double().mean(-1)

    def idle(self, longest: Tensor, clip: Tensor) -> Tensor:
        """Return whether no record's gradient, and so no derivative along a unit vector, exceeds
        the clip; bool, shape (C,).
        """
        return longest <= clip * (1 + ROUNDINGS * torch.finfo(self.dtype).eps)

    def clipped(
        self,
        w: Tensor,
        U: Tensor | None,
        clip: Tensor,
        clipping: str,
        rows: Tensor | None = None,
        count: int | None = None,
    ) -> Tensor:
        """Return the mean over records of their clipped derivatives along the directions.

        Args:
            w: shape (C, d).
            U: directions, shape (d, K); the parameters' own basis if None.
            clip: Delta, shape (C,).
            clipping: key of `RULES`.
            rows: which records; all if None.
            count: the divisor of the sum over records; their number if None.

        Returns:
            Shape (C, K).
        """
        records, K = self.records(rows), self.d if U is None else U.shape[1]
        total, limit = w.new_zeros(len(w), K), clip[:, None, None].to(self.dtype)
        block = max(1, CHUNK // (K * max(self.width, len(w))))
        for X, y, _ in zip(*(part.split(block) for part in records), strict=True):
            slopes = self._slopes(X, self.model.residual(self.scores(w, X), y), U)
            total += RULES[clipping](slopes, limit).values.sum(1)
        return total / (count or max(1, len(records[0])))

    def scores(self, w: Tensor, X: Tensor) -> Tensor:
        """Compute the scores, shape (C, n, c)."""
        flat = w.to(self.dtype).reshape(len(w) * self.width, -1)
        # the factor with few rows comes first: the other order takes twice as long
        return (flat @ X.T).view(len(w), self.width, len(X)).transpose(1, 2)

    def gradient(
        self, w: Tensor, rows: Tensor | None = None, count: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return the mean gradient of the records' losses, shape (C, d), and the length of the
        longest gradient among the records, shape (C,).

        Args:
            w: shape (C, d).
            rows, count: as in `clipped`.
        """
        total, longest = w.new_zeros(len(w), self.d), w.new_zeros(len(w))
        records, block = self.records(rows), max(1, BLOCK // self.X.shape[1])
        for X, y, length in zip(*(part.split(block) for part in records), strict=True):
            if len(X):
                residual = self.model.residual(self.scores(w, X), y)
                longest = torch.maximum(longest, (residual.norm(dim=-1) * length).amax(-1))
                flat = residual.transpose(1, 2).reshape(-1, len(X))
                total += (flat @ X).view(len(w), self.d)
        return total / (count or max(1, len(records[0]))), longest

    def records(self, rows: Tensor | None) -> list[Tensor]:
        """Return features, labels and lengths of the training rows `rows`; of all if None."""
        return [part if rows is None else part[rows] for part in (self.X, self.y, self.length)]

    def _slopes(self, X: Tensor, residual: Tensor, U: Tensor | None) -> Tensor:
        """Return the records' derivatives along the directions, shape (C, n, K), from `residual`,
        the derivatives with respect to the scores.
        """
        if U is None:
            return (residual.unsqueeze(-1) * X[:, None]).flatten(2)
        along = X @ U.to(self.dtype).reshape(self.width, -1, U.shape[1])
        return torch.einsum("snk,cns->cnk", along, residual)
