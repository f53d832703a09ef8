"""What the comparison and its studies are made of, beside what the package carries: JSON beside
this file.
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
        last, average: mean test accuracy, in law, of last iterates and of averages over the last
            half.
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
class Studies:
    """All results.

    Args:
        finished: by task, what the package carries.
        tuning: by task, "method at epsilon" to the choice of each draw of the tuning.
        control: by task, "method at epsilon" to the test accuracy of the best of 50 random
            settings.
        series: the lines of studies.
    """

    finished: dict[str, Finished] = field(default_factory=dict)
    tuning: dict[str, dict[str, list[Drawn]]] = field(default_factory=dict)
    control: dict[str, dict[str, float]] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)


def save(found: Studies, folder: Path | None = None) -> None:
    """Write both files, into one folder or each to its own. Raises OSError if one cannot be
    written.
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
    """Read both files. Raises OSError or ValueError if there are none."""
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
    """A `Series` or `Drawn` from its JSON."""
    return kind(**tuples(found))
