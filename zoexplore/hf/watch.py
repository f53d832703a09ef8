"""Adds to the logs of `Trainer` the mean loss of the steps made, the ε so far, and the effect of
the first hundred steps.
"""

import warnings
from math import inf, isfinite, nan, sqrt
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from transformers import TrainerCallback

from zoexplore.mechanism import Batch, NoisyZOGD
from zoexplore.mechanism.checksums import of_records
from zoexplore.mechanism.parameters import flat
from zoexplore.mechanism.record import Counts

FIRST = 100  # the number of first steps whose effect is logged
FEWEST = 20  # the fewest steps whose effect is worth logging
SAMPLED = 2**16  # the most coordinates whose movement is measured
STILL = 1e-4  # the least fraction of its length by which a model that learns moves


class Watch(TrainerCallback):
    """Watches a `ZOTrainer`. What it measures on the weights costs no privacy, but ε covers neither
    the logged losses nor the logged fraction of records that were clipped.

    Attributes:
        losses: the mean loss of each step made; nan if it was not finite.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.losses: list[float] = []
        self._logged, self._repeats = 0, False

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        made = self.trainer.made()
        self.losses, self._logged, self._finds = [], 0, made.found is None
        self._told = made.counts.not_finite > 0
        self._begun, self._noise, self._start = (
            made.steps + made.probes_left,
            energy(made),
            sampled(made),
        )

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        made, is_due = self.trainer.made(), control.should_log
        if self._finds and made.found is not None:
            self._finds = False
            self.trainer.log(
                {name: x for name, x in made.found._asdict().items() if isinstance(x, float)}
            )
        if (
            (steps := made.steps - self._begun)
            == min(FIRST, made.setting.T - self._begun)
            >= FEWEST
        ):
            self.trainer.log(self._measured(made, steps))
        control.should_log = is_due  # since `log` sets `should_log` to False

    def records(self, batch: Batch) -> None:
        """Warn once if records of a batch are equal, since they may be one person's."""
        sums = of_records(batch.data, len(batch.records)).tolist()
        if not self._repeats and (equal := len(sums) - len({*sums})):
            self._repeats = True
            warnings.warn(
                f"in one batch {equal} of {len(sums)} records equal another. If they are one person's, ε says too little: take "
                "each record once, and give rare classes more weight in loss= where you repeated them",
                stacklevel=2,
            )

    def note(self, loss: float, before: Counts) -> None:
        """Keep the mean loss of a step or probe, unless the step looked at no quotient and so has
        no finite mean. Warn once if losses are not finite.
        """
        counts = self.trainer.made().counts
        if counts.looked_at == before.looked_at and not isfinite(loss):
            return
        self.losses.append(loss if isfinite(loss) else nan)
        if not self._told and (counts.not_finite or not isfinite(loss)):
            self._told = True
            warnings.warn(
                f"at step {counts.steps} some losses were not finite ({counts.not_finite} quotients count as 0): either the run "
                "has blown up, and needs a smaller learning_rate, or data or weights have numbers that are not finite",
                stacklevel=2,
            )

    def fill(self, logs: dict[str, float]) -> None:
        """Replace each logged loss by a mean over the steps made, and log ε so far beside it."""
        made = self.trainer.made()
        if "loss" in logs:
            logs["loss"], self._logged = (
                fmean(self.losses[self._logged :] or [nan]),
                len(self.losses),
            )
            if "learning_rate" in logs and made.record.steps:
                last = made.record.last
                logs["learning_rate"] = last.eta / last.K if last.moves else 0.0
            if made.record.steps:
                logs["epsilon"] = made.privacy_report(released="all").epsilon
            if made.counts.not_finite:
                logs["not_finite"] = made.counts.not_finite
        if "train_loss" in logs:
            logs["train_loss"] = fmean(self.losses or [nan])

    def _measured(self, made: NoisyZOGD, steps: int) -> dict[str, float]:
        """Return three ratios: `step_over_noise`, the movement that noise does not explain,
        relative to the noise; `moved`, the movement relative to the model's length at the start;
        and `clipped`, the fraction of records that were clipped. Warn if either of the first two is
        small.
        """
        setting, counts, now = made.setting, made.counts, sampled(made)
        moved, length = (
            sqrt(float(x.square().sum()) * setting.d / len(now))
            for x in (now - self._start, self._start)
        )
        noise, clipped = energy(made) - self._noise, counts.clipped / max(counts.looked_at, 1)
        beyond = moved**2 / noise - 1 if noise > 0 else inf
        if beyond < 2 * sqrt(2 / (steps * setting.K)):  # two standard deviations of noise alone
            warnings.warn(
                f"the noise drowns the step: in {steps} steps the model moved {moved:.3g}, as far as noise alone moves it. "
                f"Larger batches, more records or a larger ε help, and a smaller clip where few are clipped (here {clipped:.0%})",
                stacklevel=2,
            )
        if 0 < moved * sqrt(setting.T / steps) < STILL * length:
            warnings.warn(
                f"the model stays where it is: {steps} steps moved it by {moved / length:.1g} of its length. learning_rate is "
                f"along directions of length 1: multiply a rate of MeZO's by the number of trained parameters, d = {setting.d}",
                stacklevel=2,
            )
        return {
            "step_over_noise": sqrt(max(beyond, 0.0)),
            "moved": moved / length if length > 0 else inf,
            "clipped": clipped,
        }


def energy(mechanism: NoisyZOGD) -> float:
    """Return the expected squared length of the noise that all steps so far have added."""
    return sum(
        count * (step.eta * step.sigma) ** 2 for step, count in mechanism.record.moving.items()
    )


def sampled(mechanism: NoisyZOGD) -> Tensor:
    """Return evenly spaced coordinates of the trained parameters, in float64."""
    every = -(-mechanism.setting.d // SAMPLED)
    return torch.cat([flat(p)[::every].double().cpu() for p in mechanism.param_groups[0]["params"]])
