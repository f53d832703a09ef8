"""A record's loss is what transformers computes for it alone, wherever it stands and however far it
is padded.
"""

from types import SimpleNamespace

import pytest
import torch
from peft import PromptEncoderConfig, PromptTuningConfig, get_peft_model
from torch.nn.functional import pad as filled
from transformers import AutoModelForSequenceClassification, GPT2Config
from transformers.models.auto import modeling_auto

from tests.effort import proof
from tests.hf.every_class import built
from tests.hf.tiny import llama, mixtral, pad, roberta, texts, trainer
from zoexplore.hf import causal_lm_loss, classification_loss
from zoexplore.hf.losses import TASKS, check_model, classes, loss_for, span_loss, token_loss
from zoexplore.hf.padding import check_padding
from zoexplore.mechanism import Batch


def sentences(n=6):
    return [{"input_ids": r["input_ids"]} for r in texts(n)]


@torch.no_grad()
@pytest.mark.parametrize("make", [llama, mixtral])
@pytest.mark.parametrize("side", ["right", "left"])
def test_a_causal_model_has_its_own_loss_of_each_record_alone(make, side):
    model, records = make().eval(), sentences()
    theirs = [float(model(**pad([r])).loss) for r in records]
    torch.testing.assert_close(
        causal_lm_loss(model, pad(records, side)).tolist(), theirs, rtol=2e-6, atol=0
    )
    assert loss_for(model) is causal_lm_loss


@torch.no_grad()
def test_a_classifier_has_its_own_loss_of_each_record_alone():
    model, records, labels = roberta(num_labels=3).eval(), sentences(4), torch.tensor([0, 2, 1, 1])
    theirs = [
        float(model(**pad([r]) | {"labels": y[None]}).loss)
        for r, y in zip(records, labels, strict=True)
    ]
    ours = classification_loss(model, pad(records) | {"labels": labels})
    torch.testing.assert_close(ours.tolist(), theirs, rtol=1e-5, atol=1e-7)
    assert loss_for(model) is classification_loss


CAUSAL = {
    kind: name
    for kind, name in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items()
    if isinstance(name, str)
}
FEW = ("bart", "bert", "ctrl", "gpt2", "openai-gpt", "reformer", "xlm", "xlnet")
OWN = {"prophetnet": "n-grams and label smoothing"}  # losses of their own kind


def theirs_and_ours(kind, name):
    """A record's loss by the model and by ours; None where no tiny configuration builds it or takes
    words alone.
    """
    ids = torch.randint(4, 45, (1, 8), generator=torch.Generator().manual_seed(1))
    try:
        if (model := built(kind, name)) is None:
            return None
        theirs = float(model(input_ids=ids, labels=ids.clone()).loss)
    except Exception:  # whatever a default configuration that was shrunk may bring about
        return None
    mask = {} if kind in ("reformer",) else {"attention_mask": torch.ones_like(ids)}
    return theirs, float(loss_for(model)(model, {"input_ids": ids, "labels": ids} | mask))


@torch.no_grad()
@pytest.mark.parametrize("kinds", [FEW, proof([*CAUSAL])], ids=["few", "all"])
def test_every_causal_model_has_its_own_loss(kinds):
    found = {kind: theirs_and_ours(kind, CAUSAL[kind]) for kind in kinds if kind not in OWN}
    compared = {kind: pair for kind, pair in found.items() if pair is not None}
    assert {
        kind: pair
        for kind, pair in compared.items()
        if abs(pair[0] - pair[1]) > 1e-5 * (1 + abs(pair[0]))
    } == {}
    assert len(compared) > (len(kinds) / 2 if len(kinds) > len(FEW) else len(FEW) - 1)


