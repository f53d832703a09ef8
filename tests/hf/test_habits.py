"""What people do with a Trainer by habit works, or is refused in words that say what to do instead."""

import warnings

import pytest
import torch
from datasets import Dataset, DatasetDict

from tests.hf.tiny import arguments, pad, roberta, texts, trainer, weights
from zoexplore.hf import ZOTrainer, ZOTrainingArguments
from zoexplore.mechanism import Sources


def test_text_is_a_number_where_one_is_meant(tmp_path):
    """As PyYAML reads 1e-5."""
    text = {
        "learning_rate": "1e-5",
        "epsilon": "8",
        "delta": "1e-4",
        "K": "2",
        "xi": "1e-2",
        "microbatch": "4",
    }
    made = arguments(tmp_path, **text, weight_decay="0.1")
    found = (
        made.learning_rate,
        made.epsilon,
        made.delta,
        made.K,
        made.xi,
        made.microbatch,
        made.weight_decay,
    )
    assert (
        found == (1e-5, 8.0, 1e-4, 2, 0.01, 4, 0.1) and type(made.K) is type(made.microbatch) is int
    )


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("K", 0, "a whole number from 1"),
        ("K", "many", "a number"),
        ("K", 1.5, "a whole number from 1"),
        ("epsilon", -1, "number above 0"),
        ("epsilon", float("nan"), "number above 0"),
        ("delta", 1.0, "below 1"),
        ("clip", 0.0, "number above 0"),
        ("beta", 1.5, "at least 0"),
        ("xi", -1.0, "at least 0"),
        ("weight_decay", -0.1, "at least 0"),
        ("learning_rate", float("inf"), "number above 0"),
        ("microbatch", 0, "a whole number from 1"),
        ("dataloader_drop_last", True, "every step has a batch"),
    ],
)
def test_a_number_that_is_not_allowed_is_named_where_it_is_given(tmp_path, name, value, allowed):
    with pytest.raises(ValueError, match=rf"^{name} = .* is not allowed: .*{allowed}"):
        arguments(tmp_path, **{name: value})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            {"adam_beta1": 0.8, "adam_epsilon": 1e-6},
            "adam_beta1 and adam_epsilon will have no effect: Noisy-ZOGD has no moments",
        ),
        ({"max_grad_norm": 0.5}, "max_grad_norm will have no effect: .* clip="),
        (
            {"gradient_checkpointing": True},
            "gradient_checkpointing will have no effect: there is no backward pass",
        ),
        ({"seed": 7}, "seed will have no effect: .*Sources"),
        ({"full_determinism": True}, "full_determinism will have no effect: .*Sources"),
    ],
)
def test_an_argument_without_effect_is_warned_of_once(tmp_path, given, why):
    with pytest.warns(UserWarning, match=why) as found:
        arguments(tmp_path, **given)
    assert len([each for each in found if "no effect" in str(each.message)]) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        arguments(tmp_path)


class Bare:
    def __call__(self, *given, **more):
        raise AssertionError("it is never called")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("compute_loss", "loss="),
        ("create_optimizer", "options="),
        ("get_train_dataloader", "data_collator="),
        ("_get_train_sampler", "drawn as they are accounted"),
        ("get_batch_samples", "data_collator="),
        ("training_step", "loss="),
    ],
)
def test_a_hook_that_is_never_used_is_refused(tmp_path, name, instead):
    kind = type("Mine", (ZOTrainer,), {name: lambda self, *given, **more: None})
    with pytest.raises(ValueError, match=f"a {name} of one's own is not allowed: .*{instead}"):
        kind(roberta(), arguments(tmp_path), train_dataset=texts(), data_collator=pad)
    made = trainer(tmp_path, roberta())
    setattr(made, name, Bare())
    with pytest.raises(ValueError, match=f"a {name} of one's own"):
        made.train()


def renamed(**columns):
    return Dataset.from_dict({after: texts()[before] for before, after in columns.items()})


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (
            lambda: DatasetDict({"train": texts(), "test": texts()}),
            r"of the splits 'train', 'test' .* train_dataset=data\[",
        ),
        (
            lambda: texts().remove_columns("input_ids"),
            r"'labels', 'text' .* takes none of them, but 'input_ids'.* tokenise",
        ),
        (
            lambda: renamed(labels="input_ids", input_ids="x", text="label"),
            r"text \('secret'\) .*class_encode_column\('label'",
        ),
        (lambda: (row for row in texts()), "without a length"),
    ],
    ids=["splits", "not tokenised", "labels of text", "a stream"],
)
def test_data_that_no_step_can_be_made_on_are_refused_by_their_cause(tmp_path, data, cause):
    with pytest.raises(ValueError, match=cause):
        trainer(tmp_path, roberta(), data()).train()


def test_a_model_of_which_nothing_is_trained_is_refused(tmp_path):
    with pytest.raises(ValueError, match="all are frozen"):
        trainer(tmp_path, roberta().requires_grad_(False))


def test_a_compiled_model_gets_its_columns(tmp_path):
    plain, compiled = (
        trainer(tmp_path, made(roberta()))
        for made in (lambda m: m, lambda m: torch.compile(m, backend="eager"))
    )
    for made in (plain, compiled):
        made.train()
    assert torch.equal(weights(plain.model), weights(compiled.model))


def test_the_arguments_of_a_file_make_a_run(tmp_path):
    """Sources in options repeat it."""
    given = {"epsilon": "4", "delta": "1e-4", "learning_rate": "1.0", "clip": "1", "max_steps": 2}
    given |= {
        "use_cpu": True,
        "disable_tqdm": True,
        "save_strategy": "no",
        "per_device_train_batch_size": 8,
    }
    args = ZOTrainingArguments(str(tmp_path), **given)
    runs = [
        ZOTrainer(
            roberta(),
            args,
            train_dataset=texts(),
            data_collator=pad,
            options={"sources": Sources(1, 2)},
        )
        for _ in range(2)
    ]
    for made in runs:
        made.train()
    assert torch.equal(*(weights(made.model) for made in runs))
