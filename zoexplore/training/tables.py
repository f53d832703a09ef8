"""A user's own table as a task: CSV text or files, Parquet, npz, DataFrames."""

from dataclasses import dataclass
from hashlib import sha256
from math import sqrt
from typing import Any

import numpy as np

from zoexplore.training.data import Data, prepare, within
from zoexplore.training.table_columns import Read, understood
from zoexplore.training.table_files import loaded, text_columns
from zoexplore.training.tasks import RANGES, Task

T = 100
CATEGORIES = "the columns' categories, each of which becomes a feature, are public"


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
        return _data(understood(text_columns(self.text), self.label, self.missing))


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
    content = loaded(content)
    if isinstance(content, str):
        read = understood(text_columns(content), label, missing)
        source: Table | Arrays = Table(content, label, missing)
    else:
        read = understood(content, label, missing)
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
    return understood(text_columns(text), label, missing)[:3]


def _data(read: Read) -> Data:
    low, high = read.features.min(axis=0), read.features.max(axis=0)
    return prepare(within(read.features, low, high), read.labels, len(read.classes))