def records_of(task):
    """Four records of a task, as its collator makes them, but for padding."""
    draw = torch.Generator().manual_seed(1)

    def numbers(below, *shape):
        return torch.randint(below, shape, generator=draw)

    ids = {"input_ids": numbers(40, 4, 8) + 4}
    some = torch.where(numbers(2, 4, 8) > 0, numbers(2, 4, 8), -100)
    some[3] = -100  # a record without labels
    return {
        "several": ids | {"labels": numbers(2, 4, 3).float()},
        "number": ids | {"labels": torch.randn(4, generator=draw)},
        "numbers": ids | {"labels": torch.randn(4, 3, generator=draw)},
        "TOKEN_CLASSIFICATION": ids | {"labels": some},
        "MASKED_LM": ids | {"labels": some},
        "QUESTION_ANSWERING": ids
        | {
            "start_positions": torch.tensor([0, 3, 9, 2]),
            "end_positions": torch.tensor([2, 7, 9, 1]),
        },
        "MULTIPLE_CHOICE": {"input_ids": numbers(40, 4, 2, 8) + 4, "labels": numbers(2, 4)},
        "IMAGE_CLASSIFICATION": {
            "pixel_values": torch.randn(4, 3, 32, 32, generator=draw),
            "labels": numbers(2, 4),
        },
        "SEQ_TO_SEQ_CAUSAL_LM": ids
        | {"labels": torch.where(numbers(4, 4, 5) > 0, numbers(40, 4, 5), -100)},
    }[task]


@torch.no_grad()
@pytest.mark.parametrize(
    ("kind", "name", "task"),
    [
        ("roberta", "RobertaForTokenClassification", "TOKEN_CLASSIFICATION"),
        ("roberta", "RobertaForMaskedLM", "MASKED_LM"),
        ("roberta", "RobertaForQuestionAnswering", "QUESTION_ANSWERING"),
        ("roberta", "RobertaForMultipleChoice", "MULTIPLE_CHOICE"),
        ("vit", "ViTForImageClassification", "IMAGE_CLASSIFICATION"),
        ("t5", "T5ForConditionalGeneration", "SEQ_TO_SEQ_CAUSAL_LM"),
        ("bart", "BartForConditionalGeneration", "SEQ_TO_SEQ_CAUSAL_LM"),
    ],
)
def test_every_task_has_its_own_loss_of_each_record_alone(kind, name, task):
    model, batch = built(kind, name), records_of(task)
    ours = loss_for(model)(model, batch)
    theirs = torch.stack(
        [model(**{k: x[i : i + 1] for k, x in batch.items()}).loss for i in range(4)]
    )
    # theirs is nan where nothing has a label
    torch.testing.assert_close(ours, theirs.nan_to_num(), rtol=2e-5, atol=1e-6)


@torch.no_grad()
@pytest.mark.parametrize("task, outputs", [("several", 3), ("number", 1), ("numbers", 3)])
def test_a_classifier_of_several_labels_and_a_regression_have_theirs(task, outputs):
    batch, model = records_of(task), roberta(num_labels=outputs, vocab_size=50).eval()
    if task == "numbers":
        model.config.problem_type = "regression"
    ours = classification_loss(model, batch)
    theirs = [float(model(**{k: x[i : i + 1] for k, x in batch.items()}).loss) for i in range(4)]
    torch.testing.assert_close(ours.tolist(), theirs, rtol=1e-5, atol=1e-7)


def test_every_class_of_a_known_task_has_a_loss():
    names = {name for task in TASKS for name in classes(task)}
    assert (
        len(names) > 600
        and {"GPT2LMHeadModel", "Gemma3ForConditionalGeneration", "T5ForConditionalGeneration"}
        <= names
    )
    known = {name: loss_for(type(name, (torch.nn.Module,), {})()) for name in names}
    assert known["GPT2LMHeadModel"] is known["Gemma3ForConditionalGeneration"] is causal_lm_loss
    assert known["XLNetLMHeadModel"] is known["RobertaForMaskedLM"] is token_loss
    assert (
        known["RobertaForQuestionAnswering"] is span_loss
        and known["ViTForImageClassification"] is classification_loss
    )


@torch.no_grad()
@pytest.mark.parametrize("kind", [PromptTuningConfig, PromptEncoderConfig])
def test_virtual_tokens_come_before_a_record_s_own(kind):
    more = {"encoder_hidden_size": 8} if kind is PromptEncoderConfig else {}
    model = get_peft_model(
        llama(), kind(task_type="CAUSAL_LM", num_virtual_tokens=3, **more)
    ).eval()
    records = sentences()
    theirs = [float(model(**pad([r])).loss) for r in records]
    torch.testing.assert_close(
        loss_for(model)(model, pad(records)).tolist(), theirs, rtol=2e-6, atol=0
    )


