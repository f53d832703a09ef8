"""A tuned run for a target epsilon."""

from dataclasses import dataclass, replace

from zoexplore.questions import Unreachable
from zoexplore.run.setting import Accounting
from zoexplore.training.methods import METHODS, Configuration
from zoexplore.training.privacy import aimed
from zoexplore.training.tasks import Task


@dataclass(frozen=True)
class Choice:
    """The tuned part of a run.

    Args:
        K: the number of directions; for methods with gradients all d, in the parameters' own basis.
        T: the number of steps.
        rate: eta/K, the factor of the gradient's component in the span of the directions.
        clip: the clip on a record's derivatives.
        clipping: "each" or "joint".
        beta: the directional share of the noise.
        batch: the expected number of records of a Poisson batch; all records if None.
        ridge: the strength of the ridge; the task's if None.
        R: the radius of the ball; the task's if None.
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

    def made(
        self, task: Task, method: str, target: float, hidden: bool = True
    ) -> Configuration | None:
        """Return the run with the least noise that meets a target; None if no noise meets it. A run
        of a method without noise has neither clip nor ball, but the chosen rate.
        """
        run = {name: value for name, value in vars(self).items() if name != "rate"}
        eta = self.rate * self.K
        try:
            made = aimed(task, method, target, Accounting(), hidden=hidden, eta=eta, **run)
        except Unreachable:
            return None
        return (
            made if METHODS[method].noisy else replace(made, setting=made.setting.replace(eta=eta))
        )
