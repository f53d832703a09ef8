"""The state of a run: its steps share it, its report reads it, and it is saved to a file."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import inf, isfinite
from secrets import token_hex
from threading import Lock
from typing import Any

from torch import Tensor

from zoexplore.mechanism.batches import BatchDraws
from zoexplore.mechanism.guarantees import cost
from zoexplore.mechanism.losses import Objective
from zoexplore.mechanism.parallel import Ranks
from zoexplore.mechanism.parameters import Parameters
from zoexplore.mechanism.record import Counts, Declared, RunRecord, Step
from zoexplore.mechanism.rng import Sources
from zoexplore.mechanism.scale import GIVEN, Scale, probe_of
from zoexplore.mechanism.target import HEADROOM, Left, spent, steps_left
from zoexplore.mechanism.watch import INTERRUPTED, Watch
from zoexplore.run.setting import Setting

# the least eta sigma allowed, with which the noise of a coordinate is far from underflow
LEAST_NOISE = 1e-270
NONE = Counts()
FIXED = ("K", "sigma", "clip", "clipping", "batch", "xi", "ridge", "R", "sampling")


class RunState:
    """The state of a run of `NoisyZOGD` after the last step made. It holds the run's arguments,
    ledger, next batches, scale, target and watch.
    """

    def __init__(
        self,
        objective: Objective,
        parameters: Parameters,
        setting: Setting,
        sources: Sources,
        declared: Declared,
        ranks: Ranks,
    ) -> None:
        self.objective, self.parameters = objective, parameters
        self.setting, self.sources, self.declared = setting, sources, declared
        self.ledger = RunRecord(setting, (), Counts(), declared, noise="", root=token_hex(8))
        self.kept: list[int] = []  # digests of the parameters at every saved state
        self.draws = BatchDraws(setting, sources)
        self.watch = Watch(self, objective, ranks)
        self.plan, self.scale = setting, Scale(GIVEN)
        self.target: float | None = None
        self.counted: Setting | None = None
        self.rate = setting.eta / setting.K  # the rate that schedulers begin with
        self._lock = Lock()

    def aim(self, target: float, scale: Scale, counted: Setting | None) -> None:
        """Set the target to keep to and the scale to find. `counted` is the plan as it is counted,
        with a little less noise than the run's; None if the run does not find its scale.
        """
        self.target, self.scale, self.counted = target, scale, counted
        self.rate = 1.0 if "lr" in scale.choices.auto else self.rate
        self.settle()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Let no step be made meanwhile. Raise RuntimeError if a step is being made already."""
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                "a step is being made, by another thread or by this one's loss: make one after the other"
            )
        try:
            yield
        finally:
            self._lock.release()

    @property
    def is_making(self) -> bool:
        """Whether a step is being made."""
        return self._lock.locked()

    def record(self) -> RunRecord:
        """Return the record for the report, after checking that the model has not changed since the
        last step.
        """
        self._check_between_steps()
        broken = self.parameters.displaced and not self.is_making
        return replace(
            self.ledger,
            setting=self.setting,
            noise=self.sources.description,
            is_secure=self.sources.is_secure,
            rounded=self.parameters.has_halves,
            found=self.scale.found(self.plan),
            target=self.target,
            plan=self.counted,
            flaw=self.ledger.flaw or INTERRUPTED * broken,
        )

    @property
    def counts(self) -> Counts:
        """How many steps were made, and what was counted in them."""
        return self.ledger.counts

    def note(self, **facts: Any) -> None:
        """Write facts into the ledger."""
        self.ledger = replace(self.ledger, **facts)

    def batch_of(self, t: int) -> Tensor:
        """Return the records of step t.

        Raises:
            ValueError: step t was made already, or is not one of the T steps.
        """
        if not self.counts.steps <= t < self.setting.T:
            raise ValueError(
                f"t = {t!r} is not allowed: give a step from {self.counts.steps} to {self.setting.T - 1}"
            )
        return self.draws.of(t)

    def check_steps_left(self) -> None:
        """Raise RuntimeError if no step is left."""
        if self.counts.steps >= self.setting.T:
            raise RuntimeError(
                f"all T = {self.setting.T} steps are done; for more, make the optimiser with a larger T and load this one's "
                "state_dict"
            )

    def next_step(self, lr: float) -> Step:
        """Return the next entry, which is a probe until the scale is found.

        Raises:
            RuntimeError: no step is left, the last step was interrupted, or the next step would
                exceed the target.
            ValueError: the rate is not allowed.
        """
        self.check_steps_left()
        self.watch.in_place()
        self._settle()
        setting, t = self.setting, self.counts.steps
        if not (lr >= 0 and isfinite(lr)):
            raise ValueError(f"lr = {lr!r} is not allowed: give a finite number of at least 0")
        if not self.scale.is_found:
            step = probe_of(self.plan, setting.batch)
        else:
            part = self.scale.decayed(setting.T, t)
            eta = (
                setting.eta * part
                if lr == self.rate
                else lr * part * (setting.eta if self.finds_rate else setting.K)
            )
            step = Step(
                eta=eta, beta=setting.beta_at(t), **{name: getattr(setting, name) for name in FIXED}
            )
            # a move without noise would reveal everything
            if step.eta > 0 and not LEAST_NOISE <= step.eta * step.sigma < inf:
                raise ValueError(
                    f"lr = {lr!r} with sigma = {step.sigma!r} is not allowed: the noise would be lost to rounding; give an lr of "
                    "0, or both of usual size"
                )
        self._keep_target(step)
        return step

    @property
    def finds_rate(self) -> bool:
        """Whether the run finds its learning rate. If so, schedulers set a fraction of it."""
        return "lr" in self.scale.choices.auto

    def answered(self, mean: float) -> None:
        """Go on from the mean that the last probe released."""
        self.scale.take(mean, self.counts.steps - 1)
        self._settle()

    def settle(self) -> None:
        """Make the plan the run's setting, in the numbers of the scale once that is found."""
        self.setting = self.scale.applied(self.plan)

    def _settle(self) -> None:
        """Take over the scale once probes have found it, and have the losses checked again."""
        if self.setting is self.plan and self.scale.choices.auto and self.scale.is_found:
            self.settle()
            self.watch.begin_again()

    def _keep_target(self, step: Step) -> None:
        """Raise RuntimeError if a step would exceed the target. The plan's T steps never do."""
        if self.target is None or step.eta == 0:
            return
        record, planned = self.entries(self.ledger), probe_of(self.plan, self.plan.batch)
        same = (step.sampling, step.batch) == (
            planned.sampling,
            planned.batch,
        ) and self.counts.steps < self.plan.T
        if same and cost(record, step) <= cost(record, planned) * (1 + HEADROOM / 2):
            return
        if (reached := spent(record, step, 1)) > self.target:
            raise RuntimeError(
                f"this step would bring ε to {reached:.4g}, above the target {self.target:g}: "
                "left() says what it leaves; for more, make the optimiser with a larger epsilon and load this one's state_dict"
            )

    def left(self) -> Left:
        """Return what the target leaves."""
        if self.target is None:
            raise ValueError(
                "there is no target to keep: make the optimiser by NoisyZOGD.for_epsilon"
            )
        record, step = self.entries(self.ledger), probe_of(self.plan, self.plan.batch)
        return Left(spent(record), self.target, steps_left(record, step, self.target))

    def write_down(self, step: Step, counts: Counts = NONE, xi_factor: float = 1.0) -> None:
        """Write a step and its counts into the ledger, before anybody can see the step."""
        self.ledger = self.ledger.after(step, counts, xi_factor)
        self.draws.used()
        if step.eta > 0:
            self.watch.fingerprint.claim()

    def entries(self, ledger: RunRecord) -> RunRecord:
        """Return a ledger as it is counted against the target, with the plan as its setting."""
        return replace(ledger, setting=self.plan, plan=self.counted)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock."""
        self._check_between_steps()
        self.draws.of(self.counts.steps)  # so that all copies have the same next batch
        return {name: x for name, x in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy as a branch of the run, whose losses are checked again."""
        self.__dict__.update(state)
        self._lock = Lock()
        if self.ledger.has_looked:
            self.watch.fingerprint.claim()
        self.watch.begin_again()

    def _check_between_steps(self) -> None:
        """Check the model, unless a step is moving it right now."""
        if not self.parameters.displaced and not self.is_making:
            self.watch.model()
