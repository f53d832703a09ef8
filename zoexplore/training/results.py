"""Results of a sweep: `Point`, one method at one noise scale, and `Frontier`, all points and how to
repeat the sweep, as JSON and back. A loaded frontier equals the saved one.
"""

import json
from dataclasses import asdict, dataclass, field
from math import inf, nan, sqrt
from pathlib import Path
from statistics import fmean, variance
from typing import Any

from zoexplore.run.atomic_write import write
from zoexplore.run.setting import Accounting, Setting

KIND = "zoexplore frontier 3"
NOT_COVERED = (
    "ε is for each model on its own, if only that model is released. It does not cover choosing a method or a parameter by these "
    "results, watching the curves while training, or noise from a seed that others know."
)


@dataclass(frozen=True)
class Point:
    """One method at one noise scale, over several seeds.

    Args:
        method: key of `METHODS`.
        sigma: noise scale; 0 without noise.
        setting: the run up to the last recorded step.
        seeds: the seeds, in order.
        steps: recorded numbers of steps, ascending; the last is T or, during training, the last
            step that every seed has reached.
        accuracy, loss: held-out values, shape (seeds, steps).
        reason: by bound, why it does not apply or how its printed constants err; otherwise empty.
        epsilons: by bound, at the recorded steps; inf if the bound does not apply.
        target: the epsilon that sigma was solved for; None if sigma was given.
        counted: by bound, the basis of the account: a clip, or the loss's Lipschitz constant; empty
            if the bound does not apply.
        tested: the number of held-out records on which accuracy was measured; 0 if unknown.
    """

    method: str
    sigma: float
    setting: Setting
    seeds: tuple[int, ...]
    steps: tuple[int, ...]
    accuracy: tuple[tuple[float, ...], ...]
    loss: tuple[tuple[float, ...], ...]
    reason: dict[str, str]
    epsilons: dict[str, tuple[float, ...]]
    target: float | None = None
    counted: dict[str, str] = field(default_factory=dict)
    tested: int = 0

    @property
    def epsilon(self) -> dict[str, float]:
        """Epsilon by bound, at the last recorded step."""
        return {bound: values[-1] for bound, values in self.epsilons.items()}

    @property
    def by(self) -> str:
        """The bound with the least epsilon; empty if none applies."""
        least = min(self.epsilon.items(), key=lambda pair: pair[1], default=("", inf))
        return least[0] if least[1] < inf else ""

    def mean(self, utility: str, step: int = -1) -> float:
        """Return the mean over seeds of "accuracy" or "loss" at a recorded step, by default the
        last.
        """
        return fmean(row[step] for row in getattr(self, utility))

    def error(self, utility: str, step: int = -1) -> float:
        """Return the standard error of `mean`: over seeds and, for accuracy, over the draw of
        held-out records; nan for a single seed's loss.
        """
        values = [row[step] for row in getattr(self, utility)]
        mean, drawn = fmean(values), 0.0
        if utility == "accuracy" and self.tested:
            drawn = max(mean * (1 - mean), 0.0) / self.tested
        if len(values) > 1:
            return sqrt(variance(values) / len(values) + drawn)
        return sqrt(drawn) if drawn else nan

    def means(self, utility: str) -> tuple[float, ...]:
        """Return the mean over seeds at every recorded step."""
        return tuple(self.mean(utility, i) for i in range(len(self.steps)))


@dataclass(frozen=True)
class Frontier:
    """A sweep's points, and what is needed to repeat the sweep.

    Args:
        task: key or title of the task.
        points: the points, in the order of methods and noise scales.
        accounting: how epsilon was counted.
        delta: the delta of every epsilon.
        versions: the versions of Python and of the libraries that computed the points, by name.
    """

    task: str
    points: tuple[Point, ...]
    accounting: Accounting
    delta: float
    versions: dict[str, str] = field(default_factory=dict)


def save(frontier: Frontier, path: str | Path) -> None:
    """Write a frontier as JSON, with Infinity for infinite numbers, as Python and JSON5 read them.

    Raises:
        OSError: the file cannot be written; the old file is unchanged.
    """
    write(path, json.dumps(as_dict(frontier)).encode())


def load(path: str | Path) -> Frontier:
    """Read what `save` wrote.

    Raises:
        ValueError: the file does not hold a frontier.
        OSError: the file cannot be read.
    """
    content = Path(path).read_bytes()
    try:
        return of_dict(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"this is no frontier saved as JSON, or it is damaged: {error}") from error


def as_dict(frontier: Frontier) -> dict[str, Any]:
    """Return a frontier as its JSON dictionary."""
    points = [asdict(p) | {"setting": p.setting.as_dict()} for p in frontier.points]
    return {"kind": KIND} | asdict(frontier) | {"points": points}


def of_dict(content: dict[str, Any]) -> Frontier:
    """Invert `as_dict`.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: `content` is not a frontier.
    """
    about = dict(content)
    if about.pop("kind", None) != KIND:
        raise ValueError(f"its kind is not {KIND!r}")
    points = tuple(
        Point(**tuples(point) | {"setting": Setting(**point["setting"])})
        for point in about["points"]
    )
    return Frontier(**about | {"points": points, "accounting": Accounting(**about["accounting"])})


def tuples(value: Any) -> Any:
    """Return a JSON value with its lists as tuples."""
    if isinstance(value, dict):
        return {name: tuples(inner) for name, inner in value.items()}
    return tuple(map(tuples, value)) if isinstance(value, list) else value
