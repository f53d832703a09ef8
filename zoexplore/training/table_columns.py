"""A table's columns as numbers: the label's, categories, missing values; what cannot be used is told by line and column."""

from collections import Counter
from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from zoexplore.formatting import format_count

MOST_RECORDS = 1_000_000
FEWEST = 20  # records
MOST_CLASSES = 50
MOST_CATEGORIES = 50
FEWEST_OF_A_CLASS = 2
MOST_COLUMNS = 5_000
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
INDEX = ("", "unnamed: 0", "index")  # what pandas calls a column that numbers the records


class Columns(NamedTuple):
    """A table before its columns are understood: each one's fields, their names, and what a message calls every record."""

    fields: list[Sequence]
    names: list[str] | None
    lines: Sequence[int]
    unit: str = "line"


class Read(NamedTuple):
    """A table as numbers.

    Args:
        features: shape (records, f).
        labels: shape (records,), from 0 on.
        classes: the labels' names, in order.
        notes: what was left out or made of it, in words.
        categories: whether texts became features.
    """

    features: np.ndarray
    labels: np.ndarray
    classes: list[str]
    notes: tuple[str, ...] = ()
    categories: bool = False


def understood(columns: Columns, label: str | int | None, missing: str) -> Read:
    """Features and labels of a table.

    Args:
        columns: the table.
        label: the name or number, from 1, of the column with the labels; the last where None.
        missing: "refuse" or "drop" records with a missing value.

    Raises:
        ValueError: a line, a column or the whole cannot be used.
    """
    fields, names, lines, unit = columns
    if len(fields) > MOST_COLUMNS:
        raise ValueError(f"{unit} {lines[0] if len(lines) else 1} has {len(fields)} columns: give at most {MOST_COLUMNS}")
    if len(fields) < 2:
        raise ValueError("the table has one column: give features and a label")
    chosen, notes = _label(label, len(fields), names), []
    if missing == "drop":
        fields, lines, dropped = _whole(fields, lines)
        notes += (
            [f"{counted(dropped, 'record')} with missing values {'is' if dropped == 1 else 'are'} left out."] if dropped else []
        )
    if not FEWEST <= len(lines) <= MOST_RECORDS:
        many = f"give at least {FEWEST}" if len(lines) < FEWEST else f"give at most {format_count(MOST_RECORDS)}"
        raise ValueError(f"the table has {counted(len(lines), 'record')}: {many}")
    made, categories = [], False
    for c in (c for c in range(len(fields)) if c != chosen):
        if names and names[c].strip().lower() in INDEX and _counts(fields[c]):
            notes.append(f"{_column(c, names)} numbers the records and is left out.")
            continue
        texts = _texts(fields[c])
        categories |= texts is not None
        made.append(_categories(texts, c, columns, lines) if texts is not None else _numbers(fields[c], lines, c, columns))
    if not made:
        raise ValueError("the table has no column of features")
    labels = [str(v).strip() for v in _plain(fields[chosen])]
    counts = Counter(labels)
    _check_labels(labels, lines, counts, unit, "its last column" if label is None else _column(chosen, names))
    classes = sorted(counts, key=_order)
    place = {value: i for i, value in enumerate(classes)}
    return Read(np.column_stack(made), np.array([place[v] for v in labels]), classes, tuple(notes), categories)


def counted(count: int, noun: str) -> str:
    """1 record, 2 records."""
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def _label(label: str | int | None, width: int, names: list[str] | None) -> int:
    """The place of the labels' column."""
    if label is None:
        return width - 1
    if isinstance(label, str) and names and label in names:
        return names.index(label)
    if isinstance(label, int) and not isinstance(label, bool) and 1 <= label <= width:
        return label - 1
    known = ", ".join(map(repr, names[:20])) if names else f"a number from 1 to {width}"
    raise ValueError(f"label = {label!r} is no column of the table: give {known}")


def _plain(field: Sequence) -> Sequence:
    """Whole numbers without a decimal point, so that labels read as they were written."""
    if isinstance(field, np.ndarray) and field.dtype.kind == "f" and np.isfinite(field).all() and (field == field.round()).all():
        return field.astype(np.int64)
    return ["" if isinstance(v, float) and v != v else v for v in field]


def _absent(value: Any) -> bool:
    return value != value if isinstance(value, float) else isinstance(value, str) and value.strip().lower() in MISSING


