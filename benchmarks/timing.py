"""Timing by repetition: the least of several, which a busy machine moves least."""

from time import perf_counter


def milliseconds(call, repeats=15, warm=1, clock=perf_counter):
    """The least time of a call, after some that do not count."""
    for _ in range(warm):
        call()
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return 1000 * min(times)


def table(header, rows):
    """Columns, aligned on the right but for the first."""
    rows = [tuple(map(str, row)) for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *rest = (
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        print("  " + "  ".join([first, *rest]))
