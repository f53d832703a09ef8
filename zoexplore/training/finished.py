"""A finished comparison, as the page opens with it: kept as JSON beside this file, read without torch."""

import json
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import Any

from zoexplore.training.frontier_files import of_dict, to_json
from zoexplore.training.results import Frontier
from zoexplore.writing import write

FILE = Path(__file__).with_name("comparison.json")
_WORDS = ("reason", "counted")


@dataclass(frozen=True)
class Nearness:
    """How near the best run of a kind comes to the minimum at fixed epsilon.

    Args:
        measure: that it was tuned by, "objective" or "decisions".
        hidden: whether its last iterate alone is released.
        epsilon: that it was tuned for.
        K, T, beta, rate, sigma: the run: directions, steps, share of the noise along them, eta/K, noise scale.
        excess: seed by seed, the objective's excess over its minimum, as a share of that before the first step.
        differing: seed by seed, the share of the test part that is decided otherwise than at the minimum.
        accuracy: seed by seed, on the test part.
        counted: how.
    """

    measure: str
    hidden: bool
    epsilon: float
    K: int
    T: int
    beta: float
    rate: float
    sigma: float
    excess: tuple[float, ...]
    differing: tuple[float, ...]
    accuracy: tuple[float, ...]
    counted: str


@dataclass(frozen=True)
class Comparison:
    """Methods tuned alike and measured at fixed epsilon.

    Args:
        dates: when it was made, ISO 8601, UTC, task by task.
        tuning_seeds: of the trials; no result uses them.
        budgets: trials and seeds of each method and target, and the ranges of the trials, task by task.
        seconds: of processor time, task by task.
        frontiers: task by task.
        validation: task by task, "method at epsilon" to the accuracy of what was chosen on the validation part. What was chosen
            stands with the points.
        hiding: how near Noisy-ZOGD comes to the minimum of an objective, tuned with its last iterate alone released and with all.
    """

    dates: dict[str, str]
    tuning_seeds: tuple[int, ...]
    budgets: dict[str, dict]
    seconds: dict[str, float]
    frontiers: dict[str, Frontier]
    validation: dict[str, dict[str, float]]
    hiding: list[Nearness] = field(default_factory=list)


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
    about["hiding"] = [
        Nearness(**near | {name: tuple(near[name]) for name in ("excess", "differing", "accuracy")}) for near in about["hiding"]
    ]
    return Comparison(**about | {"tuning_seeds": tuple(about["tuning_seeds"])})


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
