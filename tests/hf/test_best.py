"""The best checkpoint costs all steps, is free if chosen by public data, and its model card says
what it may be relied on for.
"""

import json
import re
from math import inf

import pytest
import torch
from peft import LoraConfig, get_peft_model
from transformers import EarlyStoppingCallback

from tests.hf.tiny import llama, roberta, texts, trainer, weights
from zoexplore.__main__ import main

BEST = {
    "eval_strategy": "steps",
    "eval_steps": 1,
    "save_strategy": "steps",
    "save_steps": 1,
    "load_best_model_at_end": True,
}
BEST |= {"max_steps": 5, "metric_for_best_model": "score", "greater_is_better": True}


def falling(prediction):
    """A score by which the second evaluation is best."""
    falling.calls += 1
    return {"score": -abs(falling.calls - 2)}


def chosen(folder, model=None, data=None, **options):
    falling.calls = 0
    given = {"eval_dataset": texts(8), "compute_metrics": falling} | options.pop("given", {})
    made = trainer(folder, model or roberta(), data, given=given, **BEST | options)
    made.train()
    return made


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    """The loss of all iterates of a run without evaluations."""
    made = trainer(tmp_path_factory.mktemp("straight"), roberta(), max_steps=5)
    made.train()
    return made.privacy_report(released="all").epsilon


@pytest.mark.parametrize("public", [False, True])
def test_the_best_checkpoint_costs_all_steps_and_says_whose_data_chose_it(
    tmp_path, straight, public
):
    made = chosen(tmp_path, public_evaluation=public)
    assert (
        made.state.best_model_checkpoint.endswith("checkpoint-2")
        and made.mechanism.steps == made.state.global_step == 5
    )
    report = made.privacy_report()
    assert report.epsilon == straight < inf
    assert all(g.epsilon == inf for bound, g in report.guarantees.items() if bound != "composition")
    said = (
        "data are public, as declared: it is free"
        if public
        else "ε does not cover the records evaluated"
    )
    assert said in repr(report) and "all T = 5 planned steps count" in repr(report)
    made.save_model()
    data = json.loads((tmp_path / "model.privacy.json").read_text())
    assert report.epsilon <= data["epsilon"] <= report.epsilon * 1.001 and said in json.dumps(
        data["checks"], ensure_ascii=False
    )


def test_so_does_a_run_that_an_evaluation_stopped(tmp_path, straight):
    """Three steps were made; when to stop was chosen too."""
    made = chosen(tmp_path, given={"callbacks": [EarlyStoppingCallback(1)]})
    assert made.mechanism.steps == 3
    so_far = made.mechanism.privacy_report(released="all").epsilon
    assert so_far < made.privacy_report().epsilon == straight


def test_an_evaluation_of_the_records_trained_on_is_no_free_choice(tmp_path):
    data = texts()
    made = chosen(
        tmp_path,
        data=data,
        given={"eval_dataset": {"all": data}},
        metric_for_best_model="all_score",
    )
    report = made.privacy_report()
    assert report.epsilon == inf and "chosen by an evaluation of the records trained on" in repr(
        report
    )


def test_a_rate_that_follows_the_records_trained_on_is_a_flaw(tmp_path):
    data, rate = (
        texts(),
        {"lr_scheduler_type": "reduce_lr_on_plateau", "load_best_model_at_end": False},
    )
    made = chosen(tmp_path / "own", data=data, given={"eval_dataset": data}, **rate)
    assert made.privacy_report().epsilon == inf and "the learning rate followed" in repr(
        made.privacy_report()
    )
    assert chosen(tmp_path / "others", data=data, **rate).privacy_report().epsilon < inf


def test_an_adapter_s_best_checkpoint_is_known_too(tmp_path):
    torch.manual_seed(1)
    model = get_peft_model(
        llama(), LoraConfig(task_type="CAUSAL_LM", r=2, target_modules=["q_proj", "v_proj"])
    )
    made = chosen(
        tmp_path,
        model,
        texts().remove_columns("labels"),
        given={"eval_dataset": texts(8).remove_columns("labels")},
    )
    assert (
        made.state.best_model_checkpoint.endswith("checkpoint-2")
        and made.privacy_report().epsilon < inf
    )


def test_weights_of_another_run_are_not(tmp_path):
    other = trainer(tmp_path / "other", roberta(), seeds=(3, 4))
    other.train()
    made = chosen(tmp_path / "own")
    made.model.load_state_dict(other.model.state_dict())
    assert made.privacy_report().epsilon == inf


def test_a_resumed_run_knows_its_best_checkpoint_of_before(tmp_path):
    chosen(tmp_path, max_steps=3)
    falling.calls = 3
    made = trainer(
        tmp_path,
        roberta(),
        given={"eval_dataset": texts(8), "compute_metrics": falling},
        **BEST | {"epsilon": 5.0},
    )
    made.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert made.state.best_model_checkpoint.endswith("checkpoint-2") and made.mechanism.steps == 5
    best = trainer(tmp_path / "again", roberta(), max_steps=5, epsilon=5.0)
    best.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert made.privacy_report().epsilon < inf and not torch.equal(
        weights(made.model), weights(best.model)
    )


def test_the_model_card_says_what_the_model_costs_and_how_to_check_it(tmp_path, capsys):
    made = trainer(tmp_path, roberta(), max_steps=5)
    made.train()
    made.create_model_card()
    card = (tmp_path / "README.md").read_text()
    assert "ADAMW" not in card.upper() and "betas" not in card and "- optimizer: Noisy-ZOGD" in card
    replaced, added = re.findall(
        r"\| one record, (?:replaced by another|added or removed) \| (.*) \|", card
    )
    assert float(replaced) == pytest.approx(made.privacy_report(released="all").epsilon, rel=1e-3)
    assert 0 < float(added) < float(replaced)
    for row in (
        "K: 2",
        "batch: 8",
        "sampling: without-replacement",
        "clip: 1.0",
        "clipping: joint",
        "T: 5",
        "sigma: 0.194",
    ):
        assert f"  {row}" in card
    assert "Losses: each depends on its own record alone" in card and "(ε, δ) =" in card
    command, run = re.search(
        r"```sh\n(zoexplore .*?) - <<'END'\n(.*?)END\n```", card, re.S
    ).groups()
    (tmp_path / "run.yaml").write_text(run)
    capsys.readouterr()
    assert main([*command.split()[1:], str(tmp_path / "run.yaml")]) == 0
    assert float(capsys.readouterr().out.split()[1]) == pytest.approx(float(replaced), rel=1e-3)


def test_a_card_without_a_run_is_trainer_s_own(tmp_path):
    made = trainer(tmp_path, roberta())
    made.create_model_card()
    assert "## Privacy" not in (tmp_path / "README.md").read_text()
