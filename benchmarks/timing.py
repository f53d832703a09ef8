"""Timing by repetition: the least of several, which a busy machine moves least."""

from collections.abc import Iterable
from time import perf_counter
from typing import Any


def milliseconds(call: Any, repeats: int = 15, warm: Any = 1, clock: Any = perf_counter) -> Any:
    """The least time of a call, after some that do not count."""
    for _ in range(warm):
        call()
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return 1000 * min(times)


def table(header: Iterable[str], rows: Iterable[Any]) -> None:
    """Columns, aligned on the right but for the first."""
    cells = [tuple(map(str, row)) for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        first, *rest = (
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  " + "  ".join([first, *rest]))
