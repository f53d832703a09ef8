"""A frontier as JSON and back, and as CSV: one row for each method, noise scale, seed and recorded
step. A loaded frontier equals the saved one.
"""

import csv
import json
from dataclasses import asdict
from io import StringIO
from math import inf
from pathlib import Path
from typing import Any

from zoexplore.bounds import BOUNDS
from zoexplore.run.saving import write
from zoexplore.run.setting import Accounting, Setting
from zoexplore.training.results import Frontier, Point

KIND = "zoexplore frontier 2"
# as whoever adds a bound of their own reads
NOT_YET = "this bound was added after the point was computed"
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
        raise ValueError(
            f"file name = {path.name!r} is not allowed: give one that ends in .json or .csv"
        )
    write(path, writers[path.suffix.lower()](frontier).encode())


def load(path: str | Path) -> Frontier:
    """Read what `save` wrote as JSON.

    Raises:
        ValueError: the file holds no frontier.
        OSError: the file cannot be read.
    """
    return from_json(Path(path).read_bytes())


def to_csv(frontier: Frontier) -> str:
    """The rows as CSV text. No cell can be a formula: they hold methods' names and numbers."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, *(f"epsilon {bound}" for bound in BOUNDS)])
    for i, p in enumerate(frontier.points):
        for seed, accuracy, loss in zip(p.seeds, p.accuracy, p.loss, strict=True):
            for row in zip(
                p.steps, accuracy, loss, *(p.epsilons[bound] for bound in BOUNDS), strict=True
            ):
                # floats as repr writes them: they read back exactly
                writer.writerow([i, p.method, p.sigma, seed, *row])
    return out.getvalue()


def to_json(frontier: Frontier) -> str:
    """Everything as JSON, with Infinity for infinite numbers, as Python and JSON5 read it."""
    points = [asdict(p) | {"setting": p.setting.as_dict()} for p in frontier.points]
    return json.dumps({"kind": KIND} | asdict(frontier) | {"points": points})


def from_json(content: str | bytes) -> Frontier:
    """The inverse of `to_json`.

    Raises:
        ValueError: the text is no frontier.
    """
    try:
        return of_dict(json.loads(content))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"this is no frontier saved as JSON, or it is damaged: {error}") from error


def of_dict(found: dict[str, Any]) -> Frontier:
    """A frontier from its JSON dictionary.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: it is none.
    """
    about = dict(found)
    if about.pop("kind", None) != KIND:
        raise ValueError(f"its kind is not {KIND!r}")
    points = tuple(map(_point, about["points"]))
    return Frontier(**about | {"points": points, "accounting": Accounting(**about["accounting"])})


def tuples(value: Any) -> Any:
    """A JSON value with its lists as tuples."""
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def _point(about: dict[str, Any]) -> Point:
    """A point; bounds that did not exist when it was computed are inf."""
    found = {name: tuples(value) for name, value in about.items()} | {
        "setting": Setting(**about["setting"])
    }
    found["epsilons"] = {
        bound: tuples(about["epsilons"].get(bound, [inf] * len(about["steps"]))) for bound in BOUNDS
    }
    found["reason"] = {bound: about["reason"].get(bound, NOT_YET) for bound in BOUNDS}
    return Point(**found)
