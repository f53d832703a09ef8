"""`ZOTrainer` makes the steps of `NoisyZOGD`, and all around them is transformers' own."""

import json

import pytest
import torch
from datasets import Dataset
from peft import LoraConfig, PromptTuningConfig, get_peft_model
from torch.nn.functional import cross_entropy
from transformers import (
    AutoModelForCausalLM,
    GPT2Config,
    Trainer,
    TrainerCallback,
    default_data_collator,
)

from tests.effort import proof
from tests.hf.tiny import N, arguments, llama, mixtral, pad, roberta, texts, trainer, weights
from zoexplore.hf import ZOTrainer, classification_loss
from zoexplore.mechanism import NoisyZOGD, Sources


def sentences():
    return texts().remove_columns("labels")


def lora(**options):
    torch.manual_seed(1)
    return get_peft_model(
        llama(),
        LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["q_proj", "v_proj"], **options),
    )


def test_the_steps_are_those_of_the_mechanism_bit_for_bit(tmp_path):
    made = trainer(tmp_path, roberta(), lr_scheduler_type="constant")
    made.train()
    model = roberta().eval()
    records = [{k: r[k] for k in ("input_ids", "labels")} for r in texts()]
    by_hand = NoisyZOGD(
        model,
        classification_loss,
        made.mechanism.setting,
        loss_of="model",
        sources=Sources(1, 2),
    )
    for batch in by_hand.batches(records, collate_fn=pad):
        by_hand.step(batch)
    assert torch.equal(weights(made.model), weights(model))
    assert made.privacy_report().epsilon == by_hand.privacy_report().epsilon


def gpt2():
    torch.manual_seed(1)
    return AutoModelForCausalLM.from_config(
        GPT2Config(vocab_size=40, n_positions=24, n_embd=16, n_layer=1, n_head=2)
    )


def prompts():
    torch.manual_seed(1)
    return get_peft_model(llama(), PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3))


@pytest.mark.parametrize("make", [proof(llama), mixtral, lora, gpt2, prompts])
def test_causal_models_train_towards_their_target(tmp_path, make):
    model = make()
    frozen = {name: p.clone() for name, p in model.named_parameters() if not p.requires_grad}
    before = weights(model)
    made = trainer(tmp_path, model, sentences())
    result = made.train()
    assert result.global_step == made.mechanism.steps == 4
    assert 3.8 < made.privacy_report().epsilon <= 4.0
    assert not torch.equal(before, weights(model))
    assert all(
        torch.equal(p, frozen[name]) for name, p in model.named_parameters() if name in frozen
    )
    assert all(p.grad is None for p in model.parameters()) and not model.training


class Watching(TrainerCallback):
    def __init__(self, stop=99):
        self.steps, self.training, self.stop = 0, [], stop

    def on_step_end(self, args, state, control, model=None, **_):
        self.steps += 1
        self.training.append(model.training)
        control.should_training_stop = self.steps == self.stop

    def on_evaluate(self, args, state, control, metrics=None, **_):
        self.metrics = metrics


def test_callbacks_schedules_logs_and_evaluation_are_transformers_own(tmp_path):
    watching, data = Watching(), texts()
    given = {"callbacks": [watching], "eval_dataset": data}
    made = trainer(
        tmp_path,
        roberta(),
        given=given,
        eval_strategy="steps",
        eval_steps=2,
        max_steps=6,
        dataloader_num_workers=1,
    )
    made.train()
    assert watching.steps == 6 and not any(watching.training)
    assert watching.metrics["eval_loss"] > 0
    logged = [entry for entry in made.state.log_history if "loss" in entry]
    assert [round(entry["learning_rate"], 6) for entry in logged] == [
        round(1 - t / 6, 6) for t in (1, 3, 5)
    ]
    epsilons = [entry["epsilon"] for entry in logged]
    assert epsilons == sorted(epsilons) and 3.8 < epsilons[-1] <= 4.0
    assert not any("grad_norm" in entry for entry in logged)


