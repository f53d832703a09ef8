"""Ways around the report that the mechanism knows are as well known through `Trainer`."""

import copy
import json
from math import inf

import pytest
import torch
from transformers import RobertaForSequenceClassification, TrainerCallback

from tests.effort import proof
from tests.hf.tiny import pad, roberta, texts, trainer, weights
from zoexplore import compose
from zoexplore.hf import classification_loss
from zoexplore.mechanism import NoisyZOGD, Sources

OWN = "a loss must depend on its own record alone"


class After(TrainerCallback):
    """Does something after the second step."""

    def __init__(self, act):
        self.act = act

    def on_step_end(self, args, state, control, model=None, **_):
        if state.global_step == 2:
            self.act(self.trainer, model)


def attacked(folder, act=lambda trainer, model: None, **options):
    callback = After(act)
    given = {"callbacks": [callback]} | options.pop("given", {})
    callback.trainer = trainer(
        folder, options.pop("model", None) or roberta(), given=given, **options
    )
    return callback.trainer


def less_their_mean(model, batch):
    own = classification_loss(model, batch)
    return own - own.mean()


class Remembers:
    """A loss that mixes records from the fourth step on, and shows it nowhere."""

    def __call__(self, model, batch):
        return (less_their_mean if self.trainer.mechanism.steps >= 3 else classification_loss)(
            model, batch
        )


def by_a_hook(trainer, model):
    model.classifier.dense.register_forward_hook(
        lambda module, inputs, outputs: outputs - outputs.mean(0)
    )


def anew(trainer, model):
    trainer.mechanism = None


def another(trainer, model):
    """A second optimiser of the same model."""
    made = trainer.mechanism
    other = NoisyZOGD(
        model, trainer.record_loss, made.setting, loss_of="model", sources=Sources(3, 4)
    )
    other.step(
        other.batch(
            [{k: r[k] for k in ("input_ids", "labels")} for r in texts()],
            collate_fn=trainer.data_collator,
        )
    )


def a_state_of_before(trainer, model):
    """The mechanism forgets its last step; the model does not."""
    trainer.mechanism.load_state_dict(
        torch.load(f"{trainer.args.output_dir}/checkpoint-1/optimizer.pt", weights_only=True)
    )


@pytest.mark.parametrize(
    ("act", "message", "steps", "of_no_use"),
    [
        (by_a_hook, OWN, 2, False),
        (anew, "the trainer counts 2 steps and the run 0", 0, None),
        proof(another, "another NoisyZOGD has moved", 2, False),
        (a_state_of_before, "led to other numbers than these: load the model", 2, False),
        (
            lambda trainer, model: model.register_buffer("note", torch.zeros(1)),
            "which this run does not train, changed",
            2,
            True,
        ),
        proof(
            lambda trainer, model: setattr(
                model.classifier, "dense", copy.deepcopy(model.classifier.dense)
            ),
            "replaced",
            2,
            True,
        ),
    ],
    ids=[
        "a hook",
        "a new mechanism",
        "a second optimiser",
        "an older state",
        "a new buffer",
        "another layer",
    ],
)
def test_what_is_done_between_two_steps_is_refused(tmp_path, act, message, steps, of_no_use):
    made = attacked(tmp_path, act, save_strategy="steps", save_steps=1)
    with pytest.raises((RuntimeError, ValueError), match=message):
        made.train()
    assert made.mechanism.steps == steps and (
        of_no_use is None or (made.privacy_report().epsilon == inf) == of_no_use
    )


def test_losses_that_mix_records_are_refused_when_they_begin_to(tmp_path):
    made = attacked(tmp_path, given={"loss": less_their_mean})
    with pytest.raises(ValueError, match=OWN):
        made.train()
    assert made.mechanism.steps == 0
    loss = Remembers()
    loss.trainer = made = attacked(tmp_path, given={"loss": loss})
    with pytest.raises(ValueError, match=OWN):
        made.train()
    assert made.mechanism.steps == 3 and made.privacy_report().epsilon == inf


def test_training_under_autocast_is_refused(tmp_path):
    made = attacked(tmp_path, learning_rate=0.01)
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(RuntimeError, match="under autocast is not allowed"),
    ):
        made.train()
    assert made.mechanism.steps == 0


def test_dropout_that_a_callback_switches_on_is_switched_off(tmp_path):
    usual, woken = attacked(tmp_path), attacked(tmp_path, lambda trainer, model: model.train())
    usual.train(), woken.train()
    assert torch.equal(weights(usual.model), weights(woken.model))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda state: state["bits"].update(dict.fromkeys(state["bits"], "other bits")),
            "led to other numbers than these: load the model",
        ),
        proof(
            lambda state: state["ledger"].update(stages=state["ledger"]["stages"][:-1]),
            "a record of others",
        ),
        proof(lambda state: state["run"].update(n=25), "n = 25"),
    ],
    ids=["parameters", "a step less", "other data"],
)
def test_a_checkpoint_that_was_edited_is_refused(tmp_path, edit, message):
    options = {"save_strategy": "steps", "save_steps": 2}
    attacked(tmp_path, **options).train()
    path = tmp_path / "checkpoint-2" / "optimizer.pt"
    state = torch.load(path, weights_only=True)
    edit(state)
    torch.save(state, path)
    with pytest.raises(ValueError, match=message):
        attacked(tmp_path, **options).train(resume_from_checkpoint=str(path.parent))


