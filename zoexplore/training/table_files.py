"""A table's columns from CSV text or files, Parquet, npz and DataFrames."""

import csv
from collections.abc import Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from zoexplore.formatting import format_count
from zoexplore.training.table_columns import MOST_RECORDS, Columns, counted, finite

LARGEST = 20_000_000  # bytes of a text or an upload
LARGEST_FILE = 400_000_000  # bytes


def loaded(content: Any) -> str | Columns:
    """Text, or columns of what is no text.

    Raises:
        ValueError: it is too large, or is no table.
        OSError: the file cannot be read.
    """
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


def text_columns(text: str) -> Columns:
    """The columns' names, if there are any, the fields, and the line that each record ends on.

    Raises:
        ValueError: a line cannot be used, or there is none.
    """
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
            raise ValueError(
                f"line {line} has {counted(len(row), 'column')}, the first one has {width}: give every record the same"
            )
    fields: list[Sequence] = list(zip(*rows, strict=True))
    if _names_columns(fields):
        return Columns([f[1:] for f in fields], [name.strip() for name in rows[0]], lines[1:])
    return Columns(fields, None, lines)


def _names_columns(fields: list[Sequence]) -> bool:
    """Whether the first line is no record: it has no number, and the texts under it are no categories that it is one of."""
    if any(finite(f[0]) is not None for f in fields[:-1]):
        return False
    return not all(f[0] in f[1:] for f in fields)
