"""`NoisyZOGD` trains a model with differential privacy, from losses along random directions."""

from collections.abc import Callable, Iterator
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor, nn

from zoexplore.mechanism import arguments, batches, saved
from zoexplore.mechanism.batches import Batch
from zoexplore.mechanism.directions import is_streamed
from zoexplore.mechanism.losses import Objective
from zoexplore.mechanism.parallel import Flawed, Ranks
from zoexplore.mechanism.parameters import MIDDLING, Parameters
from zoexplore.mechanism.perturbation import InPlace, Lent
from zoexplore.mechanism.record import Declared, Found, RunRecord
from zoexplore.mechanism.report import Report, privacy_report
from zoexplore.mechanism.rng import Sources
from zoexplore.mechanism.run_state import RunState
from zoexplore.mechanism.scale import AUTO, Scale
from zoexplore.mechanism.step import Steps
from zoexplore.mechanism.target import HEADROOM, Left
from zoexplore.run.setting import Setting
from zoexplore.run.text import say

UNDECLARED = Declared()


class NoisyZOGD(torch.optim.Optimizer):
    """Noisy zeroth-order gradient descent. A step takes a batch of b records i (under Poisson
    sampling b is the expected number) and directions u_1 .. u_K:

        w <- project( w - (eta/K) sum_k g_k u_k + noise )
        g_k = (1/b) sum_i clip(l_i's difference quotient along u_k)

    Then ridge <w, u_k>, the exact derivative of 1/2 ridge |w|^2, is added to every g_k; it is not
    clipped. A training loop:

        for batch in optimiser.batches((X, y)):
            optimiser.step(batch)

    This is a torch optimiser: schedulers may change its learning rate, eta/K, in `param_groups`,
    hooks are called, and `state_dict` holds all that an exact resume needs. Every step is written
    into a ledger as it is made, and the report counts the ledger's entries.

    Args:
        parameters: a module, which is trained in place, or a flat vector to start from, shape (d,).
        loss: `loss(w, batch)` for a vector; `loss(outputs, targets)` for a module, whose batches
            are `(inputs, targets)`. It returns one loss for each record, shape (b,), which depends
            on that record alone and does not contain the ridge.
        setting: the planned run, with an eta. If its xi is 0, derivatives are taken, otherwise
            two-point quotients.
        sources: the generators: `Sources(seed, noise_seed)` to try things out, `Sources.secure()`
            for a release.
        declared: known constants of the loss. A bound that needs a constant applies only if the
            constant is declared.
        loss_of: "model" for `loss(module, batch)`, "outputs" for a loss of the module's outputs.
        directions: "dense" keeps K vectors in memory, "streamed" regenerates them from seeds, and
            "auto" decides by their size.
        microbatch: how many records are evaluated at once; the whole batch if None.
        keep_copy: whether to move the parameters in place and restore them from a copy. If not,
            each operation gets moved copies of the parameters that it reads. If None, a small model
            has a copy. A compiled module always has one.
        group: the group of `torch.distributed` whose processes make every step together. All
            processes must have the same arguments. They take over the first process's parameters,
            directions and batches, and use its noise alone.

    Attributes:
        counts: how many steps were made, and how often the clip was active (`record.Counts`).

    Raises:
        ValueError: an argument is not allowed, or two arguments contradict each other.
    """

    def __init__(
        self,
        parameters: nn.Module | Tensor,
        loss: Any,
        setting: Setting,
        *,
        sources: Sources,
        declared: Declared = UNDECLARED,
        loss_of: str = "outputs",
        directions: str = "auto",
        microbatch: int | None = None,
        keep_copy: bool | None = None,
        group: Any = None,
    ) -> None:
        arguments.check_kinds(setting=setting, sources=sources, declared=declared)
        arguments.check_trained(parameters)
        arguments.check_processes(group)
        arguments.check(setting, microbatch)
        declared.describe(setting)  # refuses constants that contradict the setting
        self.objective = Objective(parameters, loss, loss_of)
        self._ranks = Ranks(group)
        self._ranks.agree("the kind of its sources", lambda: sources.is_secure)
        self._ranks.share(sources, self.objective.tensors)
        trained, lr = Parameters(self.objective.tensors), setting.eta / setting.K
        trained.check_start(setting)
        streamed = is_streamed(directions, trained, setting.K)
        microbatch = microbatch or (
            setting.n if group is None else -(-setting.b // self._ranks.size)
        )
        few = trained.d <= MIDDLING if keep_copy is None else keep_copy
        in_place = few or setting.xi == 0 or self.objective.is_compiled
        self._run = RunState(self.objective, trained, setting, sources, declared, self._ranks)
        self._run.note(root=self._ranks.from_first(lambda: self._run.ledger.root))
        self._steps = Steps(
            self._run, self._ranks, InPlace if in_place else Lent, streamed, microbatch
        )
        self._ranks.agree(
            "its arguments or its model",
            lambda: (setting, declared, self._run.watch.fingerprint.bits()),
        )
        super().__init__(self.objective.tensors, {"lr": lr})

    @classmethod
    def for_epsilon(
        cls,
        parameters: nn.Module | Tensor,
        loss: Any,
        *,
        epsilon: float,
        delta: float,
        n: int,
        T: int | None = None,
        K: int | None = None,
        passes: float | None = None,
        lr: float | str | None = AUTO,
        clip: float | str | None = AUTO,
        xi: float | str | None = AUTO,
        decay: str | None = None,
        scale_from: Any = None,
        show: Callable[[str], None] = say,
        **options: Any,
    ) -> "NoisyZOGD":
        """Make the optimiser with the least noise that meets a target by composition, and print its
        plan. By default the clip is joint, all noise is along the directions, and the sources are
        secure. The run's first steps find each of lr, clip and xi that is "auto" or None; they are
        as private as the others (docs/mechanism.md, "A scale that the run finds"). A step that
        would exceed the target is refused. If the state of another plan is loaded, the run goes on
        with the noise that keeps to the target.

        Args:
            parameters, loss: as in `NoisyZOGD`.
            epsilon, delta: the target, which holds even if every iterate is seen.
            n: how many records there are.
            T: the number of steps, probes included.
            K: the number of directions a step; 1 if T is given and K is not.
            passes: forward passes a record, from which `zoexplore.recommend` finds missing T and K.
            lr: the learning rate eta/K: a step is lr times the gradient's component in the span of
                the K directions, plus noise. If the run finds the rate, `param_groups` has 1.0, and
                schedulers set a fraction of the rate found.
            clip: the longest vector of K directional derivatives that a record may have.
            xi: half the distance between two points; 0 for derivatives.
            decay: how the rate falls over the training steps: "linear" to 0, or "constant". None
                means "linear" if the run finds the rate, and "constant" otherwise.
            scale_from: a batch of public data, with none of the n records, that tells the scale in
                place of probes.
            show: called with the plan in words, to print it.
            options: those of `arguments.setting_for` (batch, sampling, neighbours, beta, clipping,
                R, ridge) and of `NoisyZOGD`.

        Raises:
            ValueError: the target cannot be met, or an argument is not allowed.
        """
        d, scaled = arguments.dimension(parameters), {"lr": lr, "clip": clip, "xi": xi}
        scale = Scale(arguments.choices(**scaled, decay=decay, public=scale_from is not None))
        known = {name: options.pop(name) for name in arguments.PLANNED if name in options}
        known |= scaled | {"T": T, "K": K, "passes": passes}
        setting = arguments.setting_for(epsilon=epsilon, delta=delta, n=n, d=d, **known)
        show(arguments.described(setting, epsilon, scale))
        made = cls._aimed(parameters, loss, setting, epsilon, scale, scale_from, **options)
        if said := arguments.still(setting, scale.choices, made._run.parameters.length()):
            show(said)
        return made

    @classmethod
    def _aimed(
        cls,
        parameters: nn.Module | Tensor,
        loss: Any,
        counted: Setting,
        epsilon: float,
        scale: Scale,
        public: Any,
        *,
        sources: Sources | None = None,
        **options: Any,
    ) -> "NoisyZOGD":
        """Make the optimiser of a plan. If `public` data tell the scale, or if the run finds it,
        the optimiser has a little more noise than is counted.
        """
        finds = scale.choices.auto
        plan = counted.replace(sigma=counted.sigma * (1 + HEADROOM)) if finds else counted
        made = cls(parameters, loss, plan, sources=sources or Sources.secure(), **options)
        if scale.choices.public:
            made._steps.find_publicly(scale, batches.plain(public))
        made._run.aim(epsilon, scale, counted if finds else None)
        made.param_groups[0]["lr"] = made.defaults["lr"] = made._run.rate
        return made

    @property
    def setting(self) -> Setting:
        """The planned run; `record` has the steps made."""
        return self._run.setting

    counts = property(lambda self: self._run.counts)
    sources = property(lambda self: self._run.sources)

    @property
    def steps(self) -> int:
        """The number of steps made, probes among them."""
        return self._run.counts.steps

    @property
    def probes_left(self) -> int:
        """How many of the next steps find the scale and move nothing."""
        return self._run.scale.left

    @property
    def found(self) -> Found | None:
        """The scale that the run has found; None before that, or if everything was given."""
        return self._run.scale.found(self._run.plan)

    def left(self) -> Left:
        """Return the epsilon spent, the target of `for_epsilon`, and how many more steps of the
        plan keep to the target.

        Raises:
            ValueError: the optimiser has no target.
        """
        return self._run.left()

    @property
    def w(self) -> Tensor:
        """A copy of the iterate, shape (d,)."""
        return self._run.parameters.vector()

    @property
    def record(self) -> RunRecord:
        """The run so far, as the report sees it."""
        return self._run.record()

    def privacy_report(self, **options: Any) -> Report:
        """Report the steps' cost by every bound, with the options of `report.privacy_report`."""
        return privacy_report(self.record, **options)

    def drawn(self, t: int) -> Tensor:
        """Draw the records of step t, as the setting's `sampling` says. Return their indices, shape
        (b,), which stay the same until the step is made.

        Raises:
            ValueError: step t was made already, or is not one of the T steps.
        """
        return self._run.batch_of(t)

    def batch(self, dataset: Any, *, collate_fn: Callable[[list[Any]], Any] | None = None) -> Batch:
        """Take the next step's records from a data set.

        Args:
            dataset: the n records: tensors (alone, in a tuple or in a dict) with the records in
                their first dimension, or anything that has a length and takes an index. If
                neighbours differ in one record added or removed, n is public, and a missing record
                counts as one of constant loss.
            collate_fn: joins a list of records into one batch, as in `DataLoader`. Each record's
                part must be made of that record alone.

        Raises:
            ValueError: the data set does not have n records.
            RuntimeError: all T steps are done.
        """
        self._run.check_steps_left()
        return batches.taken(self, dataset, collate_fn)

    def batches(
        self, dataset: Any, *, collate_fn: Callable[[list[Any]], Any] | None = None
    ) -> Iterator[Batch]:
        """Yield the batches of all remaining steps, as `batch` takes them. Give each batch to
        `step` before you take the next.
        """
        while (before := self.steps) < self.setting.T:
            yield self.batch(dataset, collate_fn=collate_fn)
            if self.steps == before:
                raise RuntimeError(
                    f"step {before} was not made: give every batch to step() before asking for the next"
                )

    @torch.no_grad()
    def step(self, batch: Batch) -> float:  # type: ignore[override]
        """Make one step. There is no closure, since this method evaluates the losses itself.

        Args:
            batch: the next batch, from `batch`, `batches` or a loader of `PrivateSampler`.

        Returns:
            The mean loss of the batch, which no epsilon covers; nan if nothing was computed.

        Raises:
            TypeError, ValueError: the batch is not the one that was drawn, there is not one loss
                for each record, a loss depends on other records, or rounding swamps the two-point
                quotients.
            RuntimeError: all T steps are done, another step is being made, or parameters were
                changed since the last step.
        """
        with self._run.alone():
            try:
                return self._steps.make(batch, float(self.param_groups[0]["lr"]))
            except Flawed as error:
                self._run.watch.note(str(error))
                raise

    def state_dict(self, *, weights: bool = True) -> dict[str, Any]:
        """Return all that an exact resume needs, for `torch.save`. The state is as secret as the
        iterates.

        Args:
            weights: whether to include the parameters. If not, the state has only their checksums:
                save the model beside the state, and load the model first.

        Raises:
            RuntimeError: a step is being made, or the last one was interrupted while it moved the
                parameters.
        """
        with self._run.alone():
            return saved.state_of(self._run, self.param_groups[0], weights)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken. The same random numbers follow, unless the sources
        are secure.

        This run's setting may differ from the saved run's; for example, T may be larger or sigma
        different. The report counts the saved steps and the new ones, each as it was made.

        Raises:
            ValueError: the saved run was on other data or another model, declared other constants,
                or drew from sources of another kind. Nothing is changed then.
            RuntimeError: a step is being made.
        """
        with self._run.alone():
            saved.load(self._run, state, self.param_groups[0])
            self._ranks.share(self.sources)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add the group that the constructor makes. Refuse any later group, because the account
        depends on the number of parameters.
        """
        if self.param_groups:
            raise ValueError(
                "another parameter group is not allowed: d is part of the run; make the optimiser with all of them"
            )
        # PyTorch's wrapper of this method would load its compiler
        unwrap(torch.optim.Optimizer.add_param_group)(self, param_group)

    def __copy__(self) -> "NoisyZOGD":
        raise TypeError(
            "a shallow copy would move the same model, each step unknown to one of two reports: take copy.deepcopy"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out a scheduler's wrapper of `step`, which is bound to this object. Torch's own
        method would leave out far more.
        """
        return {name: x for name, x in self.__dict__.items() if name != "step"}
