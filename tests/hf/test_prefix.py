"""A frozen prefix runs once for a batch, and the run is the same to the last bit."""

from unittest.mock import patch

import pytest
import torch
from peft import LoraConfig, PromptTuningConfig, get_peft_model

from tests.effort import proof
from tests.hf.tiny import llama, pad, roberta, texts, trainer, weights
from zoexplore.hf import ZOTrainer
from zoexplore.hf.prefix import Prefix


def head():
    model = roberta(num_hidden_layers=3)
    model.roberta.requires_grad_(False)
    return model, model.roberta.encoder.layer[0]


def last_layers():
    model = roberta(num_hidden_layers=3)
    model.roberta.embeddings.requires_grad_(False)
    model.roberta.encoder.layer[:2].requires_grad_(False)
    return model, model.roberta.encoder.layer[1]


def late_lora():
    torch.manual_seed(1)
    options = {"target_modules": ["q_proj"], "layers_to_transform": [2]}
    model = get_peft_model(
        llama(num_hidden_layers=3), LoraConfig(task_type="CAUSAL_LM", r=2, **options)
    )
    return model, model.get_base_model().model.layers[1]


def early_lora():
    torch.manual_seed(1)
    options = {"target_modules": ["q_proj"], "layers_to_transform": [0]}
    model = get_peft_model(
        llama(num_hidden_layers=3), LoraConfig(task_type="CAUSAL_LM", r=2, **options)
    )
    return model, model.get_base_model().model.layers[1]


def prompts():
    torch.manual_seed(1)
    model = get_peft_model(llama(), PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3))
    return model, model.get_base_model().model.layers[0]


def trained(folder, make, **options):
    """A run, its weights, and how often a layer ran in each of its steps."""
    model, layer = make()
    data = texts() if make in (head, last_layers) else texts().remove_columns("labels")
    made, calls, forward = (
        trainer(folder, model, data, K=2, max_steps=6, xi=0.05, **options),
        [],
        type(layer).forward,
    )

    def counted(self, *args, **keywords):
        calls[-1] += self is layer
        return forward(self, *args, **keywords)

    step = ZOTrainer.training_step

    def counting(*args):
        calls.append(0)
        return step(*args)

    type(layer).forward = counted
    try:
        with patch.object(ZOTrainer, "training_step", counting):
            made.train()
    finally:
        type(layer).forward = forward
    assert "forward" not in vars(layer)
    return made, calls


@pytest.mark.parametrize(
    "make, is_first, microbatch",
    [
        (head, True, None),
        proof(head, True, 3),
        proof(last_layers, True, None),
        (last_layers, True, 3),
        (late_lora, True, None),
        proof(late_lora, True, 3),
        (early_lora, False, None),
        proof(early_lora, False, 3),
        proof(prompts, False, None),
        (prompts, False, 3),
    ],
)
def test_it_runs_once_and_nothing_else_is_changed(
    tmp_path, monkeypatch, make, is_first, microbatch
):
    made, calls = trained(tmp_path, make, microbatch=microbatch)
    monkeypatch.setattr(Prefix, "__init__", lambda self, *_: vars(self).update(parts=[]))
    plain, usual = trained(tmp_path, make, microbatch=microbatch)
    assert torch.equal(weights(made.model), weights(plain.model))
    assert made.privacy_report().epsilon == plain.privacy_report().epsilon
    pieces = 1 if microbatch is None else 3
    assert min(usual) == usual[4] == 4 * pieces
    assert calls[4] == (pieces if is_first else 4 * pieces)


def test_what_is_written_to_is_computed_anew(tmp_path):
    """A loss that changes in place what the prefix returned."""

    class Head(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = (
                torch.nn.Linear(3, 4).requires_grad_(False),
                torch.nn.Linear(4, 2),
            )

        def forward(self, x):
            return self.head(self.body(x).mul_(2.0))

    model, x = Head(), torch.randn(5, 3)
    prefix = Prefix([model.body])
    with torch.no_grad():
        expected = model(x)
        for _ in range(3):
            with prefix.step(1):
                assert torch.equal(model(x), expected) and torch.equal(model(x), expected)


def test_derivatives_have_none(tmp_path):
    made = trainer(tmp_path, head()[0], K=3, xi=0.0)
    made.train()
    assert made.mechanism.steps == 4


def test_evaluation_between_steps_is_untouched(tmp_path):
    model, _ = head()
    made = trainer(
        tmp_path,
        model,
        given={"eval_dataset": texts()},
        max_steps=4,
        eval_strategy="steps",
        eval_steps=1,
    )
    made.train()
    found = made.evaluate()["eval_loss"]
    with torch.no_grad():
        rows = [{k: r[k] for k in ("input_ids", "labels")} for r in texts()]
        assert found == pytest.approx(float(made.model(**pad(rows)).loss), rel=1e-4)
