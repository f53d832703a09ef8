"""Every bound's epsilon of a configuration, for its actual clip, constants and noise."""

from math import inf
from typing import NamedTuple

from zoexplore.bounds import BOUNDS, curve, guarantee
from zoexplore.run.setting import Accounting
from zoexplore.training.accounts import accounts
from zoexplore.training.configuration import Configuration
from zoexplore.training.methods import METHODS
from zoexplore.training.tasks import Task

NO_NOISE = "there is no noise"
RELEASED = "every step counts as released"
JOINT = "it does not cover a joint clip on batches"
AXES = "where the clip may act, the directions must be drawn at random, and these are the parameters' own"


class Charge(NamedTuple):
    """What one bound says of a run.

    Attributes:
        along: epsilon after each recorded number of steps; inf where the bound does not apply.
        reason: why it does not apply; empty where it does.
        counted: the basis of the account; empty where it does not apply.
    """

    along: tuple[float, ...]
    reason: str
    counted: str = ""


Privacy = dict[str, Charge]  # by bound


def privacy(
    task: Task, configuration: Configuration, records: tuple[int, ...], accounting: Accounting
) -> Privacy:
    """Every bound's epsilon of one configuration, the least of its accounts."""
    why = NO_NOISE if not configuration.noisy else JOINT if configuration.hidden else RELEASED
    known = dict.fromkeys(BOUNDS, Charge((inf,) * len(records), why))
    if not configuration.noisy:
        return known
    refused = {
        "sharp": AXES * configuration.clips_own_basis,
        "noisy-gd": f"{METHODS[configuration.method].title} does not take gradient steps"
        * (not configuration.own_basis),
    }
    known |= {bound: known[bound]._replace(reason=said) for bound, said in refused.items() if said}
    for account in accounts(task, configuration, accounting):
        along = curve(account.setting, "T", records, account.bounds, accounting=account.accounting)
        for bound in account.bounds:
            found = guarantee(account.setting, bound, account.accounting)
            counted = account.counted if found.epsilon < inf else ""
            if found.epsilon < known[bound].along[-1] or not known[bound].counted:
                known[bound] = Charge(tuple(map(float, along[bound])), found.reason, counted)
    return known