def test_labels_that_suit_nothing_are_refused():
    model = roberta().eval()
    for labels, outputs in (
        (torch.zeros(4, 7), 2),
        (torch.zeros(4, 3).long(), 3),
        (torch.zeros(4), 2),
    ):
        with pytest.raises(ValueError, match="labels of shape"):
            classification_loss(
                roberta(num_labels=outputs).eval(), pad(sentences(4)) | {"labels": labels}
            )
    with pytest.raises(ValueError, match="name one of them 'labels'"):
        classification_loss(model, {"input_ids": torch.ones(2, 3, dtype=torch.long)})
    with pytest.raises(ValueError, match="Linear has no loss here: give ZOTrainer a loss"):
        loss_for(torch.nn.Linear(1, 1))
    batch = pad(sentences(4))
    for labels in (torch.zeros(4).long(), filled(batch["labels"], (0, 2))):
        with pytest.raises(ValueError, match=r"takes a label for each token"):
            causal_lm_loss(llama().eval(), batch | {"labels": labels})


def test_losses_of_the_whole_batch_are_refused_by_name():
    check_model(mixtral())
    with pytest.raises(
        ValueError, match=r"output_router_logits = True .*router_aux_loss_coef = 0.001"
    ):
        check_model(mixtral(output_router_logits=True))
    model = torch.nn.Linear(1, 1)
    model.config = SimpleNamespace(expert_capacity=64)
    with pytest.raises(ValueError, match="expert_capacity = 64"):
        check_model(model)
    spread = llama()
    spread.hf_device_map = {"model": 0}
    check_model(spread)
    spread.hf_device_map = {"model": 0, "lm_head": "cpu"}
    with pytest.raises(ValueError, match="a model spread over 0, cpu by device_map is not allowed"):
        check_model(spread)


LONGEST = "depends on the longest record of its batch"


def test_a_loss_that_depends_on_padding_is_refused():
    """GPT-2 counts positions from the row's beginning, padding included."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=40, n_positions=24, n_embd=16, n_layer=1, n_head=2, pad_token_id=1
    )
    model = AutoModelForSequenceClassification.from_config(config).eval()
    records = [r | {"labels": 1} for r in sentences()]
    assert check_padding(classification_loss, model, pad(records))
    with pytest.raises(ValueError, match=LONGEST):
        check_padding(classification_loss, model, pad(records, "left"))


def test_a_decoder_s_labels_are_not_cut_with_its_encoder_s_inputs():
    """Where there are as many of both."""
    model, records = built("t5", "T5ForConditionalGeneration"), sentences()
    batch = pad(records) | {"labels": torch.randint(4, 45, pad(records)["input_ids"].shape)}
    assert check_padding(token_loss, model, batch)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(
    "make, loss",
    [(roberta, classification_loss), (llama, causal_lm_loss), (mixtral, causal_lm_loss)],
)
def test_so_is_one_that_depends_on_it_by_less_than_half_precision_rounds(make, loss, kind):
    model = make().eval().to(kind)
    batch = pad([r | {"labels": 1} for r in sentences()] if make is roberta else sentences())
    assert check_padding(loss, model, batch)
    with pytest.raises(ValueError, match=LONGEST):
        check_padding(
            lambda model, batch: loss(model, batch) + 3e-4 * batch["input_ids"].shape[1],
            model,
            batch,
        )
    if make is roberta:  # moves a loss by .004
        with pytest.raises(ValueError, match=LONGEST):
            check_padding(loss, model, pad([r | {"labels": 1} for r in sentences()], "left"))


def test_padding_that_comes_with_a_later_batch_is_looked_at_too(tmp_path):
    """Where the first batch has none."""
    made = trainer(
        tmp_path,
        roberta(),
        collator=lambda records: pad(records, "left"),
        per_device_train_batch_size=1,
        max_steps=3,
    )
    made.train()
    assert not made._padding_is_checked
    with pytest.raises(ValueError, match=LONGEST):
        made.training_step(
            made.model,
            Batch(torch.arange(6), pad([r | {"labels": 1} for r in sentences()], "left")),
        )
