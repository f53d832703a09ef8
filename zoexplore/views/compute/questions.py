"""What single views ask for beside the curves: values worth a name, a map's rows, plans, histograms of one step, a miniature that
is played. No Panel here.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from zoexplore.bounds import BOUNDS, curve
from zoexplore.bounds.contraction import k_min
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.directions import one_step_factors
from zoexplore.formatting import format_count
from zoexplore.motion import Motion, simulate
from zoexplore.planning import Plan, Unreachable, calibrate, recommend
from zoexplore.setting import Accounting, Setting
from zoexplore.views.compute.curve_set import any_T, curve_set, guarantees, smallest
from zoexplore.views.compute.remember import remembered
from zoexplore.views.figures.axes import AXES

Wanted = float | tuple[float, float]
KINDS = ("orthonormal", "independent")
SAMPLES, SEED, BINS = 2000, 1, 60
SIZE = 101  # points a side of a map
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


@dataclass(frozen=True)
class Sheet:
    """What a map is of: two different fields of a setting, one bound."""

    setting: Setting
    accounting: Accounting
    bound: str
    x: str
    y: str
    points: int = SIZE

    @property
    def rows(self) -> np.ndarray:
        """The values of y; every row is one call of `curve`."""
        return AXES[self.y].values(self.setting, self.points)

    @property
    def columns(self) -> np.ndarray:
        """The values of x."""
        return AXES[self.x].values(self.setting, self.points)


def row(sheet: Sheet, y: float) -> np.ndarray:
    """epsilon along x at one y, inf where the bound does not apply or the two values cannot go together."""
    columns, epsilon = sheet.columns, np.full(sheet.columns.size, np.inf)
    allowed = np.array([_allowed(sheet, x, y) for x in columns])
    if allowed.any():
        start = sheet.setting.replace(**{sheet.x: columns[allowed][0], sheet.y: y})
        found = curve(start, sheet.x, columns[allowed], [sheet.bound], sheet.accounting)
        epsilon[allowed] = found[sheet.bound]
    return epsilon


def _allowed(sheet: Sheet, x: float, y: float) -> bool:
    try:
        sheet.setting.replace(**{sheet.x: x, sheet.y: y})
    except ValueError:
        return False
    return True


def solved(setting: Setting, field: str, aim: str, wanted: Wanted, bound: str, accounting: Accounting) -> Setting | str:
    """`calibrate` for one of its aims, epsilon, advantage or tpr, with the reason in place of an exception."""
    try:
        return calibrate(setting, field, bound=bound, accounting=accounting, **{aim: wanted})  # type: ignore[arg-type]
    except (Unreachable, ValueError) as error:
        return str(error)


def recommended(setting: Setting, epsilon: float, bound: str, accounting: Accounting) -> Plan | str:
    """`recommend` for the data, loss and length of a setting, with the reason in place of an exception."""
    try:
        return recommend(setting.replace(batch=None), epsilon=epsilon, bound=bound, accounting=accounting)
    except (Unreachable, ValueError) as error:
        return str(error)


@remembered()
def histograms(d: int, K: int, c: float) -> dict[str, np.ndarray]:
    """Densities of the one-step factor for both kinds of directions over the same bins."""
    drawn = {kind: one_step_factors(d, K, c, SAMPLES, SEED, kind == "orthonormal") for kind in KINDS}
    low, high = min(x.min() for x in drawn.values()), max(x.max() for x in drawn.values())
    pad = max(high - low, 1e-6) * 0.02
    edges = np.linspace(max(low - pad, 0), high + pad, BINS + 1)
    densities = {kind: np.histogram(x, edges, density=True)[0] for kind, x in drawn.items()}
    return {"left": edges[:-1], "right": edges[1:], **densities}


@dataclass(frozen=True)
class Played:
    """What is played of a miniature: its pairs of runs, the smallest epsilon of its own, by which bound, and the least overlap
    that this leaves to any attacker.
    """

    motion: Motion
    bound: str
    epsilon: float
    least: float


@dataclass(frozen=True)
class Miniature:
    """A miniature, how it is accounted, and whether its pairs start apart. Never answered on the event loop: it takes a while."""

    run: Setting
    accounting: Accounting
    apart: bool


@remembered()
def played(of: Miniature) -> Played:
    """Simulate and account a miniature."""
    found = guarantees(of.run, of.accounting)
    best = smallest(found)
    least = 1 - best.advantage if best.valid else 0.0
    return Played(simulate(of.run, of.apart), best.bound, best.epsilon, least)
