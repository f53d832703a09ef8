"""A user's own table as a task: comma-separated text, one record a line, the label in the last column."""

import csv
from collections import Counter
from dataclasses import dataclass
from io import StringIO
from math import isfinite, sqrt
from pathlib import Path

import numpy as np

from zoexplore.training.data import Data, prepare, within
from zoexplore.training.tasks import RANGES, Task

LARGEST = 20_000_000  # bytes
FEWEST = 20  # records
MOST_CLASSES = 50
FEWEST_OF_A_CLASS = 2
MOST_COLUMNS = 5_000
T = 100


@dataclass(frozen=True)
class Table:
    """A checked table, as text, so that it can travel to where it is trained on.

    Args:
        text: its lines; a first line that is no record names the columns.
    """

    text: str

    def __call__(self) -> Data:
        """The data: columns scaled by their ranges, a constant added, rows of unit length.

        Raises:
            ValueError: as `table` does.
        """
        features, labels, classes = parse(self.text)
        return prepare(within(features, features.min(axis=0), features.max(axis=0)), labels, len(classes))


def table(content: str | bytes | Path, name: str = "table", ridge: float = 0.05) -> Task:
    """A task made of a table: logistic loss for two labels, softmax for more.

    Args:
        content: a file's path, or what it holds.
        name: what to call it.
        ridge: the strength of the ridge, at least 0.

    Raises:
        ValueError: the table cannot be used; the message says where and why.
        OSError: the file cannot be read.
    """
    source = Table(_decoded(content))
    features, labels, classes = parse(source.text)
    n, d = features.shape[0], (features.shape[1] + 1) * (len(classes) if len(classes) > 2 else 1)
    lipschitz = 1.0 if len(classes) == 2 else sqrt(2.0)
    noise = 2 * lipschitz / n * sqrt(T)  # where a run of T steps costs about one unit of Gaussian privacy
    return Task(
        name=name,
        title=f"{name}: {len(labels)} records, {len(classes)} labels",
        says=f"Labels {', '.join(classes[:6])}{' ...' if len(classes) > 6 else ''}; a fifth of the records is held out.",
        source=source,
        model="logistic" if len(classes) == 2 else "softmax",
        ridge=ridge,
        R=1 / ridge if ridge else 20.0,
        K=max(1, d // 2),
        T=T,
        sigmas=tuple(float(f"{noise * times:.1g}") for times in (0.3, 1, 3, 10)),
        supposed=(RANGES,),
    )


def parse(text: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Features (records, f), labels (records,) from 0 on, and the labels' names in order.

    Raises:
        ValueError: a line, a column or the whole cannot be used.
    """
    names, rows, lines = _rows(text)
    if len(rows) < FEWEST:
        raise ValueError(f"the table has {len(rows)} records: give at least {FEWEST}")
    numbered = zip(rows, lines, strict=True)
    features = np.array([[_number(v, line, c, names) for c, v in enumerate(row[:-1])] for row, line in numbered])
    constant = np.flatnonzero(features.min(axis=0) == features.max(axis=0))
    if len(constant):
        c = int(constant[0])
        raise ValueError(f"{_column(c, names)} has the value {features[0, c]:g} in every record: leave it out")
    labels = [row[-1].strip() for row in rows]
    counts = Counter(labels)
    _check_labels(labels, lines, counts)
    classes = sorted(counts, key=_order)
    place = {label: i for i, label in enumerate(classes)}
    return features, np.array([place[label] for label in labels]), classes


def _decoded(content: str | bytes | Path) -> str:
    if isinstance(content, Path):
        size = content.stat().st_size
        if size > LARGEST:
            raise ValueError(f"{content.name} has {size / 1e6:.1f} MB: give at most {LARGEST // 1_000_000} MB")
        content = content.read_bytes()
    if len(content) > LARGEST:
        raise ValueError(f"the table has {len(content) / 1e6:.1f} MB: give at most {LARGEST // 1_000_000} MB")
    if isinstance(content, str):
        return content.removeprefix("\ufeff")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"line {line} is not UTF-8 text: save the table as CSV in UTF-8") from None


def _rows(text: str) -> tuple[list[str] | None, list[list[str]], list[int]]:
    """The columns' names, if there are any, the records, and the line that each one ends on."""
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            if any(field.strip() for field in row):
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} cannot be read as comma-separated values: {error}") from None
    if not rows:
        raise ValueError("the table is empty: give one record a line, its label last")
    width = len(rows[0])
    if width < 2:
        raise ValueError(f"line {lines[0]} has one column: separate the columns by commas, the label last")
    if width > MOST_COLUMNS:
        raise ValueError(f"line {lines[0]} has {width} columns: give at most {MOST_COLUMNS}")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise ValueError(f"line {line} has {len(row)} columns, the first one has {width}: give every record the same")
    if all(_finite(field) is None for field in rows[0][:-1]):
        return [name.strip() for name in rows[0]], rows[1:], lines[1:]
    return None, rows, lines


def _number(field: str, line: int, c: int, names: list[str] | None) -> float:
    value = _finite(field)
    if value is None:
        shown = field if len(field) <= 40 else field[:37] + "..."
        what = "is empty" if not field.strip() else f"holds {shown!r}, which is no finite number"
        raise ValueError(f"line {line}, {_column(c, names)} {what}: give numbers in all columns but the last")
    return value


def _finite(field: str) -> float | None:
    """The finite number that a field holds, up to 1e100 in size; None where there is none."""
    try:
        value = float(field)
    except ValueError:
        return None
    return value if isfinite(value) and abs(value) <= 1e100 and "_" not in field else None


def _column(c: int, names: list[str] | None) -> str:
    return f"column {c + 1}" + (f" ({names[c][:40]})" if names else "")


def _check_labels(labels: list[str], lines: list[int], counts: Counter) -> None:
    if "" in counts:
        raise ValueError(f"line {lines[labels.index('')]} has no label in its last column")
    if len(counts) == 1:
        raise ValueError(f"every record has the label {labels[0]!r}: give at least two labels")
    if len(counts) > MOST_CLASSES:
        raise ValueError(f"the last column has {len(counts)} different labels: give classes, at most {MOST_CLASSES}, not amounts")
    label, count = counts.most_common()[-1]
    if count < FEWEST_OF_A_CLASS:
        where = f"the label {label!r} is on line {lines[labels.index(label)]} alone"
        raise ValueError(f"{where}: give every label at least {FEWEST_OF_A_CLASS} records")


def _order(label: str) -> tuple:
    """Numbers by size, then the others by name."""
    value = _finite(label)
    return (value is None, value or 0.0, label)
