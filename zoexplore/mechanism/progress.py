"""How far a run is, how long it will take, and what it has cost in privacy so far."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from zoexplore.formatting import round_up

if TYPE_CHECKING:
    from zoexplore.mechanism.optimiser import NoisyZOGD

EVERY = 2.0  # seconds between two looks


@dataclass(frozen=True)
class Progress:
    """A run on its way.

    Args:
        steps: made so far.
        T: to be made.
        seconds_left: at the pace so far.
        epsilon: of the steps so far, by composition, at the setting's delta.
    """

    steps: int
    T: int
    seconds_left: float
    epsilon: float

    def __str__(self) -> str:
        left = f"{self.seconds_left:.0f} s left"
        return f"step {self.steps} of {self.T}, {left}, ε = {round_up(self.epsilon, 3):.3g} so far if every iterate is released"


class Shown:
    """Shows the progress of a run now and then, and after its last step."""

    def __init__(self, optimiser: "NoisyZOGD", progress: bool | Callable[[Progress], None]) -> None:
        self.optimiser = optimiser
        self.show: Callable | None = print if progress is True else progress or None
        self.begun = self.seen = monotonic()
        self.first = optimiser.steps

    def after_step(self) -> None:
        now, made, T = monotonic(), self.optimiser.steps, self.optimiser.setting.T
        if self.show is None or (now - self.seen < EVERY and made < T):
            return
        self.seen = now
        left = (now - self.begun) / (made - self.first) * (T - made)
        self.show(Progress(made, T, left, self.optimiser.privacy_report(released="all").epsilon))
