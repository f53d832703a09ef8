"""A user's own table as a task: CSV text or files, Parquet, npz, DataFrames; what cannot be used is told by line and column."""

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO, StringIO
from math import isfinite, sqrt
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np

from zoexplore.formatting import format_count
from zoexplore.training.data import Data, prepare, within
from zoexplore.training.tasks import RANGES, Task

LARGEST = 20_000_000  # bytes of a text or an upload
LARGEST_FILE = 400_000_000  # bytes
MOST_RECORDS = 1_000_000
FEWEST = 20  # records
MOST_CLASSES = 50
MOST_CATEGORIES = 50
FEWEST_OF_A_CLASS = 2
MOST_COLUMNS = 5_000
T = 100
CATEGORIES = "the columns' categories, each of which becomes a feature, are public"
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
INDEX = ("", "unnamed: 0", "index")  # what pandas calls a column that numbers the records


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


class Columns(NamedTuple):
    """A table before its columns are understood: each one's fields, their names, and what a message calls every record."""

    fields: list[Sequence]
    names: list[str] | None
    lines: Sequence[int]
    unit: str = "line"


@dataclass(frozen=True)
class Table:
    """A checked table, as text, so that it can travel to where it is trained on.

    Args:
        text: its lines; a first line that is no record names the columns.
        label: the name or number, from 1, of the column with the labels; the last where None.
        missing: "refuse" or "drop" records with a missing value.
    """

    text: str
    label: str | int | None = None
    missing: str = "refuse"

    def __call__(self) -> Data:
        """The data: columns scaled by their ranges, a constant added, rows of unit length.

        Raises:
            ValueError: as `table` does.
        """
        return _data(_understood(_text_columns(self.text), self.label, self.missing))


@dataclass(frozen=True, eq=False)
class Arrays:
    """A checked table as arrays. Equal content is the same data, which a worker keeps from part to part."""

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
        """The data, as of `Table`."""
        return _data(Read(self.features, self.labels, list(self.classes)))


