"""`NoisyZOGD`: differentially private training from loss values along random directions, for a model of one's own."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from inspect import unwrap
from math import isfinite, nan
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn

from zoexplore.mechanism import arguments, batches, resume
from zoexplore.mechanism.arguments import SCHEDULED, Schedule, planned
from zoexplore.mechanism.batches import Batch, BatchDraws, SeenRecords
from zoexplore.mechanism.checks import LossChecks, Mixed
from zoexplore.mechanism.checksums import Changed, Fingerprint, of_records
from zoexplore.mechanism.directions import Frame, Perturbation, Perturbed, frame, is_streamed
from zoexplore.mechanism.losses import AT_ONCE, Losses, Slopes, measure, objective
from zoexplore.mechanism.parallel import Drifted, Flawed, Ranks
from zoexplore.mechanism.parameters import Parameters
from zoexplore.mechanism.record import Counts, Declared, Ledger, RunRecord, Step
from zoexplore.mechanism.report import Progress, Report, Shown, privacy_report
from zoexplore.mechanism.rng import Sources, untouched_on_error
from zoexplore.mechanism.step import (
    HEAD,
    Estimate,
    PostProcessing,
    apply,
    check_noise,
    estimated,
    into_ball,
    noisy,
    summed,
)
from zoexplore.run.setting import Setting

GONE = (
    "the report would not be of this model, and says ε = ∞ from here on. Begin a new run, or make the model and the optimiser "
    "again and load a state_dict from before it"
)
INTERRUPTED = "the last step was interrupted while it moved the parameters: load a state_dict from before it"
UNDECLARED = Declared()


class NoisyZOGD(torch.optim.Optimizer):
    """Noisy zeroth-order gradient descent. One step on records i of a batch of b (under Poisson sampling, of b expected), with
    directions U:

        w <- project( w - (eta/K) sum_k g_k u_k + noise ),   g_k = (1/b) sum_i clip(l_i's difference quotient along u_k)

    plus ridge <w, u_k> in every g_k, the exact derivative of 1/2 ridge |w|^2, outside the clip. A loop:

        for batch in optimiser.batches((X, y)):
            optimiser.step(batch)

    It is an optimiser of torch's: its learning rate, eta/K, stands in `param_groups` for schedulers to change, hooks are called,
    and `state_dict` holds all that an exact resume needs. Every step is recorded as it is made; the report counts the record.

    Args:
        parameters: a module, trained in place, or the start as a flat vector, shape (d,).
        loss: with a module, `loss(outputs, targets)`, and a batch is `(inputs, targets)` or a dict with labels; with a vector,
            `loss(w, batch)`. It returns one loss a record, shape (b,), each of its own record alone. The ridge is not part of it.
        setting: the run. xi > 0 is the two-point estimator, 0 the directional derivative. It needs an eta.
        sources: the generators: `Sources(seed, noise_seed)` to try things out, `Sources.secure()` for a release.
        declared: what is known of the loss; without it, only composition holds.
        clipping: in place of the setting's, where given.
        schedule: the shares beta_t of the T steps, a bound's `trajectory`, or a dict of T values each of beta, sigma, clip,
            batch.
        loss_of: "outputs" of the module, or "model": then `loss(module, batch)` may do with both what it likes.
        directions: "dense", K vectors in memory; "streamed", made again from seeds whenever they are needed; "auto" by size.
        microbatch: records evaluated at once; all of the batch where None.
        chunk_size: directions evaluated at once by vmap, where dense; where None, one after the other, or many if the start is
            a vector.
        keep_copy: move the parameters in place, and back by a copy; where None, if they are few. Else a module's layers are lent
            moved ones as they run; a vector, or a module that reads parameters elsewhere, is copied all the same.
        post_processing: `Momentum` or `Adam` on the noisy estimates; only composition covers it.
        param_groups: dicts of `params` and an `lr` of their own, as torch's optimisers take; all others have the setting's
            eta/K. Directions, clip and noise are as ever; the update, noise included, is scaled. Only composition covers it.
        device: where to compute; where the parameters are, if None.
        group: of `torch.distributed`, whose processes make every step together, each on a part of the batch: all of them with
            the same arguments. They begin with the first one's parameters, directions and batches; its noise alone counts.

    Attributes:
        counts: steps made, and how often the clip was active and the projection hit (`record.Counts`).

    Raises:
        ValueError: an argument is not allowed, or two of them contradict each other.
    """

    def __init__(
        self,
        parameters: nn.Module | Tensor,
        loss: Any,
        setting: Setting,
        *,
        sources: Sources,
        declared: Declared = UNDECLARED,
        clipping: str | None = None,
        schedule: Schedule = None,
        loss_of: str = "outputs",
        directions: str = "auto",
        microbatch: int | None = None,
        chunk_size: int | None = None,
        keep_copy: bool | None = None,
        post_processing: PostProcessing | None = None,
        param_groups: Iterable[Mapping[str, Any]] = (),
        device: torch.device | str | None = None,
        group: Any = None,
    ) -> None:
        arguments.check_kinds(setting=setting, sources=sources, declared=declared, post_processing=post_processing)
        arguments.check_trained(parameters)
        arguments.check_processes(group)
        setting = setting if clipping is None else setting.replace(clipping=clipping)
        arguments.check(setting, microbatch, chunk_size)
        declared.describe(setting)  # refuses what cannot be
        self.objective = objective(parameters, loss, loss_of, device)
        self._ranks = Ranks(group)
        self._ranks.share(sources, self.objective.tensors)
        self._parameters = Parameters(self.objective.tensors)
        arguments.check_start(self._parameters, setting)
        self._setting, self._declared = setting, declared
        self._sources, self._schedule = sources, planned(schedule, setting)
        self._streamed = is_streamed(directions, self._parameters, setting.K)
        self._microbatch = microbatch or (setting.n if group is None else -(-(setting.batch or setting.n) // self._ranks.size))
        self._chunk_size = chunk_size
        if chunk_size is None and self.objective.plain is None:
            self._chunk_size = max(1, AT_ONCE // (setting.d * min(self._microbatch, 8)))
        self._perturbation = Perturbation(
            self._parameters, self.objective.layers if setting.xi > 0 else None, keep_copy, setting.K
        )
        self._process, self._kept = post_processing, arguments.slots(post_processing, self._parameters)
        self._counts, self._ledger = Counts(), Ledger()
        self._draws = BatchDraws(setting.n, setting.sampling, self._schedule.get("batch") or setting.batch or setting.n, sources)
        self._checks, self._lock, self._seen = LossChecks(), Lock(), SeenRecords(setting.n)
        self._fingerprint = Fingerprint(self.objective.trained, self.objective.rest, self.objective.saved)
        own = setting, declared, planned(schedule, setting)
        self._ranks.agree("its arguments or its model", lambda: (own, self._fingerprint.bits()))
        lr = setting.eta / setting.K
        super().__init__(arguments.grouped(param_groups, self.objective.tensors, lr), {"lr": lr})
        group_of = {number: g for g, group in enumerate(self.param_groups) for number in group["numbers"]}
        self._group_of = [group_of[number] for number, blocks in enumerate(self._parameters.blocks_of) for _ in blocks]
        self._shares = [1.0] * len(self.param_groups)

    @classmethod
    def for_epsilon(
        cls,
        parameters: nn.Module | Tensor,
        loss: Any,
        *,
        epsilon: float,
        delta: float,
        n: int,
        lr: float,
        T: int | None = None,
        K: int | None = None,
        passes: float | None = None,
        clip: float = 1.0,
        show: Callable[[str], None] = print,
        **options: Any,
    ) -> "NoisyZOGD":
        """The optimiser with the least noise that meets a target by composition; it says what it chose. The clip is joint; all
        noise is along the directions, and the sources are secure, by default.

        Args:
            parameters, loss: as above.
            epsilon, delta: the target. It holds even if every iterate is seen.
            n: how many records there are.
            T, K: steps, and directions a step, 1 where T alone is given.
            passes: forward passes a record, from which those of T and K that are left out are planned (`zoexplore.recommend`).
            lr: the learning rate eta/K: a step is lr times the gradient's part in the K directions, and noise.
            clip: the longest vector of K directional derivatives a record may have.
            show: where to say it.
            options: those of `arguments.setting_for` (batch, beta, xi, R, ridge) and of `NoisyZOGD`.

        Raises:
            ValueError: the target cannot be met, or an argument is not allowed.
        """
        arguments.check_trained(parameters)
        tensors = [p for p in parameters.parameters() if p.requires_grad] if isinstance(parameters, nn.Module) else [parameters]
        if "schedule" in options:
            raise ValueError(
                "a schedule is not allowed here: sigma is chosen for T equal steps; leave it out, or make the optimiser itself"
            )
        chosen = {name: options.pop(name) for name in ("batch", "beta", "xi", "R", "ridge") if name in options}
        d = sum(p.numel() for p in tensors)
        setting = arguments.setting_for(
            epsilon=epsilon, delta=delta, n=n, d=d, T=T, K=K, passes=passes, lr=lr, clip=clip, **chosen
        )
        show(arguments.described(setting))
        device = options.get("device") or (tensors[0].device if tensors else "cpu")
        sources = options.pop("sources", None) or Sources.secure(device=device)
        return cls(parameters, loss, setting, sources=sources, **options)

    @property
    def setting(self) -> Setting:
        """The run as it is to be; what was made stands in `record`."""
        return self._setting

    declared = property(lambda self: self._declared)
    clipping = property(lambda self: self._setting.clipping)
    counts = property(lambda self: self._counts)
    sources = property(lambda self: self._sources)

    @property
    def steps(self) -> int:
        """Steps made."""
        return self._counts.steps

    @property
    def w(self) -> Tensor:
        """The iterate, a copy, shape (d,)."""
        return self._parameters.vector()

    @property
    def record(self) -> RunRecord:
        """The run so far, as the report sees it. What it trains is looked at again: anybody may have changed it since."""
        self._check_model_between_steps()
        interrupted = self._parameters.displaced and not self._lock.locked()
        return RunRecord(
            setting=self._setting,
            counts=self._counts,
            declared=self._declared,
            noise=self.sources.description,
            rounded=self._parameters.has_halves,
            processed=self._said_of_updates(),
            quotient_error=self._checks.quotient_error,
            is_secure=self.sources.is_secure,
            equal=self._seen.equal,
            changed=self._seen.changed,
            **self._ledger.facts() | {"flaw": self._ledger.flaw or (INTERRUPTED if interrupted else "")},
        )

    def privacy_report(self, **options: Any) -> Report:
        """What the steps made so far cost by every bound; options as of `report.privacy_report`."""
        return privacy_report(self.record, **options)

    def drawn(self, t: int) -> Tensor:
        """The records of step t, indices of shape (b,), as the setting's `sampling` says. The same until the step is made.

        Raises:
            ValueError: it was made already, or is none of the T steps.
        """
        if not self.steps <= t < self._setting.T:
            raise ValueError(f"t = {t!r} is not allowed: give a step from {self.steps} to {self._setting.T - 1}")
        return self._draws.of(t)

    def batch(self, dataset: Any, *, collate_fn: Callable[[list], Any] | None = None) -> Batch:
        """The next step's records of a data set.

        Args:
            dataset: its n records: tensors (alone, in a tuple or in a dict) with the records in their first dimension, or
                anything that has a length and takes an index. Where neighbours have a record more or less, n is public, and a
                record that is missing leaves its place empty: to a record whose loss is constant.
            collate_fn: puts a list of records, taken by index, into one batch, as `DataLoader` has it: pads them, say. Each
                record's part must be made of that record alone.

        Raises:
            ValueError: it does not have n records.
            RuntimeError: all T steps are done.
        """
        self._check_steps_left()
        return batches.taken(dataset, self.drawn(self.steps), self._setting.n, collate_fn)

    def batches(
        self,
        dataset: Any,
        *,
        collate_fn: Callable[[list], Any] | None = None,
        progress: bool | Callable[[Progress], None] = False,
    ) -> Iterator[Batch]:
        """The batches of all steps that are left, each to be given to `step` before the next is asked for.

        Args:
            dataset, collate_fn: as in `batch`.
            progress: print steps, time left and epsilon so far every now and then, or hand them to a function.
        """
        shown = Shown(self, progress)
        while self.steps < self._setting.T:
            before = self.steps
            yield self.batch(dataset, collate_fn=collate_fn)
            if self.steps == before:
                raise RuntimeError(f"step {before} was not made: give every batch to step() before asking for the next")
            shown.after_step()

    @torch.no_grad()
    def step(self, batch: Batch) -> float:  # type: ignore[override]
        """One update. It takes no closure: the losses are evaluated here, at two points a direction.

        Args:
            batch: of `batch`, `batches` or a loader of `PrivateSampler`.

        Returns:
            The mean loss of the batch, for whoever may see it: no epsilon covers it. nan where nothing was computed.

        Raises:
            TypeError, ValueError: the batch is not the one that was drawn, the losses are not one a record or depend on other
                records, or rounding swamps the two-point quotients.
            RuntimeError: all T steps are done, another one is being made, or parameters were changed since the last one.
        """
        with self._alone():
            try:
                return self._step(batch)
            except Flawed as found:
                self._note(str(found))
                raise

    def _check_model_between_steps(self) -> None:
        """Write down whether anybody else changed the model; not while a step itself has it elsewhere."""
        if not self._parameters.displaced and not self._lock.locked():
            self._check_model()

    def _check_model(self) -> None:
        """Whatever was changed before the first step is its start."""
        if not self._ledger.has_moved:
            self._fingerprint.start()
        self._note(self._fingerprint.changes())

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("a step is being made, by another thread or by this one's loss: make one after the other")
        try:
            yield
        finally:
            self._lock.release()

    def _step(self, batch: Batch) -> float:
        count = HEAD + 2 * self._setting.K  # numbers that processes tell each other
        with self._ranks.telling(count, lambda: bool(self._ledger.flaw)):
            self._check_steps_left()
            self._check_in_place()
            arguments.check_processes(self._ranks.group)
            step, drawn = self._next_step(), self.drawn(self.steps)
            data = batches.checked(batch, drawn, self._parameters.device)
            if step.eta == 0:  # as at either end of many learning rates' schedules
                self._ranks.gather(self._header(step, drawn, data), torch.zeros(count, dtype=torch.int64))
                self._write_down(step, 1.0, self._counts.after())
                return nan
            microbatch = max(1, min(self._microbatch, len(drawn)))
            losses = Losses(self.objective, microbatch, self._fingerprint, self._parameters.device)
            with self._unchanged_by_others(), losses.without_autocast(), untouched_on_error(self.sources.directions):
                return self._moved(step, drawn, data, losses)

    def _moved(self, step: Step, drawn: Tensor, data: Any, losses: Losses) -> float:
        """Look at the losses where that is due, measure, and move the parameters; the mean loss."""
        self._note_order(drawn, data, step)
        directions = self._frame(step)
        self._checks.begin_step(len(drawn))
        is_due = self._checks.is_due(len(drawn), self.objective.structure(), self.steps + 1 == self._setting.T)
        if is_due:
            self._perturbation.check_reach(losses.here, batches.part(data, slice(0, 1)))
        with self._perturbation.along(directions) as perturbed:
            if is_due:
                self._check_losses(losses, perturbed, data, step)
            own = self._ranks.records(len(drawn), losses.microbatch)
            numbers = summed(self._slopes(losses, directions, perturbed, batches.part(data, own), own, step), step)
            rows = self._ranks.gather(self._header(step, drawn, data, losses.autocast), numbers)
            ridge = step.ridge * directions.coordinates().cpu() if step.ridge > 0 else 0.0
            found = estimated(rows, step, self._setting.n, ridge)
            perturbed.back()
            counts = self._counts.after(found.looked_at, found.clipped, found.not_finite)
            self._write_down(step, directions.xi_factor if step.xi > 0 else 1.0, counts, losses.autocast)
            self._move(directions, step, found)
        return found.loss

    def _slopes(self, losses: Losses, directions: Frame, perturbed: Perturbed, data: Any, own: slice, step: Step) -> Slopes:
        """Those of this process' records, if there are any."""
        if own.stop <= own.start:
            return Slopes(torch.zeros(0, step.K, dtype=torch.float64), 0, nan)
        return measure(losses, self._parameters, directions, perturbed, data, step.xi, self._chunk_size)

    def _header(self, step: Step, drawn: Tensor, data: Any, autocast: bool = False) -> tuple:
        """What has to be the same in all processes of a run before a step is made."""
        if self._ranks.size == 1:
            return ()
        records = drawn.numpy().tobytes(), of_records(data, len(drawn)).tobytes()
        return self.steps, step, self._shares, records, autocast, self._fingerprint.bits()

    @contextmanager
    def _unchanged_by_others(self) -> Iterator[None]:
        """The model is as the last step left it, and is so again if this one fails."""
        self.objective.check()
        self._parameters.check_in_place()
        self._fingerprint.check_unclaimed()
        if not self._ledger.has_moved:
            arguments.check_start(self._parameters, self._setting)
            self._fingerprint.start()
        try:
            self._fingerprint.check()
            before = self._fingerprint.last
            try:
                yield
            except BaseException:
                self._fingerprint.last = before
                raise
        except Changed as found:
            self._note(f"at step {self.steps + 1} {found}")
            raise Changed(f"{found}: {GONE}") from None

    def _note_order(self, drawn: Tensor, data: Any, step: Step) -> None:
        swapped = self._seen.note(drawn, data) if len(drawn) else ""
        if swapped and step.sampling == "cyclic" and not step.on_all(self._setting.n):
            self._note(f"at step {self.steps + 1} {swapped}: the order of the data changed")

    def state_dict(self, *, weights: bool = True) -> dict[str, Any]:
        """Everything that an exact resume needs, to be given to `torch.save`. As secret as the iterates are.

        Args:
            weights: the parameters too; else their checksums, where the model is saved beside the state, and is loaded first.

        Raises:
            RuntimeError: a step is being made, or the last one was interrupted while it moved the parameters.
        """
        with self._alone():
            self._check_in_place()
            self._check_model()
            self._draws.draw_coming(self.steps)
            return resume.of(self, weights)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken: the same numbers follow, unless the sources are secure.

        The setting may be another one, with a larger T, say, or another sigma: the steps that were made stay recorded as they
        were, and the report counts them all.

        Raises:
            ValueError: the saved run was on other data or another model, declared something else, or drew from sources of
                another kind. Nothing is changed then.
            RuntimeError: a step is being made.
        """
        with self._alone():
            resume.load(self, state)
            self._ranks.share(self.sources)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Refused after construction: the number of parameters is part of what was accounted."""
        if hasattr(self, "_group_of"):
            raise ValueError("another parameter group is not allowed: d is part of the run; make the optimiser with all of them")
        unwrap(torch.optim.Optimizer.add_param_group)(self, param_group)  # wrapped, it loads PyTorch's compiler, for a second

    def __copy__(self) -> "NoisyZOGD":
        raise TypeError("a shallow copy would move the same model, each step unknown to one of two reports: take copy.deepcopy")

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock and a scheduler's wrapper of `step`, which steps this one. Torch's own would leave out what makes
        it private.
        """
        self._check_model_between_steps()
        self._draws.draw_coming(self.steps)
        return {name: x for name, x in self.__dict__.items() if name not in ("_lock", "step")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of a copy, or a pickle: another branch of the run, whose losses are looked at again."""
        super().__setstate__(state)
        self._lock = Lock()
        self._ledger.part(self._draws.ahead(self.steps))
        self._checks = LossChecks(self._checks.quotient_error)

    def _planned(self, name: str, t: int) -> Any:
        return self._schedule[name][t] if name in self._schedule else getattr(self._setting, name)

    def _next_step(self) -> Step:
        setting, t = self._setting, self.steps
        rates = [float(self.param_groups[g]["lr"]) for g in range(len(self._shares))]
        if wrong := [lr for lr in rates if not (lr >= 0 and isfinite(lr))]:
            raise ValueError(f"lr = {wrong[0]!r} is not allowed: give a finite number of at least 0")
        lr = max(rates)
        self._shares = [rate / lr if lr > 0 else 0.0 for rate in rates]
        eta = setting.eta if lr == setting.eta / setting.K else lr * setting.K
        varied: dict[str, Any] = {name: self._planned(name, t) for name in SCHEDULED}
        fixed: dict[str, Any] = {name: getattr(setting, name) for name in ("K", "xi", "ridge", "R", "sampling", "clipping")}
        step = Step(eta=eta, **varied, **fixed)
        check_noise(step)
        return step

    def _frame(self, step: Step) -> Frame:
        return frame(self._parameters, step.K, self.sources.directions, streamed=self._streamed, position=step.ridge > 0)

    def _check_losses(self, losses: Losses, perturbed: Perturbed, data: Any, step: Step) -> None:
        """Where losses mix records that did not when they were checked before, nobody knows since when."""
        try:
            self._checks.make(losses, perturbed, data, step, moved=self._ledger.has_moved)
        except Mixed as found:
            if self._ledger.has_moved and not self._checks.saw_change(self.objective.structure()):
                since = f"of the steps since the {self._ledger.checked}th" if self._ledger.checked else "of the steps before"
                self._note(f"at step {self.steps + 1} {found}; how many {since} were so is not known")
            raise
        self._ledger.checked = self.steps + 1
        self._ledger.autocast |= losses.use_halves(data)

    def _note(self, flaw: str) -> None:
        """The first that is found stays."""
        self._ledger.flaw = self._ledger.flaw or flaw

    def _write_down(self, step: Step, xi_factor: float, counts: Counts, autocast: bool = False) -> None:
        """Count the step before anybody can see it."""
        self._ledger.add(step, xi_factor, self._draws.ahead(self.steps), autocast)
        self._draws.used(self.steps)
        self._counts = counts
        if step.eta > 0:
            self._fingerprint.claim()

    def _move(self, directions: Frame, step: Step, found: Estimate) -> None:
        self._parameters.displaced = True
        rounding = self._rounding() if self._parameters.has_halves else None
        own = noisy(step, found.mean, self._parameters.d, self.sources.noise) if self._ranks.rank == 0 else None
        released = self._ranks.from_first(own, step.K + 4)
        apply(self._parameters, directions, step, released, self.sources, rounding, self._processed(step.eta / step.K))
        if into_ball(self._parameters, step.R):
            self._counts = replace(self._counts, projected=self._counts.projected + 1)
        self._fingerprint.renew()
        try:
            self._ranks.agree("its parameters after a step", self._fingerprint.bits)
        except Drifted as drifted:
            self._note(str(drifted))
            raise
        self._parameters.displaced = False

    def _processed(self, rate: float) -> Callable[[int, Tensor], Tensor] | None:
        """What is made of an update, -rate times the noisy estimate: block by block, and each group's share of the rate."""
        number, process = sum(count for step, count in self._ledger.stages if step.eta > 0), self._process
        if process is None and len(self._shares) == 1:
            return None

        def made_of(i: int, moved: Tensor) -> Tensor:
            update = moved if process is None else process(moved / -rate, self._kept[i], number).mul(-rate)
            return update.mul(self._shares[self._group_of[i]])

        return made_of

    def _said_of_updates(self) -> str:
        """What is made of them after the noise; empty where nothing is."""
        remembered = f"later steps remember earlier estimates ({self._process!r})" if self._process is not None else ""
        grouped = "parameter groups have learning rates of their own" if len(self._shares) > 1 else ""
        return "; ".join(filter(None, (remembered, grouped)))

    def _rounding(self) -> torch.Generator:
        """Public chance, another at every step: rounding comes after the noise."""
        seed = (self.sources.initialisation.initial_seed() + self.steps) % 2**63
        return torch.Generator(self._parameters.device).manual_seed(seed)

    def _check_steps_left(self) -> None:
        if self.steps >= self._setting.T:
            raise RuntimeError(
                f"all T = {self._setting.T} steps are done; for more, make the optimiser with a larger T and load this one's "
                "state_dict"
            )

    def _check_in_place(self) -> None:
        if self._parameters.displaced:
            raise RuntimeError(INTERRUPTED)
