"""Slopes of the losses along each direction: two-point quotients, or derivatives in forward mode."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.func import jvp, vmap
from torch.utils._pytree import tree_map

from zoexplore.mechanism.directions import Dense
from zoexplore.mechanism.losses import Losses
from zoexplore.mechanism.parameters import Parameters
from zoexplore.mechanism.perturbation import Perturbed

AT_ONCE = 2**23  # numbers that vmap may hold by default


class Slopes(NamedTuple):
    """Slopes along the directions, shape (b, K), float64, 0 where one was not finite; how many were not; the mean loss."""

    values: Tensor
    not_finite: int
    loss: float


def measure(
    losses: Losses, perturbed: Perturbed, batch: Any, xi: float, chunk_size: int | None
) -> Slopes:
    """All slopes of a step. After two points the parameters may still be away from w, until `perturbed` brings them back.
    Directions of a dense frame are evaluated `chunk_size` at once, by vmap; one after the other where it is None.
    """
    frame = perturbed.frame
    if xi > 0 and (chunk_size is None or not isinstance(frame, Dense)):
        slopes, values = _two_points(losses, perturbed, batch, xi)
    else:
        slopes, values = _of_function(losses, perturbed, batch, xi, chunk_size or 1)
    finite = slopes.isfinite()
    resolved = frame.resolve(slopes.where(finite, 0.0))
    sums = resolved.isfinite()  # no clip would shorten what is not finite
    found = torch.cat([x.flatten() for x in values]).double()
    loss = float(found[found.isfinite()].mean())
    return Slopes(resolved.where(sums, 0.0), int((~finite).sum()) + int((~sums).sum()), loss)


def slope(losses: Callable[[Any], Tensor], w: Any, u: Any, xi: float) -> tuple[Tensor, Tensor]:
    """The quotients (l_i(w + xi u) - l_i(w - xi u))/(2 xi), shape (b,), and the losses, two for each record. Where xi = 0 the
    limits <grad l_i(w), u> in forward mode, nan where the loss is not finite, and one loss each.

    Losses close to each other are subtracted, so that their rounding error comes back divided by xi.

    Args:
        losses: the records' losses, shape (b,), of parameters w: a tensor, or any tree of them.
        u: a direction, in tensors shaped like w's.
    """
    if xi > 0:
        ahead, behind = (losses(tree_map(lambda x, y, s=s: x + s * y, w, u)) for s in (xi, -xi))
        return quotient(ahead, behind, xi), torch.stack([ahead, behind])
    values, slopes = cast(tuple[Tensor, Tensor], jvp(losses, (w,), (u,)))
    return slopes.where(values.isfinite(), torch.nan), values


def quotient(ahead: Tensor, behind: Tensor, xi: float) -> Tensor:
    """The difference of two losses over the distance between their points, at least in single precision."""
    kind = torch.promote_types(ahead.dtype, torch.float32)
    return (ahead.to(kind) - behind.to(kind)) / (2 * xi)


def made_of(losses: Losses, perturbed: Perturbed, xi: float) -> dict[str, Callable[[Any], Tensor]]:
    """Every record's values in a step, shape (b,), at the parameters: its loss and, where xi is 0, its derivative along a
    direction, which may mix records where losses do not (`x - x.detach()`).
    """
    if xi > 0:
        return {"loss": losses.here}
    parameters, along = perturbed.parameters, perturbed.frame.probe(0).unsqueeze(1)
    return {"loss": losses.here, "derivative": lambda batch: _along(losses, parameters, along, batch, 0.0)[0].squeeze(1)}


def _two_points(losses: Losses, perturbed: Perturbed, batch: Any, xi: float) -> tuple[Tensor, list[Tensor]]:
    columns, values = [], []
    for k in range(perturbed.frame.K):
        perturbed.to(k, xi)
        ahead = losses.here(batch)
        perturbed.to(k, -xi)
        behind = losses.here(batch)
        columns.append(quotient(ahead, behind, xi).double())
        values += [ahead, behind]
    return torch.stack(columns, 1), values


def _of_function(losses: Losses, perturbed: Perturbed, batch: Any, xi: float, chunk: int) -> tuple[Tensor, list[Tensor]]:
    frame, parameters = perturbed.frame, perturbed.parameters
    chunks = (range(k, min(k + chunk, frame.K)) for k in range(0, frame.K, chunk))
    found = [_along(losses, parameters, torch.stack([frame.probe(k) for k in ks], 1), batch, xi) for ks in chunks]
    return torch.cat([slopes for slopes, _ in found], 1), [values for _, values in found]


def _along(losses: Losses, parameters: Parameters, U: Tensor, batch: Any, xi: float) -> tuple[Tensor, Tensor]:
    """Slopes along the columns of U, shape (b, K), float64, all evaluated at once, of the losses as functions; and the losses."""
    w, found = [t.detach() for t in parameters.tensors], []
    for piece in losses.parts(batch):

        def of(u: Tensor, piece: Any = piece) -> tuple[Tensor, Tensor]:
            parts = [x.to(t.dtype) for x, t in zip(parameters.parts(u), w, strict=True)]
            return slope(lambda parts: losses.at(parts, piece), w, parts, xi)

        with _forward_mode():
            one = U.shape[1] == 1  # one direction alone may work where vmap does not
            slopes, values = of(U[:, 0]) if one else vmap(of, in_dims=1)(U)
            found.append((slopes.unsqueeze(1) if one else slopes.mT, values.flatten()))
    return torch.cat([x for x, _ in found]).double(), torch.cat([x for _, x in found])


@contextmanager
def _forward_mode() -> Iterator[None]:
    """Raises ValueError in place of torch's own error where an operation has no derivative in forward mode."""
    try:
        yield
    except NotImplementedError as missing:
        found = re.search(r"forward AD with (\S+)", str(missing))
        raise ValueError(
            f"xi = 0 is not allowed here: torch has no forward-mode derivative of {found[1] if found else 'some operation'}; "
            "give the setting an xi above 0, for two points a direction, which any operation takes"
        ) from missing
