"""The K orthonormal directions of a step, uniform on the Stiefel manifold, in memory or
regenerated.

A dense frame is the matrix U, shape (d, K). A streamed one comes from unit vectors V = [v_1 ..
v_K], independent and uniform on the sphere, of which only the seeds are kept; sums over its columns
run block by block. With A the inverse of the Cholesky factor of V'V = R'R, U = V R^-1 = V A is
uniform on the manifold. For if independent chi variables stretch the columns of V, it is a Gaussian
matrix, and the same U its orthonormal factor.
"""

from collections.abc import Iterator

import torch
from numpy.random import Generator
from torch import Tensor

from zoexplore.mechanism.parameters import SMALL, Parameters
from zoexplore.mechanism.rng import Replay, normal

# numbers in a dense frame beyond which streaming is as fast, or saves memory
STREAMED_ABOVE = 2**20


class Frame:
    """K directions and the parameters that they move. Probes are the unit vectors that quotients
    are taken along: the directions themselves, or vectors that span the same space.

    Attributes:
        K: how many.
        xi_factor: the factor by which `resolve` can lengthen a record's vector of K numbers; 1 if
            probes are the directions.
    """

    xi_factor = 1.0

    def __init__(self, parameters: Parameters, K: int) -> None:
        self.K, self.parameters = K, parameters

    def add(self, k: int, xi: float) -> None:
        """Move the parameters by xi times probe k."""
        for i, block in enumerate(self.parameters.blocks):
            block.add_(self.part(k, i), alpha=xi)

    def part(self, k: int, i: int) -> Tensor:
        """Block i of probe k, in the working dtype; valid until the next call."""
        raise NotImplementedError

    def probe(self, k: int) -> Tensor:
        """Probe k, shape (d,), in the working dtype."""
        return torch.cat([self.part(k, i).clone() for i in range(len(self.parameters.sizes))])

    def resolve(self, slopes: Tensor) -> Tensor:
        """Turn slopes along the probes, shape (b, K), into slopes along the directions, as if
        slopes were linear.
        """
        return slopes

    def coordinates(self) -> Tensor:
        """<w, u_k>, shape (K,), float64, at the parameters as they stand."""
        blocks = [*enumerate(self.parameters.blocks)]
        inner = [
            sum(float(torch.dot(self.part(k, i).double(), block.double())) for i, block in blocks)
            for k in range(self.K)
        ]
        return self.resolve(torch.tensor([inner], dtype=torch.float64))[0]

    def combined(self, coefficients: Tensor) -> Iterator[Tensor]:
        """sum_k c_k u_k, block by block, in float64, so that nothing is rounded before noise is
        added; the caller may change a block until the next.
        """
        raise NotImplementedError


class Dense(Frame):
    """A frame in memory."""

    def __init__(self, parameters: Parameters, K: int, directions: Generator) -> None:
        super().__init__(parameters, K)
        self.U = stiefel(
            parameters.d, K, directions, dtype=parameters.working, device=parameters.device
        )
        self._parts: tuple[Tensor, ...] = self.U.split(parameters.sizes)

    def part(self, k: int, i: int) -> Tensor:
        return self._parts[i][:, k]

    def combined(self, coefficients: Tensor) -> Iterator[Tensor]:
        along = coefficients.to(self.U.device, torch.float64)
        return (part.double() @ along for part in self._parts)


