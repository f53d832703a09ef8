"""A frontier as JSON, CSV or Parquet and back; as a table one row for each method, noise scale, seed and recorded step.

What is not of that shape (settings, reasons, versions) goes with it as JSON: in CSV on a line with a #, in Parquet as the table's
metadata. What is loaded equals what was saved: a digest of all values tells a file that was changed or damaged.
"""

import csv
import json
import re
from dataclasses import asdict
from hashlib import sha256
from io import BytesIO, StringIO
from itertools import groupby
from math import inf, isnan
from pathlib import Path
from typing import Any

from zoexplore.bounds import BOUNDS
from zoexplore.formatting import format_count
from zoexplore.setting import Accounting, Setting
from zoexplore.training.results import Frontier, Point
from zoexplore.writing import write

KIND = "zoexplore frontier 1"
KEY = b"zoexplore"
COLUMNS = ("point", "method", "sigma", "seed", "step", "accuracy", "loss")
WHOLE = ("point", "seed", "step")
LARGEST = 200_000_000  # bytes
MOST_ROWS = 1_000_000
LARGEST_UNPACKED = 400_000_000  # bytes
LONGEST_NAME = 1_000  # characters of a method or a task
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a cell of a spreadsheet that begins so is computed
NOT_YET = "this bound was added after the point was computed"
DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)  # what reading it may raise

_AMISS: dict[type[Exception], str] = {
    **dict.fromkeys((TypeError, AttributeError, IndexError), "a value in it is of another kind than a frontier's"),
    OverflowError: "a number in it is too large",
    RecursionError: "it is nested deeper than any frontier",
}


def save(frontier: Frontier, path: str | Path) -> None:
    """Write a .json, .csv or .parquet file, by the name's ending.

    Raises:
        ValueError: the name has another ending.
        OSError: the file cannot be written; what was there before still is.
    """
    path = Path(path)
    writers: dict[str, Any] = {".json": to_json, ".csv": to_csv, ".parquet": to_parquet}
    written = writers[_suffix(path)](frontier)
    write(path, written.encode() if isinstance(written, str) else written)


