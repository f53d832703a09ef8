"""Abscissae worth a name: where the closed form may be used, where hiding pays, where half the dimension is probed."""

from math import inf

import numpy as np

from zoexplore.bounds import BOUNDS, curve
from zoexplore.bounds.contraction import k_min
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.formatting import format_count
from zoexplore.setting import Accounting, Setting
from zoexplore.views.compute.curve_set import any_T, curve_set
from zoexplore.views.compute.remember import remembered

# What the names stand for, by the field that they are on.
MEANINGS = {
    "T": "T*: from this step on a bound for hidden iterates is below composition at the same β. The sentence above compares with "
    "all noise along the directions, β\u00a0=\u00a01.",
    "K": "Kₘᵢₙ: what the paper asks of K for its closed form; fewer may do. 2K = d: the most that the theorem allows.",
    "d": "2K = d: the fewest parameters with which the theorem allows so many directions.",
}
_ALIKE = 1e-3  # curves that differ by less are the same to three digits
_FINER = 40  # steps between two


@remembered(any_T)
def annotations(setting: Setting, accounting: Accounting, field: str) -> dict[str, float]:
    """Label -> value along a field; what lies nowhere is left out."""
    found: dict[str, float] = {}
    if field == "T":
        for bound in (bound for bound in BOUNDS.values() if bound.hides_iterates):
            curves = curve_set(setting, accounting, "T")
            hidden, public = curves.epsilon[bound.id], curves.epsilon["composition"]
            if not (hidden < public * (1 - _ALIKE)).any():  # to three digits nothing is gained anywhere
                continue
            T = pays_from(setting.replace(T=1), accounting, bound.id)
            found[f"T* = {format_count(T)}, {bound.short}"] = T
    elif field == "K":
        found["2K = d"] = setting.d / 2
        least = float(k_min(RunArrays.of(setting)))
        found[f"Kₘᵢₙ = {format_count(np.ceil(least)) if np.isfinite(least) else '∞'}"] = least
    elif field == "d":
        found["2K = d"] = 2 * setting.K
    return {label: value for label, value in found.items() if np.isfinite(value)}


def pays_from(setting: Setting, accounting: Accounting, bound: str) -> float:
    """T*: the step from which on a bound that uses hidden iterates is below composition, as far as T is drawn; inf if none.

    The two steps of the curves between which that is are known; between them it is looked for on finer and finer grids.
    """
    curves = curve_set(setting, accounting, "T")
    steps, below = curves.values, curves.epsilon[bound] < curves.epsilon["composition"]
    while True:
        above = np.flatnonzero(~below)
        if not above.size:
            return float(steps[0])
        if above[-1] + 1 == len(steps):
            return inf
        last, first = steps[above[-1]], steps[above[-1] + 1]
        if first - last <= 1:
            return float(first)
        steps = np.unique(np.linspace(last, first, min(int(first - last) + 1, _FINER)).round())
        found = curve(setting, "T", steps, [bound, "composition"], accounting)
        below = found[bound] < found["composition"]


def rows(places: list[float], apart: float) -> list[int]:
    """A row for each label so that those in one row are `apart` decades or more from each other; the last is in the first row."""
    taken: list[float] = []
    chosen = [0] * len(places)
    for i in np.argsort(places)[::-1]:
        at = np.log10(places[i])
        row = next((r for r, last in enumerate(taken) if last - at >= apart), len(taken))
        taken[row : row + 1] = [at]
        chosen[i] = row
    return chosen
