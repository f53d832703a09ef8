"""Keeps those results of the comparison and its studies that the package does not carry, as JSON
beside this file.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from zoexplore.run.atomic_write import write
from zoexplore.training import comparison
from zoexplore.training.comparison import Finished
from zoexplore.training.results import as_dict, tuples

HERE = Path(__file__).parent
NAME = "studies.json"


@dataclass(frozen=True)
class Series:
    """A line of a study.

    Args:
        study: the key of the study.
        label: the line's name in a legend.
        x: the values of the axis.
        values: for each value of the axis, the results by seed.
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
        trials: the number of trials of this draw for this method and epsilon.
        validation: the mean accuracy of the choice on splits of the training records.
        last: the mean test accuracy of the last iterates of simulated runs.
        average: the mean test accuracy of their averages over the last half of the iterates.
        loss: the mean test loss of their last iterates.
        ends: the fields whose values were chosen at an end of their grids.
        mechanism: the test accuracy of one run of the mechanism itself; None if not run.
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
class Studies:
    """All results.

    Args:
        finished: for each task, the results that the package carries.
        tuning: for each task and "method at epsilon", the choice of each draw of the tuning.
        control: for each task and "method at epsilon", the test accuracy of the best of 50 random
            settings.
        series: the lines of the studies.
    """

    finished: dict[str, Finished] = field(default_factory=dict)
    tuning: dict[str, dict[str, list[Drawn]]] = field(default_factory=dict)
    control: dict[str, dict[str, float]] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)


def save(found: Studies, folder: Path | None = None) -> None:
    """Write both files into `folder`, or each to its own place if that is None. Raise OSError if a
    file cannot be written.
    """
    finished = {
        task: asdict(one) | {"frontier": as_dict(one.frontier)}
        for task, one in found.finished.items()
    }
    write(_package(folder), json.dumps(finished, separators=(",", ":")).encode())
    comparison.load.cache_clear()
    about = asdict(replace(found, finished={}))
    del about["finished"]
    write((folder or HERE) / NAME, json.dumps(about, separators=(",", ":")).encode())


def load(folder: Path | None = None) -> Studies:
    """Read both files. Raise OSError or ValueError if they cannot be read."""
    about = json.loads(((folder or HERE) / NAME).read_bytes())
    tuning = {
        task: {key: [of_json(Drawn, one) for one in draws] for key, draws in found.items()}
        for task, found in about["tuning"].items()
    }
    series = [of_json(Series, one) for one in about["series"]]
    return Studies(dict(comparison.load(_package(folder))), tuning, about["control"], series)


def _package(folder: Path | None) -> Path:
    return folder / comparison.FILE.name if folder else comparison.FILE


def of_json(kind: type, found: dict[str, Any]) -> Any:
    """Make a `Series` or `Drawn` from its JSON."""
    return kind(**tuples(found))
