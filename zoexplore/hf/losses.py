"""Computes one loss a record from the logits of a `transformers` model, since the model itself
returns a mean over the batch.

A record's loss equals what transformers computes for a batch of this record alone.
"""

import re
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn
from transformers.models.auto import modeling_auto

IGNORED = -100  # a label that no loss counts, as in transformers
RecordLoss = Callable[[Any, Mapping[str, Tensor]], Tensor]


def causal_lm_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """Compute each record's mean cross-entropy over its next tokens; 0 for a record without any.

    The attention mask determines positions, and padding predicts nothing, so that a record's loss
    does not depend on its padding.

    Args:
        model: returns logits of shape (b, s, vocabulary), or (b, v + s, vocabulary) if PEFT puts v
            virtual tokens before the text.
        batch: the model's inputs, and `labels` of shape (b, s), which are -100 at tokens that are
            not to be predicted.

    Returns:
        Shape (b,).

    Raises:
        ValueError: the batch has no labels, or not one for each token.
    """
    inputs = dict(batch)
    labels, mask = _labels(inputs), inputs.get("attention_mask")
    if mask is not None and _takes_positions(model):
        inputs.setdefault("position_ids", (mask.long().cumsum(-1) - 1).clamp_(min=0))
    logits = model(**inputs).logits
    labels, virtual = _of_positions(labels, logits)
    targets = labels[:, 1:]
    if mask is not None:
        targets = targets.masked_fill(F.pad(mask, (virtual, 0), value=1)[:, :-1] == 0, IGNORED)
    return _mean(logits[:, :-1], targets)


def token_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """Compute each record's mean cross-entropy over its labelled positions; 0 for a record without
    any. This loss suits masked language models, token classifiers and encoder-decoder models.

    Args:
        model: returns logits of shape (b, s, classes), or (b, v + s, classes) if only the last s
            positions have labels.
        batch: the model's inputs, and `labels` of shape (b, s), which are -100 at positions that do
            not count.

    Returns:
        Shape (b,).

    Raises:
        ValueError: the batch has no labels, or not one for each position.
    """
    inputs = dict(batch)
    labels = _labels(inputs)
    # an encoder-decoder model makes the decoder's inputs from the labels
    has_decoder = base_of(model).config.is_encoder_decoder
    logits = model(**(batch if has_decoder else inputs)).logits
    return _mean(logits, _of_positions(labels, logits)[0])


def classification_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """Compute each record's loss under a classifier of texts, images, sounds or choices, or under a
    regression. It is the cross-entropy of one class out of several, the mean cross-entropy of
    several labels that are 0 or 1, or the mean squared error of a regression. The config's
    `problem_type` decides which, or else the number of outputs and the type of the labels.

    Args:
        model: returns logits of shape (b, classes).
        batch: the model's inputs, and `labels`: whole numbers of shape (b,) for one class, or real
            numbers of the logits' shape for several labels or a regression. The labels of a
            regression with one output may have shape (b,).

    Returns:
        Shape (b,).

    Raises:
        ValueError: the batch has no labels, or its labels do not suit the model.
    """
    inputs = dict(batch)
    labels = _labels(inputs)
    logits = model(**inputs).logits.float()
    kind = getattr(base_of(model).config, "problem_type", None)
    if kind is None:
        several = (
            "multi_label_classification"
            if labels.is_floating_point()
            else "single_label_classification"
        )
        kind = "regression" if logits.shape[-1] == 1 else several
    one = kind == "single_label_classification"
    shape = logits.shape[:1] if one else logits.shape
    if logits.dim() != 2 or (
        labels.shape != shape and (one or labels.numel() != len(logits) or logits.shape[1] > 1)
    ):
        raise ValueError(
            f"labels of shape {tuple(labels.shape)} with logits of shape {tuple(logits.shape)} are not allowed: give each record "
            "one class of several, or a number for each of the model's outputs; or a loss of your own: ZOTrainer(..., loss=)"
        )
    if one:
        return F.cross_entropy(logits, labels, reduction="none")
    each = F.mse_loss if kind == "regression" else F.binary_cross_entropy_with_logits
    return each(logits, labels.reshape(logits.shape).float(), reduction="none").mean(1)


def span_loss(model: nn.Module, batch: Mapping[str, Tensor]) -> Tensor:
    """Compute the mean of each record's two cross-entropies, one for where its answer starts and
    one for where it ends. A position beyond the text counts 0.

    Args:
        model: returns `start_logits` and `end_logits` of shape (b, s).
        batch: the model's inputs, `start_positions` and `end_positions`, shape (b,).

    Returns:
        Shape (b,).

    Raises:
        ValueError: the batch lacks `start_positions` or `end_positions`.
    """
    inputs = dict(batch)
    targets = [_labels(inputs, name).reshape(-1) for name in ("start_positions", "end_positions")]
    outputs = model(**inputs)
    pairs = zip((outputs.start_logits, outputs.end_logits), targets, strict=True)
    start, end = (
        F.cross_entropy(
            logits.float(),
            at.clamp(0, logits.shape[1]),
            ignore_index=logits.shape[1],
            reduction="none",
        )
        for logits, at in pairs
    )
    return (start + end) / 2


