"""The models in torch: losses, derivatives and labels from scores. Their constants are in
`constants`.

A linear model keeps its parameters as a flat vector w of f c numbers, score by score.
"""

import torch
from torch import Tensor
from torch.nn.functional import softplus

from zoexplore.training.constants import LogisticLoss, SoftmaxLoss


class Logistic(LogisticLoss):
    """Two classes, one score."""

    @staticmethod
    def losses(z: Tensor, y: Tensor) -> Tensor:
        """Compute each record's loss, shape (..., n), from scores (..., n, 1) and labels (n,)."""
        z = z.squeeze(-1)
        return softplus(z) - y * z

    @staticmethod
    def residual(z: Tensor, y: Tensor) -> Tensor:
        """Return the derivatives of the losses with respect to the scores, shape (..., n, 1)."""
        return torch.sigmoid(z) - y.unsqueeze(-1)

    @staticmethod
    def label(z: Tensor) -> Tensor:
        """Return the likelier label, shape (..., n)."""
        return (z.squeeze(-1) > 0).long()


class Softmax(SoftmaxLoss):
    """c classes, c scores."""

    @staticmethod
    def losses(z: Tensor, y: Tensor) -> Tensor:
        """Compute each record's loss, shape (..., n), from scores (..., n, c) and labels (n,)."""
        return z.logsumexp(-1) - z.gather(-1, y.expand(z.shape[:-1]).unsqueeze(-1)).squeeze(-1)

    @staticmethod
    def residual(z: Tensor, y: Tensor) -> Tensor:
        """Return the derivatives of the losses with respect to the scores, shape (..., n, c)."""
        p = z.softmax(-1)
        return p.scatter_add(
            -1, y.expand(z.shape[:-1]).unsqueeze(-1), p.new_full((*z.shape[:-1], 1), -1.0)
        )

    @staticmethod
    def label(z: Tensor) -> Tensor:
        """Return the likeliest label, shape (..., n)."""
        return z.argmax(-1)


MODELS: dict[str, Logistic | Softmax] = {"logistic": Logistic(), "softmax": Softmax()}
