"""The privacy of a configuration by every sound account, the best of which counts.

All methods pay for one record's gradient in a step:

- Each quotient is clipped at Delta, as in the accountant, with the loss's Lipschitz constant.
- With a record's K quotients clipped together at C, a record moves a step by (eta/K) C/n. Bounds
  that need the clip alone count it, and so do those for a joint clip that acts.
- With a Lipschitz constant L <= C neither clip ever acts, and the record moves the step by its
  gradient's part in K of d random directions, about sqrt(K/d) of it (docs/bounds.md,
  "Sensitivity").
"""

from dataclasses import dataclass
from math import inf

from zoexplore.bounds import BOUNDS
from zoexplore.run.setting import Accounting, Setting
from zoexplore.training.configuration import Configuration
from zoexplore.training.methods import METHODS
from zoexplore.training.tasks import Task


@dataclass(frozen=True)
class Account:
    """One sound way to count.

    Args:
        setting: the run as accounted.
        accounting: how it is counted.
        bounds: those that apply.
        counted: the basis of the account, in words.
    """

    setting: Setting
    accounting: Accounting
    bounds: tuple[str, ...]
    counted: str


def accounts(
    task: Task, configuration: Configuration, accounting: Accounting
) -> tuple[Account, ...]:
    """Every sound account of a configuration with noise. For each bound the least of them holds."""
    setting, longest = configuration.setting, task.constants.lipschitz
    bounds = _allowed(configuration) if configuration.hidden else ("composition",)
    if setting.clipping == "each":
        return (Account(setting, accounting, bounds, "each quotient's clip"),)
    found = [Account(setting.replace(lipschitz=inf), accounting, bounds, _of_clip(configuration))]
    if setting.clip >= longest:
        idle = setting.replace(clip=longest, lipschitz=None)
        found.append(
            Account(
                idle,
                accounting.replace(sensitivity="least"),
                bounds,
                "the loss's Lipschitz constant",
            )
        )
    return tuple(found)


def _allowed(configuration: Configuration) -> tuple[str, ...]:
    """All bounds, except that of gradient descent for methods without gradients, and the sharper
    one where a clip may act in the parameters' own basis.
    """
    missing = {"noisy-gd": not configuration.own_basis, "sharp": configuration.clips_own_basis}
    return tuple(bound for bound in BOUNDS if not missing.get(bound))


def _of_clip(configuration: Configuration) -> str:
    method = METHODS[configuration.method]
    said = (
        "each record's clipped gradient"
        if method.every_direction
        else "each record's clipped quotients together"
    )
    if configuration.setting.full_batch:
        return said
    return f"{said}, on Poisson batches by the exact privacy-loss distribution"
