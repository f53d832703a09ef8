"""The frame of one step: K orthonormal directions, uniform on the Stiefel manifold, kept in memory or made again when needed.

A dense frame is the matrix U, shape (d, K). A streamed one is made of unit vectors V = [v_1 .. v_K], independent and uniform on
the sphere, of which only the seeds are kept: what is a sum over its columns is made block by block. With A the inverse of the
Cholesky factor of their Gram matrix V'V = R'R, U = V R^-1 = V A is uniform on the manifold: with independent chi variables as
their lengths the columns would be a Gaussian matrix, whose triangular factor is R with its columns as much longer.
"""

from collections.abc import Iterator
from typing import Protocol

import torch
from torch import Tensor

from zoexplore.mechanism.directions import stiefel
from zoexplore.mechanism.parameters import MIDDLING, SMALL, Copy, Parameters, pieces
from zoexplore.mechanism.rng import Generator, Replay

STREAMED_ABOVE = 2**20  # numbers in a dense frame beyond which streaming is as fast, or saves memory


class Frame(Protocol):
    """K directions and the parameters that they move. Probes are the unit vectors that quotients are taken along: the directions
    themselves, or vectors that span the same space.

    Attributes:
        K: how many.
        stretch: how much longer `resolve` can make a record's vector of K numbers; 1 where probes are the directions.
    """

    K: int
    stretch: float

    def add(self, coefficients: dict[int, float]) -> None:
        """Move the parameters by a sum over some probes, by their numbers."""

    def part(self, k: int, i: int) -> Tensor:
        """Block i of probe k, in the working kind; to be used before the next is asked for."""

    def probe(self, k: int) -> Tensor:
        """Probe k, shape (d,), in the working kind."""

    def resolve(self, slopes: Tensor) -> Tensor:
        """What was measured along the probes, shape (b, K), as it would be along the directions if it were linear."""

    def coordinates(self) -> Tensor:
        """<w, u_k>, shape (K,), float64, at the parameters as they were when the frame was made."""

    def combined(self, coefficients: Tensor, probes: dict[int, float]) -> Iterator[Tensor]:
        """sum_k c_k u_k and a sum over some probes, block by block, in float64, so that nothing is rounded before noise is added;
        to do with what one likes until the next.
        """


class Dense:
    """A frame in memory."""

    stretch = 1.0

    def __init__(self, parameters: Parameters, K: int, directions: Generator, position: bool = True) -> None:
        self.K, self.parameters = K, parameters
        self.U = stiefel(parameters.d, K, directions, dtype=parameters.working, device=parameters.device)
        self._parts = self.U.split([len(block) for block in parameters.blocks])
        pairs = zip(parameters.blocks, self._parts, strict=True) if position else ()
        self._inner = sum(part.double().T @ block.double() for block, part in pairs)

    def add(self, coefficients: dict[int, float]) -> None:
        for block, part in zip(self.parameters.blocks, self._parts, strict=True):
            block.add_(sum(c * part[:, k] for k, c in coefficients.items()))

    def part(self, k: int, i: int) -> Tensor:
        return self._parts[i][:, k]

    def probe(self, k: int) -> Tensor:
        return self.U[:, k]

    def resolve(self, slopes: Tensor) -> Tensor:
        return slopes

    def coordinates(self) -> Tensor:
        return self._inner

    def combined(self, coefficients: Tensor, probes: dict[int, float]) -> Iterator[Tensor]:
        along = coefficients.to(self.U.device, torch.float64, copy=True)
        for k, c in probes.items():
            along[k] += c
        return (part.double() @ along for part in self._parts)


class Streamed:
    """A frame that is made again, column by column, whenever it is needed. In memory there is one block of it at a time; while
    the Gram matrix is made, one block of each column.

    Raises:
        ValueError: 2K exceeds d, where orthonormality would be lost to rounding.
    """

    def __init__(self, parameters: Parameters, K: int, directions: Generator, position: bool = True) -> None:
        if 2 * K > parameters.d:
            raise ValueError(
                f"K = {K} is not allowed for streamed directions in dimension {parameters.d}: give at most half of it"
            )
        self.K, self.parameters = K, parameters
        self._buffer = torch.empty(parameters.longest_block, dtype=parameters.working, device=parameters.device)
        self._sum = torch.empty_like(self._buffer, dtype=torch.float64)
        sizes = [len(block) for block in parameters.blocks]
        self._replays = [Replay(directions, sizes, parameters.device) for _ in range(K)]
        self._A, self._inner = torch.eye(K, dtype=torch.float64), torch.zeros(K, dtype=torch.float64)
        if K > 1 or position:
            gram, self._inner = self._gram(position)
            self._A = torch.linalg.solve_triangular(torch.linalg.cholesky(gram, upper=True), self._A, upper=True)
        self.stretch = float(torch.linalg.matrix_norm(self._A, 2)) if K > 1 else 1.0

    def add(self, coefficients: dict[int, float]) -> None:
        for i, block in enumerate(self.parameters.blocks):
            for k, c in coefficients.items():
                block.add_(self.part(k, i), alpha=c)

    def part(self, k: int, i: int) -> Tensor:
        return self._replays[k].fill(i, self._buffer[: len(self.parameters.blocks[i])])

    def probe(self, k: int) -> Tensor:
        found = self._buffer.new_empty(self.parameters.d)
        for i, part in enumerate(found.split([len(block) for block in self.parameters.blocks])):
            self._replays[k].fill(i, part)
        return found

    def resolve(self, slopes: Tensor) -> Tensor:
        return slopes @ self._A.to(slopes)

    def coordinates(self) -> Tensor:
        return self._A.T @ self._inner

    def combined(self, coefficients: Tensor, probes: dict[int, float]) -> Iterator[Tensor]:
        along = self._A @ coefficients.double().cpu()
        for k, c in probes.items():
            along[k] += c
        for i, block in enumerate(self.parameters.blocks):
            total = self._sum[: len(block)].zero_()
            for k, c in enumerate(along.tolist()):
                for part, numbers in zip(pieces(total), pieces(self.part(k, i)), strict=True):
                    part.add_(numbers, alpha=c)
            yield total

    def _gram(self, position: bool) -> tuple[Tensor, Tensor]:
        """V'V and V'w, summed over blocks in float64, on the CPU; w only where it is asked for."""
        K = self.K
        together = self._buffer if K == 1 else self._buffer.new_empty(K * self.parameters.longest_block)
        gram, inner = torch.zeros(K, K, dtype=torch.float64), torch.zeros(K, dtype=torch.float64)
        for i, block in enumerate(self.parameters.blocks):
            rows = together[: K * len(block)].view(K, len(block))
            for row, replay in zip(rows, self._replays, strict=True):
                replay.fill(i, row)
            gram += _products(rows)
            if position:
                inner += (rows @ block.to(rows.dtype)).double().cpu()
        return gram.fill_diagonal_(1.0), inner  # as its columns are unit vectors to more digits than their products