# The loss of each task. Tasks have the names of transformers' tables of classes and of `loss_type`;
# the first task whose table has a model's class decides.
TASKS: dict[str, RecordLoss] = dict.fromkeys(
    ["CausalLM", "SeqToSeqCausalLM", "ConditionalGeneration"], causal_lm_loss
)
TASKS |= {
    f"{kind}Classification": classification_loss for kind in ("Sequence", "Image", "Audio", "Video")
}
TASKS |= {"MultipleChoice": classification_loss, "QuestionAnswering": span_loss}
TASKS |= dict.fromkeys(["TokenClassification", "MaskedLM"], token_loss)
# the causal models that predict a label at its own position, not at the position before
NOT_SHIFTED = """
    BartForCausalLM BigBirdPegasusForCausalLM BlenderbotForCausalLM BlenderbotSmallForCausalLM CpmAntForCausalLM MBartForCausalLM
    MarianForCausalLM MvpForCausalLM PLBartForCausalLM PegasusForCausalLM TrOCRForCausalLM WhisperForCausalLM XLMWithLMHeadModel
    XLNetLMHeadModel
""".split()


def loss_for(model: nn.Module) -> RecordLoss:
    """Return the loss that suits a model's head.

    Raises:
        ValueError: no loss is known for a model of this kind.
    """
    base = base_of(model)
    names = [kind.__name__ for kind in type(base).__mro__]
    known = (loss for name in names for task, loss in TASKS.items() if name in classes(task))
    found = next(known, None) or TASKS.get(str(getattr(base, "loss_type", "")).removeprefix("For"))
    if found is None:
        raise ValueError(
            f"the model {names[0]} has no loss here: give ZOTrainer a loss(model, batch) that returns one number a record, shape "
            f"(b,); known are models for {', '.join(TASKS)}"
        )
    has_decoder = getattr(getattr(base, "config", None), "is_encoder_decoder", False)
    return (
        token_loss
        if found is causal_lm_loss and (has_decoder or {*NOT_SHIFTED} & {*names})
        else found
    )


def classes(task: str) -> list[str]:
    """List the names of the model classes of a task."""
    table = re.sub("(?<=[a-z])(?=[A-Z])", "_", task).upper()
    found = getattr(modeling_auto, f"MODEL_FOR_{table}_MAPPING_NAMES", {}).values()
    return [name for names in found for name in ([names] if isinstance(names, str) else names)]


def base_of(model: nn.Module) -> Any:
    """Return the `transformers` model inside the wrappers of torch.compile and PEFT; return a model
    without wrappers as it is.
    """
    plain: Any = getattr(model, "_orig_mod", model)
    return base_of(plain.get_base_model()) if hasattr(plain, "get_base_model") else plain


def check_model(model: nn.Module) -> None:
    """Raise ValueError if a model has nothing to train, is spread over devices by a `device_map`,
    or has outputs or losses that depend on the batch as a whole.
    """
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError(
            "a model without a parameter to train is not allowed: all are frozen; set requires_grad_() on some"
        )
    config: Any = getattr(base_of(model), "config", None)
    if (
        len(
            places := {
                str(place) for place in getattr(base_of(model), "hf_device_map", {}).values()
            }
        )
        > 1
    ):
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


def _labels(inputs: dict[str, Tensor], name: str = "labels") -> Tensor:
    """Remove the labels from a batch, and return them."""
    if name not in inputs:
        raise ValueError(
            f"a batch with the entries {', '.join(map(repr, inputs))} is not allowed: name one of them {name!r} "
            "(DataCollatorForLanguageModeling(tokenizer, mlm=False) makes labels, for a causal model)"
        )
    return inputs.pop(name)


def _of_positions(labels: Tensor, logits: Tensor) -> tuple[Tensor, int]:
    """Pad the labels to all positions of the logits. Return them, and the number of virtual tokens,
    which come first and have no labels.
    """
    if labels.dim() != 2 or logits.dim() != 3 or labels.shape[1] > logits.shape[1]:
        raise ValueError(
            f"labels of shape {tuple(labels.shape)} with logits of shape {tuple(logits.shape)} are not allowed: this model takes "
            "a label for each token; give labels of the inputs' shape, with -100 where a token does not count"
        )
    virtual = logits.shape[1] - labels.shape[1]
    return F.pad(labels, (virtual, 0), value=IGNORED), virtual


def _mean(logits: Tensor, targets: Tensor) -> Tensor:
    """Average each record's cross-entropy over the targets that count."""
    each = F.cross_entropy(
        logits.float().transpose(1, 2), targets, ignore_index=IGNORED, reduction="none"
    )
    return each.sum(1) / (targets != IGNORED).sum(1).clamp(min=1)


def _takes_positions(model: nn.Module) -> bool:
    """Return whether a model may be given `position_ids`. PEFT's prompts bring their own, and
    models like RoBERTa compute theirs from the tokens.
    """
    prompts = getattr(getattr(model, "_orig_mod", model), "active_peft_config", None)
    base = base_of(model)
    embeddings = getattr(getattr(base, "base_model", None), "embeddings", None)
    made = hasattr(embeddings, "create_position_ids_from_input_ids") or getattr(
        prompts, "is_prompt_learning", False
    )
    return not made and "position_ids" in signature(base.forward).parameters
