"""A finished comparison, as the page opens with it: kept as JSON beside this file, read without torch."""

import json
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import Any

from zoexplore.run.saving import write
from zoexplore.training.frontier_files import of_dict, to_json, tuples
from zoexplore.training.results import Frontier

FILE = Path(__file__).with_name("comparison.json")
_WORDS = ("reason", "counted")


@dataclass(frozen=True)
class Series:
    """A line of a study.

    Args:
        study: its key.
        label: what a legend calls it.
        x: where it was measured.
        values: at each of them, seed by seed.
    """

    study: str
    label: str
    x: tuple[float, ...]
    values: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Drawn:
    """What one draw of the tuning chose for a method at an epsilon, and how that did.

    Args:
        choice: the setting.
        trials: in all, of this method, epsilon and draw.
        validation: mean accuracy of the choice on splits of the records to train on.
        last, average: mean accuracy on the test part, in law, of last iterates and of averages over the last half.
        loss: the same of last iterates' loss.
        ends: coordinates of the choice that lie at an end of their grids.
        mechanism: accuracy on the test part of one run of the mechanism itself; None where there was none.
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
    """Methods tuned alike and measured at fixed epsilon.

    Args:
        dates: when it was made, ISO 8601, UTC, part by part.
        seconds: of processor time, part by part.
        frontiers: task by task; a point has the accuracy in law of each draw, and the run of the draw with the best validation.
        tuning: task by task, "method at epsilon" to what each draw of the tuning chose.
        series: the lines of studies.
        control: task by task, "method at epsilon" to the best of 50 random settings: accuracy on the test part.
    """

    dates: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    frontiers: dict[str, Frontier] = field(default_factory=dict)
    tuning: dict[str, dict[str, list[Drawn]]] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)
    control: dict[str, dict[str, float]] = field(default_factory=dict)


def save(found: Comparison, path: Path = FILE) -> None:
    """Write it as JSON. Raises OSError where it cannot be written."""
    about = asdict(replace(found, frontiers={}))
    words: dict[str, int] = {}
    about["frontiers"] = {name: _short(json.loads(to_json(frontier)), words) for name, frontier in found.frontiers.items()}
    about["words"] = list(words)
    write(path, json.dumps(about, separators=(",", ":")).encode())


@cache
def load(path: Path = FILE) -> Comparison:
    """What was saved. Raises OSError or ValueError where there is none."""
    about = json.loads(path.read_text())
    words = about.pop("words")
    about["frontiers"] = {name: of_dict(_long(found, words)) for name, found in about["frontiers"].items()}
    about["tuning"] = {
        task: {key: [of_json(Drawn, one) for one in draws] for key, draws in found.items()}
        for task, found in about["tuning"].items()
    }
    about["series"] = [of_json(Series, one) for one in about["series"]]
    return Comparison(**about)


def of_json(kind: type, found: dict[str, Any]) -> Any:
    """A `Series` or `Drawn` again."""
    return kind(**{name: tuples(value) for name, value in found.items()})


def _short(found: dict[str, Any], words: dict[str, int]) -> dict[str, Any]:
    """A frontier's dictionary without what repeats itself: settings and words, and bounds that do not apply."""
    first: dict[str, Any] = next((p["setting"] for p in found["points"] if p["setting"]), {})
    found["setting"] = first
    for p in found["points"]:
        given = p["setting"]
        p["setting"] = None if given is None else {name: value for name, value in given.items() if value != first[name]}
        del p["epsilon"]  # the last of epsilons
        p["epsilons"] = {bound: values if any(map(isfinite, values)) else 0 for bound, values in p["epsilons"].items()}
        for name in _WORDS:
            p[name] = {bound: words.setdefault(text, len(words)) for bound, text in p[name].items()}
    return found


def _long(found: dict[str, Any], words: list[str]) -> dict[str, Any]:
    """What `_short` was given."""
    first = found.pop("setting")
    for p in found["points"]:
        p["setting"] = None if p["setting"] is None else first | p["setting"]
        p["epsilons"] = {bound: values or [inf] * len(p["steps"]) for bound, values in p["epsilons"].items()}
        p["epsilon"] = {bound: values[-1] for bound, values in p["epsilons"].items()}
        for name in _WORDS:
            p[name] = {bound: words[place] for bound, place in p[name].items()}
    return found
