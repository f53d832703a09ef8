"""Every bound's epsilon of a configuration, for its actual clip, constants and noise."""

from dataclasses import dataclass
from math import inf

from zoexplore.bounds import BOUNDS, curve, guarantee
from zoexplore.run.setting import Accounting
from zoexplore.training.accounts import accounts
from zoexplore.training.configuration import Configuration
from zoexplore.training.methods import METHODS
from zoexplore.training.tasks import Task

NO_NOISE = "there is no noise"
RELEASED = "every step counts as released"
JOINT = "it does not cover a joint clip on batches"


@dataclass(frozen=True)
class Privacy:
    """epsilon by every bound, at the end and at the recorded steps.

    Args:
        epsilon: by bound; inf where it does not apply.
        reason: why it does not apply, by bound; empty where it does.
        curve: by bound, epsilon after each recorded number of steps.
        counted: by bound, the basis of the account; empty where it does not apply.
    """

    epsilon: dict[str, float]
    reason: dict[str, str]
    curve: dict[str, tuple[float, ...]]
    counted: dict[str, str]


def privacy(task: Task, configuration: Configuration, records: tuple[int, ...], accounting: Accounting) -> Privacy:
    """Every bound's epsilon of one configuration, the least of its accounts."""
    if not configuration.noisy:
        return nothing(records, NO_NOISE)
    known = nothing(records, JOINT if configuration.hidden else RELEASED)
    for account in accounts(task, configuration, accounting):
        setting, how = account.setting, account.accounting
        along = curve(setting, "T", records, account.bounds, accounting=how)
        for bound in account.bounds:
            found = guarantee(setting, bound, how)
            if found.epsilon < known.epsilon[bound] or not known.counted[bound]:
                known.epsilon[bound], known.reason[bound] = found.epsilon, found.reason
                known.counted[bound] = account.counted if found.epsilon < inf else ""
                known.curve[bound] = tuple(map(float, along[bound]))
    for bound, why in _refused(task, configuration, accounting).items():
        known.epsilon[bound], known.reason[bound], known.counted[bound] = inf, why, ""
        known.curve[bound] = (inf,) * len(records)
    return known


def nothing(records: tuple[int, ...], why: str) -> Privacy:
    """inf by every bound, all for the same reason."""
    silent = dict.fromkeys(BOUNDS, (inf,) * len(records))
    return Privacy(dict.fromkeys(BOUNDS, inf), dict.fromkeys(BOUNDS, why), silent, dict.fromkeys(BOUNDS, ""))


def _refused(task: Task, configuration: Configuration, accounting: Accounting) -> dict[str, str]:
    """Bounds that the setting allows, but not this task or method."""
    refused: dict[str, str] = {}
    if configuration.clips_own_basis:
        refused["sharp"] = "where the clip may act, the directions must be drawn at random, and these are the parameters' own"
    if not configuration.own_basis:
        refused["noisy-gd"] = f"{METHODS[configuration.method].title} does not take gradient steps"
    return refused
