"""The slopes of a step: every record's difference quotients along the directions, in whichever way costs least."""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.func import jvp
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from zoexplore.mechanism import estimators
from zoexplore.mechanism.batches import number_of, part
from zoexplore.mechanism.frames import Dense, Frame, Mover
from zoexplore.mechanism.objective import OfModule, OfVector
from zoexplore.mechanism.parameters import HALVES, Parameters
from zoexplore.mechanism.watch import Changed, Watch


class Slopes(NamedTuple):
    """Slopes along the directions, shape (b, K), float64, 0 where one was not finite; how many were not; the mean loss."""

    values: Tensor
    not_finite: int
    loss: float


class Autocast:
    """Autocast as the user has switched it on around a step. Losses are computed under it; the mechanism's own sums are not,
    and no copy of a weight is kept, since weights move between two losses.
    """

    def __init__(self, device: torch.device) -> None:
        self.type, self.on = device.type, torch.is_autocast_enabled(device.type)
        self.kind = torch.get_autocast_dtype(device.type)

    def off(self) -> AbstractContextManager:
        return torch.autocast(self.type, enabled=False)

    def as_it_was(self) -> AbstractContextManager:
        return torch.autocast(self.type, dtype=self.kind, enabled=self.on, cache_enabled=False)

    def least(self, parameters: Parameters) -> torch.dtype:
        """The least precise kind that a loss is computed in."""
        kinds = {t.dtype for t in parameters.tensors} | ({self.kind} if self.on else set())
        return max(kinds, key=lambda kind: torch.finfo(kind).eps)


class _Kinds(TorchDispatchMode):
    """The kinds of all numbers that are computed while it is on."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: set[torch.dtype] = set()

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = operation(*args, **(kwargs or {}))
        self.kinds |= {x.dtype for x in tree_leaves(found) if isinstance(x, Tensor)}
        return found


@dataclass(frozen=True)
class Losses:
    """The records' losses of a batch, `microbatch` records at a time, at the parameters as they stand or as functions of them.

    Raises:
        ValueError: they are not one a record.
        Changed: to compute them moved what is trained.
    """

    objective: OfVector | OfModule
    microbatch: int
    ambient: Autocast
    watch: Watch

    def parts(self, batch: Any) -> Iterator[Any]:
        b = number_of(batch)
        return (part(batch, slice(i, i + self.microbatch)) for i in range(0, b, self.microbatch))

    def here(self, batch: Any) -> Tensor:
        return torch.cat([self._checked(self.objective.losses, piece) for piece in self.parts(batch)])

    def at(self, parts: list[Tensor], piece: Any) -> Tensor:
        return self._checked(lambda piece: self.objective.losses_at(parts, piece), piece)

    def use_halves(self, batch: Any) -> bool:
        """Whether a record's loss is computed in half precision somewhere, by the module itself, say."""
        with _Kinds() as seen:
            self.here(part(batch, slice(0, 1)))
        return not seen.kinds.isdisjoint(HALVES)

    def _checked(self, losses: Callable[[Any], Tensor], piece: Any) -> Tensor:
        before = self.watch.versions()
        try:
            with self.ambient.as_it_was():
                found = losses(piece)
        finally:  # a loss that fails may have moved them before
            if self.watch.versions() != before:
                raise Changed("the loss, or the module, moved its own parameters while losses were computed")
        if not isinstance(found, Tensor) or found.shape != (number_of(piece),):
            shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ValueError(
                f"losses of shape {shape} are not allowed: give one loss a record, shape ({number_of(piece)},), as torch's "
                "losses do with reduction='none'"
            )
        return found


def measure(
    losses: Losses, parameters: Parameters, frame: Frame, mover: Mover, batch: Any, xi: float, chunk_size: int | None
) -> Slopes:
    """All slopes of a step. After two points the mover may still be away from w.

    Args:
        xi: perturbation scale; 0 for the directional derivative.
        chunk_size: directions evaluated at once, by vmap, where the frame is dense; one after the other where None.
    """
    if chunk_size is not None and isinstance(frame, Dense):
        return _at_once(losses, parameters, frame, batch, xi, chunk_size)
    if xi > 0:
        return _two_points(losses, frame, mover, batch, xi)
    return _derivatives(losses, parameters, frame, batch)


def _two_points(losses: Losses, frame: Frame, mover: Mover, batch: Any, xi: float) -> Slopes:
    columns, total = [], []
    for k in range(frame.K):
        mover.to(k, xi)
        ahead = losses.here(batch)
        mover.to(k, -xi)
        behind = losses.here(batch)
        columns.append(estimators.quotient(ahead, behind, xi).double())
        total.append(_mean(ahead, behind))
    return _finished(torch.stack(columns, 1), frame, sum(total) / frame.K)


def _derivatives(losses: Losses, parameters: Parameters, frame: Frame, batch: Any) -> Slopes:
    columns, values = [], torch.empty(0)
    for k in range(frame.K):
        values, slopes = _derivative(losses, parameters, frame.probe(k), batch)
        columns.append(slopes)
    return _finished(torch.stack(columns, 1), frame, _mean(values))


