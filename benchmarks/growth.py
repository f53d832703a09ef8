"""Measures how the time of an answer grows with the run: the slope of log time against log T, K, d
and n. It is 0 for a constant time, and 1 for linear growth.
"""

from typing import Any

import numpy as np

from benchmarks.timing import milliseconds, table
from zoexplore import BOUNDS, epsilon
from zoexplore.run.presets import DEMONSTRATION

RUN = DEMONSTRATION.replace(n=10_000, d=10**6, K=1000, T=1000, M=0.75, m=0.5, ridge=0.5, R=0.31)
SIZES = {
    "T": np.geomspace(10, 10**7, 7),
    "K": np.geomspace(10, 10**5, 7),
    "d": np.geomspace(2000, 10**9, 7),
    "n": np.geomspace(100, 10**8, 7),
}


def run() -> None:
    """Print the slopes, with a row for each bound."""
    print("Growth: slope of log time of one epsilon against log size (0 is flat, 1 is linear)")
    sizes = [f"{field}, {int(s[0])} to {s[-1]:.0e}" for field, s in SIZES.items()]
    table(
        ("bound", *sizes),
        [(bound, *(f"{slope(bound, field):+.2f}" for field in SIZES)) for bound in BOUNDS],
    )


def slope(bound: str, field: str) -> Any:
    """Return the slope of the least-squares line for a bound along a field."""
    sizes = SIZES[field].round()
    times = [milliseconds(lambda v=v: epsilon(RUN.replace(**{field: v}), bound), 5) for v in sizes]
    return np.polyfit(np.log(sizes), np.log(times), 1)[0]
