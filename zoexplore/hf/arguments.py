"""The arguments that `ZOTrainer` adds to those of a `Trainer`, and those that it refuses."""

from dataclasses import dataclass, field
from typing import Any

from transformers import TrainingArguments


@dataclass
class ZOTrainingArguments(TrainingArguments):
    """`transformers.TrainingArguments` with a target of privacy.

    `learning_rate` is η/K, `per_device_train_batch_size` the records of a step a process, and `max_steps` (or epochs of n
    records) is T. `weight_decay` is the ridge, added along the directions, outside the clip. The target of `epsilon` and `delta`
    is met by composition: it holds even if every checkpoint is published. The other fields' help says what they mean.

    Raises:
        ValueError: an argument is not allowed; it says which, and why.
    """

    learning_rate: float = field(default=0.0, metadata={"help": "η/K: a step in units of the gradient along K directions."})
    epsilon: float | None = field(default=None, metadata={"help": "The target ε."})
    delta: float | None = field(default=None, metadata={"help": "The target δ, well below 1/n."})
    K: int = field(default=1, metadata={"help": "Directions a step."})
    clip: float = field(default=1.0, metadata={"help": "The longest vector of K quotients that a record may have."})
    beta: float = field(default=1.0, metadata={"help": "The share of the noise's power along the directions."})
    xi: float | None = field(default=None, metadata={"help": "Half the distance of two points; 1e-3 √d if not given."})
    microbatch: int | None = field(
        default=None, metadata={"help": "Records evaluated at once; all of a process's batch if not given."}
    )

    def __post_init__(self) -> None:
        for name, (allowed, why) in REFUSED.items():
            value = getattr(self, name, allowed)
            if value and value != allowed:
                raise ValueError(f"{name} = {value!r} is not allowed: {why}")
        super().__post_init__()
        for name, what in REQUIRED.items():
            if not getattr(self, name):
                raise ValueError(f"{name} is not set: give {what}")
        if self.n_gpu > 1:
            raise ValueError(f"{self.n_gpu} GPUs in one process are not allowed: start one process for each with torchrun")


REQUIRED = {
    "epsilon": "the ε that the model may cost, 3, say",
    "delta": "δ, well below 1/n for n records",
    "learning_rate": "η/K, the length of a step along unit directions: a rate of MeZO's times the number of parameters",
}
MIXED = "mixed precision would hide what losses are rounded to; load the model in it: from_pretrained(..., dtype=torch.bfloat16)"
SHARDED = "sharded parameters would need every direction in the same shards, which is not built; each process holds the model"
REFUSED: dict[str, tuple[Any, str]] = {
    "gradient_accumulation_steps": (1, "there are no gradients; microbatch= evaluates fewer records at once than a step has"),
    "optim": (TrainingArguments.__dataclass_fields__["optim"].default, "Noisy-ZOGD trains"),
    "label_smoothing_factor": (0.0, "give a loss with it: ZOTrainer(..., loss=)"),
    "neftune_noise_alpha": (None, "noise in the embeddings would make two points of a pair differ by chance"),
    "bf16": (False, MIXED),
    "fp16": (False, MIXED),
    "deepspeed": (None, SHARDED),
    "fsdp": (None, SHARDED),
    "auto_find_batch_size": (False, "the batch is part of what is accounted; microbatch= needs less memory"),
    "save_only_model": (False, "its steps would be forgotten where a run goes on from the saved weights alone"),
    "ignore_data_skip": (False, "a resumed run goes on with the batches of its own steps"),
    "train_sampling_strategy": ("random", "the optimiser draws the batches, as they are accounted"),
    "include_num_input_tokens_seen": ("no", "how many tokens were drawn is about the data; count them outside the run"),
    "torch_compile": (False, "compile the model before: torch.compile(model)"),
}
