"""Checks what happens around a run's steps. Before a step the model must be as the last step left
it. During a step each loss must depend on its own record alone, and processes must agree. After a
step the model must be what the step made. The ledger and the report say what failed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from zoexplore.mechanism.arguments import check_processes
from zoexplore.mechanism.batches import Batch, SeenRecords
from zoexplore.mechanism.checksums import Changed, Fingerprint, of_records
from zoexplore.mechanism.independence import Kept, LossChecks, Mixed
from zoexplore.mechanism.losses import Losses, Objective
from zoexplore.mechanism.parallel import Drifted, Ranks
from zoexplore.mechanism.perturbation import Perturbed
from zoexplore.mechanism.record import Step
from zoexplore.mechanism.rounding import check_rounding

INTERRUPTED = "the last step, or the loading of a state, was interrupted while it moved the parameters: load a state_dict from before it"
GONE = (
    "the report would not be of this model, and says ε = ∞ from here on. Begin a new run, or make the model and the optimiser "
    "again and load a state_dict from before it"
)


class Watch:
    """Watches a run (`run_state.RunState`), whose ledger keeps the first flaw.

    Attributes:
        fingerprint: the checksums of the whole model after the last step.
        checks: the checks of the losses.
        seen: the checksums of the records that steps have taken.
    """

    def __init__(self, run: Any, objective: Objective, ranks: Ranks) -> None:
        self.run, self.objective, self.ranks = run, objective, ranks
        self.fingerprint = Fingerprint(objective)
        self.checks, self.seen, self._due = LossChecks(), SeenRecords(run.setting.n), False

    def note(self, flaw: str) -> None:
        """Record a flaw, unless the ledger has one already."""
        self.run.note(flaw=self.run.ledger.flaw or flaw)

    def telling(self) -> Any:
        """Return a context that tells the other processes, which wait, of a failure inside it."""
        return self.ranks.telling(lambda: bool(self.run.ledger.flaw))

    @contextmanager
    def step(self, step: Step, drawn: Tensor, data: Any) -> Iterator[None]:
        """Check that the model is as the last step left it, and that records have not changed
        places. If the step fails, the checksums stay those of the step before.
        """
        run, fingerprint = self.run, self.fingerprint
        check_processes(self.ranks.group)
        check_rounding(run.parameters.device, self.objective.plain)
        self.objective.check()
        run.parameters.check_in_place()
        fingerprint.check_unclaimed()
        if not run.ledger.has_looked:
            run.parameters.check_start(run.setting)
            fingerprint.start()
        elif fingerprint.versions() != fingerprint.seen:
            self.model()
        before = fingerprint.last
        try:
            self._note_order(step, drawn, data)
            yield
        except BaseException as error:
            fingerprint.last = before
            if not isinstance(error, Changed):
                raise
            self.note(f"at step {run.counts.steps + 1} {error}")
            raise Changed(f"{error}: {GONE}") from None

    def batch(self, batch: Batch) -> None:
        """Refuse a batch in which records were mixed. If earlier steps may have had such batches,
        record a flaw.
        """
        if batch.flaw and self.run.ledger.has_looked:
            self.note(
                f"at step {self.run.counts.steps + 1} {batch.flaw}; how many of the steps before were so is not known"
            )
        if batch.flaw:
            raise Mixed(batch.flaw)

    def losses(self, losses: Losses, perturbed: Perturbed, data: Any, step: Step) -> None:
        """Check the losses if a check is due. If they mix records although nothing has visibly
        changed, they may have done so for some steps, and that ends the guarantee.
        """
        ledger, made, structure = self.run.ledger, self.run.counts.steps, self.objective.structure()
        self._due = self.checks.is_due(data, structure, is_last=made + 1 == self.run.setting.T)
        if not self._due:
            return
        try:
            self.checks.make(losses, perturbed, data, step, moved=bool(ledger.moving))
        except Mixed as error:
            unseen = isinstance(error, Kept) or not self.checks.saw_change(structure)
            if ledger.has_looked and unseen:
                since = (
                    f"of the steps since the {ledger.checked}th"
                    if ledger.checked
                    else "of the steps before"
                )
                self.note(f"at step {made + 1} {error}; how many {since} were so is not known")
            raise
        self.run.note(checked=made + 1, halves=ledger.halves or losses.use_halves(data))

    def evaluated(self) -> None:
        """Check that evaluating the losses has not changed the model, once that is back at w."""
        self.fingerprint.check(by_versions=not self._due)

    def gather(self, step: Step, drawn: Tensor, data: Any, part: Any) -> list[Any]:
        """Collect what every process found, if all are about to make the same step."""
        if self.ranks.size == 1:
            return [part]
        records = drawn.numpy().tobytes(), of_records(data, len(drawn)).tobytes()
        # the scale counts too, since probes leave no trace in the parameters
        at = self.run.counts.steps, self.run.ledger.root, self.run.scale.state_dict()
        return self.ranks.gather((at, step, records, self.fingerprint.bits()), part)

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Let the step move the parameters inside the context. Take their checksums afterwards,
        which must be the same in all processes.
        """
        parameters = self.run.parameters
        parameters.displaced = True
        yield
        self.fingerprint.renew()
        try:
            self.ranks.agree("its parameters after a step", self.fingerprint.bits)
        except Drifted as drifted:
            self.note(str(drifted))
            raise
        parameters.displaced = False

    def model(self) -> None:
        """Record a flaw if other code changed the model. Before the first step, take the model as
        it is as the run's start.
        """
        if not self.run.ledger.has_looked:
            self.fingerprint.start()
        changed = self.fingerprint.changes()
        # the steps so far have paid for every iterate of this run
        if changed and self.fingerprint.goes_back(self.run.kept):
            self.run.note(returned=True)
            changed = self.fingerprint.changes()
        self.note(changed)

    def in_place(self) -> None:
        """Raise RuntimeError if an interruption left the parameters displaced."""
        if self.run.parameters.displaced:
            raise RuntimeError(INTERRUPTED)

    def begin_again(self) -> None:
        """Forget earlier checks, since the losses may have changed, as in a copy of the run."""
        self.checks = LossChecks()

    def _note_order(self, step: Step, drawn: Tensor, data: Any) -> None:
        """Record a flaw if a cyclic run's records changed places, or if most of the public records
        that told the scale are among the data.
        """
        is_cyclic = step.sampling == "cyclic" and not step.on_all(self.run.setting.n)
        if not len(drawn) or not (is_cyclic or len(self.seen.public)):
            return
        swapped = self.seen.note(drawn, data)
        if self.seen.told_scale:
            self.note(
                "most records of the batch that told the scale, as public ones, are of these data"
            )
        if swapped and is_cyclic:
            self.note(
                f"at step {self.run.counts.steps + 1} {swapped}: the order of the data changed"
            )
