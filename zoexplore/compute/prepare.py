"""Compiles all kernels ahead of time: `main` is run at set-up, and when a container is built. A
server that has no compiled kernels compiles them beside its event loop, while its readers already
see the page's first words.

The calls that this module lists need all kernels between them.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import chain, product
from math import inf
from pathlib import Path
from typing import Any

from zoexplore.bounds import BOUNDS, curve, guarantee
from zoexplore.bounds.bound import Trajectory
from zoexplore.bounds.kernels.blocks import affine
from zoexplore.compute.computations import load
from zoexplore.compute.pool import Pool
from zoexplore.questions import calibrate
from zoexplore.run.presets import DEMONSTRATION, PRESETS
from zoexplore.run.setting import SAMPLINGS, SCHEDULES, SENSITIVITIES, Accounting, Setting

TAKES = "about a minute"  # on two quiet cores
DONE = "all"  # a file beside the compiled kernels, removed with them when any kernel changes
TOGETHER = DEMONSTRATION.replace(clipping="joint", lipschitz=inf)
ON_BATCHES = {
    sampling: DEMONSTRATION.replace(batch=100, sampling=sampling)
    for sampling in SAMPLINGS
    if sampling != "poisson"
}
ON_BATCHES["poisson"] = DEMONSTRATION.replace(
    batch=100, sampling="poisson", neighbours="add-remove"
)


def hidden_states() -> list[Callable[..., Any]]:
    """List calls that count by Renyi divergence, without the kernels for privacy losses, and calls
    that compute trajectories.
    """
    ways = [*product((DEMONSTRATION, TOGETHER), SCHEDULES)]
    # a search over shares on batches takes seconds, and no kernel of its own
    ways.append((ON_BATCHES["without-replacement"], "constant"))
    calls: list[Callable[..., Any]] = [
        partial(curve, run, "T", [1, 100], accounting=Accounting("cks", counted_by, way))
        for (run, way), counted_by in product(ways, SENSITIVITIES)
    ]
    linear = TOGETHER.replace(linear=True)
    calls.append(partial(curve, linear, "T", [1, 100], ["sharp"], Accounting("cks")))
    shown = product((preset.setting for preset in PRESETS.values()), BOUNDS)
    return calls + [partial(_trajectory, run, bound) for run, bound in shown]


def _trajectory(run: Setting, bound: str) -> Trajectory | None:
    return guarantee(run, bound, Accounting("cks")).trajectory


def compositions() -> list[Callable[..., Any]]:
    """List calls that need the kernels for privacy losses, which take as long to compile as all
    others together.
    """
    ways = product(ON_BATCHES.values(), (False, True))
    return [
        partial(curve, run, "T", [1, 100], ["composition"], Accounting(printed=printed))
        for run, printed in ways
    ]


def the_rest() -> list[Callable[..., Any]]:
    """List calls that need kernels of both kinds."""
    calls = [partial(curve, run, "T", [1, 100]) for run in ON_BATCHES.values()]
    return [*calls, partial(calibrate, DEMONSTRATION, "sigma", epsilon=1.0), load]


def is_prepared() -> bool:
    """Return whether all kernels in their present state are compiled and kept."""
    return _mark().is_file()


def prepare(told: Callable[[float], None] = lambda _: None) -> None:
    """Compile all kernels in two processes. After each call, call `told` with the fraction of calls
    that are done.
    """
    pool, last = Pool(2, longest=inf), the_rest()
    try:
        # each list is a session of its own, so the pool computes one call of it at a time
        asked = [
            pool.submit(call, session=part, urgent=True)
            for part in (hidden_states, compositions)
            for call in part()
        ]
        total = len(asked) + len(last)
        # the last calls come after all others, one by one
        for done, call in enumerate(chain(asked, map(pool.submit, last)), 1):
            call.answer.result()
            told(done / total)
    finally:
        pool.end()
    with suppress(OSError):  # if no folder is writable
        _mark().touch()


def _mark() -> Path:
    return Path(affine.stats.cache_path) / DONE


def _say(done: float) -> None:
    """Draw a growing bar in a terminal; elsewhere, as in a log, write only the full bar."""
    if not sys.stderr.isatty() and done < 1:
        return
    bar = f"\rcompiling: [{'#' * round(30 * done):30}] {done:4.0%}"
    print(bar, end="\n" if done == 1 else "", file=sys.stderr, flush=True)


def main() -> None:
    """Compile the kernels, unless they are compiled already."""
    if not is_prepared():
        print(f"compiling, once: {TAKES}", file=sys.stderr)
        prepare(_say)
