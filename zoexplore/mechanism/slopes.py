"""Measures losses' slopes along directions, by two-point quotients or forward-mode derivatives."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor
from torch.func import jvp

from zoexplore.mechanism.batches import number_of, part
from zoexplore.mechanism.losses import Losses
from zoexplore.mechanism.perturbation import Perturbed
from zoexplore.mechanism.record import Counts

MEASURED = 64  # the most records whose losses are measured for precision
ULPS = 16  # by how many rounding errors a loss may be off
ROUNDED = 0.1  # rounding below this fraction of the signal does not explain a difference


class Slopes(NamedTuple):
    """Slopes, with the mean loss and with counts. `values` are each record's slopes along the
    directions, shape (b, K), or a step's mean of these with the ridge, shape (K,), in float64. A
    slope that was not finite is 0.
    """

    values: Tensor
    loss: float
    counts: Counts = Counts()


def measure(losses: Losses, perturbed: Perturbed, batch: Any, xi: float) -> Slopes:
    """Measure all slopes of a step, one direction after the other. The parameters may be away from
    w afterwards, until `perturbed` brings them back.
    """
    along = _two_points if xi > 0 else _derivative
    columns, values = zip(
        *(along(losses, perturbed, k, batch, xi) for k in range(perturbed.frame.K)), strict=True
    )
    slopes = torch.stack(columns, 1)
    finite = slopes.isfinite()
    resolved = perturbed.frame.resolve(slopes.where(finite, 0.0))
    sums = resolved.isfinite()  # a clip cannot shorten a vector that is not finite
    quotients = torch.cat(values).double()
    loss = float(quotients[quotients.isfinite()].mean())
    counts = Counts(not_finite=int((~finite).sum()) + int((~sums).sum()))
    return Slopes(resolved.where(sums, 0.0), loss, counts)


def quotient(ahead: Tensor, behind: Tensor, xi: float) -> Tensor:
    """Return the quotients (l_i(w + xi u) - l_i(w - xi u))/(2 xi), shape (b,), at least in single
    precision.

    The two losses are close, so their rounding errors, divided by 2 xi, may matter.
    """
    kind = torch.promote_types(ahead.dtype, torch.float32)
    return (ahead.to(kind) - behind.to(kind)) / (2 * xi)


def derivative(losses: Callable[[Any], Tensor], w: Any, u: Any) -> tuple[Tensor, Tensor]:
    """Return (slopes, losses) of the records, shape (b,) each: the derivatives <grad l_i(w), u> in
    forward mode, nan if a loss is not finite, and the losses.

    Args:
        losses: computes the records' losses, shape (b,), from parameters like w.
        w: the parameters, as a tensor or any tree of tensors.
        u: a direction, in tensors shaped like w's.
    """
    values, slopes = cast(tuple[Tensor, Tensor], jvp(losses, (w,), (u,)))
    return slopes.where(values.isfinite(), torch.nan), values


def made_of(losses: Losses, perturbed: Perturbed, xi: float) -> dict[str, Callable[[Any], Tensor]]:
    """Return functions of a batch, by name. They compute the records' losses and, if xi is 0, their
    derivatives, shape (b,), at the current parameters. Derivatives may mix records even if losses
    do not (`x - x.detach()`).
    """
    ways: dict[str, Callable[[Any], Tensor]] = {"loss": losses.here}
    if xi == 0:
        ways["derivative"] = lambda batch: _derivative(losses, perturbed, 0, batch, xi)[0]
    return ways


def at(losses: Losses, perturbed: Perturbed, batch: Any, xi: float, k: int = 0) -> Tensor:
    """Compute the losses at w + xi v_k, and leave the parameters there."""
    perturbed.to(k, xi)
    return losses.here(batch)


def check_precision(
    losses: Losses, perturbed: Perturbed, batch: Any, xi: float, kind: torch.dtype
) -> None:
    """Raise ValueError if quotients over the distances 2 xi and 4 xi differ by more than their
    size, and rounding in `kind`, which the quotients divide by xi, may be the cause. Losses that
    are whole numbers, such as scores, are exempt, since they are not rounded.
    """
    some = part(batch, slice(0, min(number_of(batch), MEASURED)))
    values = torch.stack([at(losses, perturbed, some, x) for x in (xi, -xi, 2 * xi, -2 * xi)])
    values = values.double().nan_to_num(0.0, 0.0, 0.0)
    perturbed.back()
    near, far = (values[0] - values[1]) / (2 * xi), (values[2] - values[3]) / (4 * xi)
    apart, signal = float((near - far).norm()), float(far.norm())
    rounding = ULPS * torch.finfo(kind).eps * float(values[0].norm()) / (2 * xi)
    is_score = signal > 0 and bool((values == values.round()).all())
    if (
        kind != torch.float64
        and not is_score
        and rounding >= ROUNDED * signal
        and (apart > signal or signal == 0)
    ):
        larger = max(4 * xi, 1e-3 * perturbed.parameters.d**0.5)
        raise ValueError(
            f"xi = {xi:g} is not allowed in {kind}: at the first step quotients over this distance and twice as much differ by "
            f"{apart:.2g}, and are {signal:.2g} together: rounding. Take xi = {larger:.2g}, a more precise "
            "kind, or xi = 0; large models take 1e-3 sqrt(d)"
        )


def _two_points(
    losses: Losses, perturbed: Perturbed, k: int, batch: Any, xi: float
) -> tuple[Tensor, Tensor]:
    ahead, behind = (at(losses, perturbed, batch, x, k) for x in (xi, -xi))
    return quotient(ahead, behind, xi).double(), torch.cat([ahead, behind])


def _derivative(
    losses: Losses, perturbed: Perturbed, k: int, batch: Any, xi: float
) -> tuple[Tensor, Tensor]:
    w = [t.detach() for t in perturbed.parameters.tensors]
    u = [
        x.to(t.dtype)
        for x, t in zip(perturbed.parameters.parts(perturbed.frame.probe(k)), w, strict=True)
    ]
    with _forward_mode():
        found = [derivative(partial(losses.at, piece), w, u) for piece in losses.parts(batch)]
    slopes, values = (torch.cat(x) for x in zip(*found, strict=True))
    return slopes.double(), values


@contextmanager
def _forward_mode() -> Iterator[None]:
    """Raise ValueError instead of torch's own error if an operation has no forward-mode
    derivative.
    """
    try:
        yield
    except NotImplementedError as missing:
        operation = re.search(r"forward AD with (\S+)", str(missing))
        raise ValueError(
            f"xi = 0 is not allowed here: torch has no forward-mode derivative of {operation[1] if operation else 'some operation'}; "
            "give the setting an xi above 0, for two points a direction, which any operation takes"
        ) from missing
