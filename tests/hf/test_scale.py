"""No number but ε and δ: the run finds its rate, clip and distance, and Trainer's schedule acts on
the steps that train.
"""

import json

import pytest
import torch

from tests.hf.tiny import arguments, roberta, texts, trainer, weights
from zoexplore.hf import ZOTrainingArguments

NONE = {
    "learning_rate": None,
    "clip": None,
    "xi": None,
    "max_steps": 50,
    "logging_steps": 1,
    "K": 1,
    "epsilon": 300.0,
}


def logged(made, name):
    return [entry[name] for entry in made.state.log_history if name in entry]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Such a run, and where it left a checkpoint among its probes."""
    folder = tmp_path_factory.mktemp("whole")
    made = trainer(folder, roberta(), **NONE, save_strategy="steps", save_steps=33)
    made.train()
    return made, folder / "checkpoint-33"


def test_a_run_finds_its_scale_and_its_rate_falls_to_nothing(tmp_path, whole):
    made, _ = whole
    found, record = made.mechanism.found, made.mechanism.record
    assert made.mechanism.steps == made.state.global_step == 50 and record.probes == 40
    assert logged(made, "rate") == [found.rate] and logged(made, "clip") == [found.clip]
    rates = [step.eta for step, count in record.stages for _ in range(count) if step.kind == "step"]
    assert rates == pytest.approx([found.rate * (1 - t / 10) for t in range(10)])
    assert logged(made, "learning_rate")[-1] == pytest.approx(rates[-1])
    assert logged(made, "learning_rate")[0] == 0 < min(logged(made, "loss"))  # of a probe
    assert len(logged(made, "loss")) == 50 / made.args.logging_steps
    assert 290 < made.privacy_report(released="all").epsilon <= 300
    made.save_model(str(tmp_path))
    data = json.loads((tmp_path / "model.privacy.json").read_text())
    assert data["found"]["rate"] == found.rate and data["steps"] == 50 and data["epsilon"] <= 300


def test_a_schedule_of_trainer_s_acts_on_the_steps_that_train(tmp_path):
    """A warm-up of two of the ten, then a cosine."""
    made = trainer(tmp_path, roberta(), **NONE, lr_scheduler_type="cosine", warmup_steps=2)
    made.train()
    stages = [(step, count) for step, count in made.mechanism.record.stages if step.kind == "step"]
    rates = [step.eta / made.mechanism.found.rate for step, count in stages for _ in range(count)]
    assert len(rates) == 10 and rates[:3] == pytest.approx([0.0, 0.5, 1.0]) and rates[-1] < 0.05


def test_a_given_number_is_kept(tmp_path):
    made = trainer(
        tmp_path,
        roberta(),
        **NONE | {"max_steps": 42, "learning_rate": 2.0, "lr_scheduler_type": "constant"},
    )
    made.train()
    last = made.mechanism.record.last
    assert last.eta == 2.0 and last.clip == made.mechanism.found.clip != 1.0
    made = trainer(tmp_path, roberta(), max_steps=2)
    made.train()
    assert made.mechanism.found is None and made.mechanism.record.probes == 0


def test_a_run_that_is_resumed_among_its_probes_is_the_whole_one(tmp_path, whole):
    made, checkpoint = whole
    resumed = trainer(tmp_path, roberta(), **NONE)
    resumed.train(resume_from_checkpoint=str(checkpoint))
    assert torch.equal(weights(made.model), weights(resumed.model))


def test_a_longer_plan_keeps_the_target(tmp_path):
    options = {"save_strategy": "steps", "save_steps": 2}
    trainer(tmp_path, roberta(), **options, max_steps=4).train()
    resumed = trainer(tmp_path / "next", roberta(), max_steps=9)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert (
        resumed.mechanism.steps == 9 and 3.5 < resumed.privacy_report(released="all").epsilon <= 4.0
    )


def test_a_plan_that_has_spent_its_target_has_no_longer_one(tmp_path):
    trainer(tmp_path, roberta(), save_strategy="steps", save_steps=4, max_steps=4).train()
    with pytest.raises(ValueError, match="leaves nothing for 5 more steps: give a larger one"):
        trainer(tmp_path / "next", roberta(), max_steps=9).train(
            resume_from_checkpoint=str(tmp_path / "checkpoint-4")
        )


def test_sampling_and_neighbours_are_the_setting_s(tmp_path):
    """Records added or removed cost less, under the same name, than records replaced."""
    pairs = [("cyclic", "replace-one"), ("cyclic", "add-remove"), ("poisson", "add-remove")]
    made = [
        trainer(tmp_path, roberta(), sampling=sampling, neighbours=neighbours)
        for sampling, neighbours in pairs
    ]
    for each, (sampling, neighbours) in zip(made, pairs, strict=True):
        each.train()
        assert 3.9 < each.privacy_report(released="all").epsilon <= 4.0
        assert (each.mechanism.setting.sampling, each.mechanism.setting.neighbours) == (
            sampling,
            neighbours,
        )
    assert made[1].mechanism.setting.sigma < made[0].mechanism.setting.sigma


def test_the_card_has_both_meanings_where_both_are_proved(tmp_path):
    made = trainer(tmp_path, roberta(), sampling="cyclic")
    made.train()
    made.create_model_card()
    card = (tmp_path / "README.md").read_text()
    replaced, added = (
        float(line.split("|")[2]) for line in card.splitlines() if line.startswith("| one record,")
    )
    assert added < replaced <= 4.001


UNSET = {
    "learning_rate": None,
    "clip": None,
    "K": 1,
    "epsilon": 3.0,
    "per_device_train_batch_size": None,
    "max_steps": -1,
}


@pytest.mark.proof
def test_a_run_of_which_only_epsilon_is_said_learns(tmp_path):
    """By the plan of many small steps; by Trainer's own three passes in batches of 8 it stays
    behind.
    """
    data, right = texts(2000), []
    for said in ({}, {"num_train_epochs": 3, "per_device_train_batch_size": 8}):
        made = trainer(tmp_path, roberta(), data, **UNSET | {"logging_steps": 1000} | said)
        made.train()
        assert made.privacy_report(released="all").epsilon <= 3.0
        right.append(made.predict(data).predictions.argmax(1) == data["labels"])
    many, few = (each.mean() for each in right)
    assert many > 0.95 > few


def test_batches_and_steps_are_the_plans_where_nothing_is_said(tmp_path):
    args = ZOTrainingArguments(str(tmp_path), epsilon=3, delta=1e-5, use_cpu=True)
    assert (args.max_steps, args.per_device_train_batch_size) == (3000, 64)
    epochs = arguments(tmp_path, max_steps=-1, num_train_epochs=2.5, per_device_train_batch_size=16)
    assert (epochs.max_steps, epochs.num_train_epochs, epochs.per_device_train_batch_size) == (
        -1,
        2.5,
        16,
    )
    assert arguments(tmp_path, max_steps=7, per_device_train_batch_size=None).max_steps == 7


def test_too_few_steps_for_probes_are_refused_in_words(tmp_path):
    with pytest.raises(ValueError, match=r"T = 30 is not allowed: 40 steps find the scale"):
        trainer(tmp_path, roberta(), **NONE | {"max_steps": 30}).train()


def test_unknown_samplings_are_refused_where_they_are_given(tmp_path):
    for name in ("sampling", "neighbours"):
        with pytest.raises(ValueError, match=f"{name} = 'any' is not allowed: give one of"):
            trainer(tmp_path, roberta(), texts(), **{name: "any"})
