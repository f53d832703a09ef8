"""Losses a record for models of `transformers`, from their logits: the loss that a model returns is a mean over the batch."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

IGNORED = -100  # a label that no loss counts, as in transformers
RecordLoss = Callable[[Any, Mapping[str, Tensor]], Tensor]


def causal_lm_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """Each record's mean cross-entropy over its own next tokens; 0 where it has none.

    The attention mask determines positions, and padding predicts nothing, so that a record's loss does not depend on its padding.

    Args:
        model: returns logits of shape (b, s, vocabulary).
        batch: its inputs, and `labels` of shape (b, s), with -100 at what is not to be predicted.

    Returns:
        Shape (b,).
    """
    inputs = dict(batch)
    targets, mask = _labels(inputs)[:, 1:], inputs.get("attention_mask")
    if mask is not None:
        targets = targets.masked_fill(mask[:, :-1] == 0, IGNORED)
        if "position_ids" in signature(base_of(model).forward).parameters:
            inputs.setdefault("position_ids", (mask.long().cumsum(-1) - 1).clamp_(min=0))
    logits = model(**inputs).logits[:, :-1].float()
    each = F.cross_entropy(logits.transpose(1, 2), targets, ignore_index=IGNORED, reduction="none")
    return each.sum(1) / (targets != IGNORED).sum(1).clamp(min=1)


def classification_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """Each record's cross-entropy, of a model that gives it one class of several.

    Args:
        model: returns logits of shape (b, classes).
        batch: its inputs, and `labels`: classes, shape (b,).

    Returns:
        Shape (b,).

    Raises:
        ValueError: the batch has no labels, or not one class of several for each record.
    """
    inputs = dict(batch)
    labels = _labels(inputs)
    logits = model(**inputs).logits
    if logits.dim() != 2 or labels.shape != logits.shape[:1] or logits.shape[1] == 1:
        raise ValueError(
            f"labels of shape {tuple(labels.shape)} with logits of shape {tuple(logits.shape)} are not allowed: give each record "
            "one class of several; or a loss of your own: ZOTrainer(..., loss=)"
        )
    return F.cross_entropy(logits.float(), labels, reduction="none")


LOSSES: dict[str, RecordLoss] = {
    "ForCausalLM": causal_lm_loss,
    "ForSequenceClassification": classification_loss,
}


def loss_for(model: nn.Module) -> RecordLoss:
    """The loss that suits a model's head.

    Raises:
        ValueError: none is known for a model of this kind.
    """
    kind = getattr(base_of(model), "loss_type", None)
    if kind not in LOSSES:
        raise ValueError(
            f"the model {type(model).__name__} has no loss here: give ZOTrainer a loss(model, batch) that returns one number a "
            f"record, shape (b,); known are models of the kinds {', '.join(LOSSES)}"
        )
    return LOSSES[kind]


def base_of(model: nn.Module) -> Any:
    """The `transformers` model inside a PEFT model; other models unchanged."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model  # type: ignore[operator]


def check_model(model: nn.Module) -> None:
    """Raises ValueError, by the setting's name, where a model's loss or its outputs are of the batch as a whole, or where a
    `device_map` has spread it.
    """
    config: Any = getattr(base_of(model), "config", None)
    if len(places := {str(place) for place in getattr(base_of(model), "hf_device_map", {}).values()}) > 1:
        raise ValueError(
            f"a model spread over {', '.join(sorted(places))} by device_map is not allowed: its parts come and go as they run, "
            "and a direction is made in one place; load it on one device, in dtype=torch.bfloat16 if it is large"
        )
    if getattr(config, "output_router_logits", False):
        raise ValueError(
            "output_router_logits = True is not allowed: it asks for the load-balancing loss of the routers "
            f"(router_aux_loss_coef = {getattr(config, 'router_aux_loss_coef', '?')}), which is one of all records of a batch, "
            "and no clip bounds what a record says in it; set model.config.output_router_logits = False"
        )
    if getattr(config, "expert_capacity", None) is not None:
        raise ValueError(
            f"expert_capacity = {config.expert_capacity} is not allowed: which tokens an expert drops depends on all records of "
            "a batch; take a model whose experts have no capacity, such as Mixtral"
        )


def _labels(inputs: dict[str, Tensor]) -> Tensor:
    """Take the labels out of a batch."""
    if "labels" not in inputs:
        raise ValueError(
            f"a batch with the entries {', '.join(map(repr, inputs))} is not allowed: name one of them 'labels' "
            "(DataCollatorForLanguageModeling(tokenizer, mlm=False) does, for a causal model)"
        )
    return inputs.pop("labels")
