"""A resumed run counts every step, or says that it cannot: weights never go on without their
record.
"""

import json
import shutil
from math import inf

import pytest
import torch
from transformers import TrainerCallback

from tests.hf.tiny import roberta, texts, trainer, weights
from zoexplore.mechanism import Sources

SAVING = {"save_strategy": "steps", "save_steps": 2, "max_steps": 4}


def saved(folder, **options):
    """A run with a checkpoint in the middle."""
    made = trainer(folder, roberta(), **SAVING | options)
    made.train()
    return folder / "checkpoint-2"


def test_a_checkpoint_without_the_run_is_refused_before_its_weights_are_loaded(tmp_path):
    with pytest.raises(
        ValueError, match="save_only_model = True is not allowed: its steps would be forgotten"
    ):
        trainer(tmp_path, roberta(), save_only_model=True)
    folder = saved(tmp_path)
    for name in ("optimizer.pt", "scheduler.pt", "trainer_state.json"):
        made, kept = trainer(tmp_path / "next", roberta(), max_steps=6), tmp_path / name
        before = weights(made.model)
        shutil.move(folder / name, kept)
        with pytest.raises(
            ValueError, match=rf"checkpoint-2 is not allowed: it has no {name}.*steps"
        ):
            made.train(resume_from_checkpoint=str(folder))
        assert torch.equal(before, weights(made.model))
        shutil.move(kept, folder / name)
    with pytest.raises(ValueError, match="no checkpoint in"):
        trainer(tmp_path / "empty", roberta()).train(resume_from_checkpoint=True)


def unlike(state):
    state["run"]["n"] = 25


def forgotten(state):
    state.clear()


@pytest.mark.parametrize("edit", [unlike, forgotten])
def test_weights_whose_record_was_refused_are_of_an_unknown_run(tmp_path, edit):
    """In this trainer, in another one of the same model, and in what is saved, until a state that
    matches is loaded.
    """
    folder, model = saved(tmp_path), roberta()
    state = torch.load(folder / "optimizer.pt", weights_only=True)
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    edit(state)
    torch.save(state, other / "optimizer.pt")
    made = trainer(tmp_path / "next", model, max_steps=6)
    with pytest.raises((ValueError, RuntimeError), match=r"this one has 24|and the run 0"):
        made.train(resume_from_checkpoint=str(other))
    made.save_model(str(tmp_path / "said"))
    assert json.loads((tmp_path / "said" / "model.privacy.json").read_text())["epsilon"] == "inf"
    for again in (made, trainer(tmp_path / "third", model, max_steps=6)):
        with pytest.raises(RuntimeError, match=r"was loaded, and it is not known"):
            again.train()
        assert again.mechanism.steps == 0
    made.train(resume_from_checkpoint=str(folder))
    assert made.mechanism.steps == made.state.global_step == 6


def test_a_refused_checkpoint_leaves_the_run_of_this_trainer_as_it_was(tmp_path):
    made = trainer(tmp_path, roberta(), **SAVING)
    made.train()
    with pytest.raises(ValueError, match="it has no"):
        made.train(resume_from_checkpoint=str(tmp_path))
    with pytest.raises(RuntimeError, match="trained already"):
        made.train()
    assert made.privacy_report().record.steps == 4


class Counting(TrainerCallback):
    def __init__(self):
        self.counted = []

    def on_step_end(self, args, state, control, **_):
        self.counted.append((state.global_step, self.trainer.mechanism.steps))


@pytest.mark.parametrize("stop", [2, 3])
def test_every_step_is_counted_by_both(tmp_path, stop):
    """Three steps an epoch: from the middle of one, and from its end."""
    folder = tmp_path / f"checkpoint-{stop}"
    saved(tmp_path, save_steps=stop)
    counting = Counting()
    counting.trainer = made = trainer(
        tmp_path / "next", roberta(), given={"callbacks": [counting]}, max_steps=7
    )
    made.train(resume_from_checkpoint=str(folder))
    assert counting.counted == [(t, t) for t in range(stop + 1, 8)]


def test_a_trainer_that_counts_otherwise_is_refused(tmp_path):
    folder = saved(tmp_path)
    path = folder / "trainer_state.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"global_step": 1}))
    made = trainer(tmp_path / "next", roberta(), max_steps=6)
    with pytest.raises(RuntimeError, match="the trainer counts 1 steps and the run 2"):
        made.train(resume_from_checkpoint=str(folder))
    assert made.mechanism.steps == 2 and made.privacy_report().epsilon < inf


@pytest.mark.filterwarnings("ignore:Noise and data order")
def test_a_resumed_run_costs_what_the_whole_one_does(tmp_path):
    secure = {"sources": Sources.secure(), "given": {"eval_dataset": texts()}}
    folder = saved(tmp_path, max_steps=8, **secure)
    resumed = trainer(
        tmp_path / "next", roberta(), max_steps=8, **secure, save_strategy="steps", save_steps=2
    )
    resumed.train(resume_from_checkpoint=str(folder))
    said = [
        json.loads((tmp_path / "next" / f"checkpoint-{t}" / "model.privacy.json").read_text())
        for t in (4, 8)
    ]
    whole = json.loads((tmp_path / "checkpoint-8" / "model.privacy.json").read_text())
    assert [data["steps"] for data in said] == [4, 8] and said[1]["epsilon"] == whole[
        "epsilon"
    ] > said[0]["epsilon"]
