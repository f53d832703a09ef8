"""An adapter on a frozen backbone in int8 or int4, as packages make it, trains, is checked, and
goes on from a checkpoint.
"""

import pytest
import torch
from optimum.quanto import freeze, qint4, qint8, quantize
from peft import LoraConfig, get_peft_model

from tests.effort import proof
from tests.hf.tiny import llama, texts, trainer, weights
from zoexplore.mechanism.checksums import checksums

KINDS = [qint8, proof(qint4)]  # whose kernels are compiled first, for minutes
SAVING = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2}


def on_few_bits(kind):
    """LoRA on a backbone of so many bits a number."""
    model = llama(hidden_size=32, intermediate_size=32, num_key_value_heads=2)
    quantize(model, weights=kind, exclude="lm_head")
    freeze(model)
    model.requires_grad_(False)
    torch.manual_seed(1)
    return get_peft_model(
        model, LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["q_proj", "v_proj"])
    )


def quantised(model):
    return next(p for name, p in model.named_parameters() if "q_proj.base_layer.weight" in name)


@pytest.mark.parametrize("kind", KINDS, ids=["int8", "int4"])
def test_it_trains_and_resumes(tmp_path, kind):
    data = texts().remove_columns("labels")
    whole = trainer(tmp_path, on_few_bits(kind), data, **SAVING)
    whole.train()
    assert 3.9 < whole.privacy_report().epsilon <= 4.0
    resumed = trainer(tmp_path / "next", on_few_bits(kind), data, max_steps=4)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert torch.equal(weights(whole.model), weights(resumed.model))


@pytest.mark.parametrize("kind", KINDS, ids=["int8", "int4"])
def test_what_it_is_made_of_is_hashed(tmp_path, kind):
    made = trainer(tmp_path, on_few_bits(kind), texts().remove_columns("labels"), max_steps=4)
    made.train()
    weight = quantised(made.model)
    before, name = checksums([weight]), "_data"
    whole = getattr(weight, name)
    whole = getattr(whole, name, whole)  # int4 is packed
    whole.view(-1)[:1] ^= 1
    assert checksums([weight]) != before and made.privacy_report().epsilon == float("inf")
