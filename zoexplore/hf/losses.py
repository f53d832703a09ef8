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

    Positions are counted from the attention mask, and nothing is predicted from padding, so that a loss does not depend on how
    far, or on which side, its record is padded.

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
    return _mean_over_tokens(model(**inputs).logits[:, :-1], targets)


def classification_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """Each record's loss of a classifier: cross-entropy for one class, its mean over tokens where every token has one, the mean
    of binary cross-entropies where labels are independent, and squared error where the output is a number.

    Args:
        model: returns logits of shape (b, classes), or (b, s, classes) for tokens.
        batch: its inputs, and `labels`: classes, shape (b,) or (b, s); or numbers, shape (b, classes), or (b,) for one output.

    Returns:
        Shape (b,).

    Raises:
        ValueError: the batch has no labels, or of a shape that suits no such loss.
    """
    inputs = dict(batch)
    labels = _labels(inputs)
    logits = model(**inputs).logits
    if logits.dim() == 3 and labels.shape == logits.shape[:2]:
        return _mean_over_tokens(logits, labels)
    if logits.dim() == 2 and labels.shape == logits.shape[:1]:
        if logits.shape[1] == 1:
            return (logits[:, 0].float() - labels.float()).square()
        return F.cross_entropy(logits.float(), labels, reduction="none")
    if labels.shape != logits.shape:
        raise ValueError(
            f"labels of shape {tuple(labels.shape)} with logits of shape {tuple(logits.shape)} are not allowed: give a class a "
            "record or a token, or as many numbers as there are outputs; or a loss of your own: ZOTrainer(..., loss=)"
        )
    if getattr(base_of(model).config, "problem_type", None) == "regression":
        return (logits.float() - labels.float()).square().mean(1)
    return F.binary_cross_entropy_with_logits(logits.float(), labels.float(), reduction="none").mean(1)


LOSSES: dict[str, RecordLoss] = {
    "ForCausalLM": causal_lm_loss,
    "ForSequenceClassification": classification_loss,
    "ForTokenClassification": classification_loss,
}


def loss_for(model: nn.Module) -> RecordLoss:
    """The loss that suits a model's head.

    Raises:
        ValueError: none here does.
    """
    kind = getattr(base_of(model), "loss_type", None)
    if kind not in LOSSES:
        raise ValueError(
            f"the model {type(model).__name__} has no loss here: give ZOTrainer a loss(model, batch) that returns one number a "
            f"record, shape (b,); known are models of the kinds {', '.join(LOSSES)}"
        )
    return LOSSES[kind]


def base_of(model: nn.Module) -> Any:
    """The model of `transformers` within one of PEFT's; any other as it is."""
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


def _mean_over_tokens(logits: Tensor, labels: Tensor) -> Tensor:
    each = F.cross_entropy(logits.float().transpose(1, 2), labels, ignore_index=IGNORED, reduction="none")
    return each.sum(1) / (labels != IGNORED).sum(1).clamp(min=1)
