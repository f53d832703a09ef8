"""The K orthonormal directions of a step: uniform on the Stiefel manifold, and held in memory or
regenerated.

A dense frame holds the matrix U, shape (d, K). A streamed frame has V = [v_1 .. v_K], unit vectors
that are independent and uniform on the sphere. It keeps only their seeds, and sums over columns
block by block. Let R be the Cholesky factor in V'V = R'R, and A its inverse. Then U = V A is
uniform on the manifold, because stretching the columns of V by independent chi variables makes a
Gaussian matrix, and that matrix has the same orthonormal factor U.
"""

from collections.abc import Iterator

import torch
from numpy.random import Generator
from torch import Tensor

from zoexplore.mechanism.parameters import SMALL, Parameters
from zoexplore.mechanism.rng import Replay, normal

# the most numbers in a dense frame; beyond them streaming is as fast, or saves memory
STREAMED_ABOVE = 2**20


class Frame:
    """K directions and the parameters that they move. Probes are the unit vectors that quotients
    are taken along: the directions themselves, or vectors that span the same space.

    Attributes:
        K: how many directions there are.
        xi_factor: the largest factor by which `resolve` can lengthen a vector of K numbers; 1 if
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
        """Return block i of probe k, in the working dtype. The next call may overwrite it."""
        raise NotImplementedError

    def probe(self, k: int) -> Tensor:
        """Return probe k, shape (d,), in the working dtype."""
        return torch.cat([self.part(k, i).clone() for i in range(len(self.parameters.sizes))])

    def resolve(self, slopes: Tensor) -> Tensor:
        """Turn slopes along the probes, shape (b, K), into slopes along the directions, as if a
        slope were linear in its direction.
        """
        return slopes

    def coordinates(self) -> Tensor:
        """Return <w, u_k> for all k, shape (K,), float64, at the current parameters w."""
        blocks = [*enumerate(self.parameters.blocks)]
        inner = [
            sum(float(torch.dot(self.part(k, i).double(), block.double())) for i, block in blocks)
            for k in range(self.K)
        ]
        return self.resolve(torch.tensor([inner], dtype=torch.float64))[0]

    def combined(self, coefficients: Tensor) -> Iterator[Tensor]:
        """Yield sum_k c_k u_k block by block, in float64, so that sums are not rounded to fewer
        digits before noise is added. The caller may change a block before taking the next.
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
    at a time, or one block of each column for the Gram matrix. 2K must be at most d, since rounding
    would spoil orthonormality beyond that.
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
        """Compute V'V, summed over blocks in float64, and wait for a GPU only once."""
        gram = torch.zeros(self.K, self.K, dtype=torch.float64, device=self._buffer.device)
        for i in range(len(self.parameters.sizes)):
            rows = torch.stack([self.part(k, i).clone() for k in range(self.K)])
            if rows.device.type != "cpu":  # products in single precision may be coarse there
                rows = rows.double()
            gram += rows @ rows.T
        # the columns have length 1 to more digits than the product shows
        return gram.cpu().fill_diagonal_(1.0)


def is_streamed(kind: str, parameters: Parameters, K: int) -> bool:
    """Return whether directions are streamed: on request, or if a dense frame would be large.

    Raises:
        ValueError: the kind is unknown, or streaming is not allowed for so many directions.
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


ROUNDINGS = 256  # by how many rounding errors a factor may miss orthonormality


def stiefel(
    d: int,
    K: int,
    generator: Generator,
    *,
    runs: tuple[int, ...] = (),
    dtype: torch.dtype = torch.float64,
    device: torch.device | str | None = None,
) -> Tensor:
    """Draw K orthonormal directions in dimension d, uniform on the Stiefel manifold, as columns:
    shape (*runs, d, K).

    A Gaussian matrix is U R, where U is uniform if R has a positive diagonal, because rotating the
    matrix rotates U and leaves R unchanged. The Cholesky factor of the Gram matrix gives R in a
    third of the time that Householder's method takes. But it squares the condition number, which is
    small for 2K <= d. So it is used only there, and only if U passes a check.

    Args:
        d: the dimension, at least 1.
        K: the number of directions, 1 to d.
        generator: the source of the Gaussian matrix.
        runs: the leading shape, if independent runs have directions of their own.
        dtype, device: those of the result.

    Raises:
        ValueError: K is not between 1 and d.
    """
    if not 1 <= K <= d:
        raise ValueError(f"K = {K!r} is not allowed: give a whole number from 1 to d = {d}")
    G = normal(generator, (*runs, d, K), dtype=dtype, device=device)
    if 2 * K <= d:
        # if this fails, L holds nan or nonsense, and the check notices
        L = torch.linalg.cholesky_ex(G.mT @ G).L
        U: Tensor = torch.linalg.solve_triangular(L.mT, G, upper=True, left=False)
        if _orthonormal(U):
            return U
    Q, R = torch.linalg.qr(G)
    signs = torch.where(R.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).to(dtype)
    return signs.unsqueeze(-2).mul(Q)


def _orthonormal(U: Tensor) -> bool:
    """Return whether U'U maps a vector of ones to itself; False if U has nan."""
    ones = U.new_ones(U.shape[-1], 1)
    return bool((U.mT @ (U @ ones) - ones).abs().amax() <= ROUNDINGS * torch.finfo(U.dtype).eps)
