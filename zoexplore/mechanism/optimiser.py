"""`NoisyZOGD`: differentially private training from loss values along random directions, for a model of one's own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from inspect import unwrap
from math import isfinite, nan
from threading import Lock
from typing import Any

import torch
from torch import Tensor, nn

from zoexplore.mechanism import arguments, batches, resume, slopes, sums, targets
from zoexplore.mechanism.batches import Batch, BatchDraws, Seen
from zoexplore.mechanism.clipping import RULES
from zoexplore.mechanism.declaration import Declared
from zoexplore.mechanism.examination import Examination, Mixed
from zoexplore.mechanism.frames import Dense, Frame, Mover, frame, is_copied, is_streamed
from zoexplore.mechanism.objective import OfModule, objective
from zoexplore.mechanism.on_the_way import OnTheWay, reaches_all
from zoexplore.mechanism.parallel import Drifted, Ranks
from zoexplore.mechanism.parameters import Copy, Parameters
from zoexplore.mechanism.post_processing import PostProcessing
from zoexplore.mechanism.progress import Progress, Shown
from zoexplore.mechanism.report import Report, privacy_report
from zoexplore.mechanism.rng import Sources, untouched_on_error
from zoexplore.mechanism.run_record import Counts, Ledger, RunRecord, Step
from zoexplore.mechanism.schedule import SCHEDULED, Schedule, planned
from zoexplore.mechanism.update import apply, check_noise, into_ball, noisy
from zoexplore.mechanism.watch import Changed, Watch
from zoexplore.setting import Setting

GONE = (
    "the report would not be of this model, and says ε = ∞ from here on. Begin a new run, or make the model and the optimiser "
    "again and load a state_dict from before it"
)
INTERRUPTED = "the last step was interrupted while it moved the parameters: load a state_dict from before it"
UNDECLARED = Declared()
TOLD = 5  # numbers that are told of a step's records, beside their sums
AT_ONCE = 2**23  # numbers that vmap may hold by itself where nobody said otherwise


class NoisyZOGD(torch.optim.Optimizer):
    """Noisy zeroth-order gradient descent. One step on records i of a batch of b (under Poisson sampling, of b expected), with
    directions U:

        w <- project( w - (eta/K) sum_k g_k u_k + noise ),   g_k = (1/b) sum_i clip(l_i's difference quotient along u_k)

    plus ridge <w, u_k> in every g_k, the exact derivative of 1/2 ridge |w|^2, outside the clip. A loop:

        for batch in optimiser.batches((X, y)):
            optimiser.step(batch)

    It is an optimiser of torch's: its learning rate, eta/K, stands in `param_groups` for schedulers to change, hooks are
    called, and `state_dict` holds all that an exact resume needs. Every step is recorded as it is made; the report counts the
    record.

    Args:
        parameters: a module, trained in place, or the start as a flat vector, shape (d,).
        loss: with a module, `loss(outputs, targets)`, and a batch is `(inputs, targets)` or a dict with labels; with a vector,
            `loss(w, batch)`. It returns one loss a record, shape (b,), each of its own record alone. The ridge is not part of it.
        setting: the run. xi > 0 is the two-point estimator, 0 the directional derivative. It needs an eta.
        sources: the generators: `Sources(seed, noise_seed)` to try things out, `Sources.secure()` for a release.
        declared: what is known of the loss; without it, only composition holds.
        estimator: "two-point" or "directional", to state it; it must agree with xi.
        clipping: in place of the setting's, where given.
        schedule: the shares beta_t of the T steps, a bound's `trajectory`, or a dict of T values each of beta, sigma, clip,
            batch.
        loss_of: "outputs" of the module, or "model": then `loss(module, batch)` may do with both what it likes.
        directions: "dense", K vectors in memory; "streamed", made again from seeds whenever they are needed; "auto" by size.
        microbatch: records evaluated at once; all of the batch where None.
        chunk_size: directions evaluated at once by vmap, where dense; where None, one after the other, or many if the start is
            a vector.
        keep_copy: keep the parameters while probing, so as to come back to them exactly; where None, if they are few. Without a
            copy a module's layers are lent moved parameters as they run; a vector, or a module that reads parameters elsewhere,
            is moved and comes back but for rounding: see `docs/mechanism.md`.
        skip_idle_clip: where xi = 0 and directions are dense, take every record's gradient in place of K derivatives, and look at
            quotients only of records whose gradient is longer than the clip. The numbers are the same.
        post_processing: `Momentum` or `Adam` on the noisy estimates; only composition covers it.
        device: where to compute; where the parameters are, if None.
        group: of `torch.distributed`, whose processes make every step together, each on a part of the batch: all of them with
            the same arguments. They begin with the first one's parameters, directions and batches; its noise alone counts.

    Attributes:
        counts: steps made, and how often the clip was active and the projection hit (`run_record.Counts`).

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
        estimator: str | None = None,
        clipping: str | None = None,
        schedule: Schedule = None,
        loss_of: str = "outputs",
        directions: str = "auto",
        microbatch: int | None = None,
        chunk_size: int | None = None,
        keep_copy: bool | None = None,
        skip_idle_clip: bool = False,
        post_processing: PostProcessing | None = None,
        device: torch.device | str | None = None,
        group: Any = None,
    ) -> None:
        arguments.check_kinds(setting=setting, sources=sources, declared=declared, post_processing=post_processing)
        arguments.check_trained(parameters)
        arguments.check_processes(group)
        setting = setting if clipping is None else setting.replace(clipping=clipping)
        arguments.check(setting, estimator, microbatch, chunk_size)
        declared.describe(setting)  # refuses what cannot be
        self.objective = objective(parameters, loss, loss_of, device)
        self._ranks = Ranks(group)
        self._ranks.share(sources, self.objective.tensors)
        self._parameters = Parameters(self.objective.tensors)
        arguments.check_start(self._parameters, setting)
        self._setting, self._declared = setting, declared
        self._sources, self._schedule = sources, planned(schedule, setting)
        kind = "dense" if skip_idle_clip and directions == "auto" else directions
        self._streamed = is_streamed(kind, self._parameters, setting.K)
        self._microbatch = microbatch or (setting.n if group is None else -(-(setting.batch or setting.n) // self._ranks.size))
        self._chunk_size = chunk_size
        if chunk_size is None and not self.objective.is_module:
            self._chunk_size = max(1, AT_ONCE // (setting.d * min(self._microbatch, 8)))
        if skip_idle_clip and (setting.xi > 0 or self._streamed):
            raise ValueError("skip_idle_clip = True is not allowed: it needs xi = 0 and directions that are not streamed")
        self._skip_idle_clip = skip_idle_clip
        self._keep_copy = keep_copy
        self._move_in_place(setting.xi == 0 or not isinstance(self.objective, OfModule) or self.objective.is_compiled)
        self._process, self._kept = post_processing, arguments.slots(post_processing, self._parameters)
        self._counts, self._ledger = Counts(), Ledger()
        self._draws = BatchDraws(setting.n, setting.sampling, self._schedule.get("batch") or setting.batch or setting.n, sources)
        self._examination, self._turn, self._seen = Examination(), Lock(), Seen(setting.n)
        self._watch = Watch(self.objective.trained, self.objective.rest, self.objective.saved)
        own = setting, declared, planned(schedule, setting)
        self._ranks.agree("its arguments or its model", lambda: (own, self._watch.bits()))
        super().__init__(self.objective.tensors, {"lr": setting.eta / setting.K})

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
        noise is along the directions, and the sources are secure, unless told otherwise.

        Args:
            parameters, loss: as above.
            epsilon, delta: the target. It holds even if every iterate is seen.
            n: how many records there are.
            T, K: steps, and directions a step, 1 where T alone is given.
            passes: forward passes a record, from which those of T and K that are left out are planned (`zoexplore.recommend`).
            lr: the learning rate eta/K: a step is lr times the gradient's part in the K directions, and noise.
            clip: the longest vector of K directional derivatives a record may have.
            show: where to say it.
            options: those of `targets.setting_for` (batch, beta, xi, R, ridge) and of `NoisyZOGD`.

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
        setting = targets.setting_for(epsilon=epsilon, delta=delta, n=n, d=d, T=T, K=K, passes=passes, lr=lr, clip=clip, **chosen)
        show(targets.described(setting))
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
        self._note_changes()
        return RunRecord(
            self._setting,
            tuple(self._ledger.stages),
            self._counts,
            self._declared,
            self.sources.description,
            self._ledger.stretch,
            self._parameters.has_halves,
            "" if self._process is None else repr(self._process),
            self._examination.quotient_error,
            self._ledger.doubt or (INTERRUPTED if self._parameters.astray and not self._turn.locked() else ""),
            self._ledger.looked,
            self._ledger.autocast,
            tuple(self._ledger.path),
            self.sources.is_secure,
            self._seen.equal,
            self._seen.changed,
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
        self._check_turn()
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
            return self._step(batch)

    def _note_changes(self) -> None:
        """Write down whether anybody else changed the model; not while a step itself has it elsewhere."""
        if not self._parameters.astray and not self._turn.locked():
            self._look_for_changes()

    def _look_for_changes(self) -> None:
        """Whatever was changed before the first step is its start."""
        if not self._ledger.has_moved:
            self._watch.begin()
        self._ledger.doubt = self._ledger.doubt or self._watch.change()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._turn.acquire(blocking=False):
            raise RuntimeError("a step is being made, by another thread or by this one's loss: make one after the other")
        try:
            yield
        finally:
            self._turn.release()

    def _step(self, batch: Batch) -> float:
        self._check_turn()
        self._check_way()
        arguments.check_processes(self._ranks.group)
        with self._ranks.telling(TOLD + 2 * self._setting.K):
            step, drawn = self._next_step(), self.drawn(self.steps)
            data = batches.checked(batch, drawn, self._parameters.device)
        if step.eta == 0:  # as at either end of many learning rates' schedules
            self._ranks.gather(self._header(step, drawn), torch.zeros(TOLD + 2 * step.K, dtype=torch.int64))
            self._write_down(step, 1.0, self._counts.after())
            return float("nan")
        ambient = slopes.Autocast(self._parameters.device)
        losses = slopes.Losses(self.objective, max(1, min(self._microbatch, len(drawn))), ambient, self._watch)
        with self._unchanged_by_others(), ambient.off(), untouched_on_error(self.sources.directions):
            with self._ranks.telling(TOLD + 2 * step.K):
                self._note_order(drawn, data, step)
                directions = self._frame(step)
                mover, due = self._way(losses, directions, data, len(drawn))
            with mover:
                with self._ranks.telling(TOLD + 2 * step.K):
                    if due:
                        self._examine(losses, mover, data, step)
                    own = self._ranks.records(len(drawn), losses.microbatch)
                    mine = batches.part(data, own) if own.stop > own.start else None
                    numbers = self._evaluated(losses, directions, mover, mine, step)
                told = self._ranks.gather(self._header(step, drawn), numbers)
                estimate, loss, counts = self._estimate(told, directions, step)
                back = mover.leave_to_update()
                self._write_down(step, directions.stretch if step.xi > 0 else 1.0, counts, ambient.on)
                self._move(directions, step, estimate, back)
        return loss

    def _header(self, step: Step, drawn: Tensor) -> tuple:
        """What has to be the same in all processes of a run before a step is made."""
        return () if self._ranks.size == 1 else (self.steps, step, drawn.numpy().tobytes(), self._watch.bits())

    @contextmanager
    def _unchanged_by_others(self) -> Iterator[None]:
        """The model is as the last step left it, and is so again if this one fails."""
        self.objective.check()
        self._parameters.check_in_place()
        self._watch.check_unclaimed()
        if not self._ledger.has_moved:
            arguments.check_start(self._parameters, self._setting)
            self._watch.begin()
        try:
            self._watch.check()
            before = self._watch.last
            try:
                yield
            except BaseException:
                self._watch.last = before
                if self._in_place and self._copy is None and not self._parameters.astray:  # they came back rounded
                    self._watch.settle()
                raise
        except Changed as found:
            self._ledger.doubt = self._ledger.doubt or f"at step {self.steps + 1} {found}"
            raise Changed(f"{found}: {GONE}") from None

    def _note_order(self, drawn: Tensor, data: Any, step: Step) -> None:
        swapped = self._seen.note(drawn, data) if len(drawn) else ""
        if swapped and step.sampling == "cyclic" and not step.on_all(self._setting.n):
            self._ledger.doubt = self._ledger.doubt or f"at step {self.steps + 1} {swapped}: the order of the data changed"

    def state_dict(self, *, weights: bool = True) -> dict[str, Any]:
        """Everything that an exact resume needs, to be given to `torch.save`. As secret as the iterates are.

        Args:
            weights: the parameters too; else their checksums, where the model is saved beside the state, and is loaded first.

        Raises:
            RuntimeError: a step is being made, or the last one was interrupted while it moved the parameters.
        """
        with self._alone():
            self._check_way()
            self._look_for_changes()
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
        if getattr(self, "param_groups", None):
            raise ValueError("another parameter group is not allowed: d is part of the run; make the optimiser with all of them")
        unwrap(torch.optim.Optimizer.add_param_group)(self, param_group)  # wrapped, it loads PyTorch's compiler, for a second

    def __copy__(self) -> "NoisyZOGD":
        raise TypeError("a shallow copy would move the same model, each step unknown to one of two reports: take copy.deepcopy")

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock and a scheduler's wrapper of `step`, which steps this one. Torch's own would leave out what makes
        it private.
        """
        self._note_changes()
        self._draws.draw_coming(self.steps)
        return {name: x for name, x in self.__dict__.items() if name not in ("_turn", "step")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of a copy, or a pickle: another branch of the run, whose losses are looked at again."""
        super().__setstate__(state)
        self._turn = Lock()
        self._ledger.part(self._draws.ahead(self.steps))
        self._examination = Examination(self._examination.quotient_error)

    def _planned(self, name: str, t: int) -> Any:
        return self._schedule[name][t] if name in self._schedule else getattr(self._setting, name)

    def _next_step(self) -> Step:
        setting, t, lr = self._setting, self.steps, float(self.param_groups[0]["lr"])
        if not (lr >= 0 and isfinite(lr)):
            raise ValueError(f"lr = {lr!r} is not allowed: give a finite number of at least 0")
        eta = setting.eta if lr == setting.eta / setting.K else lr * setting.K
        varied: dict[str, Any] = {name: self._planned(name, t) for name in SCHEDULED}
        fixed: dict[str, Any] = {name: getattr(setting, name) for name in ("K", "xi", "ridge", "R", "sampling", "clipping")}
        step = Step(eta=eta, **varied, **fixed)
        check_noise(step)
        return step

    def _frame(self, step: Step) -> Frame:
        return frame(self._parameters, step.K, self.sources.directions, streamed=self._streamed, position=step.ridge > 0)

    def _move_in_place(self, in_place: bool) -> None:
        """Or lend layers what they are moved by, which needs neither a copy nor a way back."""
        copied = is_copied(self._keep_copy, self._parameters, self._setting.K, self._setting.xi, not in_place)
        self._in_place = in_place or copied
        self._copy: Copy | None = Copy(self._parameters) if copied else None

    def _way(self, losses: slopes.Losses, directions: Frame, data: Any, records: int) -> tuple[Mover, bool]:
        """How the step goes to other points, and whether its losses are to be looked at. Who reads parameters past the layers
        that hold them sees nothing of what these are lent.
        """
        self._examination.begin_step(records)
        due = self._examination.is_due(records, self.objective.structure(), self.steps + 1 == self._setting.T)
        if self._in_place or not isinstance(self.objective, OfModule):
            return Mover(self._parameters, directions, self._copy), due
        if due and not reaches_all(losses.here, batches.part(data, slice(0, 1)), self._parameters, self.objective.plain):
            self._move_in_place(True)
            return Mover(self._parameters, directions, self._copy), due
        return OnTheWay(self._parameters, directions, self.objective.plain), due

    def _examine(self, losses: slopes.Losses, mover: Mover, data: Any, step: Step) -> None:
        """Where losses mix records that did not when they were looked at before, nobody knows since when."""
        try:
            self._examination.make(losses, mover, data, step, moved=self._ledger.has_moved)
        except Mixed as found:
            if self._ledger.has_moved and not self._examination.saw_change(self.objective.structure()):
                since = f"of the steps since the {self._ledger.looked}th" if self._ledger.looked else "of the steps before"
                self._ledger.doubt = (
                    self._ledger.doubt or f"at step {self.steps + 1} {found}; how many {since} were so is not known"
                )
            raise
        self._ledger.looked = self.steps + 1
        self._ledger.autocast |= losses.use_halves(data)

    def _evaluated(self, losses: slopes.Losses, directions: Frame, mover: Mover, data: Any, step: Step) -> Tensor:
        """What records say, as whole numbers that may be added to those of others, shape (TOLD + 2K,): how many quotients or
        records were looked at, were clipped, were not finite; their number and, by its bits, their mean loss; the sums of the
        clipped quotients along each direction, in two parts. Of nobody, where data is None.
        """
        clip, b = RULES[step.clipping], 0 if data is None else batches.number_of(data)
        total, skipped = torch.zeros(1, step.K, dtype=torch.float64), 0
        if data is None:
            found = slopes.Slopes(total.new_zeros(0, step.K), 0, nan)
        elif self._skip_idle_clip and isinstance(directions, Dense):
            chunk = max(1, AT_ONCE // self._setting.d)
            unclipped = slopes.from_gradients(losses, self._parameters, directions, data, step.clip, chunk)
            total, found = unclipped.total.unsqueeze(0), unclipped.others
            skipped = b - len(found.values)
        else:
            found = slopes.measure(losses, self._parameters, directions, mover, data, step.xi, self._chunk_size)
        values, active = clip(found.values, step.clip)
        looked_at = active.numel() + skipped * (step.K if step.clipping == "each" else 1)
        loss = torch.tensor([found.loss], dtype=torch.float64).view(torch.int64)
        counted = torch.tensor([looked_at, int(active.sum()), found.not_finite, b])
        parts = sums.split(values, step.clip) + sums.split(total, step.clip)
        return torch.cat([counted, loss, parts.flatten()])

    def _estimate(self, told: list[Tensor], directions: Frame, step: Step) -> tuple[Tensor, float, Counts]:
        """The mean of the clipped quotients along each direction, ridge included, shape (K,), float64; the mean loss; the
        counts. The mean is over as many records as the setting says, however many were drawn.

        Args:
            told: what each process evaluated.
        """
        together = torch.stack(told)
        mean = sums.join(together[:, TOLD:].sum(0).view(2, step.K), step.clip) / (step.batch or self._setting.n)
        if step.ridge > 0:
            mean = mean + step.ridge * directions.coordinates().cpu()
        looked_at, clipped, not_finite = together[:, :3].sum(0).tolist()
        losses, b = together[:, 4].contiguous().view(torch.float64), together[:, 3].double()
        finite = losses.isfinite()
        loss = float((losses[finite] * b[finite] / b[finite].sum()).sum()) if finite.any() else nan
        return mean, loss, self._counts.after(looked_at, clipped, not_finite)

    def _write_down(self, step: Step, stretch: float, counts: Counts, autocast: bool = False) -> None:
        """Count the step before anybody can see it."""
        self._ledger.add(step, stretch, self._draws.ahead(self.steps), autocast)
        self._draws.used(self.steps)
        self._counts = counts
        if step.eta > 0:
            self._watch.claim()

    def _move(self, directions: Frame, step: Step, estimate: Tensor, back: dict[int, float]) -> None:
        process = None if self._process is None else self._processed(step.eta / step.K)
        rounding = self._rounding() if self._parameters.has_halves else None
        own = noisy(step, estimate, self._parameters.d, self.sources.noise) if self._ranks.rank == 0 else None
        released = self._ranks.from_first(own, step.K + 4)
        apply(self._parameters, directions, step, released, self.sources, back, rounding, process)
        if into_ball(self._parameters, step.R):
            self._counts = Counts(**asdict(self._counts) | {"projected": self._counts.projected + 1})
        self._watch.settle()
        try:
            self._ranks.agree("its parameters after a step", self._watch.bits)
        except Drifted as found:
            self._ledger.doubt = self._ledger.doubt or str(found)
            raise
        self._parameters.astray = False

    def _processed(self, rate: float) -> Callable[[int, Tensor], Tensor]:
        """The update is -rate times the noisy estimate."""
        number = sum(count for step, count in self._ledger.stages if step.eta > 0)
        return lambda i, moved: self._process(moved / -rate, self._kept[i], number).mul(-rate)  # type: ignore[misc]

    def _rounding(self) -> torch.Generator:
        """Public chance, another at every step: rounding comes after the noise."""
        seed = (self.sources.initialisation.initial_seed() + self.steps) % 2**63
        return torch.Generator(self._parameters.device).manual_seed(seed)

    def _check_turn(self) -> None:
        if self.steps >= self._setting.T:
            raise RuntimeError(
                f"all T = {self._setting.T} steps are done; for more, make the optimiser with a larger T and load this one's "
                "state_dict"
            )

    def _check_way(self) -> None:
        if self._parameters.astray:
            raise RuntimeError(INTERRUPTED)
