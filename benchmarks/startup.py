"""Measures what a second process waits for: the import, and its first answers with compiled loops
in the cache.
"""

import subprocess
import sys
from statistics import median
from typing import Any

from benchmarks.timing import table

CHILD = """
from time import perf_counter
a = perf_counter()
import numpy
b = perf_counter()
import zoexplore
c = perf_counter()
from zoexplore.run.presets import DEMONSTRATION as s
zoexplore.epsilon(s, "theorem")
d = perf_counter()
zoexplore.curve(s, "T", [10 ** (6 * i / 299) // 1 for i in range(300)], {bounds})
e = perf_counter()
print(b - a, c - b, d - c, e - d)
"""


def run(repeats: int = 5) -> Any:
    """Print the milliseconds, and return their ratios to importing numpy alone."""
    from benchmarks.curves import FIVE

    print("A second process, compiled loops cached: milliseconds, and over importing numpy alone")
    times = [child(CHILD.format(bounds=FIVE)) for _ in range(repeats + 1)][1:]
    numpy, *ours = (1000 * median(column) for column in zip(*times, strict=True))
    names = (
        "import zoexplore, numpy already there",
        "first epsilon, by the theorem",
        "first curve, five bounds at 300 points",
    )
    rows = [(name, f"{ms:.0f}", f"{ms / numpy:.2f}") for name, ms in zip(names, ours, strict=True)]
    table(
        ("what", "ms", "over numpy"),
        [("import numpy", f"{numpy:.0f}", "1"), *rows, ("all", f"{numpy + sum(ours):.0f}", "")],
    )
    return [(name, "import numpy", "", numpy / ms) for name, ms in zip(names, ours, strict=True)]


def child(code: str) -> Any:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(x) for x in done.stdout.split()]