def load(path: str | Path) -> Frontier:
    """Read what `save` wrote.

    Raises:
        ValueError: the name has another ending, or the content is none or damaged.
        OSError: the file cannot be read.
    """
    path = Path(path)
    read: Any = {".json": from_json, ".csv": from_csv, ".parquet": from_parquet}[_suffix(path)]
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path.name} has {path.stat().st_size / 1e6:.0f} MB: give at most {LARGEST // 1_000_000} MB")
    return read(path.read_bytes())


def frame(frontier: Frontier) -> Any:
    """The rows as a pandas DataFrame: method, sigma, target, seed, step, accuracy, loss, epsilon by bound, what was chosen."""
    import pandas

    found = pandas.DataFrame(_table(frontier))
    for name in ("target", *dict.fromkeys(name for p in frontier.points for name in p.run)):
        values = [p.target if name == "target" else p.run.get(name) for p in frontier.points]
        found.insert(3 if name == "target" else len(found.columns), name, [values[i] for i in found["point"]])
    return found


def to_json(frontier: Frontier) -> str:
    """All of it as JSON; what is infinite is Infinity, as Python and JavaScript's JSON5 read it."""
    points = [asdict(p) | {"setting": p.setting and p.setting.as_dict()} for p in frontier.points]
    rest = json.loads(json.dumps({"kind": KIND, **_about(frontier), "points": points}))
    return json.dumps({"digest": _digest(rest, {}), **rest})


def from_json(content: str | bytes) -> Frontier:
    """What `to_json` was given.

    Raises:
        ValueError: the text is no frontier, or damaged.
    """
    try:
        return of_dict(json.loads(content))
    except DAMAGE as error:
        raise ValueError(f"this is no frontier saved as JSON, or it is damaged: {_said(error)}") from error


def of_dict(found: dict[str, Any]) -> Frontier:
    """A frontier from what JSON made of it.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    if not isinstance(found, dict):
        raise ValueError("it does not hold one object with a frontier's fields")
    if found["kind"] != KIND:
        raise ValueError(f"its kind is not {KIND!r}")
    rest = {name: value for name, value in found.items() if name != "digest"}
    if found["digest"] != _digest(rest, {}):
        raise ValueError("its values were changed since it was saved: its digest is another")
    points = []
    for about in map(_with_every_bound, found["points"]):
        steps, seeds = tuple(map(int, about["steps"])), tuple(map(int, about["seeds"]))
        rows = [
            {
                "point": 0, "method": about["method"], "sigma": about["sigma"], "seed": seed, "step": step,
                "accuracy": about["accuracy"][s][t], "loss": about["loss"][s][t],
                **{f"epsilon {bound}": about["epsilons"][bound][t] for bound in BOUNDS},
            }
            for s, seed in enumerate(seeds)
            for t, step in enumerate(steps)
        ]  # fmt: skip
        if not rows:
            raise ValueError("a point has no seeds or no steps")
        points.append(_point(about, [{name: _typed(name, value) for name, value in row.items()} for row in rows]))
    return _of(found, tuple(points))


def _with_every_bound(about: dict[str, Any]) -> dict[str, Any]:
    """A point, infinite by the bounds that were added after it was computed."""
    absent = [bound for bound in BOUNDS if bound not in about["epsilons"]]
    return about | {
        "epsilons": dict.fromkeys(absent, [inf] * len(about["steps"])) | about["epsilons"],
        "reason": dict.fromkeys(absent, NOT_YET) | about["reason"],
    }


def to_csv(frontier: Frontier) -> str:
    """The rows as CSV text, after one line with all the rest."""
    out = StringIO()
    out.write(f"# {KIND} {_inert(json.dumps(_rest(frontier)))}\n")
    writer = csv.writer(out, lineterminator="\n")
    table = _table(frontier)
    writer.writerow(table)
    writer.writerows(zip(*table.values(), strict=True))  # which writes a float as repr does, to be read back exactly
    return out.getvalue()


def from_csv(content: str | bytes) -> Frontier:
    """What `to_csv` was given.

    Raises:
        ValueError: the text is no frontier, or damaged.
    """
    try:
        text = content.decode() if isinstance(content, bytes) else content
        first, _, body = text.partition("\n")
        if not first.startswith(f"# {KIND} "):
            raise ValueError(f"the first line does not begin with '# {KIND}'")
        names, *rows = csv.reader(StringIO(body), strict=True)
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        return _frontier(json.loads(first.removeprefix(f"# {KIND} ")), dict(zip(names, map(list, columns), strict=True)))
    except (*DAMAGE, csv.Error) as error:
        raise ValueError(f"this is no frontier saved as CSV, or it is damaged: {_said(error)}") from error


def to_parquet(frontier: Frontier) -> bytes:
    """The rows as a Parquet file, all the rest in its metadata."""
    import pyarrow
    from pyarrow import parquet

    about = f"{KIND} {json.dumps(_rest(frontier))}".encode()
    table = pyarrow.table(_table(frontier)).replace_schema_metadata({KEY: about})
    out = BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


def from_parquet(content: bytes) -> Frontier:
    """What `to_parquet` was given.

    Raises:
        ValueError: the bytes are no frontier, or damaged.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        _check_size(parquet.read_metadata(BytesIO(content)))
        # A text that stands in every row is kept once. What is no column of ours, as a pickled object, is not made into one.
        table = parquet.read_table(BytesIO(content), read_dictionary=["method"], arrow_extensions_enabled=False)
        _check_columns(table)
        kind, _, rest = (table.schema.metadata or {}).get(KEY, b"").decode().partition("{")
        if kind.strip() != KIND:
            raise ValueError(f"its metadata does not begin with '{KIND}'")
        return _frontier(json.loads("{" + rest), table.to_pydict())
    except (*DAMAGE, pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"this is no frontier saved as Parquet, or it is damaged: {_said(error)}") from error


def _inert(text: str) -> str:
    """JSON whose texts hold no comma: a spreadsheet begins no cell within one, which it might take for a formula."""
    return re.sub(r'"(?:[^"\\]|\\.)*"', lambda found: found.group().replace(",", "\\u002c"), text)


def _check_size(metadata: Any) -> None:
    """Before anything is unpacked.

    Raises:
        ValueError: it would be more than any frontier is.
    """
    unpacked = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if metadata.num_rows > MOST_ROWS:
        raise ValueError(f"it has {format_count(metadata.num_rows)} rows: give at most {format_count(MOST_ROWS)}")
    if unpacked > LARGEST_UNPACKED:
        raise ValueError(f"it unpacks to {unpacked / 1e6:.0f} MB: give at most {LARGEST_UNPACKED // 1_000_000} MB")


def _check_columns(table: Any) -> None:
    """Before any column becomes Python's objects.

    Raises:
        ValueError: a column is another than those that are written, or a name is longer than any is.
    """
    import pyarrow

    for field in table.schema:
        expected = "text" if field.name == "method" else "numbers"
        kind = field.type.value_type if pyarrow.types.is_dictionary(field.type) else field.type
        numbers = pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)
        empty = pyarrow.types.is_null(kind)  # of a frontier without points
        if not (empty or (pyarrow.types.is_string(kind) if expected == "text" else numbers)):
            raise ValueError(f"its column {field.name[:40]!r} holds {kind} in place of {expected}")
    for chunk in table.column("method").chunks if "method" in table.column_names else ():
        names = chunk.dictionary if pyarrow.types.is_dictionary(chunk.type) else chunk
        if any(len(name.as_buffer()) > LONGEST_NAME for name in names if name.is_valid):
            raise ValueError(f"a method's name is longer than {LONGEST_NAME} characters")


