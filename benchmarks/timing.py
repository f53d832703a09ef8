"""Measures time and memory. A time is the least of several, which a busy machine changes least."""

import ctypes
import gc
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any


def milliseconds(call: Any, repeats: int = 15, warm: Any = 1, clock: Any = perf_counter) -> Any:
    """Return the least time of several calls, after `warm` calls that do not count."""
    for _ in range(warm):
        call()
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return 1000 * min(times)


def memory_of(call: Callable[[], Any]) -> int:
    """Return the most bytes that this process takes during a call, beyond those that it held
    before. This needs Linux.
    """
    gc.collect()
    # without this, memory that was freed before would not count again
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the peak that Linux records; sampling could miss a peak
    before = _memory("VmRSS")
    call()
    return max(_memory("VmHWM") - before, 0)


def _memory(name: str) -> int:
    """Return the bytes that this process holds now (`VmRSS`), or has held at most (`VmHWM`)."""
    with open("/proc/self/status") as file:
        return 1024 * int(next(line.split()[1] for line in file if line.startswith(f"{name}:")))


def table(header: Iterable[str], rows: Iterable[Any]) -> None:
    """Print a table. Its first column is aligned on the left, all others on the right."""
    cells = [tuple(map(str, row)) for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        first, *rest = (
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  " + "  ".join([first, *rest]))
