"""The `epsilon` of a run by one bound, and its `curve` along a field."""

from collections.abc import Iterable

import numpy as np

from zoexplore.bounds.bound import Bound, Solved
from zoexplore.bounds.numbers import Numbers
from zoexplore.bounds.registry import BOUNDS
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.setting import Accounting, Setting

DEFAULT = Accounting()
BEST = "best"  # stands for the least bound that applies to the run


def epsilon(setting: Setting, bound: str, accounting: Accounting = DEFAULT) -> float:
    """Return epsilon of a run at setting.delta by one bound; inf if the bound does not apply.

    Raises:
        ValueError: the bound is unknown.

    >>> from zoexplore import epsilon
    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> round(epsilon(DEMONSTRATION.replace(T=200), "composition"), 3), round(epsilon(DEMONSTRATION.replace(T=200), "sharp"), 3)
    (6.698, 0.75)
    """
    return float(_epsilons(bound, RunArrays.of(setting), accounting))


def curve(
    setting: Setting,
    field: str,
    values: Iterable[float],
    bounds: Iterable[str] | None = None,
    accounting: Accounting = DEFAULT,
) -> dict[str, np.ndarray]:
    """Return epsilon by each bound along one numeric field of the setting.

    Args:
        setting: the run; its own value of `field` is not used.
        field: any numeric field of `Setting`.
        values: the field's values, shape (P,).
        bounds: ids, or "best", as in `guarantee`; all of `BOUNDS` if None.
        accounting: how to count.

    Returns:
        The epsilons by each bound, shape (P,); inf where the bound does not apply.

    Raises:
        ValueError: a bound or the field is unknown, or a value is not allowed.

    >>> from zoexplore import curve
    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> curve(DEMONSTRATION, "T", [1, 100, 10_000], ["theorem"])["theorem"].round(2)
    array([0.63, 6.22, 6.22])
    """
    chosen = list(BOUNDS if bounds is None else bounds)
    for bound in chosen:
        entry_of(bound)
    asked = getattr(
        RunArrays.along(setting, field, values if isinstance(values, np.ndarray) else list(values)),
        field,
    )
    # the values are sorted, because a bound's search compares neighbouring runs
    ascending, places = np.unique(asked, return_inverse=True)
    runs = RunArrays.along(setting, field, ascending)
    epsilons = {
        bound: np.broadcast_to(_epsilons(bound, runs, accounting), runs.shape) for bound in chosen
    }
    if field == "delta":
        # an epsilon that holds at a delta holds at any larger delta
        epsilons = {bound: np.minimum.accumulate(line) for bound, line in epsilons.items()}
    return {bound: line[places] for bound, line in epsilons.items()}


def on_this_run() -> list[str]:
    """Return the ids of the bounds that are for the run itself, not for another mechanism."""
    return [bound for bound, entry in BOUNDS.items() if entry.of_this_run]


def entry_of(bound: str) -> Bound | None:
    """Return the bound with this id, or None for "best"."""
    if bound not in (*BOUNDS, BEST):
        raise ValueError(
            f"bound = {bound!r} is not allowed: give one of {', '.join(map(repr, (*BOUNDS, BEST)))}"
        )
    return BOUNDS.get(bound)


def accounting_for(entry: Bound, accounting: Accounting) -> Accounting:
    """Return the accounting that the bound can follow: without printed constants if the bound has
    none.
    """
    return accounting if entry.printed else accounting.replace(printed=False)


def _epsilons(bound: str, runs: RunArrays, accounting: Accounting) -> Numbers:
    entry = entry_of(bound)
    if entry is None:
        proved = accounting.replace(printed=False)
        return np.minimum.reduce(
            np.broadcast_arrays(*(_epsilons(each, runs, proved) for each in on_this_run()))
        )
    accounting = accounting_for(entry, accounting)
    runs = runs.counted_by(accounting)
    with np.errstate(all="ignore"):
        checkable = [
            a.holds(runs, accounting) for a in entry.assumptions if a.holds and a.needed(accounting)
        ]
    return solve(
        entry, runs, accounting, np.logical_and.reduce(np.broadcast_arrays(True, *checkable))
    ).epsilon


def solve(entry: Bound, runs: RunArrays, accounting: Accounting, applies: np.ndarray) -> Solved:
    """Compute the bound for the runs to which it `applies`, in the runs' shape. epsilon is inf for
    the other runs, and where a number leaves the floating-point range.
    """
    if not applies.any():
        return Solved.nothing(())
    with np.errstate(all="ignore"):
        solved = entry.solve(runs, accounting)
    sound = applies & (solved.epsilon >= 0)  # also false for nan
    return solved.mask(sound)
