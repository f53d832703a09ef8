"""The methods compared: each is a choice of K and beta, or has no directions or no noise.

All share data, clip, noise scale and number of steps, and each has its own account.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

from zoexplore.run.setting import Setting
from zoexplore.training.tasks import Task

DEFAULT_METHODS = ("noisy-zogd", "noisy-gd", "dpzero", "non-private")
COMPARED = ("noisy-zogd", "aggzo", "dp-sgd", "dpzero", "non-private")


@dataclass(frozen=True)
class Method:
    """One way to train.

    Args:
        name: its key.
        title: its name in menus and legends.
        summary: one sentence.
        K: directions a step; `None` means as given, 0 all d of them, in the parameters' own basis.
        beta: directional share of the noise; `None` means as given.
        noisy: whether there is noise; without it there is one point instead of one for each sigma.
        clipping: "each" quotient of a record, or "joint" for all of them together, where sigma is
            given. Runs for a target epsilon clip as tuned.
        hidden: whether bounds for the last iterate alone are claimed.
    """

    name: str
    title: str
    summary: str
    K: int | None = None
    beta: float | None = None
    noisy: bool = True
    clipping: str = "each"
    hidden: bool = True

    @property
    def every_direction(self) -> bool:
        """Whether the step is the gradient itself."""
        return self.K == 0

    def setting(self, task: Task, sigma: float, **run: Any) -> Setting:
        """This method's run from the task's and the given fields. Without noise the step size is
        the task's own, and there is neither clip nor ball, which no bound needs.

        Raises:
            ValueError: a value is not allowed.
        """
        K = task.d if self.every_direction else self.K
        own: dict[str, Any] = {
            name: value for name, value in (("K", K), ("beta", self.beta)) if value is not None
        }
        if self.clipping == "joint":
            own["clipping"] = "joint"
        if not self.noisy:
            own |= {"eta": None, "clip": None, "R": inf}
        return task.setting(sigma, **run | own)


METHODS = {
    method.name: method
    for method in (
        Method(
            "noisy-zogd",
            "Noisy-ZOGD",
            "K orthonormal directions a step, noise along them and everywhere.",
        ),
        Method(
            "dpzero",
            "DPZero",
            "One direction a step and all noise along it: K = 1, β = 1.",
            K=1,
            beta=1.0,
        ),
        Method(
            "aggzo",
            "Joint clip (as DP-AggZO)",
            "K directions, a record's quotients clipped together, all noise along them: β = 1.",
            beta=1.0,
            clipping="joint",
        ),
        Method(
            "noisy-gd",
            "Noisy gradient descent",
            "Every direction at once: K = d, β = 0.",
            K=0,
            beta=0.0,
        ),
        Method(
            "dp-sgd",
            "DP-SGD",
            "Gradients, each clipped as a whole; every step counts as released.",
            K=0,
            beta=0.0,
            clipping="joint",
            hidden=False,
        ),
        Method(
            "non-private",
            "Not private",
            "Gradient descent without noise: what the others could reach.",
            K=0,
            beta=0.0,
            noisy=False,
        ),
    )
}
