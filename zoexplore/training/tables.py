"""A table of one's own as a task: a DataFrame that pandas has read."""

from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite, sqrt
from typing import Any

import numpy as np

from zoexplore.run.formatting import format_count
from zoexplore.training.data import Data, prepare, within
from zoexplore.training.tasks import RANGES, Task

T = 100
CATEGORIES = "the columns' categories, each of which becomes a feature, are public"
FEWEST, MOST_RECORDS = 20, 1_000_000
MOST_COLUMNS = 5_000
MOST_CLASSES = MOST_CATEGORIES = 50
FEWEST_OF_A_CLASS = 2
LARGEST = 1e100  # size of a number
INDEX = ("", "unnamed: 0", "index")  # what pandas calls a column that numbers the records


@dataclass(frozen=True, eq=False)
class Arrays:
    """A checked table. Equal content is the same data, which a worker keeps from part to part.

    Args:
        features: shape (records, f).
        labels: shape (records,), from 0 on.
        classes: the labels' names, in order.
        notes: what was left out, in words.
        categories: whether texts became features.
    """

    features: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    notes: tuple[str, ...] = ()
    categories: bool = False

    @property
    def _digest(self) -> bytes:
        return sha256(self.features.tobytes() + self.labels.tobytes() + repr(self.classes).encode()).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arrays) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __call__(self) -> Data:
        """The data: columns scaled by their ranges, a constant added, rows of unit length."""
        low, high = self.features.min(axis=0), self.features.max(axis=0)
        return prepare(within(self.features, low, high), self.labels, len(self.classes))


