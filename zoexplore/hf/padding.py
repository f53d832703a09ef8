"""Whether a record's loss depends on how far it is padded: that is up to the longest record of its batch."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from zoexplore.hf.losses import RecordLoss, base_of

LOOKED_AT = 4  # records, those with the most padding


@torch.no_grad()
def check_padding(loss: RecordLoss, model: nn.Module, batch: Any) -> bool:
    """Compare losses of some records with and without padding, even if their batch had none.

    Tensors of other shapes are rounded in another order. The model's own precision would hide the effect (left padding moves a
    loss of RoBERTa by .004, and bfloat16 rounds to .008), so it computes both in float64.

    Args:
        batch: with an `attention_mask` of shape (b, s) that is 0 where there is padding; batches without one are not checked.

    Raises:
        ValueError: a loss depends on padding.
    """
    device = next(model.parameters()).device
    batch = {name: x.to(device) for name, x in batch.items()} if isinstance(batch, Mapping) else {}
    mask = batch.get("attention_mask")
    if mask is None or mask.dim() != 2:
        return False
    chosen = (mask == 0).sum(1).argsort(descending=True)[:LOOKED_AT]
    chosen = chosen[(mask[chosen] == 0).any(1)]
    if not len(chosen):
        return False
    for i in chosen.tolist():
        padded = {name: x[i : i + 1] for name, x in batch.items()}
        trimmed = padded | _trimmed({name: padded[name] for name in _along_mask(model, padded)}, mask[i].bool())
        with InDouble() as computed:
            expected, found = (loss(model, dict(record)) for record in (padded, trimmed))
        if expected.shape != (1,):
            return False  # the optimiser refuses it in words
        # half of the digits are safe from rounding, and half precision's unit is far above them
        if abs(float(found - expected)) > torch.finfo(computed.kind).eps ** 0.5 * (1 + abs(float(expected))):
            raise ValueError(
                f"the loss of record {i} of the batch is {float(expected):.9g} padded to {mask.shape[1]} tokens and "
                f"{float(found):.9g} as it is: it depends on the longest record of its batch, which no clip bounds; pad on the "
                "right (tokenizer.padding_side = 'right'), or every record to one length (padding='max_length')"
            )
    return True


class InDouble(TorchDispatchMode):
    """While active, it computes all real numbers in float64, whatever dtype a model has or requests; in float32 where float64 has
    no kernel.

    Attributes:
        kind: the least precise dtype in use.
    """

    kind = torch.float64

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = args, kwargs or {}
        try:
            args, kwargs = _in(torch.float64, given)
            return _in(torch.float64, operation(*args, **kwargs))
        except (RuntimeError, ValueError):  # as grouped products of experts do, and those of whole numbers
            args, kwargs = _in(torch.float32, given)
            found = _in(torch.float64, operation(*args, **kwargs))
            self.kind = torch.float32
            return found


def _in(kind: torch.dtype, tree: Any) -> Any:
    def of(x: Any) -> Any:
        if isinstance(x, Tensor) and x.is_floating_point():
            return x.to(kind)
        return kind if isinstance(x, torch.dtype) and x.is_floating_point else x

    return tree_map(of, tree)


def _along_mask(model: nn.Module, record: Mapping[str, Tensor]) -> list[str]:
    """The entries that may have the mask's positions: a decoder's are others, even if there are as many."""
    has_decoder = getattr(getattr(base_of(model), "config", None), "is_encoder_decoder", False)
    return [name for name in record if not (has_decoder and name.startswith(("labels", "decoder_")))]


def _trimmed(record: Mapping[str, Tensor], kept: Tensor) -> dict[str, Tensor]:
    """Cut off a record's padding."""
    return {name: x[:, kept] if x.dim() > 1 and x.shape[1] == len(kept) else x for name, x in record.items()}
