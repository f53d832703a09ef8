"""The arguments that `ZOTrainer` adds to those of `Trainer`, and those of `Trainer` that it refuses
or ignores.
"""

import warnings
from dataclasses import dataclass, field
from math import ceil, sqrt
from typing import Any

from torch import distributed
from transformers import TrainingArguments

from zoexplore.mechanism.record import ANY
from zoexplore.questions.recommendation import MANY, SMALL

USUAL_XI = 1e-3  # half the distance between MeZO's two points, divided by sqrt(d)
XI = "Half the distance of two points; found, or 1e-3 √d where rate and clip are given."


def said(default: Any, text: str) -> Any:
    """Make a field with a help text, which transformers' `HfArgumentParser` shows."""
    return field(default=default, metadata={"help": text})


@dataclass
class ZOTrainingArguments(TrainingArguments):
    """`transformers.TrainingArguments` with a privacy target.

    `learning_rate` is η/K. `per_device_train_batch_size` is how many of a step's records each
    process takes; by default all processes together take 64. T is `max_steps`, or follows from
    `num_train_epochs`; its default is 3000, since a run with one direction a step needs many steps.
    If `learning_rate` or `clip` is None, the run finds it, and `xi` unless given, in its first
    steps. These count among the T steps and are as private as the others; `lr_scheduler_type` acts
    on the steps after them. `weight_decay` is the ridge, which is added along the directions and is
    not clipped. The target, `epsilon` and `delta`, is met by composition, so it holds even if every
    checkpoint is published. The help texts explain the other fields. Numbers may be given as text,
    since YAML reads 1e-5 as text.

    Raises:
        ValueError: an argument is not allowed; the message says which, and why.
    """

    learning_rate: float | None = said(
        None, "η/K: a step in units of the gradient along K directions; found if not given."
    )
    per_device_train_batch_size: int | None = said(None, "A step's records, a process.")
    num_train_epochs: float | None = said(None, "T in passes of the data, without max_steps.")
    epsilon: float | None = said(None, "The target ε.")
    delta: float | None = said(None, "The target δ, well below 1/n.")
    K: int = said(1, "Directions a step.")
    clip: float | None = said(
        None, "The longest vector of K quotients that a record may have; found if not given."
    )
    beta: float = said(1.0, "The share of the noise's power along the directions.")
    xi: float | None = said(None, XI)
    sampling: str = said("without-replacement", "How batches are drawn, as in Setting.")
    neighbours: str = said("replace-one", "What two data sets differ in, as in Setting.")
    microbatch: int | None = said(
        None, "Records evaluated at once; all of a process's batch if not given."
    )
    public_evaluation: bool = said(
        False, "Whether evaluation data are public: nobody's to protect."
    )

    def __post_init__(self) -> None:
        self.refuse()
        for why, names in WITHOUT_EFFECT.items():
            if given := [
                name for name in names.split() if getattr(self, name) not in (None, _default(name))
            ]:
                warnings.warn(f"{' and '.join(given)} will have no effect: {why}", stacklevel=3)
        self.max_grad_norm = 0.0  # else `Trainer` would look for gradients at every step
        for name, like in NUMBERS.items():
            self._check(name, like)
        ANY.replace(sampling=self.sampling, neighbours=self.neighbours)
        super().__post_init__()
        if self.num_train_epochs is None:
            self.num_train_epochs = 0.0
            if self.max_steps <= 0:  # type: ignore[has-type]
                self.max_steps = MANY
        self.per_device_train_batch_size = self.per_device_train_batch_size or max(
            SMALL // self.world_size, 1
        )
        if self.n_gpu > 1:
            raise ValueError(
                f"{self.n_gpu} GPUs in one process are not allowed: start one process for each with torchrun"
            )

    def refuse(self) -> None:
        """Raise ValueError if an argument is not allowed, even one set after construction."""
        for name, (allowed, why) in REFUSED.items():
            value = getattr(self, name, allowed)
            if value and value != allowed:
                raise ValueError(f"{name} = {value!r} is not allowed: {why}")

    @property
    def batch(self) -> int:
        """The number of a step's records, in all processes together."""
        return int(self.per_device_train_batch_size * self.world_size)

    @property
    def decay(self) -> str | None:
        """The name of the schedule if the mechanism itself applies it to the rate that it finds; None
        if `Trainer` applies the schedule.
        """
        kind = str(self.lr_scheduler_type.value)
        own = self.learning_rate is None and not self.warmup_steps
        return kind if own and kind in ("linear", "constant") else None

    def steps_an_epoch(self, n: int) -> int:
        """Return how many steps an epoch of n records has."""
        return ceil(n / self.batch)

    def plan(self, n: int, d: int) -> dict[str, Any]:
        """Return the arguments of `NoisyZOGD.for_epsilon` for n records and d trained parameters."""
        epochs, rate = self.num_train_epochs or 0, self.learning_rate
        plan = {name: getattr(self, name) for name in PASSED} | {
            "n": n,
            "T": self.max_steps if self.max_steps > 0 else ceil(epochs * self.steps_an_epoch(n)),
            "batch": min(self.batch, n),
            "ridge": self.weight_decay,
            "lr": rate,
            "clip": self.clip,
            # no probe is made for xi alone
            "xi": USUAL_XI * sqrt(d)
            if self.xi is None and None not in (rate, self.clip)
            else self.xi,
            "decay": self.decay or "constant",
            "loss_of": "model",
        }
        if self.world_size > 1:
            plan["group"] = distributed.group.WORLD
            plan["microbatch"] = self.microbatch or self.per_device_train_batch_size
        return plan

    def _check(self, name: str, like: str) -> None:
        """Turn an argument that is text into a number. Refuse the values that `Setting` refuses in
        its field `like`.
        """
        value = getattr(self, name)
        if value in (None, "") or (name in REQUIRED and not value):
            if name in REQUIRED:
                raise ValueError(f"{name} is not set: give {REQUIRED[name]}")
            return
        try:
            setattr(self, name, getattr(ANY.replace(**{like: float(value)}), like))
        except (TypeError, ValueError) as refused:
            allowed = str(refused).partition(": give ")[2] or "a number"
            raise ValueError(f"{name} = {value!r} is not allowed: give {allowed}") from None


