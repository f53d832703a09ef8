"""How a step is made: slopes of a batch along new directions, their noisy mean, and the move along it."""

from dataclasses import dataclass, replace
from math import nan
from typing import Any

import torch
from torch import Tensor

from zoexplore.mechanism import batches
from zoexplore.mechanism.arguments import check_processes, check_rounding
from zoexplore.mechanism.batches import Batch
from zoexplore.mechanism.checksums import of_records
from zoexplore.mechanism.directions import Frame, frame
from zoexplore.mechanism.losses import Losses
from zoexplore.mechanism.parallel import Drifted, Ranks
from zoexplore.mechanism.perturbation import Perturbation
from zoexplore.mechanism.record import Step
from zoexplore.mechanism.rng import untouched_on_error
from zoexplore.mechanism.scale import Scale
from zoexplore.mechanism.slopes import Slopes, measure
from zoexplore.mechanism.state import RunState
from zoexplore.mechanism.step import HEAD, Estimate, apply, estimated, into_ball, noisy, summed


@dataclass
class Steps:
    """The steps of a run, and how they are computed: `streamed` directions, some records and directions at once."""

    run: RunState
    ranks: Ranks
    perturbation: Perturbation
    streamed: bool
    microbatch: int
    chunk_size: int | None

    def make(self, batch: Batch, lr: float) -> float:
        """A step of a learning rate, or a probe; the mean loss."""
        run = self.run
        count = HEAD + 2 * (self.run.setting.K if run.scale.asking is None else 1)  # numbers that processes exchange
        with self.ranks.telling(count, lambda: bool(run.ledger.flaw)):
            step, drawn = run.next_step(lr), run.batch_of(run.counts.steps)
            check_processes(self.ranks.group)
            check_rounding(run.parameters.device, self.run.objective.plain)
            data = batches.checked(batch, drawn, run.parameters.device)
            if step.eta == 0:  # as at either end of many learning rates' schedules
                self.ranks.gather(self._header(step, drawn, data), torch.zeros(count, dtype=torch.int64))
                run.write_down(step, run.counts.after())
                return nan
            microbatch = max(1, min(self.microbatch, len(drawn)))
            losses = Losses(self.run.objective, microbatch, run.fingerprint)
            with run.unchanged_by_others(), untouched_on_error(self.run.sources.directions):
                return self._moved(step, drawn, data, losses)

    def _moved(self, step: Step, drawn: Tensor, data: Any, losses: Losses) -> float:
        """Check the losses if that is due, measure slopes, move the parameters, and return the mean loss."""
        run, n = self.run, self.run.setting.n
        run.note_order(drawn, data, step)
        directions = frame(run.parameters, step.K, self.run.sources.directions, streamed=self.streamed, position=step.ridge > 0)
        run.checks.begin_step(len(drawn))
        is_due = run.checks.is_due(len(drawn), self.run.objective.structure(), self.run.counts.steps + 1 == self.run.setting.T)
        if is_due:
            self.perturbation.check_reach(losses.here, batches.part(data, slice(0, 1)))
        with self.perturbation.along(directions) as perturbed:
            if is_due:
                run.check_losses(losses, perturbed, data, step)
            own = self.ranks.records(len(drawn), losses.microbatch)
            slopes = Slopes(torch.zeros(0, step.K, dtype=torch.float64), 0, nan)
            if own.start < own.stop:
                part = batches.part(data, own)
                if step.kind == "probe":
                    slopes = run.scale.answers(losses, perturbed, part)
                else:
                    slopes = measure(losses, run.parameters, directions, perturbed, part, step.xi, self.chunk_size)
            perturbed.back()
            run.fingerprint.check(by_versions=not is_due)  # at w again: no loss has written to it where torch does not count that
            rows = self.ranks.gather(self._header(step, drawn, data), summed(slopes, step))
            ridge = step.ridge * directions.coordinates().cpu() if step.ridge > 0 else 0.0
            found = estimated(rows, step, n, ridge)
            if step.kind == "probe":
                run.write_down(step, run.counts.after())
                run.answered(-float(self._released(step, found)[:1].view(torch.float64)))
            else:
                counts = run.counts.after(found.looked_at, found.clipped, found.not_finite)
                run.write_down(step, counts, directions.xi_factor if step.xi > 0 else 1.0)
                self._move(directions, step, found)
        return found.loss

    def _released(self, step: Step, found: Estimate) -> Tensor:
        """What leaves the step: `noisy`, of the first process."""
        own = noisy(step, found.mean, self.run.parameters.d, self.run.sources.noise) if self.ranks.rank == 0 else None
        return self.ranks.from_first(own, step.K + 4)

    def _header(self, step: Step, drawn: Tensor, data: Any) -> tuple:
        """Everything that must agree between the processes of a run before a step."""
        if self.ranks.size == 1:
            return ()
        records = drawn.numpy().tobytes(), of_records(data, len(drawn)).tobytes()
        return self.run.counts.steps, step, records, self.run.fingerprint.bits()

    def _move(self, directions: Frame, step: Step, found: Estimate) -> None:
        run, parameters = self.run, self.run.parameters
        parameters.displaced = True
        apply(parameters, directions, step, self._released(step, found), self.run.sources, self._rounding())
        if into_ball(parameters, step.R):
            run.counts = replace(run.counts, projected=run.counts.projected + 1)
        run.fingerprint.renew()
        try:
            self.ranks.agree("its parameters after a step", run.fingerprint.bits)
        except Drifted as drifted:
            run.note(str(drifted))
            raise
        parameters.displaced = False

    def _rounding(self) -> torch.Generator | None:
        """The generator that rounds half-precision parameters: public, as rounding follows the noise, and new at every step."""
        if not self.run.parameters.has_halves:
            return None
        seed = (self.run.sources.initialisation.initial_seed() + self.run.counts.steps) % 2**63
        return torch.Generator(self.run.parameters.device).manual_seed(seed)

    def find_publicly(self, scale: Scale, data: Any) -> None:
        """Let public data tell the scale, as probes would without noise."""
        run = self.run
        losses = Losses(run.objective, max(1, min(self.microbatch, batches.number_of(data))), run.fingerprint)
        while scale.asking is not None:
            directions = frame(run.parameters, 1, run.sources.directions, streamed=self.streamed, position=False)
            with torch.no_grad(), self.perturbation.along(directions) as perturbed:
                answers = scale.answers(losses, perturbed, data).values
            scale.take(float(answers.mean()), 0)
