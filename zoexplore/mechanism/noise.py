"""The noise of a step: along its directions, and in every coordinate."""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from zoexplore.mechanism.directions import Frame
from zoexplore.mechanism.parameters import Parameters, add
from zoexplore.mechanism.record import Step
from zoexplore.mechanism.rng import Sources, normal, words


def deviations(sigma: Any, beta: Any, eta: Any, d: int, K: int) -> tuple[Any, Any]:
    """Return (s1, s2): the standard deviations of the noise along each direction, and of the noise
    in every coordinate.
    """
    return eta * sigma * (beta / K) ** 0.5, eta * sigma * ((1 - beta) / d) ** 0.5


class Released(NamedTuple):
    """What a step releases. `along` has the noisy coefficients of its directions, shape (K,),
    float64. `key` makes the noise in every coordinate; it is empty if there is no such noise.
    """

    along: Tensor
    key: tuple[int, ...]


def noisy(step: Step, estimate: Tensor, d: int, noise: np.random.Generator) -> Released:
    """Add noise to a step's estimate g, shape (K,). Draw the noise of the coefficients first."""
    inside, everywhere = deviations(step.sigma, step.beta, step.eta, d, step.K)
    along = -(step.eta / step.K) * estimate.double().cpu() + inside * normal(noise, (step.K,))
    return Released(along, tuple(words(noise).tolist()) if everywhere > 0 else ())


def apply(
    parameters: Parameters,
    frame: Frame,
    step: Step,
    released: Released,
    sources: Sources,
    rounding: torch.Generator | None,
) -> None:
    """Move w to w - (eta/K) sum_k g_k u_k + noise, by what `noisy` has released. Sums stay in
    float64 until they contain all noise, so that rounding them to the parameters' dtype is
    post-processing. The generator `rounding` decides how numbers round to half precision.
    """
    _, everywhere = deviations(step.sigma, step.beta, step.eta, parameters.d, step.K)
    noise = sources.keyed(released.key) if released.key else sources.noise  # not used without a key
    for block, moved in zip(parameters.blocks, frame.combined(released.along), strict=True):
        if released.key:
            moved.add_(normal(noise, (len(moved),), device=moved.device), alpha=everywhere)
        add(block, moved, rounding)
