"""Whether a record's loss depends on how far it is padded: that is up to the longest record of its batch."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from zoexplore.hf.losses import RecordLoss

LOOKED_AT = 4  # records, those with the most padding


@torch.no_grad()
def check_padding(loss: RecordLoss, model: nn.Module, batch: Any) -> None:
    """Compare losses of some records, padded as in their batch and not at all.

    Args:
        batch: with an `attention_mask` of shape (b, s) that is 0 where there is padding; any other is passed over.

    Raises:
        ValueError: a loss depends on padding.
    """
    device = next(model.parameters()).device
    batch = {name: x.to(device) for name, x in batch.items()} if isinstance(batch, Mapping) else {}
    mask = batch.get("attention_mask")
    if mask is None or mask.dim() != 2:
        return
    chosen = (mask == 0).sum(1).argsort(descending=True)[:LOOKED_AT]
    chosen = chosen[(mask[chosen] == 0).any(1)]
    if not len(chosen):
        return
    kind = max((p.dtype for p in model.parameters() if p.is_floating_point()), key=lambda kind: torch.finfo(kind).eps)
    padded = loss(model, {name: x[chosen] for name, x in batch.items()})
    if padded.shape != chosen.shape:
        return  # the optimiser refuses it in words
    for i, expected in zip(chosen.tolist(), padded.double().tolist(), strict=True):
        alone = float(loss(model, {name: _trimmed(x, mask[i].bool(), i) for name, x in batch.items()}))
        if abs(alone - expected) > torch.finfo(kind).eps ** 0.5 * (1 + abs(expected)):
            raise ValueError(
                f"the loss of record {i} of the batch is {expected:.6g} padded to {mask.shape[1]} tokens and {alone:.6g} as it "
                "is: it depends on the longest record of its batch, which no clip bounds; pad on the right "
                "(tokenizer.padding_side = 'right'), or every record to one length (padding='max_length')"
            )


def _trimmed(x: Tensor, kept: Tensor, i: int) -> Tensor:
    """One record, without its padding where it has some."""
    record = x[i : i + 1]
    return record[:, kept] if record.dim() > 1 and record.shape[1] == len(kept) else record
