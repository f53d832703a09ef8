"""A task's losses for many parameter vectors at once: the mean gradient, the clipped difference quotients, the held-out part."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from zoexplore.mechanism import clipping
from zoexplore.training.tasks import Task

CHUNK = 2_000_000  # numbers that one block of quotients may hold
ROUNDINGS = 8  # by how many roundings a length may seem to exceed the clip


class Problem(ABC):
    """What the two kinds share. Shapes: C parameter vectors, n records, f features, c scores, d parameters, K directions."""

    width: int  # numbers that one direction's quotients of a record are made of

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
        """Where no record's gradient is longer than the clip, so that no derivative along a unit vector is either; bool."""
        return longest <= clip * (1 + ROUNDINGS * torch.finfo(self.dtype).eps)

    def clipped(
        self, w: Tensor, U: Tensor | None, clip: Tensor, xi: float, rows: Tensor | None = None, count: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean over records of each record's quotients along the directions, clipped one by one, and how many were.

        Args:
            w: shape (C, d).
            U: directions, shape (d, K); the parameters' own basis where None.
            clip: Delta, shape (C,).
            xi: perturbation scale; 0 means the directional derivative.
            rows: which records; all where None.
            count: what a sum over the records is divided by; how many there are where None.

        Returns:
            Means, shape (C, K); numbers of clipped quotients, shape (C,).
        """
        return self._limited(clipping.each, w, U, clip, xi, rows, count)

    def jointly_clipped(
        self, w: Tensor, U: Tensor | None, clip: Tensor, xi: float, rows: Tensor | None = None, count: int | None = None
    ) -> tuple[Tensor, Tensor]:
        """As `clipped`, each record's K quotients shortened together to length `clip`; the numbers are of shortened records."""

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
        """The parameters that training starts from, shape (d,)."""

    @abstractmethod
    def module(self) -> nn.Module:
        """The model as a module of torch; its parameters in order are a vector w."""

    @abstractmethod
    def scores(self, w: Tensor, X: Tensor) -> Tensor:
        """Shape (C, n, c)."""

    @abstractmethod
    def losses(self, z: Tensor, y: Tensor) -> Tensor:
        """Record by record, scores (..., n, c) to (..., n)."""

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
        """Record by record, shape (n, K, C)."""

    def records(self, rows: Tensor | None) -> tuple[Tensor, Tensor]:
        """Features and labels of some records to train on; of all where None."""
        return (self.X, self.y) if rows is None else (self.X[rows], self.y[rows])
