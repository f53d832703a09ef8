"""What a sweep finds: `Point`, one method at one noise scale, and `Frontier`, all of them with how they came about."""

from dataclasses import dataclass, field
from math import inf, nan, sqrt
from statistics import fmean, stdev

from zoexplore.run.setting import Accounting, Setting

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
        target: the epsilon that sigma was solved for; None where sigma was given.
        counted: by bound, what was counted: a clip, or the loss's Lipschitz constant; empty where the bound does not apply.
        tested: records that accuracy was measured on; 0 where it is not known.
        run: what was chosen: n, d, K, beta, T, eta, clip, batch (0: all records), ridge.
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
    target: float | None = None
    counted: dict[str, str] = field(default_factory=dict)
    tested: int = 0
    run: dict[str, float] = field(default_factory=dict)

    @property
    def by(self) -> str:
        """The bound that gives the least epsilon; empty where none gives any."""
        least = min(self.epsilon, key=lambda bound: self.epsilon[bound], default="")
        return least if least and self.epsilon[least] < inf else ""

    def mean(self, utility: str, step: int = -1) -> float:
        """The mean over seeds of "accuracy" or "loss" at a recorded step, by default the last."""
        return fmean(row[step] for row in getattr(self, utility))

    def error(self, utility: str, step: int = -1) -> float:
        """The standard error of that mean: over seeds and, of accuracy, over the draw of the records held out. nan for a single
        seed's loss.
        """
        values = [row[step] for row in getattr(self, utility)]
        drawn = 0.0
        if utility == "accuracy" and self.tested:
            mean = min(max(fmean(values), 0.0), 1.0)
            drawn = mean * (1 - mean) / self.tested
        if len(values) < 2:
            return sqrt(drawn) if drawn else nan
        return sqrt(stdev(values) ** 2 / len(values) + drawn)

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
