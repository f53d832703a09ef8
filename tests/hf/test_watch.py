"""What a run shows: losses as they were, and in time what a reader would want to know."""

import warnings
from math import isnan

import pytest
import torch
from datasets import Dataset
from torch.nn.functional import cross_entropy
from transformers import default_data_collator

from tests.hf.tiny import N, pad, roberta, texts, trainer
from zoexplore.hf import classification_loss


def logged(made, name="loss"):
    return [entry[name] for entry in made.state.log_history if name in entry]


def of_features(folder, X, **options):
    """A linear classifier."""
    rows = Dataset.from_dict({"input": X.tolist(), "labels": (torch.arange(len(X)) % 2).tolist()})
    given = {
        "loss": lambda model, batch: cross_entropy(
            model(batch["input"]), batch["labels"], reduction="none"
        )
    }
    torch.manual_seed(0)
    return trainer(
        folder, torch.nn.Linear(3, 2), rows, collator=default_data_collator, given=given, **options
    )


def test_losses_are_means_over_the_steps_made(tmp_path):
    """The first of a warm-up moves nothing, and looks at nothing."""
    made = trainer(
        tmp_path,
        roberta(),
        warmup_steps=1,
        lr_scheduler_type="constant_with_warmup",
        max_steps=6,
        logging_steps=1,
    )
    found = made.train()
    assert made.privacy_report().record.steps == 5
    first, *others = logged(made)
    assert isnan(first) and len(others) == 5 and all(0.6 < loss < 0.8 for loss in others)
    assert found.training_loss == found.metrics["train_loss"] == logged(made, "train_loss")[0]
    assert found.training_loss == pytest.approx(sum(others) / 5)


def test_a_loss_that_is_not_finite_is_shown_counted_and_warned_of_once(tmp_path):
    X = torch.randn(N, 3, generator=torch.Generator().manual_seed(0))
    X[5, 1] = torch.nan
    made = of_features(tmp_path, X, max_steps=12, logging_steps=1, per_device_train_batch_size=8)
    with pytest.warns(
        UserWarning, match="losses were not finite .*smaller learning_rate, or data"
    ) as found:
        made.train()
    assert len([each for each in found if "not finite" in str(each.message)]) == 1
    assert logged(made, "not_finite")[-1] == made.mechanism.counts.not_finite > 0
    assert not any(map(isnan, logged(made)))  # of the records that have one


class BlowsUp:
    def __call__(self, model, batch):
        return classification_loss(model, batch) * (
            torch.nan if self.trainer.state.global_step >= 2 else 1.0
        )


def test_a_run_that_blew_up_does_not_log_a_loss_of_0(tmp_path):
    loss = BlowsUp()
    loss.trainer = made = trainer(
        tmp_path, roberta(), given={"loss": loss}, max_steps=4, logging_steps=1
    )
    with pytest.warns(UserWarning, match="losses were not finite"):
        found = made.train()
    assert [isnan(loss) for loss in logged(made)] == [False, False, True, True] and isnan(
        found.training_loss
    )


@pytest.mark.filterwarnings("error:the noise drowns")
def test_the_first_steps_are_measured(tmp_path):
    """On data that teach something: each step is some times its noise, and the weights move."""
    X = torch.randn(400, 3, generator=torch.Generator().manual_seed(0))
    X[:, 0] = 3.0 * (torch.arange(400) % 2) - 1.5
    made = of_features(
        tmp_path,
        X,
        max_steps=30,
        clip=1.0,
        learning_rate=0.3,
        epsilon=8.0,
        per_device_train_batch_size=200,
    )
    made.train()
    (measured,) = [entry for entry in made.state.log_history if "moved" in entry]
    assert (
        measured["step_over_noise"] > 1
        and measured["moved"] > 0.05
        and 0 <= measured["clipped"] <= 1
    )


def test_a_drowned_run_and_one_that_stays_are_warned_of_where_people_look(tmp_path, capsys):
    trainer(tmp_path, roberta(), epsilon=0.01, max_steps=1).train()
    assert "The noise drowns the step: it is" in capsys.readouterr().out
    X = torch.randn(N, 3, generator=torch.Generator().manual_seed(0))
    with pytest.warns(UserWarning) as found:
        of_features(tmp_path, X, max_steps=40, learning_rate=1e-6, epsilon=1.0).train()
    warned = " ".join(str(each.message) for each in found)
    assert "in 40 steps the model moved" in warned and "the model stays where it is" in warned
    said = capsys.readouterr().out
    assert "multiply a rate of MeZO's by the number of trained parameters, d = 8" in said


def test_a_line_of_progress_says_what_is_spent(tmp_path):
    made = trainer(tmp_path, roberta(), logging_steps=2)
    made.train()
    first, last = logged(made, "epsilon")
    assert first < last == made.privacy_report(released="all").epsilon


def test_a_usual_run_says_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        made = trainer(
            tmp_path,
            roberta(),
            given={"loss": classification_loss},
            dataset=texts(),
            collator=pad,
            epsilon=50.0,
        )
        made.train()