def test_a_run_that_is_stopped_has_cost_what_it_made(tmp_path):
    made = trainer(tmp_path, roberta(), given={"callbacks": [Watching(stop=2)]})
    made.train()
    assert made.mechanism.steps == 2 and made.privacy_report().epsilon < 3.5
    with pytest.raises(RuntimeError, match="trained already"):
        made.train()


def test_every_checkpoint_says_what_it_has_cost(tmp_path):
    made = trainer(tmp_path, roberta(), save_strategy="steps", save_steps=2)
    made.train()
    made.save_model()
    said = [
        json.loads((tmp_path / f / "model.privacy.json").read_text())
        for f in ("checkpoint-2", "checkpoint-4", ".")
    ]
    assert [data["steps"] for data in said] == [2, 4, 4]
    assert said[0]["epsilon"] < said[1]["epsilon"] == said[2]["epsilon"]
    report = made.privacy_report(released="all")
    assert report.epsilon <= said[1]["epsilon"] <= report.epsilon * 1.001
    assert (
        said[1]["n"] == N
        and said[1]["delta"] == 1e-4
        and said[1]["trained_parameters"] == len(weights(made.model))
    )
    assert sum(stage["steps"] for stage in said[1]["stages"]) == 4
    assert (
        said[1]["last_iterate"]["sharp"]["epsilon"] == "inf"
        and said[1]["last_iterate"]["sharp"]["reason"]
    )


@pytest.mark.parametrize(
    "make, stop", [(lora, 3), proof(roberta, 2), proof(roberta, 3), proof(lora, 2)]
)
def test_a_run_that_is_resumed_is_the_one_that_was_not_interrupted(tmp_path, make, stop):
    """With three steps an epoch, in the middle of the first one and at its end."""
    data = texts() if make is roberta else sentences()
    whole = trainer(tmp_path / "whole", make(), data, max_steps=7)
    whole.train()
    options = {"max_steps": 7, "save_strategy": "steps", "save_steps": stop}
    trainer(tmp_path, make(), data, given={"callbacks": [Watching(stop)]}, **options).train()
    resumed = trainer(tmp_path, make(), data, **options)
    resumed.train(resume_from_checkpoint=True)
    assert resumed.state.global_step == resumed.mechanism.steps == 7
    assert torch.equal(weights(whole.model), weights(resumed.model))
    assert resumed.privacy_report().epsilon == whole.privacy_report().epsilon
    assert abs(resumed.state.epoch - 7 / 3) < 1e-9


def test_a_checkpoint_holds_the_weights_once_and_goes_on_from_no_others(tmp_path):
    trainer(tmp_path, roberta(), save_strategy="steps", save_steps=2).train()
    folder = tmp_path / "checkpoint-2"
    assert (folder / "optimizer.pt").stat().st_size < (folder / "model.safetensors").stat().st_size
    state = torch.load(folder / "optimizer.pt", weights_only=True)
    assert state["w"] is None and len(state["bits"]) == sum(1 for _ in roberta().parameters())
    (folder / "model.safetensors").write_bytes(
        (tmp_path / "checkpoint-4" / "model.safetensors").read_bytes()
    )
    with pytest.raises(ValueError, match="led to other numbers than these: load the model"):
        trainer(tmp_path, roberta()).train(resume_from_checkpoint=str(folder))


def test_noise_is_secure_unless_it_is_asked_for(tmp_path):
    made = ZOTrainer(roberta(), arguments(tmp_path), train_dataset=texts(), data_collator=pad)
    made.train()
    assert "ChaCha20" in repr(made.privacy_report())


def test_epochs_weight_decay_and_small_batches_are_the_setting_s(tmp_path):
    made = trainer(
        tmp_path,
        roberta(),
        max_steps=-1,
        num_train_epochs=1.5,
        weight_decay=0.01,
        microbatch=3,
        beta=0.5,
        xi=0.1,
    )
    made.train()
    setting = made.mechanism.setting
    assert (setting.n, setting.batch, setting.T, setting.K) == (N, 8, 5, 2)
    assert (setting.ridge, setting.beta, setting.xi, setting.delta) == (0.01, 0.5, 0.1, 1e-4)


