"""The state of a run: shared by its steps, reported on, and saved."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import isfinite
from threading import Lock
from typing import Any

from torch import Tensor

from zoexplore.mechanism.batches import BatchDraws, SeenRecords
from zoexplore.mechanism.checks import Kept, LossChecks, Mixed
from zoexplore.mechanism.checksums import Changed, Fingerprint
from zoexplore.mechanism.guarantees import cost
from zoexplore.mechanism.losses import Losses, Objective
from zoexplore.mechanism.parameters import Parameters
from zoexplore.mechanism.perturbation import Perturbed
from zoexplore.mechanism.record import Counts, Declared, Ledger, RunRecord, Step
from zoexplore.mechanism.rng import Sources
from zoexplore.mechanism.scale import GIVEN, Scale, probe_of
from zoexplore.mechanism.step import check_noise
from zoexplore.mechanism.target import HEADROOM, Left, spent, steps_left
from zoexplore.run.setting import Setting

INTERRUPTED = (
    "the last step, or the loading of a state, was interrupted while it moved the parameters: load a state_dict from before it"
)
GONE = (
    "the report would not be of this model, and says ε = ∞ from here on. Begin a new run, or make the model and the optimiser "
    "again and load a state_dict from before it"
)
FIXED = ("K", "sigma", "clip", "clipping", "batch", "xi", "ridge", "R", "sampling")

class RunState:
    """A run of `NoisyZOGD` up to the last step made. It holds its arguments, the steps and their counts, the next batches, the
    records of past ones, checks of the losses and the model's fingerprint.
    """

    def __init__(
        self,
        objective: Objective,
        parameters: Parameters,
        setting: Setting,
        sources: Sources,
        declared: Declared,
    ) -> None:
        self.objective, self.parameters = objective, parameters
        self.setting, self.sources, self.declared = setting, sources, declared
        self.ledger, self.counts, self.checks, self.seen = Ledger(), Counts(), LossChecks(), SeenRecords(setting.n)
        self.draws = BatchDraws(setting, sources)
        self.fingerprint = Fingerprint(objective.trained, objective.rest, objective.saved)
        self.plan, self.scale = setting, Scale(GIVEN)
        self.target: float | None = None
        self.counted: Setting | None = None
        self.rate = setting.eta / setting.K  # as schedulers begin with it
        self._kept: tuple[set[Step], int] = set(), 0  # entries that keep to the target, up to which number
        self._lock = Lock()

    def aim(self, target: float, scale: Scale, counted: Setting | None) -> None:
        """Keep to a target, which the plan meets as it is counted, with a little less noise, and find the scale."""
        self.target, self.scale, self.counted = target, scale, counted
        self.rate = 1.0 if "lr" in scale.choices.auto else self.rate
        self.settle()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Raises RuntimeError where a step is being made."""
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("a step is being made, by another thread or by this one's loss: make one after the other")
        try:
            yield
        finally:
            self._lock.release()

    def record(self) -> RunRecord:
        """The record for the report, after the model is checked again: it may have changed since the last step."""
        self._check_between_steps()
        interrupted = self.parameters.displaced and not self._lock.locked()
        return RunRecord(
            setting=self.setting,
            counts=self.counts,
            declared=self.declared,
            noise=self.sources.description,
            rounded=self.parameters.has_halves,
            quotient_error=self.checks.quotient_error,
            is_secure=self.sources.is_secure,
            found=self.scale.found(self.plan),
            target=self.target,
            plan=self.counted,
            equal=self.seen.equal,
            changed=self.seen.changed,
            **self.ledger.facts() | {"flaw": self.ledger.flaw or (INTERRUPTED if interrupted else "")},
        )

    def batch_of(self, t: int) -> Tensor:
        """The records of step t.

        Raises:
            ValueError: it was made already, or is none of the T steps.
        """
        if not self.counts.steps <= t < self.setting.T:
            raise ValueError(f"t = {t!r} is not allowed: give a step from {self.counts.steps} to {self.setting.T - 1}")
        return self.draws.of(t)

    def check_steps_left(self) -> None:
        """Raises RuntimeError where there are none."""
        if self.counts.steps >= self.setting.T:
            raise RuntimeError(
                f"all T = {self.setting.T} steps are done; for more, make the optimiser with a larger T and load this one's "
                "state_dict"
            )

    def next_step(self, lr: float) -> Step:
        """The next entry: a probe while the scale is looked for.

        Raises:
            RuntimeError: there is none, the last one was interrupted, or it would exceed the target.
            ValueError: a rate is not allowed.
        """
        self.check_steps_left()
        self.check_in_place()
        self._settle()
        setting, t = self.setting, self.counts.steps
        if not (lr >= 0 and isfinite(lr)):
            raise ValueError(f"lr = {lr!r} is not allowed: give a finite number of at least 0")
        if self.scale.asking is not None:
            step = probe_of(self.plan, setting.batch)
        else:
            part = self.scale.decayed(setting.T, t)
            eta = setting.eta * part if lr == self.rate else lr * part * (setting.eta if self.finds_rate else setting.K)
            step = Step(eta=eta, beta=setting.beta_at(t), **{name: getattr(setting, name) for name in FIXED})
            check_noise(step)
        self._keep_target(step)
        return step

    @property
    def finds_rate(self) -> bool:
        """Whether the run finds its learning rate, of which schedulers then set a part."""
        return "lr" in self.scale.choices.auto

    def answered(self, mean: float) -> None:
        """Go on from what the probe that was written down last has released."""
        self.scale.take(mean, self.counts.steps - 1)
        self._settle()

    def settle(self) -> None:
        """Make the plan that holds now the run's, in the numbers that are found."""
        self.setting, self._kept = self.scale.applied(self.plan), (set(), self.plan.T)

    def _settle(self) -> None:
        """Take over what the scale's probes have found."""
        if self.setting is self.plan and self.scale.choices.auto and self.scale.asking is None:
            self.settle()
            self.checks = LossChecks()

    def _keep_target(self, step: Step) -> None:
        """Raises RuntimeError where a step would exceed the target: as a plan's steps do not, up to its T."""
        kept, until = self._kept
        alike = replace(step, eta=1.0)
        if self.target is None or step.eta == 0 or (alike in kept and self.counts.steps < until):
            return
        record, planned = self.entries(self.ledger), probe_of(self.plan, self.plan.batch)
        same = (step.sampling, step.batch) == (planned.sampling, planned.batch)
        if same and self.counts.steps < until and cost(record, step) <= cost(record, planned) * (1 + HEADROOM / 2):
            kept.add(alike)
        elif (reached := spent(record, step, 1)) > self.target:
            raise RuntimeError(
                f"this step would bring ε to {reached:.4g}, above the target {self.target:g}: "
                "left() says what it leaves; for more, make the optimiser with a larger epsilon and load this one's state_dict"
            )

    def left(self) -> Left:
        """What the target leaves."""
        if self.target is None:
            raise ValueError("there is no target to keep: make the optimiser by NoisyZOGD.for_epsilon")
        record, step = self.entries(self.ledger), probe_of(self.plan, self.plan.batch)
        return Left(spent(record), self.target, steps_left(record, step, self.target))

    @contextmanager
    def unchanged_by_others(self) -> Iterator[None]:
        """Check that the model is as the last step left it; the same holds again if this step fails."""
        self.objective.check()
        self.parameters.check_in_place()
        self.fingerprint.check_unclaimed()
        if not self.ledger.has_looked:
            self.parameters.check_start(self.setting)
            self.fingerprint.start()
        elif self.fingerprint.versions() != self.fingerprint.seen:
            self.check_model()
        before = self.fingerprint.last
        try:
            yield
        except BaseException as found:
            self.fingerprint.last = before
            if not isinstance(found, Changed):
                raise
            self.note(f"at step {self.counts.steps + 1} {found}")
            raise Changed(f"{found}: {GONE}") from None

    def check_losses(self, losses: Losses, perturbed: Perturbed, data: Any, step: Step) -> None:
        """Check the losses. If they mix records now and did not before, the first step that did is unknown: that ends the
        guarantee."""
        ledger, number = self.ledger, self.counts.steps + 1
        try:
            self.checks.make(losses, perturbed, data, step, moved=ledger.has_moved)
        except Mixed as found:
            unseen = isinstance(found, Kept) or not self.checks.saw_change(self.objective.structure())
            if ledger.has_looked and unseen:
                since = f"of the steps since the {ledger.checked}th" if ledger.checked else "of the steps before"
                self.note(f"at step {number} {found}; how many {since} were so is not known")
            raise
        ledger.checked = number
        ledger.halves |= losses.use_halves(data)

    def note(self, flaw: str) -> None:
        """Record a flaw, unless there is one already."""
        self.ledger.flaw = self.ledger.flaw or flaw

    def note_order(self, drawn: Tensor, data: Any, step: Step) -> None:
        """Record a flaw if records of a cyclic run changed places."""
        swapped = self.seen.note(drawn, data) if len(drawn) else ""
        if swapped and step.sampling == "cyclic" and not step.on_all(self.setting.n):
            self.note(f"at step {self.counts.steps + 1} {swapped}: the order of the data changed")

    def write_down(self, step: Step, counts: Counts, xi_factor: float = 1.0) -> None:
        """Count the step before anybody can see it."""
        self.ledger.add(step, xi_factor)
        self.draws.used(self.counts.steps)
        self.counts = counts
        if step.eta > 0:
            self.fingerprint.claim()

    def entries(self, ledger: Ledger) -> RunRecord:
        """What a ledger costs, without what else a record says."""
        return RunRecord(self.plan, tuple(ledger.stages), Counts(), self.declared, noise="", plan=self.counted)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock."""
        self._check_between_steps()
        self.draws.of(self.counts.steps)  # so that no copy draws it anew
        return {name: x for name, x in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make a copy or a pickle another branch of the run, whose losses are checked again."""
        self.__dict__.update(state)
        self._lock = Lock()
        self.checks = LossChecks(self.checks.quotient_error)

    def _check_between_steps(self) -> None:
        """Check the model, unless a step is moving it right now."""
        if not self.parameters.displaced and not self._lock.locked():
            self.check_model()

    def check_model(self) -> None:
        """Record a flaw if somebody else changed the model. Before the first step, the model's current state is the start."""
        if not self.ledger.has_looked:
            self.fingerprint.start()
        found = self.fingerprint.changes()
        if found and self.fingerprint.goes_back(self.ledger.kept):  # an own iterate, which every step so far has paid for
            self.ledger.returned, found = True, self.fingerprint.changes()
        self.note(found)

    def check_in_place(self) -> None:
        if self.parameters.displaced:
            raise RuntimeError(INTERRUPTED)
