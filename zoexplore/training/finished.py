"""A finished comparison, as the page opens with it: kept as JSON beside this file, read without torch."""

import json
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

from zoexplore.training.frontier_files import of_dict, to_json
from zoexplore.training.results import Frontier
from zoexplore.writing import write

FILE = Path(__file__).with_name("comparison.json")
_FRONTIERS = ("frontiers", "hiding")


@dataclass(frozen=True)
class Comparison:
    """Methods tuned alike and measured at fixed epsilon.

    Args:
        date: when it was made, ISO 8601, UTC.
        trials: of each method and target, task by task.
        tuning_seeds: of the trials; no result uses them.
        seconds: that it took, task by task.
        frontiers: task by task.
        chosen: task by task, "method at epsilon" to what was tuned and its accuracy on the validation part.
        hiding: Noisy-ZOGD on one task, tuned with its last iterate alone released, "hidden, ...", and with all, "public, ...":
            for runs of a fixed number of steps, and with that tuned too.
    """

    date: str
    trials: dict[str, int]
    tuning_seeds: tuple[int, ...]
    seconds: dict[str, float]
    frontiers: dict[str, Frontier]
    chosen: dict[str, dict[str, dict]]
    hiding: dict[str, Frontier] = field(default_factory=dict)


def save(found: Comparison, path: Path = FILE) -> None:
    """Write it as JSON. Raises OSError where it cannot be written."""
    about = asdict(replace(found, frontiers={}, hiding={}))
    for part in _FRONTIERS:
        about[part] = {name: json.loads(to_json(frontier)) for name, frontier in getattr(found, part).items()}
    write(path, json.dumps(about, separators=(",", ":")).encode())


@cache
def load(path: Path = FILE) -> Comparison:
    """What was saved. Raises OSError or ValueError where there is none."""
    about = json.loads(path.read_text())
    for part in _FRONTIERS:
        about[part] = {name: of_dict(found) for name, found in about[part].items()}
    return Comparison(**about | {"tuning_seeds": tuple(about["tuning_seeds"])})