@pytest.mark.filterwarnings("ignore:Noise and data order")
def test_branches_of_one_checkpoint_share_a_secret_batch(tmp_path):
    options = {"sources": Sources.secure(), "save_strategy": "steps", "save_steps": 2}
    attacked(tmp_path, **options).train()
    branches = [attacked(tmp_path / str(i), sources=Sources.secure()) for i in range(2)]
    for made in branches:
        made.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    reports = [made.privacy_report() for made in branches]
    with pytest.raises(ValueError, match="secret batch"):
        compose(reports)
    assert not torch.equal(*(weights(made.model) for made in branches))


def test_another_model_in_the_trainer_s_place_has_no_account_of_this_run(tmp_path):
    made = attacked(tmp_path)
    made.train()
    own, made.model = made.model, roberta()
    assert made.privacy_report().epsilon == inf and "has another model by now" in repr(
        made.privacy_report()
    )
    made.save_model()
    assert json.loads((tmp_path / "model.privacy.json").read_text())["epsilon"] == "inf"
    made.model = own
    assert made.privacy_report().epsilon < inf


def test_weights_that_a_run_has_saved_are_named_by_the_next(tmp_path):
    first = attacked(tmp_path / "first")
    first.train()
    first.save_model()
    model = RobertaForSequenceClassification.from_pretrained(tmp_path / "first")
    made = attacked(tmp_path / "second", model=model)
    with pytest.warns(UserWarning, match="which this report leaves out"):
        made.train()
    said = f"If on these, its 4 steps cost ε = {json.loads((tmp_path / 'first' / 'model.privacy.json').read_text())['epsilon']}"
    assert said in repr(made.privacy_report()) and said not in repr(first.privacy_report())


def test_a_collator_that_looks_at_the_batch_is_refused(tmp_path):
    def relative(records):
        batch = pad(records)
        lengths = batch["attention_mask"].sum(1)
        return batch | {"labels": (lengths > lengths.float().mean()).long()}

    made = attacked(tmp_path, collator=relative)
    with pytest.raises(
        ValueError, match="a collator makes a record's part of the batch of other records too"
    ):
        made.train()
    assert made.mechanism.steps == 0 or made.privacy_report().epsilon == inf


def test_a_transform_of_the_data_set_gets_records_one_by_one(tmp_path):
    """Else it could make a record's part of the batch of other records, where no check looks."""
    seen = []

    def relative(batch):
        seen.append(len(batch["labels"]))
        mean = sum(batch["labels"]) / len(batch["labels"])
        return {**batch, "labels": [int(x > mean) for x in batch["labels"]]}

    attacked(tmp_path, dataset=texts().remove_columns("text").with_transform(relative)).train()
    assert {*seen} == {1}


@pytest.mark.parametrize(
    "options", [{"n": 24_000}, {"delta": 0.3}, {"epsilon": 50.0, "K": 1}], ids=str
)
def test_options_say_nothing_that_arguments_and_data_do(tmp_path, options):
    with pytest.raises(ValueError, match=f"options with '{min(options)}'.* are not allowed"):
        attacked(tmp_path, mechanism=options)


def test_what_is_refused_is_refused_where_it_is_set_later(tmp_path):
    made = attacked(tmp_path)
    made.args.gradient_accumulation_steps = 2
    with pytest.raises(ValueError, match="gradient_accumulation_steps = 2 is not allowed"):
        made.train()
    assert made.mechanism is None


def test_records_that_were_repeated_are_told(tmp_path):
    """As to balance classes: whoever is among them is in the data several times."""
    made = attacked(tmp_path, dataset=texts().select([*range(24)] * 10), max_steps=8)
    with pytest.warns(UserWarning, match="records equal another.*one person's") as told:
        made.train()
    assert len([each for each in told if "equal another" in str(each.message)]) == 1


@pytest.mark.parametrize(
    "act",
    [
        lambda trainer, model: model.half(),
        proof(lambda trainer, model: model.resize_token_embeddings(44, mean_resizing=False)),
    ],
    ids=["half", "resized"],
)
def test_parameters_that_a_callback_puts_in_place_of_others_end_the_guarantee(tmp_path, act):
    made = attacked(tmp_path, act)
    with pytest.raises(RuntimeError, match=r"were moved since|must match the size"):
        made.train()
    assert made.mechanism.steps == 2 and made.privacy_report().epsilon == inf
