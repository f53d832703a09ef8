"""Whether a record's loss is its own: no clip bounds what a record says through the losses of others."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from zoexplore.mechanism.batches import number_of, part
from zoexplore.mechanism.slopes import Losses

LOOKED_AT = 16  # records, spread over the batch, that are looked at in several orders


class Mixed(ValueError):
    """A record's loss is not its own."""


def check(losses: Losses, batch: Any, kind: torch.dtype, scale: float) -> None:
    """Some records' losses, in their batch, among themselves, in reverse, shuffled, in halves that part any two of them, and the
    first, middle and last of them alone.

    Costs one evaluation of all records and of some hundred more, at the parameters as they stand. Take a point off the start,
    where symmetry (all parameters 0, say) may hide what depends on what.

    Args:
        kind: the least precise that the losses are computed in.
        scale: a difference of losses that matters, where losses themselves are smaller than that.

    Raises:
        Mixed: a record's loss depends on others, on their order or on chance.
    """
    b, same = number_of(batch), partial(_compare, tolerance=torch.finfo(kind).eps ** 0.5, scale=scale)
    chosen = torch.linspace(0, b - 1, min(b, LOOKED_AT), dtype=torch.float64).round().long()
    whole = losses.here(batch)[chosen.to(_device(batch))].double()
    some = part(batch, chosen)
    s = len(chosen)
    bits = [torch.arange(s) >> i & 1 for i in range((s - 1).bit_length())]  # of their numbers, of which any two differ in one
    ways = [
        ("without the other records", torch.arange(s)),
        ("with the records in reverse", torch.arange(s).flip(0)),
        ("with the records shuffled", torch.randperm(s, generator=torch.Generator().manual_seed(s))),
        *(("with some of the records", (bit == side).nonzero().squeeze(1)) for bit in bits for side in (0, 1)),
    ]
    for how, order in ways:
        found = losses.here(part(some, order)).double()
        same(whole[order.to(whole.device)], found, chosen[order], how)
    for i in sorted({0, s // 2, s - 1}):
        same(whole[i : i + 1], losses.here(part(some, slice(i, i + 1))).double(), chosen[i : i + 1], "alone")


def check_buffers(before: dict[str, Tensor], after: dict[str, Tensor]) -> None:
    """Raises Mixed where computing losses changed a buffer: it would take what records say past clip and noise. One that was
    made anew in another shape, as a cache is, may.
    """
    for name, buffer in before.items():
        found = after.get(name, buffer)
        if found.shape == buffer.shape and not ((found == buffer) | ((found != found) & (buffer != buffer))).all():
            raise Mixed(
                f"the buffer {name!r} was changed while losses were computed: it would remember records that no noise covers "
                "(statistics of a normalisation? call eval(), or switch them off)"
            )


def _compare(whole: Tensor, found: Tensor, records: Tensor, how: str, *, tolerance: float, scale: float) -> None:
    neither = whole.isfinite().logical_not() & found.isfinite().logical_not()
    same = ((whole - found).abs() <= tolerance * (scale + whole.abs())) | neither
    if not same.all():
        i = int(same.long().argmin())
        raise Mixed(
            f"the loss of record {int(records[i])} of the batch is {float(whole[i]):.6g} in its batch and {float(found[i]):.6g} "
            f"{how}: a loss must depend on its own record alone (is the batch the first dimension everywhere?), and not on "
            "chance (dropout: call eval())"
        )


def _device(batch: Any) -> torch.device:
    return next(x.device for x in torch.utils._pytree.tree_leaves(batch) if isinstance(x, Tensor))
