"""A task's losses for many parameter vectors at once: the mean gradient, the clipped difference quotients, the held-out part."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from zoexplore.mechanism import clipping
from zoexplore.training.tasks import Task

CHUNK = 2_000_000  # numbers in one block of quotients, at most
ROUNDINGS = 8  # rounding errors in a length that is compared with the clip


class Problem(ABC):
    """The base of both kinds. Shapes: C parameter vectors, n records, f features, c scores, d parameters, K directions."""

    width: int  # numbers per record and direction

    def __init__(self, task: Task, dtype: torch.dtype):
        data = task.data
        self.classes, self.d, self.dtype = data.classes, task.d, dtype
        self.X, self.X_test = (torch.from_numpy(X).to(dtype) for X in (data.X, data.X_test))
        self.y, self.y_test = torch.from_numpy(data.y), torch.from_numpy(data.y_test)

    def held_out(self, w: Tensor) -> tuple[Tensor, Tensor]:
        """Mean loss (without the ridge) and accuracy on the records held out, each of shape (C,)."""
        z = self.scores(w, self.X_test)
        loss = self.losses(z, self.y_test).mean(-1)
        return loss, (self.label(z) == self.y_test).double().mean(-1)

    def idle(self, longest: Tensor, clip: Tensor) -> Tensor:
        """Whether no record's gradient, and so no derivative along a unit vector, exceeds the clip; bool, shape (C,)."""
        return longest <= clip * (1 + ROUNDINGS * torch.finfo(self.dtype).eps)

    def clipped(
        self, w: Tensor, U: Tensor | None, clip: Tensor, xi: float, rows: Tensor | None = None, count: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean over records of their quotients along the directions, each clipped, and the number clipped.

        Args:
            w: shape (C, d).
            U: directions, shape (d, K); the parameters' own basis where None.
            clip: Delta, shape (C,).
            xi: perturbation scale; 0 means the directional derivative.
            rows: which records; all if None.
            count: the divisor of the sum over records; their number if None.

        Returns:
            Means, shape (C, K); numbers of clipped quotients, shape (C,).
        """
        return self._limited(clipping.each, w, U, clip, xi, rows, count)

    def jointly_clipped(
        self, w: Tensor, U: Tensor | None, clip: Tensor, xi: float, rows: Tensor | None = None, count: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """As `clipped`, with each record's K quotients scaled together to length `clip`; counts scaled records."""

        def limited(quotients: Tensor, clip: Tensor) -> clipping.Clipped:
            values, active = clipping.joint(quotients.permute(2, 0, 1), clip[:, None, None])
            return clipping.Clipped(values.permute(1, 2, 0), active.T[:, None])

        return self._limited(limited, w, U, clip, xi, rows, count)

    def _limited(self, rule, w, U, clip, xi, rows, count) -> tuple[Tensor, Tensor]:
        X, y = self.records(rows)
        U = torch.eye(self.d, dtype=torch.float64) if U is None else U
        total, active = w.new_zeros(U.shape[1], len(w)), torch.zeros(len(w), dtype=torch.long)
        block = max(1, CHUNK // (U.shape[1] * max(self.width, len(w))))
        for part in zip(X.split(block), y.split(block), strict=True):
            limited, beyond = rule(self.quotients(w, U, xi, *part), clip)
            total += limited.sum(0)
            active += beyond.sum((0, 1))
        return total.T / (count or len(X)), active

    @abstractmethod
    def start(self, initialisation: torch.Generator) -> Tensor:
        """The initial parameters, shape (d,)."""

    @abstractmethod
    def module(self) -> nn.Module:
        """The model as a torch module, with its parameters in the order of w."""

    @abstractmethod
    def scores(self, w: Tensor, X: Tensor) -> Tensor:
        """Scores, shape (C, n, c)."""

    @abstractmethod
    def losses(self, z: Tensor, y: Tensor) -> Tensor:
        """Losses by record, from scores (..., n, c) to (..., n)."""

    @abstractmethod
    def label(self, z: Tensor) -> Tensor:
        """The likeliest label, scores (..., n, c) to (..., n)."""

    @abstractmethod
    def gradient(self, w: Tensor, rows: Tensor | None = None, count: int | None = None) -> tuple[Tensor, Tensor]:
        """The mean gradient of the records' losses, shape (C, d), and the length of the longest record's, shape (C,).

        Args:
            w: shape (C, d).
            rows, count: as of `clipped`.
        """

    @abstractmethod
    def quotients(self, w: Tensor, U: Tensor, xi: float, X: Tensor, y: Tensor) -> Tensor:
        """Quotients of each record, shape (n, K, C)."""

    def records(self, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        """Features and labels of some training records; of all if None."""
        return (self.X, self.y) if rows is None else (self.X[rows], self.y[rows])