def _default(name: str) -> Any:
    return TrainingArguments.__dataclass_fields__[name].default


# arguments of `for_epsilon` that are passed on as they are
PASSED = ("epsilon", "delta", "K", "beta", "microbatch", "sampling", "neighbours")
# its other arguments that the trainer chooses
MADE = ("n", "T", "batch", "ridge", "lr", "clip", "xi", "loss_of", "group")
# the arguments that are numbers, each with the field of `Setting` that allows the same values
NUMBERS = {"epsilon": "clip", "learning_rate": "clip", "weight_decay": "xi", "microbatch": "batch"}
NUMBERS |= {name: name for name in ("delta", "K", "clip", "beta", "xi")}
REQUIRED = {
    "epsilon": "the ε that the model may cost, 3, say",
    "delta": "δ, well below 1/n for n records",
}
WITHOUT_EFFECT = {
    "Noisy-ZOGD has no moments": "adam_beta1 adam_beta2 adam_epsilon optim_args",
    "there are no gradients; clip= bounds what a record may do": "max_grad_norm",
    "there is no backward pass": "activation_checkpointing gradient_checkpointing",
    "batches and noise are drawn secretly; ZOTrainer(options={'sources': Sources(seed, noise_seed)}) repeats a run, for trials": (
        "seed data_seed full_determinism"
    ),
}
MIXED = "mixed precision would hide what losses are rounded to; load the model in it: from_pretrained(..., dtype=torch.bfloat16)"
SHARDED = "sharded parameters would need every direction in the same shards, which is not built; each process holds the model"
REFUSED: dict[str, tuple[Any, str]] = {
    "gradient_accumulation_steps": (
        1,
        "there are no gradients; microbatch= evaluates fewer records at once than a step has",
    ),
    "optim": (_default("optim"), "Noisy-ZOGD trains"),
    "label_smoothing_factor": (0.0, "give a loss with it: ZOTrainer(..., loss=)"),
    "neftune_noise_alpha": (
        None,
        "noise in the embeddings would make two points of a pair differ by chance",
    ),
    "bf16": (False, MIXED),
    "fp16": (False, MIXED),
    "deepspeed": (None, SHARDED),
    "fsdp": (None, SHARDED),
    "auto_find_batch_size": (
        False,
        "the batch is part of what is accounted; microbatch= needs less memory",
    ),
    "dataloader_drop_last": (
        False,
        "every step has a batch of its own size, drawn from all records",
    ),
    "save_only_model": (
        False,
        "its steps would be forgotten where a run goes on from the saved weights alone",
    ),
    "ignore_data_skip": (False, "a resumed run goes on with the batches of its own steps"),
    "train_sampling_strategy": ("random", "the optimiser draws the batches, as they are accounted"),
    "include_num_input_tokens_seen": (
        "no",
        "how many tokens were drawn is about the data; count them outside the run",
    ),
    "torch_compile": (False, "compile the model before: torch.compile(model)"),
}