def table(
    content: Any, name: str = "table", ridge: float = 0.05, *, label: str | int | None = None, missing: str = "refuse"
) -> Task:
    """A task made of a table: logistic loss for two labels, softmax for more.

    Columns of texts become a feature for each text; columns that number the records, as pandas leaves them, are left out.

    Args:
        content: the path of a .csv, .parquet or .npz file, or what it holds; a DataFrame. An npz file holds X and y.
        name: what to call it.
        ridge: the strength of the ridge, at least 0.
        label: the name or number, from 1, of the column with the labels; the last where None.
        missing: "refuse" a table with missing values, or "drop" the records that have them, which looks at each alone.

    Raises:
        ValueError: the table cannot be used; the message says where and why.
        OSError: the file cannot be read.
    """
    if missing not in ("refuse", "drop"):
        raise ValueError(f"missing = {missing!r} is not allowed: give 'refuse' or 'drop'")
    content = _loaded(content)
    if isinstance(content, str):
        read = _understood(_text_columns(content), label, missing)
        source: Table | Arrays = Table(content, label, missing)
    else:
        read = _understood(content, label, missing)
        source = Arrays(read.features, read.labels, tuple(read.classes))
    classes = read.classes
    n, d = read.features.shape[0], (read.features.shape[1] + 1) * (len(classes) if len(classes) > 2 else 1)
    lipschitz = 1.0 if len(classes) == 2 else sqrt(2.0)
    noise = 2 * lipschitz / n * sqrt(T)  # where a run of T steps costs about one unit of Gaussian privacy
    summary = f"Labels {', '.join(classes[:6])}{' ...' if len(classes) > 6 else ''}; a fifth of the records is held out."
    return Task(
        name=name,
        title=f"{name}: {n} records, {len(classes)} labels",
        summary=" ".join([summary, *read.notes]),
        source=source,
        model="logistic" if len(classes) == 2 else "softmax",
        ridge=ridge,
        R=1 / ridge if ridge else 20.0,
        K=max(1, d // 2),
        T=T,
        sigmas=tuple(float(f"{noise * times:.1g}") for times in (0.3, 1, 3, 10)),
        supposed=(RANGES, CATEGORIES) if read.categories else (RANGES,),
    )


def parse(text: str, label: str | int | None = None, missing: str = "refuse") -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Features (records, f), labels (records,) from 0 on, and the labels' names in order.

    Raises:
        ValueError: a line, a column or the whole cannot be used.
    """
    return _understood(_text_columns(text), label, missing)[:3]


def _data(read: Read) -> Data:
    low, high = read.features.min(axis=0), read.features.max(axis=0)
    return prepare(within(read.features, low, high), read.labels, len(read.classes))


def _loaded(content: Any) -> str | Columns:
    """Text, or columns of what is no text."""
    if isinstance(content, Path):
        size = content.stat().st_size
        if size > LARGEST_FILE:
            raise ValueError(f"{content.name} has {size / 1e6:.1f} MB: give at most {LARGEST_FILE // 1_000_000} MB")
        content = content.read_bytes()
    elif isinstance(content, bytes | str) and len(content) > LARGEST:
        raise ValueError(f"the table has {len(content) / 1e6:.1f} MB: give at most {LARGEST // 1_000_000} MB, or a file's path")
    if isinstance(content, bytes) and content.startswith(b"PK\x03\x04"):
        return _npz(content)
    if isinstance(content, bytes) and content.startswith(b"PAR1"):
        return _frame(_parquet(content))
    if isinstance(content, bytes):
        return _decoded(content)
    return content.removeprefix("\ufeff") if isinstance(content, str) else _frame(content)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"line {line} is not UTF-8 text: save the table as CSV in UTF-8") from None


def _npz(content: bytes) -> Columns:
    try:
        with ZipFile(BytesIO(content)) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > LARGEST_FILE:
            raise ValueError(f"it unpacks to {unpacked:,} bytes, and {LARGEST_FILE:,} are the most that is read")
        with np.load(BytesIO(content), allow_pickle=False) as found:
            X, y = np.asarray(found["X"]), np.asarray(found["y"])
    except Exception as error:  # whatever a damaged archive raises
        raise ValueError(f"this npz file cannot be read ({error}): give one with arrays X and y") from None
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"X has the shape {X.shape} and y {y.shape}: give (records, features) and (records,)")
    fields: list[Any] = [*X.T, y]
    return Columns(fields, None, range(1, len(y) + 1), "record")


def _parquet(content: bytes) -> Any:
    import pyarrow
    from pyarrow import parquet

    try:
        if parquet.read_metadata(BytesIO(content)).num_rows > MOST_RECORDS:
            raise ValueError(f"the table has more than {format_count(MOST_RECORDS)} records")
        return parquet.read_table(BytesIO(content), arrow_extensions_enabled=False).to_pandas()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"this Parquet file cannot be read: {error}") from None


def _frame(frame: Any) -> Columns:
    if not hasattr(frame, "columns") or not hasattr(frame, "isna"):
        raise ValueError(f"a table of the type {type(frame).__name__} is not allowed: give a path, text, bytes or a DataFrame")
    gone = frame.isna()
    fields = []
    for c in range(frame.shape[1]):
        column, absent = frame.iloc[:, c], gone.iloc[:, c].to_numpy()
        values = column.to_numpy(float, na_value=np.nan) if column.dtype.kind in "biuf" else column.astype(str).to_numpy(object)
        if values.dtype == object:
            values = np.where(absent, "", values)
        fields.append(values)
    return Columns(fields, [str(name) for name in frame.columns], range(1, len(frame) + 1), "record")


def _text_columns(text: str) -> Columns:
    """The columns' names, if there are any, the fields, and the line that each record ends on."""
    first = next((line for line in text.splitlines() if line.strip(" ,;\t")), "")
    mark = max(",;\t", key=lambda c: (first.count(c), c == ","))
    reader = csv.reader(StringIO(text, newline=""), strict=True, delimiter=mark)
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
        raise ValueError(f"line {lines[0]} has one column: separate the columns by commas, semicolons or tabs")
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            raise ValueError(f"line {line} has {len(row)} columns, the first one has {width}: give every record the same")
    fields: list[Sequence] = list(zip(*rows, strict=True))
    if _names_columns(fields):
        return Columns([f[1:] for f in fields], [name.strip() for name in rows[0]], lines[1:])
    return Columns(fields, None, lines)


def _names_columns(fields: list[Sequence]) -> bool:
    """Whether the first line is no record: it has no number, and the texts under it are no categories that it is one of."""
    if any(_finite(f[0]) is not None for f in fields[:-1]):
        return False
    return not all(f[0] in f[1:] for f in fields)


def _understood(columns: Columns, label: str | int | None, missing: str) -> Read:
    """Raises ValueError: a line, a column or the whole cannot be used."""
    fields, names, lines, unit = columns
    if len(fields) > MOST_COLUMNS:
        raise ValueError(f"{unit} {lines[0] if len(lines) else 1} has {len(fields)} columns: give at most {MOST_COLUMNS}")
    if len(fields) < 2:
        raise ValueError("the table has one column: give features and a label")
    chosen, notes = _label(label, len(fields), names), []
    if missing == "drop":
        fields, lines, dropped = _whole(fields, lines)
        notes += [f"{dropped} records with missing values are left out."] if dropped else []
    if not FEWEST <= len(lines) <= MOST_RECORDS:
        many = f"give at least {FEWEST}" if len(lines) < FEWEST else f"give at most {format_count(MOST_RECORDS)}"
        raise ValueError(f"the table has {len(lines)} records: {many}")
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
    found = [_finite(str(v)) for v in field]
    return found[0] in (0.0, 1.0) and all(v == found[0] + i for i, v in enumerate(found))


def _texts(field: Sequence) -> list[str] | None:
    """A column's texts where none of it is a number; None where it is one of numbers."""
    if isinstance(field, np.ndarray) and field.dtype.kind in "biuf":
        return None
    texts = [str(v).strip() for v in field]
    seen = set(texts)
    whole = all(not any(c.isdigit() for c in v) and not _absent(v) and _finite(v) is None for v in seen)
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
    value = _finite(field)
    if value is None:
        shown = field if len(field) <= 40 else field[:37] + "..."
        what = "is empty" if not field.strip() else f"holds {shown!r}, which is no finite number"
        hint = "give numbers, or texts without digits, throughout a column"
        if _absent(field) or (columns.unit == "record" and field == "nan"):
            hint += "; missing='drop' leaves out records with missing values"
        raise ValueError(f"{columns.unit} {line}, {_column(c, columns.names)} {what}: {hint}")
    return value


def _finite(field: str) -> float | None:
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
    value = _finite(label)
    return (value is None, value or 0.0, label)
