"""What single views ask for beside the curves: plans, histograms of one step, a miniature that is played. No Panel here."""

from dataclasses import dataclass

import numpy as np

from zoexplore.directions import one_step_factors
from zoexplore.motion import Motion, simulate
from zoexplore.planning import Plan, Unreachable, calibrate, recommend
from zoexplore.setting import Accounting, Setting
from zoexplore.views.compute.curve_set import guarantees, smallest
from zoexplore.views.compute.remember import remembered

Wanted = float | tuple[float, float]
KINDS = ("orthonormal", "independent")
SAMPLES, SEED, BINS = 2000, 1, 60


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