def _products(rows: Tensor) -> Tensor:
    """rows rows', on the CPU in float64. On a GPU it is made in float64, as single precision may stand for far less there."""
    if rows.device.type != "cpu":
        rows = rows.double()
    return (rows @ rows.T).double().cpu()


def frame(parameters: Parameters, K: int, directions: Generator, *, streamed: bool, position: bool) -> Dense | Streamed:
    """The directions of a step; `position` where `coordinates` will be asked for."""
    return (Streamed if streamed else Dense)(parameters, K, directions, position)


def is_streamed(kind: str, parameters: Parameters, K: int) -> bool:
    """Whether directions are streamed: as asked, or where a dense frame would be large.

    Raises:
        ValueError: the kind is unknown, or streaming is not allowed for as many directions.
    """
    if kind not in ("auto", "dense", "streamed"):
        raise ValueError(f"directions = {kind!r} is not allowed: give 'auto', 'dense' or 'streamed'")
    fits = 2 * K <= parameters.d
    if kind == "streamed" and not fits:
        raise ValueError(f"directions = 'streamed' is not allowed for K = {K} of d = {parameters.d}: give K of at most d/2")
    large = parameters.d > SMALL or parameters.d * K > STREAMED_ABOVE
    return kind == "streamed" or (kind == "auto" and fits and large)


def is_copied(keep_copy: bool | None, parameters: Parameters, K: int, xi: float, on_the_way: bool) -> bool:
    """Whether parameters are copied before they are moved: as asked, or where they are few, or in half precision and moved.

    Raises:
        ValueError: no copy is asked for where the way back would lose too many digits.
    """
    if parameters.has_halves and not on_the_way:
        if keep_copy is False:
            raise ValueError("keep_copy = False is not allowed in half precision, whose digits would be lost on the way back")
        return True
    few = parameters.d <= (SMALL if K == 1 else MIDDLING)  # one direction has no memory of its own
    return xi > 0 and (few if keep_copy is None else keep_copy)


class Mover:
    """Goes from w to w + xi v_k, to w - xi v_k and on, and back to w: by a copy, or by taking back what was added.

    With a copy the way back is exact, whatever stopped the way there. Without, each step back and forth rounds every number up to
    three times more, and a move that is stopped halfway, by Ctrl-C, say, leaves the parameters `astray`.

    Args:
        pending: probes, by number, that the parameters are still away from w by, times their coefficients.
    """

    def __init__(self, parameters: Parameters, frame: Frame, copy: Copy | None) -> None:
        self.parameters, self.frame, self.copy = parameters, frame, copy
        self.pending: dict[int, float] = {}
        self._is_lost = False  # where w is nothing to go back to
        if copy is not None:
            copy.take()

    def __enter__(self) -> "Mover":
        return self

    def __exit__(self, *_: object) -> None:
        """Whatever happened, the parameters are where they were, or where an update took them."""
        self.back()

    def to(self, k: int, xi: float) -> None:
        """To w + xi v_k; from the other side of the same probe by one addition."""
        self.parameters.astray = True
        if self.copy is None:
            change = {j: -c for j, c in self.pending.items()}
            change[k] = change.get(k, 0.0) + xi
            self._add(change)
            self.pending = {k: xi}
        elif self.pending == {k: -xi}:
            self.copy.mirror()
            self.pending = {k: xi}
        else:
            self.back()
            self.parameters.astray, self.pending = True, {k: xi}
            self.frame.add({k: xi})

    def back(self) -> None:
        """To w, if that is where it leads."""
        if self._is_lost:
            return
        if self.pending and self.copy is not None:
            self.copy.restore()
        elif self.pending:
            self._add({j: -c for j, c in self.pending.items()})
        self.pending, self.parameters.astray = {}, False

    def leave_to_update(self) -> dict[int, float]:
        """What the update has to take back too, as it passes over all numbers anyway; until it is done they are astray."""
        if self.copy is not None:
            self.back()
        self.parameters.astray = self._is_lost = True
        return {j: -c for j, c in self.pending.items()}

    def _add(self, change: dict[int, float]) -> None:
        self._is_lost = True
        self.frame.add(change)
        self._is_lost = False