class Streamed(Frame):
    """A frame that is regenerated, column by column, whenever it is needed. Memory holds one block
    of it at a time, and one of each column for the Gram matrix. 2K is at most d, since
    orthonormality would be lost to rounding beyond.
    """

    def __init__(self, parameters: Parameters, K: int, directions: Generator) -> None:
        super().__init__(parameters, K)
        self._buffer = torch.empty(
            parameters.longest_block, dtype=parameters.working, device=parameters.device
        )
        self._sum = torch.empty_like(self._buffer, dtype=torch.float64)
        self._replays = [Replay(directions, parameters.sizes, parameters.device) for _ in range(K)]
        self._A = torch.eye(K, dtype=torch.float64)
        if K > 1:
            self._A = torch.linalg.solve_triangular(
                torch.linalg.cholesky(self._gram(), upper=True), self._A, upper=True
            )
            self.xi_factor = float(torch.linalg.matrix_norm(self._A, 2))

    def part(self, k: int, i: int) -> Tensor:
        return self._replays[k].fill(i, self._buffer[: self.parameters.sizes[i]])

    def resolve(self, slopes: Tensor) -> Tensor:
        return slopes @ self._A.to(slopes)

    def combined(self, coefficients: Tensor) -> Iterator[Tensor]:
        along = self._A @ coefficients.double().cpu()
        for i, size in enumerate(self.parameters.sizes):
            total = self._sum[:size].zero_()
            for k, c in enumerate(along.tolist()):
                total.add_(self.part(k, i), alpha=c)
            yield total

    def _gram(self) -> Tensor:
        """V'V, summed over blocks in float64, waited for once."""
        gram = torch.zeros(self.K, self.K, dtype=torch.float64, device=self._buffer.device)
        for i in range(len(self.parameters.sizes)):
            rows = torch.stack([self.part(k, i).clone() for k in range(self.K)])
            if rows.device.type != "cpu":  # where single precision may be far less precise
                rows = rows.double()
            gram += rows @ rows.T
        # as its columns are unit vectors to more digits than their products
        return gram.cpu().fill_diagonal_(1.0)


def is_streamed(kind: str, parameters: Parameters, K: int) -> bool:
    """Whether directions are streamed: on request, or where a dense frame would be large.

    Raises:
        ValueError: the kind is unknown, or streaming is not allowed for as many directions.
    """
    if kind not in ("auto", "dense", "streamed"):
        raise ValueError(
            f"directions = {kind!r} is not allowed: give 'auto', 'dense' or 'streamed'"
        )
    fits = 2 * K <= parameters.d
    if kind == "streamed" and not fits:
        raise ValueError(
            f"directions = 'streamed' is not allowed for K = {K} of d = {parameters.d}: give K of at most d/2"
        )
    large = parameters.d > SMALL or parameters.d * K > STREAMED_ABOVE
    return kind == "streamed" or (kind == "auto" and fits and large)


ROUNDINGS = 256  # rounding errors by which a factorisation may miss orthonormality


def stiefel(
    d: int,
    K: int,
    generator: Generator,
    *,
    runs: tuple[int, ...] = (),
    dtype: torch.dtype = torch.float64,
    device: torch.device | str | None = None,
) -> Tensor:
    """K orthonormal directions in dimension d as columns, uniform on the Stiefel manifold: shape
    (*runs, d, K).

    A Gaussian matrix is U R with U uniform, if R's diagonal is positive: multiplying the matrix by
    a rotation multiplies U and leaves R. The Cholesky factor of the Gram matrix costs a third of
    Householder's R. It squares the condition number, so it serves only for 2K <= d, where that is
    small, and if U passes a check.

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
        # where it fails, L holds nan or nonsense, and the check says so
        L = torch.linalg.cholesky_ex(G.mT @ G).L
        U: Tensor = torch.linalg.solve_triangular(L.mT, G, upper=True, left=False)
        if _orthonormal(U):
            return U
    Q, R = torch.linalg.qr(G)
    signs = torch.where(R.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(dtype)
    return signs.unsqueeze(-2).mul(Q)


def _orthonormal(U: Tensor) -> bool:
    """Whether U'U maps a vector to itself, by one product; false for nan."""
    ones = U.new_ones(U.shape[-1], 1)
    return bool((U.mT @ (U @ ones) - ones).abs().amax() <= ROUNDINGS * torch.finfo(U.dtype).eps)
