"""Makes the steps of a run: measures a batch's slopes along new directions, clips them, releases
their noisy mean, and moves the parameters along it.

`watch` checks that nothing else happens.
"""

from dataclasses import dataclass
from math import fsum, inf, isfinite, nan
from typing import Any

import torch
from torch import Tensor

from zoexplore.mechanism import batches
from zoexplore.mechanism.batches import Batch
from zoexplore.mechanism.checksums import of_records
from zoexplore.mechanism.clipping import RULES
from zoexplore.mechanism.directions import Dense, Frame, Streamed
from zoexplore.mechanism.losses import Losses
from zoexplore.mechanism.noise import Released, apply, noisy
from zoexplore.mechanism.parallel import Ranks
from zoexplore.mechanism.parameters import Parameters
from zoexplore.mechanism.perturbation import Perturbed
from zoexplore.mechanism.record import Counts, Step
from zoexplore.mechanism.rng import untouched_on_error, words
from zoexplore.mechanism.run_state import RunState
from zoexplore.mechanism.scale import Scale
from zoexplore.mechanism.slopes import Slopes, measure


@dataclass
class Steps:
    """Makes the steps of a run. `moved` says how parameters are perturbed, `streamed` whether
    directions are regenerated, `microbatch` how many records are evaluated at once.
    """

    run: RunState
    ranks: Ranks
    moved: type[Perturbed]
    streamed: bool
    microbatch: int

    def make(self, batch: Batch, lr: float) -> float:
        """Make a step at the learning rate `lr`, or a probe, and return the mean loss."""
        run, watch = self.run, self.run.watch
        with watch.telling():
            step, drawn = run.next_step(lr), run.batch_of(run.counts.steps)
            data = batches.checked(batch, drawn, run.parameters.device)
            watch.batch(batch)
            if step.eta == 0:  # many schedules begin or end with a rate of 0
                watch.gather(step, drawn, data, None)
                run.write_down(step)
                return nan
            with watch.step(step, drawn, data), untouched_on_error(run.sources.directions):
                return self._made(step, drawn, data)

    def _made(self, step: Step, drawn: Tensor, data: Any) -> float:
        """Measure slopes, release their noisy mean and, unless it is a probe's, move along it."""
        run, watch = self.run, self.run.watch
        losses, directions = self._losses(len(drawn)), self._directions(step.K)
        with self.moved(run.parameters, directions) as perturbed:
            watch.losses(losses, perturbed, data, step)
            slopes = self._slopes(step, losses, perturbed, data, len(drawn))
            perturbed.back()
            watch.evaluated()
            ridge = step.ridge * directions.coordinates().cpu() if step.ridge > 0 else 0.0
            estimate = estimated(
                watch.gather(step, drawn, data, clipped(slopes, step)), step, run.setting.n, ridge
            )
            if step.kind == "probe":
                run.write_down(step)
                run.answered(-float(self._released(step, estimate).along))
                return estimate.loss
            run.write_down(step, estimate.counts, directions.xi_factor if step.xi > 0 else 1.0)
            with watch.moving():
                apply(
                    run.parameters,
                    directions,
                    step,
                    self._released(step, estimate),
                    run.sources,
                    self._rounding(),
                )
                into_ball(run.parameters, step.R)
        return estimate.loss

    def _losses(self, records: int) -> Losses:
        return Losses(
            self.run.objective, max(1, min(self.microbatch, records)), self.run.watch.fingerprint
        )

    def _directions(self, K: int) -> Frame:
        return (Streamed if self.streamed else Dense)(
            self.run.parameters, K, self.run.sources.directions
        )

    def _slopes(
        self, step: Step, losses: Losses, perturbed: Perturbed, data: Any, records: int
    ) -> Slopes:
        """Measure the slopes, or a probe's answers, of this process's part of the batch."""
        own = self.ranks.records(records, losses.microbatch)
        if own.start >= own.stop:
            return Slopes(torch.zeros(0, step.K, dtype=torch.float64), nan)
        part = batches.part(data, own)
        if step.kind == "probe":
            return self.run.scale.answers(losses, perturbed, part)
        return measure(losses, perturbed, part, step.xi)

    def _released(self, step: Step, estimate: Slopes) -> Released:
        """Return in every process what `noisy` releases in the first one."""
        run = self.run
        released: Released = self.ranks.from_first(
            lambda: noisy(step, estimate.values, run.parameters.d, run.sources.noise)
        )
        return released

    def _rounding(self) -> torch.Generator | None:
        """Make the generator that rounds half-precision parameters. The generator may be as public
        as the directions, since rounding comes after the noise.
        """
        if not self.run.parameters.has_halves:
            return None
        seed = int(words(self.run.sources.directions)[0]) % 2**63
        return torch.Generator(self.run.parameters.device).manual_seed(seed)

    def find_publicly(self, scale: Scale, data: Any) -> None:
        """Find the scale from public data, by probes without noise."""
        losses = self._losses(batches.number_of(data))
        self.run.watch.seen.public = of_records(data, batches.number_of(data))
        while not scale.is_found:
            with torch.no_grad(), self.moved(self.run.parameters, self._directions(1)) as perturbed:
                answers = scale.answers(losses, perturbed, data).values
            scale.take(float(answers.mean()), 0)


def clipped(slopes: Slopes, step: Step) -> Slopes:
    """Clip a process's slopes, and count those that the clip changed."""
    values, active = RULES[step.clipping](slopes.values, step.clip)
    counts = Counts(looked_at=active.numel(), clipped=int(active.sum())) + slopes.counts
    return Slopes(values.cpu(), slopes.loss, counts)


def estimated(parts: list[Slopes], step: Step, n: int, ridge: Tensor | float) -> Slopes:
    """Average the slopes of all processes, and add the ridge. Each sum is rounded only once, so
    that it does not depend on the records' order, and no record adds more than the clip. The mean
    divides by the step's `batch`, however many records were drawn.
    """
    columns = torch.cat([part.values for part in parts]).T.tolist()
    sums = torch.tensor([fsum(column) for column in columns], dtype=torch.float64)
    losses = [(part.loss, len(part.values)) for part in parts if isfinite(part.loss)]
    loss = sum(x * b for x, b in losses) / sum(b for _, b in losses) if losses else nan
    counts = sum((part.counts for part in parts), Counts())
    return Slopes(sums / (step.batch or n) + ridge, loss, counts)


def into_ball(parameters: Parameters, R: float) -> None:
    """Project the parameters onto the ball of radius R around 0."""
    if R < inf and (length := parameters.length()) > R:
        parameters.scale(R / length)
