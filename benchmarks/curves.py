"""Times a page's redraw: five bounds at 300 numbers of steps, against scipy point by point, and all
six bounds along several fields.
"""

import random
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks import plain
from benchmarks.timing import milliseconds, table
from tests.convention import DEMONSTRATION, Accounting, curve
from zoexplore.run.setting import REGIMES, SCHEDULES, SENSITIVITIES

T = [int(t) for t in np.geomspace(1, 1e6, 300).round()]
MOST = 50.0  # milliseconds of one core for a redraw of all six bounds
FIVE = ["composition", "output-perturbation", "corollary", "theorem", "noisy-gd"]

RUNS = {
    "paper": DEMONSTRATION.replace(
        n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, delta=1e-5, beta=0.5
    ),
    "paper, perturbed": DEMONSTRATION.replace(
        n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0, M=1, R=1, delta=1e-5, beta=0.5, xi=1e-5
    ),
    "default": DEMONSTRATION,
    "non-convex": DEMONSTRATION.replace(regime="non-convex", K=26),
    "small steps, no ball": DEMONSTRATION.replace(
        n=1000, d=1000, K=200, sigma=0.1, m=0.9, ridge=0.9, M=1, R=1e6, eta=0.5, delta=1e-5
    ),
}
FIELDS = {
    "T": T,
    "sigma": np.geomspace(1e-4, 1e-1, 300),
    "K": np.unique(np.geomspace(1, 520, 300).round()),
    "n": np.unique(np.geomspace(1000, 1e7, 300).round()),
    "d": np.unique(np.geomspace(260, 1e6, 300).round()),
}
SIX = [("all records", DEMONSTRATION, "gaussian")]
SIX += [
    ("batches of 200", DEMONSTRATION.replace(batch=200), conversion)
    for conversion in ("cks", "gaussian")
]


def run(settings: Any = 150) -> None:
    print(
        f"Five bounds at {len(T)} numbers of steps, 1 to 10^6, exact conversion: milliseconds, and against plain scipy"
    )
    rows = []
    for name, setting in RUNS.items():
        for schedule in SCHEDULES:
            rows.append((name, schedule, *compared(setting, schedule)))
    table(
        (
            "run",
            "schedule",
            "ours",
            "plain",
            "times faster",
            "theorem: ours/plain, least",
            "largest",
        ),
        rows,
    )
    print(
        f"\nThe same curve at {settings} random settings within the sliders' ranges: milliseconds"
    )
    table(
        ("schedule", "median", "95 %", "worst", "where"),
        [(s, *over_settings(FIVE, settings, schedule=s)) for s in SCHEDULES],
    )
    print(
        f"\nAll six bounds along T at as many, with a record's effect counted so: milliseconds of one core, at most {MOST:.0f}"
    )
    rows = [(s, *over_settings(None, settings, sensitivity=s)) for s in SENSITIVITIES]
    table(("sensitivity", "median", "95 %", "worst", "where"), rows)
    print("\nAll six bounds at 300 values of a field, warm: milliseconds of one core")
    table(("run", "conversion", *FIELDS), [all_six(*case) for case in SIX])


def all_six(name: str, setting: Any, conversion: str) -> Any:
    accounting = Accounting(conversion=conversion)
    times = [
        milliseconds(lambda f=f, v=v: curve(setting, f, v, None, accounting), 3, clock=process_time)
        for f, v in FIELDS.items()
    ]
    return name, conversion, *(f"{time:.0f}" for time in times)


def compared(setting: Any, schedule: str) -> Any:
    accounting = Accounting(schedule=schedule)
    ours = milliseconds(lambda: curve(setting, "T", T, FIVE, accounting))
    lines = curve(setting, "T", T, FIVE, accounting)
    start = perf_counter()
    points = {
        bound: np.array([plain.epsilon(setting.replace(T=t), bound, schedule) for t in T])
        for bound in FIVE
    }
    theirs = 1000 * (perf_counter() - start)
    for bound in set(FIVE) - {"theorem"}:
        np.testing.assert_allclose(lines[bound], points[bound], rtol=1e-6)
    both = np.isfinite(points["theorem"]) & (points["theorem"] > 0)
    ratio = (
        (lines["theorem"] / np.where(both, points["theorem"], 1))[both]
        if both.any()
        else np.array([np.nan])
    )
    return (
        f"{ours:.2f}",
        f"{theirs:.0f}",
        f"{theirs / ours:.0f}",
        f"{ratio.min():.5f}",
        f"{ratio.max():.5f}",
    )


def over_settings(bounds: Any, count: int, **how: Any) -> Any:
    draw, accounting = random.Random(0), Accounting(**how)
    times = []
    for _ in range(count):
        setting = random_setting(draw)
        times.append(
            (
                milliseconds(
                    lambda s=setting: curve(s, "T", T, bounds, accounting), 5, clock=process_time
                ),
                setting,
            )
        )
    times.sort(key=lambda pair: pair[0])
    worst, where = times[-1]
    tail = times[int(0.95 * count)][0]
    shares = f"sigma={where.sigma:.3g} beta={where.beta:.3g} R={where.R:.3g} xi={where.xi:.1g}"
    named = f"{where.regime}, n={where.n} d={where.d} K={where.K} {shares}"
    return f"{median(t for t, _ in times):.2f}", f"{tail:.2f}", f"{worst:.2f}", named


def random_setting(draw: Any) -> Any:
    """Draw a setting. Every order of magnitude of a slider is as likely as any other."""

    def power(low: Any, high: Any) -> Any:
        return 10 ** draw.uniform(low, high)

    d = round(power(0, 6))
    M = power(-1, 1)
    return DEMONSTRATION.replace(
        n=round(power(2, 7)),
        d=d,
        K=max(1, min(d, round(d ** draw.random()))),
        sigma=power(-4, 1),
        beta=draw.random(),
        regime=draw.choice(REGIMES),
        R=draw.choice([power(-1, 1), 0.31, 1.0]),
        M=M,
        m=0.5 * M,
        ridge=0.5 * M,
        xi=draw.choice([0.0, 0.0, power(-8, -3)]),
        delta=power(-9, -3),
    )
