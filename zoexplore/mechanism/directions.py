"""Directions: K orthonormal columns, uniform on the Stiefel manifold."""

import torch
from torch import Tensor

from zoexplore.mechanism.rng import Generator, normal

ROUNDINGS = 256  # how many times the rounding error of its numbers a factorisation may miss orthonormality by


def stiefel(
    d: int,
    K: int,
    generator: Generator,
    *,
    runs: tuple[int, ...] = (),
    dtype: torch.dtype = torch.float64,
    device: torch.device | str | None = None,
) -> Tensor:
    """K orthonormal directions in dimension d as columns, uniform on the Stiefel manifold: shape (*runs, d, K).

    A Gaussian matrix is U R with U uniform, if R's diagonal is positive: multiplying the matrix by a rotation multiplies U and
    leaves R. R from the Cholesky factor of the Gram matrix costs a third of Householder's; it squares the condition number,
    so that it is kept for 2K <= d, where that is small, and only if U passes a check.

    Args:
        d: dimension, at least 1.
        K: directions, 1 to d.
        generator: source of the Gaussian matrix.
        runs: leading shape, where independent runs want directions of their own.
        dtype, device: of the result.

    Raises:
        ValueError: K is not between 1 and d.
    """
    if not 1 <= K <= d:
        raise ValueError(f"K = {K!r} is not allowed: give a whole number from 1 to d = {d}")
    G = normal(generator, (*runs, d, K), dtype=dtype, device=device)
    if 2 * K <= d:
        L = torch.linalg.cholesky_ex(G.mT @ G).L  # where it fails, L holds nan or nonsense, and the check says so
        U = torch.linalg.solve_triangular(L.mT, G, upper=True, left=False)
        if _orthonormal(U):
            return U
    Q, R = torch.linalg.qr(G)
    return Q * torch.where(R.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(dtype).unsqueeze(-2)


def _orthonormal(U: Tensor) -> bool:
    """Whether U'U maps a vector to itself, as one product with it can tell; false for nan."""
    ones = U.new_ones(U.shape[-1], 1)
    return bool((U.mT @ (U @ ones) - ones).abs().amax() <= ROUNDINGS * torch.finfo(U.dtype).eps)
