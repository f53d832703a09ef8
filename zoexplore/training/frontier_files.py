"""A frontier as JSON and back, as CSV, and as a pandas DataFrame: one row for each method, noise scale, seed and recorded step.

What is loaded equals what was saved: a digest of all values tells a file that was changed or damaged.
"""

import csv
import json
from dataclasses import asdict
from hashlib import sha256
from io import StringIO
from math import inf, isnan
from pathlib import Path
from typing import Any

from zoexplore.bounds import BOUNDS
from zoexplore.run.saving import write
from zoexplore.run.setting import Accounting, Setting
from zoexplore.training.methods import METHODS
from zoexplore.training.results import Frontier, Point

KIND = "zoexplore frontier 1"
COLUMNS = ("point", "method", "sigma", "seed", "step", "accuracy", "loss")
LARGEST = 200_000_000  # bytes
LONGEST_NAME = 1_000  # characters of a method
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a cell of a spreadsheet that begins so is computed
NOT_YET = "this bound was added after the point was computed"
DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)  # what reading it may raise

_AMISS: dict[type[Exception], str] = {
    **dict.fromkeys((TypeError, AttributeError, IndexError), "a value in it is of another kind than a frontier's"),
    OverflowError: "a number in it is too large",
    RecursionError: "it is nested deeper than any frontier",
}


def save(frontier: Frontier, path: str | Path) -> None:
    """Write a .json file, which `load` reads, or a .csv file for others to read, by the name's ending.

    Raises:
        ValueError: the name has another ending.
        OSError: the file cannot be written; what was there before still is.
    """
    writers = {".json": to_json, ".csv": to_csv}
    path = Path(path)
    if path.suffix.lower() not in writers:
        raise ValueError(f"file name = {path.name!r} is not allowed: give one that ends in .json or .csv")
    write(path, writers[path.suffix.lower()](frontier).encode())


