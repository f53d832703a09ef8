"""Checks that a record's loss does not depend on its padding, which the longest record of its batch
decides.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from zoexplore.hf.losses import RecordLoss, base_of

LOOKED_AT = 4  # the most records that are checked, those with the most padding


@torch.no_grad()
def check_padding(loss: RecordLoss, model: nn.Module, batch: Any) -> bool:
    """Compare losses of some padded records with and without padding. Returns whether there were
    any.

    Tensors of other shapes are rounded in another order. The model's own precision would hide the
    effect of padding (on the left it moves a loss of RoBERTa by .004, and bfloat16 rounds to .008),
    so both losses are computed in float64.

    Args:
        batch: a batch, which is checked only if it has an `attention_mask` of shape (b, s), 0 at
            padding.

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
            return False  # the optimiser refuses it in words
        # half of the digits are safe from rounding, and half precision's unit is far above them
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
        kind: the least precise dtype in use.
    """

    def __init__(self) -> None:
        TorchDispatchMode.__init__(self)
        self.kind = torch.float64

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        try:
            return _run(operation, torch.float64, args, kwargs or {})
        # grouped products of experts, and products of whole numbers, have no kernel in float64
        except (RuntimeError, ValueError):
            found = _run(operation, torch.float32, args, kwargs or {})
            self.kind = torch.float32
            return found


def _run(operation: Any, kind: torch.dtype, args: Any, kwargs: Any) -> Any:
    given, named = tree_map(lambda x: _as(kind, x), (args, kwargs))
    return tree_map(lambda x: _as(torch.float64, x), operation(*given, **named))


def _as(kind: torch.dtype, x: Any) -> Any:
    """Turn a real tensor into dtype `kind`, and a requested real dtype into `kind`."""
    if isinstance(x, Tensor):
        return x.to(kind) if x.is_floating_point() else x
    return kind if isinstance(x, torch.dtype) and x.is_floating_point else x


def _trimmed(model: nn.Module, record: Mapping[str, Tensor], kept: Tensor) -> dict[str, Tensor]:
    """Cut off a record's padding. The mask does not say which of a decoder's positions are
    padding.
    """
    has_decoder = getattr(getattr(base_of(model), "config", None), "is_encoder_decoder", False)
    others = ("labels", "decoder_") if has_decoder else ()
    return {
        name: x[:, kept]
        if x.dim() > 1 and x.shape[1] == len(kept) and not name.startswith(others)
        else x
        for name, x in record.items()
    }
