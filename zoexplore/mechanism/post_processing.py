"""What is done with a step's noisy estimate before it moves the parameters: nothing, or an average over earlier ones.

An estimate with its noise is what composition takes to be released. Whatever is computed from released ones costs nothing more,
so that composition stands; no bound for the last iterate alone covers it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Momentum:
    """Estimates summed up with weights that fall by `decay` a step, as in `torch.optim.SGD`.

    Raises:
        ValueError: decay is not in [0, 1).
    """

    decay: float = 0.9
    slots = 1  # numbers that are kept for every parameter

    def __post_init__(self) -> None:
        _check(decay=self.decay)

    def __call__(self, estimate: Tensor, kept: list[Tensor], step: int) -> Tensor:
        """The direction of descent, from one block's estimate and what is kept of it. `step` counts from 1."""
        return kept[0].mul_(self.decay).add_(estimate)


@dataclass(frozen=True)
class Adam:
    """Means of the estimates and of their squares, as in `torch.optim.Adam` (Kingma, Ba 2015, arXiv:1412.6980).

    Raises:
        ValueError: a decay is not in [0, 1), or eps is not above 0.
    """

    first: float = 0.9
    second: float = 0.999
    eps: float = 1e-8
    slots = 2

    def __post_init__(self) -> None:
        _check(first=self.first, second=self.second)
        if not self.eps > 0:
            raise ValueError(f"eps = {self.eps!r} is not allowed: give a number above 0")

    def __call__(self, estimate: Tensor, kept: list[Tensor], step: int) -> Tensor:
        mean, square = kept
        mean.lerp_(estimate, 1 - self.first)
        square.mul_(self.second).addcmul_(estimate, estimate, value=1 - self.second)
        spread = (square / (1 - self.second**step)).sqrt_().add_(self.eps)
        return torch.div(mean, spread, out=spread).div_(1 - self.first**step)


PostProcessing = Momentum | Adam


def _check(**decays: float) -> None:
    for name, value in decays.items():
        if not 0 <= value < 1:
            raise ValueError(f"{name} = {value!r} is not allowed: give a number of at least 0 and below 1")
