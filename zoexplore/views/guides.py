"""Abscissae worth a name: where the closed form may be used, where hiding pays, where half the dimension is probed."""

from functools import lru_cache

import numpy as np

from zoexplore.bounds.contraction import k_min
from zoexplore.bounds.runs import Runs
from zoexplore.planning import crossover_step
from zoexplore.setting import Accounting, Setting
from zoexplore.views.words import whole


@lru_cache(maxsize=128)
def guides(setting: Setting, accounting: Accounting, field: str) -> dict[str, float]:
    """Label -> value along a field; what lies nowhere is left out."""
    found: dict[str, float] = {}
    if field == "T":
        T = _pays_from(setting.replace(T=1), accounting)
        found[f"T* = {whole(T)}"] = T
    elif field == "K":
        found["2K = d"] = setting.d / 2
        least = float(k_min(Runs.of(setting)))
        found[f"Kₘᵢₙ = {whole(np.ceil(least)) if np.isfinite(least) else '∞'}"] = least
    elif field == "d":
        found["2K = d"] = 2 * setting.K
    return {label: value for label, value in found.items() if np.isfinite(value)}


@lru_cache(maxsize=128)
def _pays_from(setting: Setting, accounting: Accounting) -> float:
    """T*: the step from which on the theorem, of which nothing is ours, is below composition."""
    return crossover_step(setting, "theorem", accounting)


def rows(places: list[float], apart: float) -> list[int]:
    """A row for each label so that those in one row are `apart` decades or more from each other."""
    taken: list[float] = []
    chosen = [0] * len(places)
    for i in np.argsort(places):
        at = np.log10(places[i])
        row = next((r for r, last in enumerate(taken) if at - last >= apart), len(taken))
        taken[row:row + 1] = [at]
        chosen[i] = row
    return chosen
