"""What the bounds say of a run, held against what the run was: its clip, its constants, its noise."""

from dataclasses import dataclass
from math import inf

from zoexplore.bounds import BOUNDS, curve, guarantee
from zoexplore.setting import Accounting, Setting
from zoexplore.training import dpsgd
from zoexplore.training.engine import Configuration
from zoexplore.training.methods import METHODS, OPACUS
from zoexplore.training.tasks import Task

NO_NOISE = "there is no noise"
RELEASED = "Opacus's accountant takes every step as released"


@dataclass(frozen=True)
class Privacy:
    """epsilon by every bound, at the end and at the recorded steps.

    Args:
        epsilon: by bound; inf where it does not apply.
        reason: why it does not apply, by bound; empty where it does.
        curve: by bound, epsilon after each recorded number of steps.
    """

    epsilon: dict[str, float]
    reason: dict[str, str]
    curve: dict[str, tuple[float, ...]]


def privacy(task: Task, configuration: Configuration, records: tuple[int, ...], accounting: Accounting) -> Privacy:
    """Every bound's epsilon of one configuration."""
    setting = configuration.setting
    if not configuration.noisy:
        return nothing(records, NO_NOISE)
    if configuration.method == OPACUS:
        return _by_opacus(setting, records)
    found = {bound: guarantee(setting, bound, accounting) for bound in BOUNDS}
    epsilon = {bound: g.epsilon for bound, g in found.items()}
    reason = {bound: g.reason for bound, g in found.items()}
    along = {bound: tuple(map(float, values)) for bound, values in curve(setting, "T", records, accounting=accounting).items()}
    for bound, why in _refused(task, configuration, accounting).items():
        epsilon[bound], reason[bound], along[bound] = inf, why, (inf,) * len(records)
    return Privacy(epsilon, reason, along)


def _by_opacus(setting: Setting, records: tuple[int, ...]) -> Privacy:
    counted, epsilons = nothing(records, RELEASED), tuple(dpsgd.epsilon(setting, records))
    return Privacy(
        counted.epsilon | {"composition": epsilons[-1]},
        counted.reason | {"composition": ""},
        counted.curve | {"composition": epsilons},
    )


def nothing(records: tuple[int, ...], why: str) -> Privacy:
    """inf by every bound, for one reason."""
    return Privacy(dict.fromkeys(BOUNDS, inf), dict.fromkeys(BOUNDS, why), dict.fromkeys(BOUNDS, (inf,) * len(records)))


def trusting(accounting: Accounting) -> tuple[str, ...]:
    """The bounds that need the loss to be as smooth and as Lipschitz as stated; for the others the clip is enough."""
    return tuple(bound for bound, entry in BOUNDS.items() if entry.trusts_the_loss(accounting))


def _refused(task: Task, configuration: Configuration, accounting: Accounting) -> dict[str, str]:
    """Bounds that the setting alone would allow, but not this task or method."""
    refused: dict[str, str] = {}
    setting, lipschitz = configuration.setting, task.constants.lipschitz
    if setting.clip < lipschitz:
        why = f"the loss is {lipschitz:.4g}-Lipschitz, so that a clip of Δ = {setting.clip:.4g} may act: give at least that"
        refused |= dict.fromkeys(trusting(accounting), why)
    if not configuration.own_basis:
        refused["noisy-gd"] = f"{METHODS[configuration.method].title} does not take gradient steps"
    elif setting.xi > 0:
        refused["noisy-gd"] = f"two points at ξ = {setting.xi:g} do not make a gradient"
    return refused