def _suffix(path: Path) -> str:
    if path.suffix.lower() not in (".json", ".csv", ".parquet"):
        raise ValueError(f"file name = {path.name!r} is not allowed: give one that ends in .json, .csv or .parquet")
    return path.suffix.lower()


def _said(error: Exception) -> str:
    """What is wrong with a file, for its reader."""
    if isinstance(error, KeyError):
        return f"it has no {error}"
    return _AMISS.get(type(error), str(error))


def _rest(frontier: Frontier) -> dict[str, Any]:
    rest = _about(frontier)
    return {"digest": _digest(rest, _table(frontier)), **rest}


def _digest(rest: dict[str, Any], table: dict[str, list]) -> str:
    return sha256(json.dumps([rest, table], sort_keys=True).encode()).hexdigest()


def _about(frontier: Frontier) -> dict[str, Any]:
    return {
        "task": frontier.task,
        "delta": frontier.delta,
        "noise_seed": frontier.noise_seed,
        "accounting": asdict(frontier.accounting),
        "versions": frontier.versions,
        "points": [
            {
                "method": p.method,
                "sigma": p.sigma,
                "setting": p.setting and p.setting.as_dict(),
                "reason": p.reason,
                "supposed": p.supposed,
                "clipped": p.clipped,
                "projected": p.projected,
                "target": p.target,
                "counted": p.counted,
                "tested": p.tested,
                "run": p.run,
            }
            for p in frontier.points
        ],
    }


def _table(frontier: Frontier) -> dict[str, list]:
    rows = [
        (i, p.method, p.sigma, seed, step, p.accuracy[s][t], p.loss[s][t], *(p.epsilons[bound][t] for bound in BOUNDS))
        for i, p in enumerate(frontier.points)
        for s, seed in enumerate(p.seeds)
        for t, step in enumerate(p.steps)
    ]
    names = (*COLUMNS, *(f"epsilon {bound}" for bound in BOUNDS))
    return dict(zip(names, map(list, zip(*rows, strict=True)) if rows else [[] for _ in names], strict=True))


