"""A linear task's losses for many parameter vectors at once: mean gradient, clipped derivatives,
held-out part.

Products that depend on data or directions alone serve all parameter vectors.
"""

import torch
from torch import Tensor

from zoexplore.mechanism import clipping
from zoexplore.training.models import MODELS
from zoexplore.training.tasks import Task

CHUNK = 2_000_000  # numbers in one block of derivatives, at most
BLOCK = 500_000  # numbers in a block of records, few enough for the processor's cache
ROUNDINGS = 8  # rounding errors in a length that is compared with the clip


class Problem:
    """Shapes: C parameter vectors, n records, f features, c scores, d parameters, K directions."""

    def __init__(self, task: Task, dtype: torch.dtype):
        data = task.data
        self.model, self.d, self.dtype = MODELS[task.model], task.d, dtype
        self.width = self.model.scores(data.classes)
        self.X, self.X_test = (torch.from_numpy(X).to(dtype) for X in (data.X, data.X_test))
        self.y, self.y_test = torch.from_numpy(data.y), torch.from_numpy(data.y_test)
        self.length = self.X.norm(dim=1)

    def held_out(self, w: Tensor) -> tuple[Tensor, Tensor]:
        """Mean loss (without the ridge) and accuracy on the records held out, each of shape (C,)."""
        z = self.scores(w, self.X_test)
        loss = self.model.losses(z, self.y_test).mean(-1)
        return loss, (self.model.label(z) == self.y_test).double().mean(-1)

    def idle(self, longest: Tensor, clip: Tensor) -> Tensor:
        """Whether no record's gradient, and so no derivative along a unit vector, exceeds the clip;
        bool, shape (C,).
        """
        return longest <= clip * (1 + ROUNDINGS * torch.finfo(self.dtype).eps)

    def clipped(
        self,
        w: Tensor,
        U: Tensor | None,
        clip: Tensor,
        rows: Tensor | None = None,
        count: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The mean over records of their derivatives along the directions, each clipped, and the
        number clipped.

        Args:
            w: shape (C, d).
            U: directions, shape (d, K); the parameters' own basis where None.
            clip: Delta, shape (C,).
            rows: which records; all if None.
            count: the divisor of the sum over records; their number if None.

        Returns:
            Means, shape (C, K); numbers of clipped derivatives, shape (C,).
        """
        X, y = self.records(rows)
        U = torch.eye(self.d, dtype=torch.float64) if U is None else U
        total, active = w.new_zeros(U.shape[1], len(w)), torch.zeros(len(w), dtype=torch.long)
        block = max(1, CHUNK // (U.shape[1] * max(self.width, len(w))))
        for part, labels in zip(X.split(block), y.split(block), strict=True):
            residual = self.model.residual(self.scores(w, part), labels)
            limited, beyond = clipping.each(self._along(part, U) @ residual.permute(1, 2, 0), clip)
            total += limited.sum(0)
            active += beyond.sum((0, 1))
        return total.T / (count or len(X)), active

    def jointly_clipped(
        self,
        w: Tensor,
        U: Tensor | None,
        clip: Tensor,
        rows: Tensor | None = None,
        count: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """As `clipped`, with each record's K derivatives scaled together to length `clip`; counts
        scaled records. Only lengths are needed: clipping scales each record's gradient.
        """
        X, y = self.records(rows)
        residual = self.model.residual(self.scores(w, X), y)
        alone = self.length if rows is None else self.length[rows]
        length = residual.norm(dim=-1) * alone if U is None else self._lengths_along(residual, X, U)
        left = (clip[:, None] / length).clamp(max=1.0).nan_to_num(nan=1.0).to(residual.dtype)
        mean = self._sum(residual * left.unsqueeze(-1), X).to(w.dtype) / (count or max(1, len(X)))
        return (mean if U is None else mean @ U), (length > clip[:, None]).sum(-1)

    def scores(self, w: Tensor, X: Tensor) -> Tensor:
        """Scores, shape (C, n, c)."""
        flat = w.to(self.dtype).reshape(len(w) * self.width, -1)
        if self.width == 1:
            # half the time of the other order: few rows come first
            return (flat @ X.T).unsqueeze(-1)
        return (X @ flat.T).view(len(X), len(w), self.width).transpose(0, 1)

    def gradient(
        self, w: Tensor, rows: Tensor | None = None, count: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean gradient of the records' losses, shape (C, d), and the length of the longest
        record's, shape (C,).

        Args:
            w: shape (C, d).
            rows, count: as of `clipped`.
        """
        total, longest = w.new_zeros(len(w), self.d), w.new_zeros(len(w))
        records = *self.records(rows), self.length if rows is None else self.length[rows]
        block = max(1, BLOCK // self.X.shape[1])
        for X, y, length in zip(*(part.split(block) for part in records), strict=True):
            if len(X):
                residual = self.model.residual(self.scores(w, X), y)
                longest = torch.maximum(longest, (residual.norm(dim=-1) * length).amax(-1))
                total += self._sum(residual, X)
        return total / (count or max(1, len(records[0]))), longest

    def records(self, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        """Features and labels of some training records; of all if None."""
        return (self.X, self.y) if rows is None else (self.X[rows], self.y[rows])

    def _lengths_along(self, residual: Tensor, X: Tensor, U: Tensor) -> Tensor:
        """The lengths of the records' derivatives along the directions, shape (C, n)."""
        if self.width == 1:
            return residual.squeeze(-1).abs().mul((X @ U.to(self.dtype)).norm(dim=-1))
        found, block = (
            residual.new_empty(residual.shape[:2]),
            max(1, CHUNK // (U.shape[1] * max(self.width, len(residual)))),
        )
        for start in range(0, len(X), block):
            part = slice(start, start + block)
            found[:, part] = (
                (self._along(X[part], U) @ residual[:, part].permute(1, 2, 0)).norm(dim=1).T
            )
        return found

    def _sum(self, residual: Tensor, X: Tensor) -> Tensor:
        """The sum of the gradients of records X, shape (C, d), from the derivatives by their
        scores.
        """
        flat = residual.transpose(1, 2).reshape(-1, len(X))
        return (flat @ X).view(len(residual), self.d)

    def _along(self, X: Tensor, U: Tensor) -> Tensor:
        """The change of the records' scores along the directions, shape (n, K, c)."""
        found = X @ U.to(self.dtype).reshape(self.width, -1, U.shape[1])
        return found.permute(1, 2, 0).contiguous()
