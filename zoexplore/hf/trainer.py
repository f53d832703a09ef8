"""`ZOTrainer`: transformers' `Trainer` with Noisy-ZOGD as its optimiser."""

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import signature
from math import ceil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from transformers import Trainer, get_constant_schedule
from transformers.trainer import OPTIMIZER_NAME, SCHEDULER_NAME, TRAINER_STATE_NAME
from transformers.trainer_utils import RemoveColumnsCollator, get_last_checkpoint
from transformers.utils import logging

from zoexplore.hf import account
from zoexplore.hf.arguments import MADE, PASSED, ZOTrainingArguments
from zoexplore.hf.data import LABELS, check_data
from zoexplore.hf.losses import RecordLoss, base_of, check_model, loss_for
from zoexplore.hf.padding import check_padding
from zoexplore.hf.prefix import Prefix, frozen
from zoexplore.hf.watch import Watch
from zoexplore.mechanism import Batch, NoisyZOGD, PrivateSampler, Report, mark_moved
from zoexplore.mechanism.arguments import dimension
from zoexplore.run.text import say

logger = logging.get_logger(__name__)
NOT_TAKEN = ("optimizers", "optimizer_cls_and_kwargs", "compute_loss_func", "model_init")
# methods that may not be replaced: they are not used here, or other ones could break the account
HOOKS = {
    "compute_loss": "give a loss a record: ZOTrainer(..., loss=)",
    "create_optimizer": "Noisy-ZOGD trains; options= go to it",
    "get_train_dataloader": "batches are drawn as they are accounted; data_collator= makes them of records",
    "_get_train_sampler": "batches are drawn as they are accounted",
    "get_batch_samples": "batches are drawn as they are accounted; data_collator= makes them of records",
    "training_step": "loss= computes, data_collator= prepares, and callbacks watch",
}


