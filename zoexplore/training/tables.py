"""Your own table, a pandas DataFrame, as a task."""

from dataclasses import dataclass
from hashlib import sha256
from math import sqrt
from typing import Any

import numpy as np

from zoexplore.training.data import Data, prepare, within
from zoexplore.training.tasks import RANGES, Task

T = 100
CATEGORIES = "the columns' categories, each of which becomes a feature, are public"
FEWEST = 20  # records
MOST_CATEGORIES = 50  # distinct values of a column, or of the labels
FEWEST_OF_A_CLASS = 2
LARGEST = 1e100  # of a number, in absolute value


@dataclass(frozen=True, eq=False)
class Arrays:
    """A checked table, hashed by its content, so that a worker can cache its data.

    Args:
        features: shape (records, f).
        labels: shape (records,), from 0 on.
        classes: the labels' names, in order.
    """

    features: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]

    @property
    def _digest(self) -> bytes:
        return sha256(self.features.tobytes() + self.labels.tobytes() + repr(self.classes).encode()).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arrays) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __call__(self) -> Data:
        """The data, with columns scaled by their ranges, a constant appended, and rows of unit length."""
        low, high = self.features.min(axis=0), self.features.max(axis=0)
        return prepare(within(self.features, low, high), self.labels, len(self.classes))


def table(frame: Any, name: str = "table", ridge: float = 0.05, *, label: Any = None) -> Task:
    """A task from a table: logistic loss for two labels, softmax for more.

    A column of numbers is a feature; any other gives a feature, 0 or 1, for each of its values.

    Args:
        frame: a pandas DataFrame, one record a row, with no value missing.
        name: its title.
        ridge: the strength of the ridge, at least 0.
        label: the name of the column with the labels; the last if None.

    Raises:
        ValueError: the table cannot be used; the message says where and why.
    """
    if not hasattr(frame, "columns") or not hasattr(frame, "isna"):
        kind = type(frame).__name__
        raise ValueError(f"a table of the type {kind} is not allowed: give a DataFrame, as pandas.read_csv(path) makes one")
    label = frame.columns[-1] if label is None and len(frame.columns) else label
    _check(frame, label)
    labels, classes = _labels(frame[label])
    columns = [frame[column] for column in frame.columns if column != label]
    source = Arrays(np.column_stack([_features(column) for column in columns]), labels, classes)
    n, d = len(labels), (source.features.shape[1] + 1) * (len(classes) if len(classes) > 2 else 1)
    lipschitz = 1.0 if len(classes) == 2 else sqrt(2.0)
    noise = 2 * lipschitz / n * sqrt(T)  # a run of T steps costs about one unit of Gaussian privacy
    return Task(
        name=name,
        title=f"{name}: {n} records, {len(classes)} labels",
        summary=f"Labels {', '.join(classes[:6])}{' ...' if len(classes) > 6 else ''}; a fifth of the records is held out.",
        source=source,
        model="logistic" if len(classes) == 2 else "softmax",
        ridge=ridge,
        R=1 / ridge if ridge else 20.0,
        K=max(1, d // 2),
        T=T,
        sigmas=tuple(float(f"{noise * times:.1g}") for times in (0.3, 1, 3, 10)),
        supposed=(RANGES,) if all(map(_is_number, columns)) else (RANGES, CATEGORIES),
    )


def _check(frame: Any, label: Any) -> None:
    names = list(frame.columns)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"the table's columns are {names}: give features and a label, each by a name of its own")
    if label not in names:
        raise ValueError(f"label = {label!r} is no column of the table: give {', '.join(map(repr, names[:20]))}")
    if len(frame) < FEWEST:
        raise ValueError(f"the table has {len(frame)} records: give at least {FEWEST}")
    if missing := [str(name) for name in names if frame[name].isna().any()]:
        raise ValueError(f"the column {missing[0][:40]!r} lacks values: frame.dropna() leaves out the records that do")
    for name in names:
        if frame[name].nunique() < 2:
            raise ValueError(f"the column {str(name)[:40]!r} has one value in every record: give two labels, leave features out")


def _features(column: Any) -> np.ndarray:
    """Numbers as they are, shape (records, 1); for other columns a feature, 0 or 1, for each value."""
    if _is_number(column):
        values = column.to_numpy(float)
        if not (np.abs(values) <= LARGEST).all():
            raise ValueError(f"the column {str(column.name)[:40]!r} holds a number beyond {LARGEST:g}: scale it")
        return values[:, None]
    values = column.astype(str).to_numpy(object)
    return np.equal.outer(values, np.array(_few(column, values), object)).astype(float)


def _labels(column: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels from 0 on, shape (records,), and their names, sorted by size or by name."""
    whole = column.dtype.kind == "f" and (column == column.round()).all() and (column.abs() <= LARGEST).all()
    values = column.map(lambda x: str(int(x))).to_numpy(object) if whole else column.astype(str).to_numpy(object)
    names = _few(column, values)
    rarest, count = column.astype(str).value_counts().index[-1], int(column.astype(str).value_counts().iloc[-1])
    if count < FEWEST_OF_A_CLASS:
        raise ValueError(f"the label {rarest[:40]!r} is on one record alone: give every label at least {FEWEST_OF_A_CLASS}")
    classes = sorted(names, key=float) if column.dtype.kind in "iuf" else names
    place = {value: i for i, value in enumerate(classes)}
    return np.array([place[value] for value in values]), tuple(classes)


def _few(column: Any, values: np.ndarray) -> list[str]:
    """The distinct values of a column, in order."""
    found = sorted(set(values))
    if len(found) > MOST_CATEGORIES:
        raise ValueError(
            f"the column {str(column.name)[:40]!r} holds {len(found)} different values, as {found[-1][:40]!r}: give at most "
            f"{MOST_CATEGORIES} categories, or amounts as numbers (pandas.to_numeric)"
        )
    return found


def _is_number(column: Any) -> bool:
    return column.dtype.kind in "biuf"
