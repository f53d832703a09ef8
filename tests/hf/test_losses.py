"""A record's loss is what transformers computes for it alone, wherever it stands and however far it is padded."""

from types import SimpleNamespace

import pytest
import torch
from transformers import AutoModelForSequenceClassification, GPT2Config

from tests.hf.tiny import llama, mixtral, pad, roberta, texts, trainer
from zoexplore.hf import causal_lm_loss, classification_loss
from zoexplore.hf.losses import check_model, loss_for
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
    torch.testing.assert_close(causal_lm_loss(model, pad(records, side)).tolist(), theirs, rtol=2e-6, atol=0)
    assert loss_for(model) is causal_lm_loss


@torch.no_grad()
def test_a_classifier_has_its_own_loss_of_each_record_alone():
    model, records, labels = roberta(num_labels=3).eval(), sentences(4), torch.tensor([0, 2, 1, 1])
    theirs = [float(model(**pad([r]) | {"labels": y[None]}).loss) for r, y in zip(records, labels, strict=True)]
    ours = classification_loss(model, pad(records) | {"labels": labels})
    torch.testing.assert_close(ours.tolist(), theirs, rtol=1e-5, atol=1e-7)
    assert loss_for(model) is classification_loss


def test_labels_that_suit_nothing_are_refused():
    model = roberta().eval()
    for labels, outputs in ((torch.zeros(4, 7), 2), (torch.eye(4)[:, :3], 3), (torch.zeros(4), 1)):
        with pytest.raises(ValueError, match="labels of shape"):
            classification_loss(roberta(num_labels=outputs).eval(), pad(sentences(4)) | {"labels": labels})
    with pytest.raises(ValueError, match="name one of them 'labels'"):
        classification_loss(model, {"input_ids": torch.ones(2, 3, dtype=torch.long)})
    with pytest.raises(ValueError, match="Linear has no loss here: give ZOTrainer a loss"):
        loss_for(torch.nn.Linear(1, 1))


def test_losses_of_the_whole_batch_are_refused_by_name():
    check_model(mixtral())
    with pytest.raises(ValueError, match=r"output_router_logits = True .*router_aux_loss_coef = 0.001"):
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
    config = GPT2Config(vocab_size=40, n_positions=24, n_embd=16, n_layer=1, n_head=2, pad_token_id=1)
    model = AutoModelForSequenceClassification.from_config(config).eval()
    records = [r | {"labels": 1} for r in sentences()]
    assert check_padding(classification_loss, model, pad(records))
    with pytest.raises(ValueError, match=LONGEST):
        check_padding(classification_loss, model, pad(records, "left"))


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("make, loss", [(roberta, classification_loss), (llama, causal_lm_loss), (mixtral, causal_lm_loss)])
def test_so_is_one_that_depends_on_it_by_less_than_half_precision_rounds(make, loss, kind):
    model = make().eval().to(kind)
    batch = pad([r | {"labels": 1} for r in sentences()] if make is roberta else sentences())
    assert check_padding(loss, model, batch)
    with pytest.raises(ValueError, match=LONGEST):
        check_padding(lambda model, batch: loss(model, batch) + 3e-4 * batch["input_ids"].shape[1], model, batch)
    if make is roberta:  # moves a loss by .004
        with pytest.raises(ValueError, match=LONGEST):
            check_padding(loss, model, pad([r | {"labels": 1} for r in sentences()], "left"))


def test_padding_that_comes_with_a_later_batch_is_looked_at_too(tmp_path):
    """Where the first batch has none."""
    made = trainer(tmp_path, roberta(), collator=lambda records: pad(records, "left"), per_device_train_batch_size=1, max_steps=3)
    made.train()
    assert not made._padding_is_checked
    with pytest.raises(ValueError, match=LONGEST):
        made.training_step(made.model, Batch(torch.arange(6), pad([r | {"labels": 1} for r in sentences()], "left")))
