"""Checks that a record's loss does not depend on its padding, whose length the longest record of
the batch decides.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from zoexplore.hf.losses import RecordLoss, base_of

LOOKED_AT = 4  # the most records that are checked; the most padded ones are chosen


@torch.no_grad()
def check_padding(loss: RecordLoss, model: nn.Module, batch: Any) -> bool:
    """Compare the losses of some padded records with and without their padding. Return whether any
    record was compared.

    Padding changes a tensor's shape, and so the order in which operations round. In the model's own
    precision this rounding can hide the effect of padding: padding on the left moves a loss of
    RoBERTa by .004, while bfloat16 rounds to .008. So both losses are computed in float64.

    Args:
        batch: a collated batch. It is checked only if it has an `attention_mask` of shape (b, s),
            which is 0 at padding.

    Raises:
        ValueError: a loss depends on padding.
    """
    device = next(model.parameters()).device
    batch = {name: x.to(device) for name, x in batch.items()} if isinstance(batch, Mapping) else {}
    mask = batch.get("attention_mask")
    if mask is None or mask.dim() != 2:
        return False
    padding = (mask == 0).sum(1)
    chosen = [i for i in padding.argsort(descending=True)[:LOOKED_AT].tolist() if padding[i]]
    for i in chosen:
        padded = {name: x[i : i + 1] for name, x in batch.items()}
        trimmed = _trimmed(model, padded, mask[i].bool())
        with InDouble() as computed:
            expected, found = (loss(model, dict(record)) for record in (padded, trimmed))
        if expected.shape != (1,):
            return False  # the optimiser refuses this shape, and says why
        # Rounding leaves the first half of the digits alone; padding's effect is far larger.
        if abs(float(found - expected)) > torch.finfo(computed.kind).eps ** 0.5 * (
            1 + abs(float(expected))
        ):
            raise ValueError(
                f"the loss of record {i} of the batch is {float(expected):.9g} padded to {mask.shape[1]} tokens and "
                f"{float(found):.9g} as it is: it depends on the longest record of its batch, which no clip bounds; pad on the "
                "right (tokenizer.padding_side = 'right'), or every record to one length (padding='max_length')"
            )
    return bool(chosen)


class InDouble(TorchDispatchMode):
    """Computes all real numbers in float64 while active, whatever dtype a model has or requests. An
    operation that has no kernel in float64 runs in float32.

    Attributes:
        kind: the least precise dtype used so far.
    """

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)
        self.kind = torch.float64

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        try:
            return _run(operation, torch.float64, args, kwargs or {})
        # the grouped products of experts and the products of integers have no kernel in float64
        except (RuntimeError, ValueError):
            found = _run(operation, torch.float32, args, kwargs or {})
            self.kind = torch.float32
            return found


def _run(operation: Any, kind: torch.dtype, args: Any, kwargs: Any) -> Any:
    given, named = tree_map(lambda x: _as(kind, x), (args, kwargs))
    return tree_map(lambda x: _as(torch.float64, x), operation(*given, **named))


def _as(kind: torch.dtype, x: Any) -> Any:
    """Convert a floating-point tensor to dtype `kind`; replace a floating-point dtype by `kind`."""
    if isinstance(x, Tensor):
        return x.to(kind) if x.is_floating_point() else x
    return kind if isinstance(x, torch.dtype) and x.is_floating_point else x


def _trimmed(model: nn.Module, record: Mapping[str, Tensor], kept: Tensor) -> dict[str, Tensor]:
    """Cut off a record's padding, except a decoder's, which the mask does not show."""
    has_decoder = getattr(getattr(base_of(model), "config", None), "is_encoder_decoder", False)
    others = ("labels", "decoder_") if has_decoder else ()
    return {
        name: x[:, kept]
        if x.dim() > 1 and x.shape[1] == len(kept) and not name.startswith(others)
        else x
        for name, x in record.items()
    }