def test_a_loss_of_ones_own_is_held_to_one_number_a_record(tmp_path):
    made = trainer(tmp_path, roberta(), given={"loss": lambda model, batch: model(**batch).loss})
    with pytest.raises(ValueError, match="give one loss a record"):
        made.train()


def test_any_model_with_a_loss_meets_its_target_however_often_the_rate_changes(tmp_path):
    X = torch.randn(N, 3, generator=torch.Generator().manual_seed(0))
    rows = Dataset.from_dict({"input": X.tolist(), "labels": (X[:, 0] > 0).long().tolist()})
    given = {
        "loss": lambda model, batch: cross_entropy(
            model(batch["input"]), batch["labels"], reduction="none"
        )
    }
    layer = torch.nn.Linear(3, 2)
    made = trainer(tmp_path, layer, rows, collator=default_data_collator, given=given, max_steps=60)
    made.train()
    report = made.privacy_report()
    assert 3.99 < report.epsilon <= 4.0 and len(report.record.stages) == 60


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": None}, "epsilon is not set"),
        ({"learning_rate": 0.0}, "learning_rate = 0.0 is not allowed"),
        ({"gradient_accumulation_steps": 2}, "microbatch= evaluates fewer"),
        ({"bf16": True}, "load the model in it"),
        ({"label_smoothing_factor": 0.1}, "give a loss with it"),
        ({"optim": "sgd"}, "Noisy-ZOGD trains"),
        ({"neftune_noise_alpha": 5.0}, "by chance"),
        ({"ignore_data_skip": True}, "batches of its own steps"),
        ({"train_sampling_strategy": "sequential"}, "draws the batches"),
        ({"fsdp": True}, "sharded parameters"),
        ({"deepspeed": {"zero_optimization": {"stage": 2}}}, "sharded parameters"),
    ],
)
def test_arguments_that_mean_nothing_here_are_refused_in_words(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        arguments(tmp_path, **options)


def test_what_would_train_otherwise_is_refused(tmp_path):
    model = roberta()
    with pytest.raises(ValueError, match="optimizers is not allowed"):
        trainer(
            tmp_path, model, given={"optimizers": (torch.optim.AdamW(model.parameters()), None)}
        )
    with pytest.raises(TypeError, match="give ZOTrainingArguments"):
        ZOTrainer(model, Trainer(model=model).args)
    with pytest.raises(ValueError, match="router_aux_loss_coef"):
        trainer(tmp_path, mixtral(output_router_logits=True))
    with pytest.raises(RuntimeError, match="call train"):
        trainer(tmp_path, model).privacy_report()


class Trains(TrainerCallback):
    """Moves the model on the private data by gradients, or once by hand, between two steps."""

    def __init__(self, how):
        self.how, self.adam = how, None

    def on_step_end(self, args, state, control, model=None, **_):
        if state.global_step == 2:
            move = {
                "adam": self.by_adam,
                "a bit": self.by_a_bit,
                "frozen": self.frozen,
                "uncounted": self.uncounted,
            }[self.how]
            move(model)

    def by_adam(self, model):
        with torch.enable_grad():
            model(
                **pad([{k: r[k] for k in ("input_ids", "labels")} for r in texts()])
            ).loss.backward()
        torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.1).step()
        model.zero_grad()

    def by_a_bit(self, model):
        next(p for p in model.parameters() if p.requires_grad).data.view(-1).view(torch.int32)[
            0
        ] ^= 1

    def frozen(self, model):
        with torch.no_grad():
            next(p for p in model.parameters() if not p.requires_grad).add_(0.1)

    def uncounted(self, model):
        next(p for p in model.parameters() if not p.requires_grad).data += 0.1


@pytest.mark.parametrize("how", ["adam", "a bit", "frozen", "uncounted"])
def test_whoever_else_trains_the_model_is_found_out(tmp_path, how):
    model = roberta()
    for p in model.roberta.embeddings.parameters():
        p.requires_grad_(False)
    made = trainer(tmp_path, model, given={"callbacks": [Trains(how)]})
    with pytest.raises(RuntimeError, match=r"changed since .* says ε = ∞ from here on"):
        made.train()
    report = made.privacy_report()
    assert made.mechanism.steps == 2 and report.epsilon == float("inf")
