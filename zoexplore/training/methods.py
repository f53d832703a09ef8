"""The methods that are compared. Each is a choice of K and beta, or has no directions or no noise.
A method's runs are `Configuration`s.

All methods share the data and the number of steps, and those with noise share the clip and the
noise scale, too. Each is counted by its own privacy accounting.
"""

from dataclasses import dataclass
from hashlib import sha256
from math import inf
from typing import Any

from zoexplore.run.setting import Setting
from zoexplore.run.text import table_beside
from zoexplore.training.tasks import Task

RECORDS = 30  # the greatest number of recorded steps
NOISE = 2**32  # a number above every seed of directions
DEFAULT_METHODS = ("noisy-zogd", "noisy-gd", "dpzero", "non-private")


def records(T: int) -> tuple[int, ...]:
    """Return the steps at which progress is recorded: all at first, then ever fewer, and T."""
    return tuple(sorted({round(T ** (i / (RECORDS - 1))) for i in range(RECORDS)} | {T}))


@dataclass(frozen=True)
class Configuration:
    """One configuration of a sweep.

    Args:
        method: key of `METHODS`.
        setting: its run; all configurations of a job share `batch`; derivatives are exact, xi = 0.
        noisy: whether noise is added.
        own_basis: whether the parameters' own basis replaces random directions; then K = d.
        hidden: whether bounds for the last iterate alone may be claimed.
        target: the epsilon that sigma was solved for; None if sigma was given.
    """

    method: str
    setting: Setting
    noisy: bool = True
    own_basis: bool = False
    hidden: bool = True
    target: float | None = None

    def numbers_at(self, t: int) -> tuple[float, ...]:
        """Return sigma (0 without noise), beta, eta, clip, ridge and R of step t."""
        s = self.setting
        return s.sigma * self.noisy, s.beta_at(t), s.eta, s.clip, s.ridge, s.R

    @property
    def clips_own_basis(self) -> bool:
        """Whether a clip of each quotient may act in the parameters' own basis. The sharper bound
        then does not apply, since it needs random directions. A joint clip over all directions does
        not depend on the basis.
        """
        return (
            self.own_basis
            and self.setting.clipping == "each"
            and (self.setting.lipschitz or 0) > self.setting.clip
        )

    def noise_seed(self, seed: int) -> int:
        """Derive the seed of a run's noise from `seed`, the seed of its directions and batches. The
        noise does not depend on other configurations.
        """
        return int.from_bytes(sha256(f"{NOISE + seed} {self}".encode()).digest()[:16])


@dataclass(frozen=True)
class Method:
    """One way to train.

    Args:
        name: its key.
        title: its name in menus and legends.
        summary: one sentence.
        K: directions per step; `None` means as given, and 0 means all d, in the parameters' own
            basis.
        beta: the share of the noise along the directions; `None` means as given.
        noisy: whether there is noise; without noise there is one point instead of one for each
            sigma.
        clipping: "joint" if all quotients of a record are clipped together; `None` means as given.
        hidden: whether bounds for the last iterate alone are claimed.
    """

    name: str
    title: str
    summary: str
    K: int | None = None
    beta: float | None = None
    noisy: bool = True
    clipping: str | None = None
    hidden: bool = True

    @property
    def every_direction(self) -> bool:
        """Whether the step is the gradient itself."""
        return self.K == 0

    def setting(self, task: Task, sigma: float, **run: Any) -> Setting:
        """Make this method's run from the task's and the given fields. Without noise the step size
        is the task's own, and there is neither clip nor ball, since no bound needs them.

        Raises:
            ValueError: a value is not allowed.
        """
        K = task.d if self.every_direction else self.K
        own: dict[str, Any] = {"K": K, "beta": self.beta, "clipping": self.clipping}
        own = {name: value for name, value in own.items() if value is not None}
        free = {} if self.noisy else {"eta": None, "clip": None, "R": inf}
        return task.setting(sigma, **run | own | free)

    def run(self, task: Task, sigma: float, hidden: bool = True, **run: Any) -> Configuration:
        """Make the run as a configuration. If `hidden`, bounds for the last iterate alone may be
        claimed, unless the method rules them out. Raises ValueError as `setting` does.
        """
        setting, hidden = self.setting(task, sigma, **run), hidden and self.hidden
        return Configuration(self.name, setting, self.noisy, self.every_direction, hidden)


METHODS = {about["name"]: Method(**about) for about in table_beside(__file__)}
