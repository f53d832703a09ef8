"""The privacy of a configuration with its actual clip, constants and noise, by the best of all
sound accounts, and the noise that meets a target.

All methods pay for how far one record moves a step:

- If each quotient is clipped at Delta, the accountant counts with the loss's Lipschitz constant.
- If a record's K quotients are clipped together at C, the record moves a step by at most (eta/K)
  C/n. Bounds that need only the clip count this distance, and so do bounds for a joint clip that
  acts.
- If the Lipschitz constant L is at most C, neither clip ever acts. The record then moves the step
  by the part of its gradient in K of d random directions, about sqrt(K/d) of the whole
  (docs/bounds.md, "Sensitivity").
"""

from contextlib import suppress
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from zoexplore.bounds import BOUNDS, curve, guarantee
from zoexplore.bounds.epsilons import DEFAULT
from zoexplore.questions.calibration import Unreachable, calibrate
from zoexplore.run.setting import Accounting, Setting
from zoexplore.training.methods import METHODS, Configuration
from zoexplore.training.tasks import Task

NO_NOISE = "there is no noise"
RELEASED = "every step counts as released"
AXES = "where the clip may act, the directions must be drawn at random, and these are the parameters' own"


class Account(NamedTuple):
    """One sound way to count: the run as accounted, how the run is counted, the bounds that cover
    it, and the basis of the account in words.
    """

    setting: Setting
    accounting: Accounting
    bounds: tuple[str, ...]
    counted: str


class Charge(NamedTuple):
    """What one bound says of a run.

    Attributes:
        along: epsilon after each recorded number of steps; inf where the bound does not apply.
        reason: why the bound does not apply; empty if it does.
        counted: the basis of the account; empty if the bound does not apply.
    """

    along: tuple[float, ...]
    reason: str
    counted: str = ""


Privacy = dict[str, Charge]  # each bound's charge


def privacy(
    task: Task, configuration: Configuration, records: tuple[int, ...], accounting: Accounting
) -> Privacy:
    """Return each bound's `Charge` for one configuration, the least over the configuration's
    accounts.
    """
    nothing, refused = (inf,) * len(records), _refused(configuration)
    known = {bound: Charge(nothing, refused.get(bound, "")) for bound in BOUNDS}
    for account in accounts(task, configuration, accounting) if configuration.noisy else ():
        along = curve(account.setting, "T", records, account.bounds, accounting=account.accounting)
        for bound in account.bounds:
            guaranteed = guarantee(account.setting, bound, account.accounting)
            counted = account.counted if guaranteed.epsilon < inf else ""
            if guaranteed.epsilon < known[bound].along[-1] or not known[bound].counted:
                known[bound] = Charge(tuple(map(float, along[bound])), guaranteed.reason, counted)
    return known


def accounts(
    task: Task, configuration: Configuration, accounting: Accounting
) -> tuple[Account, ...]:
    """Return every sound account of a configuration with noise. All of them hold, so for each bound
    the least epsilon counts.
    """
    setting, longest = configuration.setting, task.constants.lipschitz
    bounds = tuple(bound for bound in BOUNDS if bound not in _refused(configuration))
    if setting.clipping == "each":
        return (Account(setting, accounting, bounds, "each quotient's clip"),)
    words = "gradient" if configuration.own_basis else "quotients together"
    words = f"each record's clipped {words}"
    if not setting.full_batch:
        words += ", on Poisson batches by the exact privacy-loss distribution"
    by_clip = Account(setting.replace(lipschitz=inf), accounting, bounds, words)
    if setting.clip < longest:
        return (by_clip,)
    idle = setting.replace(clip=longest, lipschitz=None)
    least = accounting.replace(sensitivity="least")
    return by_clip, Account(idle, least, bounds, "the loss's Lipschitz constant")


def aimed(
    task: Task,
    method: str,
    target: float,
    accounting: Accounting = DEFAULT,
    *,
    hidden: bool = True,
    **run: Any,
) -> Configuration:
    """Make a method's run with the least noise that meets a target by some sound account. Unless
    `run` says otherwise, a record's derivatives are clipped together, batches are Poisson samples,
    and one record is added or removed. Every method has an account that covers this.

    Args:
        task: the task.
        method: key of `METHODS`; a method without noise has no target.
        target: epsilon.
        accounting: how privacy is counted; its schedule counts as "constant", because the run keeps
            its share of the noise.
        hidden: whether bounds for the last iterate alone may be claimed.
        run: further fields of `Setting`.

    Raises:
        Unreachable: no noise meets the target.
        ValueError: a value is not allowed.
    """
    usual = {"clipping": "joint", "neighbours": "add-remove"}
    if run.get("batch"):
        usual["sampling"] = "poisson"
    made = METHODS[method].run(task, 1.0, hidden, **usual | run)
    if not made.noisy:
        return made
    sigmas, kept = [], accounting.replace(schedule="constant")
    for setting, counted_by, bounds, _ in accounts(task, made, kept):
        # the sharper bound never exceeds composition
        bound = "sharp" if "sharp" in bounds else "composition"
        aim: dict[str, Any] = {"epsilon": target, "bound": bound, "accounting": counted_by}
        with suppress(Unreachable):
            sigmas.append(calibrate(setting, "sigma", **aim).sigma)
    if not sigmas:
        raise Unreachable(f"{METHODS[method].title} cannot reach epsilon = {target:g} on this task")
    return replace(made, setting=made.setting.replace(sigma=min(sigmas)), target=target)


def _refused(configuration: Configuration) -> dict[str, str]:
    """Return the reasons why bounds are not claimed, by bound."""
    others = [bound for bound in BOUNDS if bound != "composition"]
    if not configuration.noisy:
        return dict.fromkeys(BOUNDS, NO_NOISE)
    if not configuration.hidden:
        return dict.fromkeys(others, RELEASED)
    title = METHODS[configuration.method].title
    refused = {"sharp": AXES} if configuration.clips_own_basis else {}
    if not configuration.own_basis:
        refused["noisy-gd"] = f"{title} does not take gradient steps"
    return refused