def _whole(fields: list[Sequence], lines: Sequence[int]) -> tuple[list[Sequence], Sequence[int], int]:
    """The records without missing values, and how many others there were."""
    gone = np.zeros(len(lines), bool)
    for field in fields:
        gone |= np.isnan(field) if isinstance(field, np.ndarray) and field.dtype.kind == "f" else [_absent(v) for v in field]
    keep = np.flatnonzero(~gone).tolist()
    kept: list[Sequence] = [f[keep] if isinstance(f, np.ndarray) else [f[i] for i in keep] for f in fields]
    return kept, [lines[i] for i in keep], int(gone.sum())


def _counts(field: Sequence) -> bool:
    """Whether a column counts the records, from 0 or 1 on."""
    found = [finite(str(v)) for v in field]
    return found[0] in (0.0, 1.0) and all(v == found[0] + i for i, v in enumerate(found))


def _texts(field: Sequence) -> list[str] | None:
    """A column's texts where none of it is a number; None where it is one of numbers."""
    if isinstance(field, np.ndarray) and field.dtype.kind in "biuf":
        return None
    texts = [str(v).strip() for v in field]
    seen = set(texts)
    whole = all(not any(c.isdigit() for c in v) and not _absent(v) and finite(v) is None for v in seen)
    odd = {v.lower().lstrip("+-") for v in seen} & {"inf", "infinity"}
    return texts if whole and not odd and all(v.isprintable() for v in seen) else None


def _categories(texts: list[str], c: int, columns: Columns, lines: Sequence[int]) -> np.ndarray:
    """A feature, 0 or 1, for every text."""
    seen = sorted(set(texts))
    where = _column(c, columns.names)
    if len(seen) == 1:
        raise ValueError(f"{where} has the value {seen[0]!r} in every record: leave it out")
    if len(seen) > MOST_CATEGORIES:
        at = f"{columns.unit} {lines[texts.index(seen[-1])]}"
        raise ValueError(
            f"{where} holds {len(seen)} different texts, as {seen[-1][:40]!r} on {at}: give at most {MOST_CATEGORIES}"
        )
    place = {text: i for i, text in enumerate(seen)}
    return np.eye(len(seen))[[place[text] for text in texts]]


def _numbers(field: Sequence, lines: Sequence[int], c: int, columns: Columns) -> np.ndarray:
    """A column as numbers, shape (records, 1)."""
    try:
        found = np.asarray(field, float) if not isinstance(field, tuple | list) else np.array(list(map(float, field)))
        sound = bool((np.abs(found) <= 1e100).all()) and not any("_" in v for v in field if isinstance(v, str))
    except (ValueError, TypeError):
        sound = False
    if not sound:
        found = np.array([_number(str(v), line, c, columns) for v, line in zip(field, lines, strict=True)])
    if found.min() == found.max():
        raise ValueError(f"{_column(c, columns.names)} has the value {found[0]:g} in every record: leave it out")
    return found[:, None]


def _number(field: str, line: int, c: int, columns: Columns) -> float:
    value = finite(field)
    if value is None:
        shown = field if len(field) <= 40 else field[:37] + "..."
        what = "is empty" if not field.strip() else f"holds {shown!r}, which is no finite number"
        hint = "give numbers, or texts without digits, throughout a column"
        if _absent(field) or (columns.unit == "record" and field == "nan"):
            hint += "; missing='drop' leaves out records with missing values"
        raise ValueError(f"{columns.unit} {line}, {_column(c, columns.names)} {what}: {hint}")
    return value


def finite(field: str) -> float | None:
    """The finite number that a field holds, up to 1e100 in size; None where there is none."""
    try:
        value = float(field)
    except ValueError:
        return None
    return value if isfinite(value) and abs(value) <= 1e100 and "_" not in field else None


def _column(c: int, names: list[str] | None) -> str:
    return f"column {c + 1}" + (f" ({names[c][:40]})" if names and names[c] else "")


def _check_labels(labels: list[str], lines: Sequence[int], counts: Counter, unit: str, where: str) -> None:
    if "" in counts:
        raise ValueError(f"{unit} {lines[labels.index('')]} has no label in {where}")
    if len(counts) == 1:
        raise ValueError(f"every record has the label {labels[0]!r}: give at least two labels")
    if len(counts) > MOST_CLASSES:
        raise ValueError(f"{where} has {len(counts)} different labels: give classes, at most {MOST_CLASSES}, not amounts")
    value, count = counts.most_common()[-1]
    if count < FEWEST_OF_A_CLASS:
        alone = f"the label {value!r} is on {unit} {lines[labels.index(value)]} alone"
        raise ValueError(f"{alone}: give every label at least {FEWEST_OF_A_CLASS} records")


def _order(label: str) -> tuple:
    """Numbers by size, then the others by name."""
    value = finite(label)
    return (value is None, value or 0.0, label)