def _frontier(rest: dict[str, Any], table: dict[str, list]) -> Frontier:
    expected = [*COLUMNS, *(f"epsilon {bound}" for bound in BOUNDS)]
    if list(table) != expected:
        raise ValueError(f"its columns are {', '.join(table)} in place of {', '.join(expected)}")
    typed = {name: [_typed(name, value) for value in column] for name, column in table.items()}
    rows = [dict(zip(typed, row, strict=True)) for row in zip(*typed.values(), strict=True)]
    by_point = {i: list(group) for i, group in groupby(rows, key=lambda row: row["point"])}
    if sorted(by_point) != list(range(len(rest["points"]))) or sum(map(len, by_point.values())) != len(rows):
        raise ValueError("its rows do not belong to its points")
    found = _of(rest, tuple(_point(about, by_point[i]) for i, about in enumerate(rest["points"])))
    if _rest(found)["digest"] != rest["digest"]:
        raise ValueError("its values were changed since it was saved: its digest is another")
    return found


def _of(rest: dict[str, Any], points: tuple[Point, ...]) -> Frontier:
    return Frontier(
        task=_text(rest["task"]),
        points=points,
        accounting=Accounting(**rest["accounting"]),
        delta=float(rest["delta"]),
        noise_seed=int(rest["noise_seed"]),
        versions={_text(k): _text(v) for k, v in rest["versions"].items()},
    )


def _point(about: dict[str, Any], rows: list[dict[str, Any]]) -> Point:
    """A point from its rows, which must be seeds times steps, all of them."""
    seeds = tuple(dict.fromkeys(row["seed"] for row in rows))
    steps = tuple(row["step"] for row in rows if row["seed"] == seeds[0])
    if [(row["seed"], row["step"]) for row in rows] != [(seed, step) for seed in seeds for step in steps]:
        raise ValueError("some rows of a point are missing or out of order")
    if any(row["method"] != about["method"] or row["sigma"] != about["sigma"] for row in rows):
        raise ValueError("a row names another method or sigma than its point")
    epsilons = {bound: tuple(row[f"epsilon {bound}"] for row in rows[: len(steps)]) for bound in BOUNDS}
    if any(row[f"epsilon {bound}"] != epsilons[bound][i % len(steps)] for i, row in enumerate(rows) for bound in BOUNDS):
        raise ValueError("epsilon differs between the seeds of a point")

    def along(name: str) -> tuple[tuple[float, ...], ...]:
        values = [row[name] for row in rows]
        return tuple(tuple(values[i : i + len(steps)]) for i in range(0, len(values), len(steps)))

    counted = about["counted"] if "counted" in about else about["says"]  # as earlier files call it
    return Point(
        method=_name(about["method"]),
        sigma=float(about["sigma"]),
        setting=about["setting"] and Setting(**about["setting"]),
        seeds=seeds,
        steps=steps,
        accuracy=along("accuracy"),
        loss=along("loss"),
        epsilon={bound: values[-1] for bound, values in epsilons.items()},
        reason={bound: _text(about["reason"][bound]) for bound in BOUNDS},
        epsilons=epsilons,
        supposed=tuple(map(_text, about["supposed"])),
        clipped=float(about["clipped"]),
        projected=float(about["projected"]),
        target=None if about["target"] is None else float(about["target"]),
        counted={_text(bound): _text(words) for bound, words in counted.items()},
        tested=int(about["tested"]),
        run={_text(name): float(value) for name, value in about["run"].items()},
    )


def _typed(name: str, value: Any) -> Any:
    if name in WHOLE:
        return int(value)
    if name == "method":
        return _name(value)
    number = float(value)
    if isnan(number) or (name.startswith("epsilon") and number < 0):
        raise ValueError(f"{name} = {value!r} is no result")
    return number


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
