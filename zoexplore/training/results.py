"""What a sweep finds: `Point`, one method at one noise scale, and `Frontier`, all of them with how they came about."""

from dataclasses import dataclass, field
from math import inf, nan, sqrt
from statistics import fmean, stdev

from zoexplore.setting import Accounting, Setting

NOT_COVERED = (
    "ε is for each model on its own, if only that model is released: it does not cover choosing a method or a parameter by these "
    "results, watching the curves while training, or noise from a seed that others know."
)


@dataclass(frozen=True)
class Point:
    """One method at one noise scale, over several seeds.

    Args:
        method: key of `METHODS`.
        sigma: noise scale; 0 where there is no noise.
        setting: the run, for the sliders; None where Noisy-ZOGD's parameters do not describe it.
        seeds: the seeds that have finished, in order.
        steps: recorded numbers of steps, rising; T is the last.
        accuracy, loss: held-out, seed by seed and step by step: as many rows as seeds, as many columns as steps.
        epsilon: by bound, at T; inf where it does not apply.
        reason: by bound, why it does not apply, or how its printed constants err where they were asked for; else empty.
        epsilons: by bound, at the recorded steps.
        supposed: what the bounds assume of the loss without proof, in words; empty where all is proved.
        clipped: share of quotients that the clip changed.
        projected: share of steps that the ball cut off.
    """

    method: str
    sigma: float
    setting: Setting | None
    seeds: tuple[int, ...]
    steps: tuple[int, ...]
    accuracy: tuple[tuple[float, ...], ...]
    loss: tuple[tuple[float, ...], ...]
    epsilon: dict[str, float]
    reason: dict[str, str]
    epsilons: dict[str, tuple[float, ...]]
    supposed: tuple[str, ...] = ()
    clipped: float = 0.0
    projected: float = 0.0

    def mean(self, utility: str, step: int = -1) -> float:
        """The mean over seeds of "accuracy" or "loss" at a recorded step, the last unless told."""
        return fmean(row[step] for row in getattr(self, utility))

    def error(self, utility: str, step: int = -1) -> float:
        """The standard error of that mean; nan for a single seed."""
        values = [row[step] for row in getattr(self, utility)]
        return stdev(values) / sqrt(len(values)) if len(values) > 1 else nan

    def means(self, utility: str) -> tuple[float, ...]:
        """The mean over seeds at every recorded step."""
        return tuple(self.mean(utility, i) for i in range(len(self.steps)))


@dataclass(frozen=True)
class Frontier:
    """A sweep's points, and what it takes to repeat it.

    Args:
        task: key or title of the task.
        points: in the order of methods and noise scales.
        accounting: how epsilon was counted.
        delta: the delta of every epsilon.
        versions: of Python and the libraries that computed it, by name.
        noise_seed: of the noise; a run's own seed is added to it.
    """

    task: str
    points: tuple[Point, ...]
    accounting: Accounting
    delta: float
    noise_seed: int
    versions: dict[str, str] = field(default_factory=dict)

    def pareto(self, bound: str, utility: str = "accuracy") -> tuple[Point, ...]:
        """The points that no other one betters in both: less epsilon by this bound and better utility; by rising epsilon.

        Points without a finite epsilon are left out.
        """
        sign = -1 if utility == "loss" else 1
        found: list[Point] = []
        best = -inf
        for point in sorted(self.points, key=lambda p: (p.epsilon[bound], -sign * p.mean(utility))):
            value = sign * point.mean(utility)
            if point.epsilon[bound] < inf and value > best:
                found.append(point)
                best = value
        return tuple(found)