def load(path: str | Path) -> Frontier:
    """Read what `save` wrote as JSON.

    Raises:
        ValueError: the content is none or damaged.
        OSError: the file cannot be read.
    """
    path = Path(path)
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path.name} has {path.stat().st_size / 1e6:.0f} MB: give at most {LARGEST // 1_000_000} MB")
    return from_json(path.read_bytes())


def frame(frontier: Frontier) -> Any:
    """The rows as a pandas DataFrame: method, sigma, target, seed, step, accuracy, loss, epsilon by bound, what was chosen."""
    import pandas

    found = pandas.DataFrame(_rows(frontier), columns=_columns())
    for name in ("target", *dict.fromkeys(name for p in frontier.points for name in p.run)):
        values = [p.target if name == "target" else p.run.get(name) for p in frontier.points]
        found.insert(3 if name == "target" else len(found.columns), name, [values[i] for i in found["point"]])
    return found


def to_csv(frontier: Frontier) -> str:
    """The rows as CSV text. No cell of it is a formula: methods' names are none, and the rest are numbers."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_columns())
    writer.writerows(_rows(frontier))  # which writes a float as repr does, to be read back exactly
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
    about = json.loads(json.dumps(about))  # as it is read: lists for tuples
    return json.dumps({"digest": _digest(about), **about})


def from_json(content: str | bytes) -> Frontier:
    """What `to_json` was given.

    Raises:
        ValueError: the text is no frontier, or damaged.
    """
    try:
        return of_dict(json.loads(content))
    except DAMAGE as error:
        amiss = f"it has no {error}" if isinstance(error, KeyError) else _AMISS.get(type(error), str(error))
        raise ValueError(f"this is no frontier saved as JSON, or it is damaged: {amiss}") from error


def of_dict(found: dict[str, Any]) -> Frontier:
    """A frontier from what JSON made of it.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    if not isinstance(found, dict):
        raise ValueError("it does not hold one object with a frontier's fields")
    if found["kind"] != KIND:
        raise ValueError(f"its kind is not {KIND!r}")
    if found["digest"] != _digest({name: value for name, value in found.items() if name != "digest"}):
        raise ValueError("its values were changed since it was saved: its digest is another")
    return Frontier(
        task=_text(found["task"]),
        points=tuple(map(_point, found["points"])),
        accounting=Accounting(**found["accounting"]),
        delta=float(found["delta"]),
        noise_seed=int(found["noise_seed"]),
        versions={_text(name): _text(version) for name, version in found["versions"].items()},
    )


def _digest(about: dict[str, Any]) -> str:
    return sha256(json.dumps([about, {}], sort_keys=True).encode()).hexdigest()


def _columns() -> list[str]:
    return [*COLUMNS, *(f"epsilon {bound}" for bound in BOUNDS)]


def _rows(frontier: Frontier) -> list[tuple]:
    return [
        (i, p.method, p.sigma, seed, step, p.accuracy[s][t], p.loss[s][t], *(p.epsilons[bound][t] for bound in BOUNDS))
        for i, p in enumerate(frontier.points)
        for s, seed in enumerate(p.seeds)
        for t, step in enumerate(p.steps)
    ]


def _point(about: dict[str, Any]) -> Point:
    """A point, infinite by the bounds that were added after it was computed."""
    steps, seeds = tuple(map(int, about["steps"])), tuple(map(int, about["seeds"]))
    if not steps or not seeds:
        raise ValueError("a point has no seeds or no steps")

    def along_steps(values: list, least: float = -inf) -> tuple[float, ...]:
        numbers = tuple(map(float, values))
        if len(numbers) != len(steps) or any(isnan(x) or x < least for x in numbers):
            raise ValueError(f"{values!r:.80} are no results of {len(steps)} steps")
        return numbers

    def by_seed(rows: list) -> tuple[tuple[float, ...], ...]:
        if len(rows) != len(seeds):
            raise ValueError(f"a point has results of {len(rows)} seeds in place of {len(seeds)}")
        return tuple(map(along_steps, rows))

    absent = [bound for bound in BOUNDS if bound not in about["epsilons"]]
    given = dict.fromkeys(absent, [inf] * len(steps)) | about["epsilons"]
    epsilons = {bound: along_steps(given[bound], 0.0) for bound in BOUNDS}
    reasons = dict.fromkeys(absent, NOT_YET) | about["reason"]
    counted = about["counted"] if "counted" in about else about["says"]  # as earlier files call it
    return Point(
        method=_name(about["method"]),
        sigma=float(about["sigma"]),
        setting=about["setting"] and Setting(**({"clipping": _usual_clipping(about)} | about["setting"])),
        seeds=seeds,
        steps=steps,
        accuracy=by_seed(about["accuracy"]),
        loss=by_seed(about["loss"]),
        epsilon={bound: values[-1] for bound, values in epsilons.items()},
        reason={bound: _text(reasons[bound]) for bound in BOUNDS},
        epsilons=epsilons,
        supposed=tuple(map(_text, about["supposed"])),
        clipped=float(about["clipped"]),
        projected=float(about["projected"]),
        target=None if about["target"] is None else float(about["target"]),
        counted={_text(bound): _text(words) for bound, words in counted.items()},
        tested=int(about["tested"]),
        run={_text(name): float(value) for name, value in about["run"].items()},
    )


def _usual_clipping(about: dict[str, Any]) -> str:
    """How a point's run was clipped where its file does not say: files did not while no setting did."""
    method = METHODS.get(about["method"])
    return "joint" if about["target"] is not None or (method and method.clipping == "joint") else "each"


def _name(value: Any) -> str:
    """A method's name, which is written into tables."""
    name = _text(value)
    if len(name) > LONGEST_NAME or name.startswith(FORMULA):
        raise ValueError(f"method = {name[:40]!r} is no name of a method")
    return name


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} stands where a text should")
    return value
