"""A frontier as JSON and back, and as CSV: one row for each method, noise scale, seed and recorded step.

A loaded frontier equals the saved one; a digest of all values exposes changed or damaged files.
"""

import csv
import json
from dataclasses import asdict
from hashlib import sha256
from io import StringIO
from math import inf
from pathlib import Path
from typing import Any

from zoexplore.bounds import BOUNDS
from zoexplore.run.saving import write
from zoexplore.run.setting import Accounting, Setting
from zoexplore.training.results import Frontier, Point

KIND = "zoexplore frontier 1"
NOT_YET = "this bound was added after the point was computed"  # as whoever adds a bound of their own reads
COLUMNS = ("point", "method", "sigma", "seed", "step", "accuracy", "loss")


def save(frontier: Frontier, path: str | Path) -> None:
    """Write a .json file, which `load` reads, or a .csv file, by the name's suffix.

    Raises:
        ValueError: the name has another suffix.
        OSError: the file cannot be written; the old file is unchanged.
    """
    writers = {".json": to_json, ".csv": to_csv}
    path = Path(path)
    if path.suffix.lower() not in writers:
        raise ValueError(f"file name = {path.name!r} is not allowed: give one that ends in .json or .csv")
    write(path, writers[path.suffix.lower()](frontier).encode())


def load(path: str | Path) -> Frontier:
    """Read what `save` wrote as JSON.

    Raises:
        ValueError: the file holds no frontier, or is damaged.
        OSError: the file cannot be read.
    """
    return from_json(Path(path).read_bytes())


def to_csv(frontier: Frontier) -> str:
    """The rows as CSV text. No cell can be a formula: they hold methods' names and numbers."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_columns())
    writer.writerows(_rows(frontier))  # it writes floats as repr does, so they read back exactly
    return out.getvalue()


def to_json(frontier: Frontier) -> str:
    """Everything as JSON, with Infinity for infinite numbers, as Python and JSON5 read it."""
    about = {
        "kind": KIND,
        "task": frontier.task,
        "delta": frontier.delta,
        "noise_seed": frontier.noise_seed,
        "accounting": asdict(frontier.accounting),
        "versions": frontier.versions,
        "points": [asdict(p) | {"setting": p.setting and p.setting.as_dict()} for p in frontier.points],
    }
    about = json.loads(json.dumps(about))  # with lists for tuples, as it is read
    return json.dumps({"digest": _digest(about), **about})


def from_json(content: str | bytes) -> Frontier:
    """The inverse of `to_json`.

    Raises:
        ValueError: the text is no frontier, or damaged.
    """
    try:
        return of_dict(json.loads(content))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"this is no frontier saved as JSON, or it is damaged: {error}") from error


def of_dict(found: dict[str, Any]) -> Frontier:
    """A frontier from its JSON dictionary.

    Raises:
        ValueError, KeyError, TypeError: it is no frontier, or its digest differs.
    """
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise ValueError(f"its kind is not {KIND!r}")
    if found["digest"] != _digest({name: value for name, value in found.items() if name != "digest"}):
        raise ValueError("its values were changed since it was saved: its digest is another")
    return Frontier(
        task=found["task"],
        points=tuple(map(_point, found["points"])),
        accounting=Accounting(**found["accounting"]),
        delta=found["delta"],
        noise_seed=found["noise_seed"],
        versions=found["versions"],
    )


def tuples(value: Any) -> Any:
    """A JSON value with its lists as tuples."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def _digest(about: dict[str, Any]) -> str:
    return sha256(json.dumps([about, {}], sort_keys=True).encode()).hexdigest()


def _columns() -> list[str]:
    return [*COLUMNS, *(f"epsilon {bound}" for bound in BOUNDS)]


def _rows(frontier: Frontier) -> list[tuple[Any, ...]]:
    return [
        (i, p.method, p.sigma, seed, step, p.accuracy[s][t], p.loss[s][t], *(p.epsilons[bound][t] for bound in BOUNDS))
        for i, p in enumerate(frontier.points)
        for s, seed in enumerate(p.seeds)
        for t, step in enumerate(p.steps)
    ]


def _point(about: dict[str, Any]) -> Point:
    """A point; bounds that did not exist when it was computed are inf."""
    absent = [bound for bound in BOUNDS if bound not in about["epsilons"]]
    epsilons = about["epsilons"] | dict.fromkeys(absent, [inf] * len(about["steps"]))
    found = {name: tuples(value) for name, value in about.items()}
    found["epsilons"] = {bound: tuple(epsilons[bound]) for bound in BOUNDS}
    found["epsilon"] = {bound: values[-1] for bound, values in found["epsilons"].items()}
    found["reason"] = {bound: NOT_YET if bound in absent else about["reason"][bound] for bound in BOUNDS}
    return Point(**found | {"setting": about["setting"] and Setting(**about["setting"])})