class ZOTrainer(Trainer):
    """A `Trainer` that makes the steps of `NoisyZOGD`, without gradients, and reports what they
    cost in privacy.

        args = ZOTrainingArguments("out", epsilon=3, delta=1e-5)
        trainer = ZOTrainer(model, args, train_dataset=records)
        trainer.train()
        print(trainer.privacy_report())

    The model is in `eval()` throughout. Callbacks, schedules of the learning rate, evaluation,
    checkpoints and `train(resume_from_checkpoint=...)` work as in transformers. The trainer writes
    `model.privacy.json` beside every saved model. The processes that torchrun starts make every
    step together, as a `group` of `NoisyZOGD` does. ε covers neither the logged loss nor evaluation
    on private data.

    Args:
        model: a model of transformers, PEFT's wrapper of one, or any other with a `loss`.
        args: the arguments of the run, among them its privacy target.
        loss: a function. `loss(model, batch)` returns one loss for each record of a collated batch,
            shape (b,), which depends on that record alone. If None, `losses.loss_for` finds the
            loss that suits the model.
        options: further arguments of `NoisyZOGD` (sources, declared, directions, ...) and
            `mechanism.arguments.setting_for` (R).
        given: other arguments of `Trainer` (train_dataset, eval_dataset, data_collator,
            processing_class, callbacks, ...).

    Attributes:
        mechanism: the `NoisyZOGD` of the run, once `train` has begun.

    Raises:
        TypeError: `args` are not `ZOTrainingArguments`.
        ValueError: another argument or the model is not allowed; the message says why.
    """

    args: ZOTrainingArguments

    def __init__(
        self,
        model: nn.Module,
        args: ZOTrainingArguments,
        *,
        loss: RecordLoss | None = None,
        options: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> None:
        if not isinstance(args, ZOTrainingArguments):
            raise TypeError(
                f"args of the type {type(args).__name__} are not allowed: give ZOTrainingArguments, with a target ε"
            )
        for name in NOT_TAKEN:
            if given.get(name) is not None:
                raise ValueError(
                    f"{name} is not allowed: the optimiser is Noisy-ZOGD's; a loss a record goes into loss="
                )
        check_model(model)
        check_hooks(self)
        self.record_loss = loss or loss_for(model)
        self.options = dict(options or {})
        if twice := self.options.keys() & {*PASSED, *MADE}:
            raise ValueError(
                f"options with {', '.join(map(repr, sorted(twice)))} are not allowed: ZOTrainingArguments and the data say it"
            )
        self.mechanism: NoisyZOGD | None = None
        self.optimizer: torch.optim.Optimizer | None = None
        self.origin = ""  # what an earlier private run's account says of the weights
        self._padding_is_checked = False
        self._prefix = Prefix([])
        super().__init__(model=model, args=args, **given)
        self.watch = Watch(self)
        self.add_callback(self.watch)
        if self.train_dataset is not None:
            check_data(self.train_dataset, self._taken())
        # every process holds the whole model and sends scalars, so the model needs no wrapper for
        # gradients
        self.is_distributed_loading_by_transformers |= args.world_size > 1

    def train(self, resume_from_checkpoint: str | bool | None = None, **options: Any) -> Any:
        """Train as `Trainer` does. Resuming from a checkpoint discards the steps made after it and
        the model that they led to.

        Raises:
            ValueError: the checkpoint is incomplete or of another run, or the arguments or the data
                are not allowed.
            RuntimeError: this trainer has already trained its model, so another run's start would
                depend on the data.
        """
        check_hooks(self)
        self.args.refuse()
        check_data(self.train_dataset, self._taken())
        if resume_from_checkpoint:
            resume_from_checkpoint = checkpoint(resume_from_checkpoint, self.args.output_dir)
        elif self.mechanism is not None and self.mechanism.steps:
            raise RuntimeError(
                "this model was trained already, and a new run must not start from what the data made of it: resume from a "
                "checkpoint, with a larger max_steps if need be, or begin with a fresh model"
            )
        self.mechanism = self.optimizer = self.lr_scheduler = None
        self._padding_is_checked = False
        self.origin = "" if resume_from_checkpoint else account.origin_of(self.model)
        if self.origin:
            warnings.warn(self.origin, stacklevel=2)
        if resume_from_checkpoint:
            mark_moved(self.model)  # until the mechanism's state is loaded too
        try:
            # only two-point quotients can use kept outputs
            self._prefix = Prefix([] if self.args.xi == 0 else frozen(self.model))
            output = super().train(resume_from_checkpoint=resume_from_checkpoint, **options)
        finally:
            self._prefix.remove()
        return output._replace(training_loss=output.metrics["train_loss"])

    def privacy_report(self, **options: Any) -> Report:
        """Report what the steps so far cost, with the options of
        `zoexplore.mechanism.privacy_report`.

        Raises:
            RuntimeError: `train` has not been called yet.
        """
        if self.mechanism is None:
            raise RuntimeError("nothing was trained yet: call train() first")
        return account.report_of(self, **options)

    def create_model_card(self, *given: Any, **more: Any) -> None:
        """Write `Trainer`'s model card, with Noisy-ZOGD as the optimiser, and add the run's privacy
        to it.
        """
        super().create_model_card(*given, **more)
        path = Path(self.args.output_dir) / "README.md"
        if (
            self.mechanism is not None
            and self.mechanism.record.steps
            and self.is_world_process_zero()
        ):
            text = re.sub(
                "(?m)^- optimizer: .*$", "- optimizer: Noisy-ZOGD", path.read_text(encoding="utf-8")
            )
            path.write_text(
                f"{text.rstrip()}\n\n{account.report_of(self, released='all').card()}",
                encoding="utf-8",
            )

    def create_optimizer(self, model: nn.Module | None = None) -> torch.optim.Optimizer:
        """Make the stand-in that `Trainer` and schedulers take for an optimiser."""
        if self.optimizer is None:
            self.optimizer = StandIn(self.made())
        return self.optimizer

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> Any:
        """Make `Trainer`'s schedule of the learning rate for the steps that train. The probes
        before them have the schedule's first rate.
        """
        if self.lr_scheduler is None:
            probes, optimizer = self.made().probes_left, optimizer or self.optimizer
            if self.args.decay is not None:  # the mechanism's own decay acts
                self.lr_scheduler = get_constant_schedule(optimizer)
            else:
                made = super().create_scheduler(num_training_steps - probes, optimizer)
                if isinstance(made, LambdaLR):
                    made.lr_lambdas = [partial(after, rate, probes) for rate in made.lr_lambdas]
        return self.lr_scheduler

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return a loader of the batches that the mechanism draws, collated and padded as usual."""
        sampler = PrivateSampler(
            self.made(), self.train_dataset, self.args.steps_an_epoch(len(self.train_dataset))
        )
        options = {
            name: getattr(self.args, f"dataloader_{name}")
            for name in ("num_workers", "prefetch_factor")
        }
        options["pin_memory"] = self.args.dataloader_pin_memory and self.args.device.type != "cpu"
        return sampler.loader(self._collator(), **options)

    def get_batch_samples(
        self, epoch_iterator: Iterator[Any], num_batches: int, device: torch.device
    ) -> tuple[list[Any], None]:
        """Return the next step's batch, and None for its number of items, which no record's loss
        depends on.
        """
        batch = next(epoch_iterator, None)
        return ([] if batch is None else [batch]), None

    def training_step(
        self, model: nn.Module, inputs: Batch, num_items_in_batch: Any = None
    ) -> Tensor:
        """Make a whole step of the mechanism, without `backward`, and return its mean loss."""
        mechanism = self.made()
        if mechanism.steps != self.state.global_step:
            raise RuntimeError(
                f"the trainer counts {self.state.global_step} steps and the run {mechanism.steps}: go on from a checkpoint that "
                "was saved as a whole"
            )
        self.model.eval()
        if len(inputs.records) and not self._padding_is_checked:
            self._padding_is_checked = check_padding(self.record_loss, self.model, inputs.data)
        self.watch.records(inputs)
        before = mechanism.counts
        with self._prefix.step(
            ceil(len(inputs.records) / (self.args.microbatch or self.args.batch)) or 1
        ):
            loss = mechanism.step(inputs)
        self.watch.note(loss, before)
        # `Trainer` sums these losses, so they must be finite; `log` reports their true mean
        return torch.tensor(loss, device=self.args.device).nan_to_num(0.0, 0.0)

    def floating_point_ops(self, inputs: Batch) -> int:
        """Count nothing, since `Trainer`'s estimate includes a backward pass."""
        return 0

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log as `Trainer` does, with the mean loss of the steps made, and with what they cost in ε
        if every iterate is released.
        """
        logs.pop("grad_norm", None)
        if self.mechanism is not None:
            self.watch.fill(logs)
        super().log(logs, start_time)

    def save_model(self, output_dir: str | None = None, _internal_call: bool = False) -> None:
        """Save as `Trainer` does, with `model.privacy.json` beside the weights."""
        if self.mechanism is not None and self.mechanism.steps:
            # so that every process recognises these weights when they are loaded again
            self.mechanism.state_dict(weights=False)
        if self.mechanism is not None and self.args.should_save:
            folder = Path(output_dir or self.args.output_dir)
            folder.mkdir(parents=True, exist_ok=True)
            said = json.dumps(account.as_data(self), indent=1, ensure_ascii=False)
            (folder / account.FILE).write_text(said + "\n", encoding="utf-8")
        super().save_model(output_dir, _internal_call)

    def made(self) -> NoisyZOGD:
        """Return the mechanism of this run, which is made on first use."""
        if self.mechanism is None:
            plan = self.args.plan(len(self.train_dataset), dimension(self.model))
            plan["show"] = say if self.is_world_process_zero() else logger.info
            self.mechanism = NoisyZOGD.for_epsilon(
                self.model, self.record_loss, **plan | self.options
            )
        return self.mechanism

    def _collator(self) -> Any:
        """Return the collator, which gets only the columns that the model takes."""
        taken = self._taken()
        return (
            self.data_collator
            if taken is None
            else RemoveColumnsCollator(self.data_collator, taken)
        )

    def _taken(self) -> list[str] | None:
        """Return the columns that the model and its loss take; None for all of them."""
        if not self.args.remove_unused_columns:
            return None
        return [*signature(base_of(self.model).forward).parameters, *self.label_names, *LABELS]


def after(rate: Callable[[int], float], probes: int, t: int) -> float:
    """Return the rate at step t of a schedule that begins after `probes` steps."""
    return rate(max(t - probes, 0))


# files of a checkpoint without which `Trainer` would load the weights alone
WHOLE = (OPTIMIZER_NAME, SCHEDULER_NAME, TRAINER_STATE_NAME)


def checkpoint(given: str | bool, output: str | None) -> str:
    """Return the checkpoint to resume from: `given`, or the last one in `output` if `given` is
    True.

    Raises:
        ValueError: there is no checkpoint, or it lacks a file of `WHOLE`.
    """
    folder = get_last_checkpoint(output) if given is True else given
    if not folder:
        raise ValueError(
            f"there is no checkpoint in {output}: train() begins a run, with save_strategy='steps' to save it"
        )
    for name in WHOLE:
        if not (Path(folder) / name).is_file():
            raise ValueError(
                f"{folder} is not allowed: it has no {name}, and its weights alone do not say what their steps have cost; "
                "resume from a checkpoint that a ZOTrainer has saved"
            )
    return str(folder)


def check_hooks(trainer: ZOTrainer) -> None:
    """Raise ValueError if a method named in `HOOKS` was replaced."""
    for name, instead in HOOKS.items():
        if getattr(getattr(trainer, name), "__func__", None) is not getattr(ZOTrainer, name):
            raise ValueError(f"a {name} of one's own is not allowed: {instead}")


class StandIn(torch.optim.Optimizer):
    """The optimiser that `Trainer` sees. It shows the mechanism's learning rate to schedulers, and
    its state to checkpoints. The step itself is made in `training_step`, where the batch is.
    """

    def __init__(self, mechanism: NoisyZOGD) -> None:
        super().__init__(
            mechanism.param_groups[0]["params"], {"lr": mechanism.param_groups[0]["lr"]}
        )
        self.mechanism, self.param_groups = mechanism, mechanism.param_groups

    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Do nothing: the mechanism has made the step."""

    def state_dict(self) -> dict[str, Any]:
        """Return the mechanism's state without the weights, which are saved beside it; return {}
        before the first step.
        """
        return self.mechanism.state_dict(weights=False) if self.mechanism.steps else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load the mechanism's state, unless it is empty."""
        if state:
            self.mechanism.load_state_dict(state)
