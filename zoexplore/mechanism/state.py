"""The state of a run: shared by its steps, reported on, and saved."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import zip_longest
from math import isfinite, sqrt
from threading import Lock
from typing import Any, NamedTuple

from torch import Tensor

from zoexplore.mechanism.batches import BatchDraws, SeenRecords
from zoexplore.mechanism.checks import Kept, LossChecks, Mixed
from zoexplore.mechanism.checksums import Changed, Fingerprint
from zoexplore.mechanism.guarantees import cost
from zoexplore.mechanism.losses import Losses, Objective
from zoexplore.mechanism.parallel import digest
from zoexplore.mechanism.parameters import Parameters
from zoexplore.mechanism.perturbation import Perturbed
from zoexplore.mechanism.record import Counts, Declared, Ledger, RunRecord, Step
from zoexplore.mechanism.rng import REKEYED, Sources
from zoexplore.mechanism.scale import GIVEN, Scale, probe_of
from zoexplore.mechanism.step import check_noise
from zoexplore.mechanism.target import HEADROOM, Left, noise_for, spent, steps_left
from zoexplore.run.setting import Setting

VERSION = 1  # of saved states
INTERRUPTED = (
    "the last step, or the loading of a state, was interrupted while it moved the parameters: load a state_dict from before it"
)
GONE = (
    "the report would not be of this model, and says ε = ∞ from here on. Begin a new run, or make the model and the optimiser "
    "again and load a state_dict from before it"
)
SCHEDULED = ("beta", "sigma", "clip", "batch")  # the learning rate is torch's schedulers' to vary
FIXED = ("K", "xi", "ridge", "R", "sampling", "clipping")
SHARED = ("n", "d", "neighbours")  # fields that two phases of one run must share


STATE = {
    *("version", "run", "rate", "param_group", "w", "bits", "frozen", "ledger", "counts", "draws"),
    *("quotient_error", "sources", "scale", "noise"),
}
WHOLE = "give one as state_dict() made it"


class Loaded(NamedTuple):
    """What a saved state describes beside weights and generators."""

    ledger: Ledger
    counts: Counts
    draws: BatchDraws
    checks: LossChecks
    scale: Scale
    plan: Setting


class RunState:
    """A run of `NoisyZOGD` up to the last step made. It holds its arguments (of each scheduled field, T values), the steps and
    their counts, the next batches, the records of past ones, checks of the losses and the model's fingerprint.
    """

    def __init__(
        self,
        objective: Objective,
        parameters: Parameters,
        setting: Setting,
        sources: Sources,
        declared: Declared,
        schedule: Mapping[str, list],
    ) -> None:
        self.objective, self.parameters = objective, parameters
        self.setting, self.sources, self.declared, self.schedule = setting, sources, declared, schedule
        self.ledger, self.counts, self.checks, self.seen = Ledger(), Counts(), LossChecks(), SeenRecords(setting.n)
        self.draws = BatchDraws(setting.n, setting.sampling, schedule.get("batch") or setting.batch or setting.n, sources)
        self.fingerprint = Fingerprint(objective.trained, objective.rest, objective.saved)
        self.plan, self.scale = setting, Scale(GIVEN)
        self.target: float | None = None
        self.rate = setting.eta / setting.K  # as schedulers begin with it
        self._kept: tuple[set[Step], int] = set(), 0  # entries that keep to the target, up to which number
        self._lock = Lock()

    def aim(self, target: float, scale: Scale) -> None:
        """Keep to a target, which the plan meets, and find the scale."""
        self.target, self.scale = target, scale
        self.rate = 1.0 if "lr" in scale.choices.auto else self.rate
        self.setting, self._kept = scale.applied(self.plan), (set(), self.plan.T)

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
            equal=self.seen.equal,
            changed=self.seen.changed,
            **self.ledger.facts() | {"flaw": self.ledger.flaw or (INTERRUPTED if interrupted else "")},
        )

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
        self._check_in_place()
        setting, t = self.setting, self.counts.steps
        if not (lr >= 0 and isfinite(lr)):
            raise ValueError(f"lr = {lr!r} is not allowed: give a finite number of at least 0")
        if self.scale.asking is not None:
            step = probe_of(self.plan, setting.batch)
        else:
            part = self.scale.decayed(setting.T, t)
            eta = setting.eta * part if lr == self.rate else lr * part * (setting.eta if self.finds_rate else setting.K)
            varied = {name: self.schedule[name][t] if name in self.schedule else getattr(setting, name) for name in SCHEDULED}
            step = Step(eta=eta, **varied, **{name: getattr(setting, name) for name in FIXED})
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
        if self.scale.asking is None:
            self.setting, self.checks = self.scale.applied(self.plan), LossChecks()

    def _keep_target(self, step: Step) -> None:
        """Raises RuntimeError where a step would exceed the target: as a plan's steps do not, up to its T."""
        kept, until = self._kept
        alike = replace(step, eta=1.0)
        if self.target is None or step.eta == 0 or (alike in kept and self.counts.steps < until):
            return
        record, planned = self._entries(self.ledger), probe_of(self.plan, self.plan.batch)
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
        record, step = self._entries(self.ledger), probe_of(self.plan, self.plan.batch)
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
            self._check_model()
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
        self.ledger.add(step, xi_factor, self.draws.ahead(self.counts.steps))
        self.draws.used(self.counts.steps)
        self.counts = counts
        if step.eta > 0:
            self.fingerprint.claim()

    def saved(self, group: dict[str, Any], weights: bool) -> dict[str, Any]:
        """The state, in tensors, numbers and text, with the parameters or their checksums.

        Raises:
            RuntimeError: the last step was interrupted while it moved the parameters.
        """
        self._check_in_place()
        self._check_model()
        self.draws.draw_coming(self.counts.steps)
        tensors = self.parameters.tensors
        self.ledger.kept.append(digest(self.fingerprint.last))
        return {
            "version": VERSION,
            "run": self._arguments(),
            "rate": self.rate,
            "scale": self.scale.state_dict(),
            "noise": probe_of(self.plan, None).sigma,
            "param_group": {name: x for name, x in group.items() if name != "params"},
            "w": [tensor.detach().clone() for tensor in tensors] if weights else None,
            "bits": self.fingerprint.bits_of(tensors),
            "frozen": self.fingerprint.frozen(),
            "ledger": self.ledger.state_dict(),
            "counts": asdict(self.counts),
            "draws": self.draws.state_dict(),
            "quotient_error": self.checks.quotient_error,
            "sources": self.sources.state_dict(),
        }

    def load(self, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Go on from a saved state, all of which is read before anything is changed.

        Raises:
            ValueError: it is no whole state of this version, or was made for other data or another model. Nothing is changed
                then.
        """
        loaded = self._read(state)
        self.fingerprint.claim(whole=True)  # they are where the state's steps led, whoever moved them before
        self.parameters.displaced = True  # an interruption from here on leaves neither the old run nor the saved one
        self.sources.load_state_dict(state["sources"])
        if state["w"] is not None:
            for tensor, saved in zip(self.parameters.tensors, state["w"], strict=True):
                tensor.data.copy_(saved)
        self.fingerprint.renew()
        loaded.ledger.flaw = self.ledger.flaw or self.fingerprint.changes() or loaded.ledger.flaw  # of this model and loss too
        self.ledger, self.counts, self.draws, self.checks, self.scale, self.plan = loaded
        self.setting, self._kept = self.scale.applied(self.plan), (set(), self.plan.T)
        self._branch()
        goes_on = state["rate"] == self.rate  # else the new setting's rate holds
        group.update({name: x for name, x in state["param_group"].items() if goes_on or name != "lr"})
        self.parameters.displaced = False
        if self.sources.is_secure:
            warnings.warn(REKEYED, stacklevel=3)

    def _read(self, state: Any) -> "Loaded":
        """Make what a state describes.

        Raises:
            ValueError: as in `load`.
        """
        version = state.get("version") if isinstance(state, Mapping) else None
        if version != VERSION:
            raise ValueError(f"a state of the version {version!r} is not allowed: this version's state_dict() makes {VERSION}")
        if wrong := sorted(state.keys() ^ STATE):
            raise ValueError(f"a state that lacks, or has beside its own, {', '.join(map(repr, wrong))} is not allowed: {WHOLE}")
        if not self.ledger.has_looked:
            self.fingerprint.start()
        try:
            self._check_state(state)
            self.sources.check_state(state["sources"])
            draws = BatchDraws(self.setting.n, self.setting.sampling, self.draws.sizes, self.sources)
            draws.load_state_dict(state["draws"], state["counts"]["steps"])
            dict(state["param_group"])
            ledger, counts, scale = Ledger.of(state["ledger"]), Counts(**state["counts"]), Scale(self.scale.choices)
            scale.load_state_dict(state["scale"] if scale.choices.auto else scale.state_dict())
            noise = float(state["noise"])
            checks = LossChecks(state["quotient_error"])
            return Loaded(ledger, counts, draws, checks, scale, self._with_noise_left(ledger, counts.steps, noise))
        except (KeyError, TypeError, AttributeError, IndexError, RuntimeError) as error:
            raise ValueError(f"the state is damaged ({type(error).__name__}: {error}): {WHOLE}") from error

    def _with_noise_left(self, ledger: Ledger, made: int, before: float) -> Setting:
        """The plan with noise that keeps the target for all steps that are left: its own, that of the saved run, whose probes had
        the noise `before`, or what is solved for.

        Raises:
            ValueError: none does.
        """
        left, record, probe = self.plan.T - made, self._entries(ledger), probe_of(self.plan, self.plan.batch)
        if self.target is None or left == 0:
            return self.plan
        for noise in (probe.sigma, before):
            if spent(record, replace(probe, sigma=noise), left) <= self.target:
                break
        else:
            noise = noise_for(record, probe, left, self.target)
        return self.plan if noise == probe.sigma else self.plan.replace(sigma=self.plan.sigma * noise / probe.sigma)

    def _entries(self, ledger: Ledger) -> RunRecord:
        """What a ledger costs, without what else a record says."""
        return RunRecord(self.plan, tuple(ledger.stages), Counts(), self.declared, noise="")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock."""
        self._check_between_steps()
        self.draws.draw_coming(self.counts.steps)
        return {name: x for name, x in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make a copy or a pickle another branch of the run, whose losses are checked again."""
        self.__dict__.update(state)
        self._lock = Lock()
        self.checks = LossChecks(self.checks.quotient_error)
        self._branch()

    def _branch(self) -> None:
        self.ledger.part(self.draws.ahead(self.counts.steps))

    def _check_between_steps(self) -> None:
        """Check the model, unless a step is moving it right now."""
        if not self.parameters.displaced and not self._lock.locked():
            self._check_model()

    def _check_model(self) -> None:
        """Record a flaw if somebody else changed the model. Before the first step, the model's current state is the start."""
        if not self.ledger.has_looked:
            self.fingerprint.start()
        found = self.fingerprint.changes()
        if found and self.fingerprint.goes_back(self.ledger.kept):  # an own iterate, which every step so far has paid for
            self.ledger.returned, found = True, self.fingerprint.changes()
        self.note(found)

    def _check_in_place(self) -> None:
        if self.parameters.displaced:
            raise RuntimeError(INTERRUPTED)

    def _arguments(self) -> dict[str, Any]:
        return self.setting.as_dict() | {f"declared {k}": v for k, v in asdict(self.declared).items()}

    def _check_state(self, state: dict[str, Any]) -> None:
        run, tensors, made = self._arguments(), self.parameters.tensors, state["counts"]["steps"]
        saved_at: Sequence[Tensor] = tensors if state["w"] is None else state["w"]
        if state["w"] is None and state["bits"] != self.fingerprint.bits_of(tensors):
            raise ValueError("the state is of parameters saved beside it, and these are others: load that model, then the state")
        compared = {name: (x, run[name]) for name, x in state["run"].items() if name in SHARED or name.startswith("declared")}
        kinds = {f"parameter {i}": (_kind(saved), _kind(own)) for i, (saved, own) in enumerate(zip_longest(saved_at, tensors))}
        for name, (saved, own) in (compared | kinds).items():
            if own != saved:
                raise ValueError(f"the saved run had {name} = {saved!r}, this one has {own!r}: make it the same way")
        frozen = self.fingerprint.frozen()
        for name, bits in state["frozen"].items():
            if frozen.get(name) != bits:
                raise ValueError(f"the saved run had other numbers in {name!r}, which it does not train: give it the same model")
        if state["bits"] != self.fingerprint.bits_of(saved_at):
            raise ValueError("the saved numbers are not those that the saved steps led to: the state was changed since")
        if made != sum(count for _, count in state["ledger"]["stages"]):
            raise ValueError(f"the saved run has {made} steps and a record of others: it was changed")
        if made > self.setting.T:
            raise ValueError(f"the saved run had made {made} steps, more than T = {self.setting.T}: give the setting a larger T")
        R, before = self.setting.R, state["run"]["R"]
        length = sqrt(sum(float(w.double().norm()) ** 2 for w in saved_at)) if R < before else 0.0
        if length > R:
            raise ValueError(f"the saved run had come to length {length:.4g}, beyond R = {R:.4g}: take a larger R")


def _kind(tensor: Tensor | None) -> str:
    return "none" if tensor is None else f"{tensor.dtype}, shape {tuple(tensor.shape)}"
