"""Runs for a target epsilon: the tuned choices, and the noise that meets the target."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from zoexplore.questions.calibration import Unreachable, calibrate
from zoexplore.run.setting import Accounting
from zoexplore.training.accounts import accounts
from zoexplore.training.configuration import Configuration
from zoexplore.training.methods import METHODS
from zoexplore.training.tasks import Task

# the neighbours that every method's account covers, with Poisson batches too
NEIGHBOURS = "add-remove"


@dataclass(frozen=True)
class Choice:
    """The tuned part of a run.

    Args:
        K: directions; all d, in the parameters' own basis, for methods with gradients.
        T: steps.
        rate: eta/K, the factor of the gradient's part in the directions.
        clip: of a record's derivatives.
        clipping: "each" or "joint".
        beta: directional share of the noise.
        batch: expected records of a Poisson batch; all if None.
        ridge: strength of the ridge; the task's if None.
        R: radius of the ball; the task's if None.
    """

    K: int
    T: int
    rate: float
    clip: float
    clipping: str = "joint"
    beta: float = 1.0
    batch: int | None = None
    ridge: float | None = None
    R: float | None = None

    @classmethod
    def start(cls, task: Task, method: str, **given: Any) -> "Choice":
        """The task's own run with the given changes: K, beta, T, eta, clip, batch, ridge."""
        kind, known = (
            METHODS[method],
            {name: value for name, value in given.items() if value is not None},
        )
        K = task.d if kind.K == 0 else kind.K or known.get("K", task.K)
        constants = task.constants
        return cls(
            K,
            known.get("T", task.T),
            known["eta"] / K if "eta" in known else 1 / constants.M,
            known.get("clip", constants.lipschitz),
            beta=known.get("beta", task.beta) if kind.beta is None else kind.beta,
            batch=known.get("batch"),
            ridge=known.get("ridge"),
        )


Choices = Mapping[tuple[str, float], Choice]


def configuration(
    task: Task, method: str, choice: Choice, sigma: float, *, hidden: bool = True
) -> Configuration:
    """The run of a choice; without noise it has no ball, since no bound needs one."""
    kind = METHODS[method]
    setting = task.setting(
        sigma,
        K=choice.K,
        beta=choice.beta,
        T=choice.T,
        eta=choice.rate * choice.K,
        clip=choice.clip,
        neighbours=NEIGHBOURS,
        clipping=choice.clipping,
        batch=choice.batch,
        sampling="poisson" if choice.batch else "without-replacement",
        R=inf if not kind.noisy else task.R if choice.R is None else choice.R,
        ridge=task.ridge if choice.ridge is None else choice.ridge,
    )
    return Configuration(method, setting, kind.noisy, kind.every_direction, hidden and kind.hidden)


def aimed(
    task: Task,
    method: str,
    choice: Choice,
    target: float,
    accounting: Accounting,
    *,
    hidden: bool = True,
) -> Configuration | None:
    """The run of a choice with the least noise that meets the target by some sound account; None if
    no noise meets it.

    Args:
        task: the task.
        method: key of `METHODS`; one without noise has no target.
        choice: the rest of the run.
        target: epsilon.
        accounting: only its conversion counts.
        hidden: whether bounds for the last iterate alone may be claimed.
    """
    made = configuration(task, method, choice, 1.0, hidden=hidden)
    if not made.noisy:
        return made
    sigmas = []
    for account in accounts(task, made, accounting):
        bound = "sharp" if "sharp" in account.bounds else "composition"  # never above composition
        try:
            sigmas.append(
                calibrate(
                    account.setting,
                    "sigma",
                    epsilon=target,
                    bound=bound,
                    accounting=account.accounting,
                ).sigma
            )
        except Unreachable:
            continue
    if not sigmas:
        return None
    return replace(made, setting=made.setting.replace(sigma=min(sigmas)), target=target)
