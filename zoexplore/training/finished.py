"""The finished comparison that the page shows first: JSON beside this file, read without torch."""

import json
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from zoexplore.run.saving import write
from zoexplore.training.frontier_files import of_dict, to_json, tuples
from zoexplore.training.results import Frontier

FILE = Path(__file__).with_name("comparison.json")


@dataclass(frozen=True)
class Series:
    """A line of a study.

    Args:
        study: its key.
        label: its name in a legend.
        x: the values of the axis.
        values: at each of them, by seed.
    """

    study: str
    label: str
    x: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Drawn:
    """The choice of one draw of the tuning for a method at an epsilon, and its results.

    Args:
        choice: the setting.
        trials: the number of trials in this cell and draw.
        validation: mean accuracy of the choice on splits of the training records.
        last, average: mean test accuracy, in law, of last iterates and of averages over the last half.
        loss: the mean test loss of last iterates.
        ends: parameters chosen at an end of their grids.
        mechanism: test accuracy of one run of the mechanism itself; None if not run.
    """

    choice: dict[str, Any]
    trials: int
    validation: float
    last: float
    average: float
    loss: float
    ends: tuple[str, ...] = ()
    mechanism: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Methods tuned in the same way and measured at fixed epsilon.

    Args:
        dates: when each part was made, ISO 8601, UTC.
        seconds: processor time of each part.
        frontiers: by task; a point has the accuracy in law of each draw, and the run of the draw with the best validation.
        tuning: by task, "method at epsilon" to the choice of each draw of the tuning.
        series: the lines of studies.
        control: by task, "method at epsilon" to the test accuracy of the best of 50 random settings.
    """

    dates: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    frontiers: dict[str, Frontier] = field(default_factory=dict)
    tuning: dict[str, dict[str, list[Drawn]]] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)
    control: dict[str, dict[str, float]] = field(default_factory=dict)


def save(found: Comparison, path: Path = FILE) -> None:
    """Write a comparison as JSON. Raises OSError if it cannot be written."""
    about = asdict(replace(found, frontiers={}))
    about["frontiers"] = {name: json.loads(to_json(frontier)) for name, frontier in found.frontiers.items()}
    write(path, json.dumps(about, separators=(",", ":")).encode())


@cache
def load(path: Path = FILE) -> Comparison:
    """Read a comparison. Raises OSError or ValueError if there is none."""
    about = json.loads(path.read_text())
    about["frontiers"] = {name: of_dict(frontier) for name, frontier in about["frontiers"].items()}
    about["tuning"] = {
        task: {key: [of_json(Drawn, one) for one in draws] for key, draws in found.items()}
        for task, found in about["tuning"].items()
    }
    about["series"] = [of_json(Series, one) for one in about["series"]]
    return Comparison(**about)


def of_json(kind: type, found: dict[str, Any]) -> Any:
    """A `Series` or `Drawn` from its JSON."""
    return kind(**{name: tuples(value) for name, value in found.items()})