def table(frame: Any, name: str = "table", ridge: float = 0.05, *, label: Any = None, missing: str = "refuse") -> Task:
    """A task made of a table: logistic loss for two labels, softmax for more.

    A column of texts becomes a feature, 0 or 1, for each text; a column that numbers the records, as pandas leaves it, is left
    out.

    Args:
        frame: a pandas DataFrame, one record a row.
        name: what to call it.
        ridge: the strength of the ridge, at least 0.
        label: the name of the column with the labels; the last where None.
        missing: "refuse" a table with missing values, or "drop" the records that have them, which looks at each alone.

    Raises:
        ValueError: the table cannot be used; the message says where and why.
    """
    source = _read(frame, label, missing)
    classes = source.classes
    n, d = source.features.shape[0], (source.features.shape[1] + 1) * (len(classes) if len(classes) > 2 else 1)
    lipschitz = 1.0 if len(classes) == 2 else sqrt(2.0)
    noise = 2 * lipschitz / n * sqrt(T)  # where a run of T steps costs about one unit of Gaussian privacy
    summary = f"Labels {', '.join(classes[:6])}{' ...' if len(classes) > 6 else ''}; a fifth of the records is held out."
    return Task(
        name=name,
        title=f"{name}: {n} records, {len(classes)} labels",
        summary=" ".join([summary, *source.notes]),
        source=source,
        model="logistic" if len(classes) == 2 else "softmax",
        ridge=ridge,
        R=1 / ridge if ridge else 20.0,
        K=max(1, d // 2),
        T=T,
        sigmas=tuple(float(f"{noise * times:.1g}") for times in (0.3, 1, 3, 10)),
        supposed=(RANGES, CATEGORIES) if source.categories else (RANGES,),
    )


def _read(frame: Any, label: Any, missing: str) -> Arrays:
    """The table as numbers. Raises ValueError as `table` does."""
    if missing not in ("refuse", "drop"):
        raise ValueError(f"missing = {missing!r} is not allowed: give 'refuse' or 'drop'")
    if not hasattr(frame, "columns") or not hasattr(frame, "isna"):
        kind = type(frame).__name__
        raise ValueError(f"a table of the type {kind} is not allowed: give a DataFrame, as pandas.read_csv(path) makes one")
    names = list(frame.columns)
    if not 2 <= len(names) <= MOST_COLUMNS:
        raise ValueError(f"the table has {_counted(len(names), 'column')}: give features and a label, at most {MOST_COLUMNS}")
    if len(set(names)) < len(names):
        raise ValueError("two columns of the table have the same name: give each its own")
    if label is not None and label not in names:
        raise ValueError(f"label = {label!r} is no column of the table: give {', '.join(map(repr, names[:20]))}")
    label = names[-1] if label is None else label
    frame, notes = _whole(frame.reset_index(drop=True), missing)
    if not FEWEST <= len(frame) <= MOST_RECORDS:
        most = f"at least {FEWEST}" if len(frame) < FEWEST else f"at most {format_count(MOST_RECORDS)}"
        raise ValueError(f"the table has {_counted(len(frame), 'record')}: give {most}")
    made, categories = [], False
    for name in (name for name in names if name != label):
        column = frame[name]
        if str(name).strip().lower() in INDEX and _numbers_records(column):
            notes.append(f"The column {_short(name)} numbers the records and is left out.")
            continue
        texts = column.dtype.kind not in "biuf"
        categories |= texts
        made.append(_categories(column) if texts else _finite(column))
    if not made:
        raise ValueError("the table has no column of features")
    return Arrays(np.column_stack(made), *_labels(frame[label]), tuple(notes), categories)


def _whole(frame: Any, missing: str) -> tuple[Any, list[str]]:
    """The records without missing values, and how many others there were, in words."""
    gone = frame.isna().any(axis=1)
    if missing == "drop":
        dropped = int(gone.sum())
        said = f"{_counted(dropped, 'record')} with missing values {'is' if dropped == 1 else 'are'} left out."
        return frame[~gone], [said] if dropped else []
    if gone.any():
        at = int(gone.to_numpy().argmax())
        name = frame.columns[int(frame.iloc[at].isna().to_numpy().argmax())]
        raise ValueError(f"record {at + 1} has no value in the column {_short(name)}: missing='drop' leaves out such records")
    return frame, []


def _numbers_records(column: Any) -> bool:
    """Whether a column counts the records, from 0 or 1 on, as far as they are there."""
    if column.dtype.kind not in "iu":
        return False
    offset = column.to_numpy() - column.index.to_numpy()
    return bool((offset == offset[0]).all() and offset[0] in (0, 1))


def _finite(column: Any) -> np.ndarray:
    """A column of numbers, shape (records, 1)."""
    values = column.to_numpy(float)
    wrong = ~(np.abs(values) <= LARGEST)
    if wrong.any():
        at = int(wrong.argmax())
        where = f"record {column.index[at] + 1}, column {_short(column.name)}"
        raise ValueError(f"{where} holds {values[at]:g}: give numbers up to {LARGEST:g} in size")
    _check_varied(column, values)
    return values[:, None]


def _categories(column: Any) -> np.ndarray:
    """A column of texts as a feature, 0 or 1, for every text."""
    values = column.to_numpy(object)
    seen = sorted({value for value in values if isinstance(value, str)})
    strange = next((value for value in values if not isinstance(value, str)), next(filter(_is_number, seen), None))
    if strange is not None:
        found = f"{str(strange)[:40]!r}, which is no category"
        hint = "give numbers throughout a column, as pandas.to_numeric makes them, or texts that are no numbers"
        raise ValueError(f"the column {_short(column.name)} holds {found}: {hint}")
    if len(seen) > MOST_CATEGORIES:
        found = f"{len(seen)} different texts, as {seen[-1][:40]!r}"
        raise ValueError(f"the column {_short(column.name)} holds {found}: give at most {MOST_CATEGORIES}")
    _check_varied(column, values)
    return np.equal.outer(values, np.array(seen, object)).astype(float)


def _labels(column: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels from 0 on, shape (records,), and their names in order."""
    values = column.to_numpy()
    if values.dtype.kind == "f" and np.isfinite(values).all() and (values == values.round()).all():
        values = values.astype(np.int64)  # so that they read as they were written
    labels = [str(value).strip() for value in values]
    counts = Counter(labels)
    if "" in counts:
        raise ValueError(f"record {column.index[labels.index('')] + 1} has no label in the column {_short(column.name)}")
    if len(counts) == 1:
        raise ValueError(f"every record has the label {labels[0]!r}: give at least two labels")
    if len(counts) > MOST_CLASSES:
        found = f"the column {_short(column.name)} has {len(counts)} different labels"
        raise ValueError(f"{found}: give classes, at most {MOST_CLASSES}, not amounts")
    value, count = counts.most_common()[-1]
    if count < FEWEST_OF_A_CLASS:
        at = column.index[labels.index(value)] + 1
        raise ValueError(f"the label {value!r} is on record {at} alone: give every label at least {FEWEST_OF_A_CLASS} records")
    classes = tuple(sorted(counts, key=_order))
    place = {value: i for i, value in enumerate(classes)}
    return np.array([place[value] for value in labels]), classes


def _check_varied(column: Any, values: np.ndarray) -> None:
    if (values == values[0]).all():
        raise ValueError(f"the column {_short(column.name)} has the value {str(values[0])[:40]} in every record: leave it out")


def _counted(count: int, noun: str) -> str:
    """1 record, 2 records."""
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def _short(name: Any) -> str:
    return repr(str(name)[:40])


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _order(label: str) -> tuple:
    """Numbers by size, then the others by name."""
    return (False, float(label), label) if _is_number(label) else (True, 0.0, label)