def _derivative(losses: Losses, parameters: Parameters, probe: Tensor, batch: Any) -> tuple[Tensor, Tensor]:
    """The losses, and their derivatives along a vector of shape (d,), shape (b,) each; nan where a loss is not finite."""
    parts = tuple(t.detach() for t in parameters.tensors)
    tangents = tuple(x.to(t.dtype) for x, t in zip(parameters.parts(probe), parameters.tensors, strict=True))
    found = []
    for piece in losses.parts(batch):

        def of(*parts: Tensor, piece: Any = piece) -> Tensor:
            return losses.at(list(parts), piece)

        with forward_mode():
            found.append(cast(tuple[Tensor, Tensor], jvp(of, parts, tangents)))
    values, slopes = (torch.cat(x) for x in zip(*found, strict=True))
    return values, slopes.where(values.isfinite(), torch.nan).double()


def made_of(losses: Losses, parameters: Parameters, frame: Frame, xi: float) -> dict[str, Callable[[Any], Tensor]]:
    """What a step is made of, of every record of a batch, shape (b,), at the parameters as they stand: its loss and, where xi is
    0, its derivative along a direction, in which records may be mixed where losses are not (`x - x.detach()`).
    """
    if xi > 0:
        return {"loss": losses.here}
    probe = frame.probe(0)
    return {"loss": losses.here, "derivative": lambda batch: _derivative(losses, parameters, probe, batch)[1]}


@contextmanager
def forward_mode() -> Iterator[None]:
    """Raises ValueError in place of torch's own error where an operation has no derivative in forward mode."""
    try:
        yield
    except NotImplementedError as missing:
        found = re.search(r"forward AD with (\S+)", str(missing))
        raise ValueError(
            f"xi = 0 is not allowed here: torch has no forward-mode derivative of {found[1] if found else 'some operation'}; "
            "give the setting an xi above 0, for two points a direction, which any operation takes"
        ) from missing


def _at_once(losses: Losses, parameters: Parameters, frame: Dense, batch: Any, xi: float, chunk_size: int) -> Slopes:
    w, found = parameters.vector(), []
    for piece in losses.parts(batch):

        def of(w: Tensor, piece: Any = piece) -> Tensor:
            return losses.at(parameters.parts(w), piece)

        U = frame.U.to(w.dtype)
        with forward_mode():
            slopes = estimators.two_point(of, w, U, xi, chunk_size) if xi > 0 else estimators.directional(of, w, U, chunk_size)
        found.append(slopes.double())
    return _finished(torch.cat(found), frame, _mean(losses.here(batch)))


def _finished(slopes: Tensor, frame: Frame, loss: float) -> Slopes:
    finite = slopes.isfinite()
    values, overflown = _finite(frame.resolve(slopes.where(finite, 0.0)))
    return Slopes(values, int((~finite).sum()) + overflown, loss)


def _finite(slopes: Tensor) -> tuple[Tensor, int]:
    """0 where a sum of finite numbers was not finite, which no clip would shorten; and how many were not."""
    finite = slopes.isfinite()
    return slopes.where(finite, 0.0), int((~finite).sum())


def _mean(*losses: Tensor) -> float:
    """Of those that are finite; nan where none is."""
    together = torch.cat(losses).double()
    return float(together[together.isfinite()].mean())


def from_gradients(losses: Losses, parameters: Parameters, frame: Dense, batch: Any, clip: float, chunk_size: int) -> "Unclipped":
    """The sum over the records whose gradient is no longer than the clip, along the directions, and the slopes of the others.

    A derivative along a unit vector is at most the gradient's length, and so is the vector of K of them: of those records nothing
    is clipped, so that their sum is what it would be with the clip.
    """
    w, U = parameters.vector(), frame.U
    total, longer, missing = w.new_zeros(len(w), dtype=torch.float64), [], 0

    def of(w: Tensor, piece: Any) -> Tensor:
        return losses.at(parameters.parts(w), piece)

    for piece in losses.parts(batch):
        found = estimators.gradients(of, w, piece, chunk_size)
        finite = found.isfinite().all(1)
        missing += int((~finite).sum()) * frame.K
        found = found.where(finite.unsqueeze(1), 0.0)
        idle = torch.linalg.vector_norm(found, dim=1, dtype=torch.float64) <= clip  # half precision would let longer ones pass
        total += found[idle].sum(0, dtype=torch.float64)
        longer.append(found[~idle].double() @ U.double())
    values, overflown = _finite(torch.cat(longer))
    return Unclipped(total @ U.double(), Slopes(values, missing + overflown, _mean(losses.here(batch))))


class Unclipped(NamedTuple):
    """The sum of the slopes of the records that no clip changes, shape (K,), and the slopes of the others."""

    total: Tensor
    others: Slopes
