"""The update of a step, block by block: estimate, noise and whatever is made of them are summed before a parameter is touched."""

from collections.abc import Callable
from math import inf

import numpy as np
import torch
from torch import Tensor

from zoexplore.mechanism.frames import Frame
from zoexplore.mechanism.noise import deviations
from zoexplore.mechanism.parameters import Parameters, add, pieces
from zoexplore.mechanism.rng import Sources, normal, words
from zoexplore.mechanism.run_record import Step

LEAST_NOISE = 1e-270  # eta sigma; far enough from the least double for the square root of a share and a dimension beside it
Process = Callable[[int, Tensor], Tensor]  # a block's number and update to another update of it


def noisy(step: Step, estimate: Tensor, d: int, noise: np.random.Generator) -> Tensor:
    """What is released of a step, as 64-bit words that may be sent, shape (K + 4,): K coefficients along the directions, noise
    included, and the key of the noise in every coordinate, 0 where there is none. The coefficients' noise is drawn first.

    Args:
        estimate: g, shape (K,).
        noise: its generator.
    """
    inside, everywhere = deviations(step.sigma, step.beta, step.eta, d, step.K)
    along = -(step.eta / step.K) * estimate.double().cpu() + inside * normal(noise, (step.K,))
    key = torch.from_numpy(words(noise).view(np.int64)) if everywhere > 0 else torch.zeros(4, dtype=torch.int64)
    return torch.cat([along.view(torch.int64), key])


def apply(
    parameters: Parameters,
    frame: Frame,
    step: Step,
    released: Tensor,
    sources: Sources,
    back: dict[int, float],
    rounding: torch.Generator | None,
    process: Process | None = None,
) -> None:
    """w <- w - (eta/K) sum_k g_k u_k + noise. Sums are made in float64 until all noise is in them: what is rounded afterwards, to
    the parameters' own kind, is made of what was released.

    Args:
        released: of `noisy`.
        sources: of the generator that the key is for.
        back: probes that the parameters are still away from w by, and what takes them back.
        rounding: the generator that rounds in half precision.
        process: what to make of an update.
    """
    along = released[: step.K].view(torch.float64)
    _, everywhere = deviations(step.sigma, step.beta, step.eta, parameters.d, step.K)
    noise = sources.keyed([word % 2**64 for word in released[step.K :].tolist()])
    if process is not None and back:
        frame.add(back)
        back = {}
    for i, (block, moved) in enumerate(zip(parameters.blocks, frame.combined(along, back), strict=True)):
        for part in pieces(moved) if everywhere > 0 else ():
            part.add_(normal(noise, (len(part),), dtype=parameters.working, device=moved.device), alpha=everywhere)
        update = moved if process is None else process(i, moved.to(parameters.working))
        for part, change in zip(pieces(block), pieces(update), strict=True):
            add(part, change, rounding)


def check_noise(step: Step) -> None:
    """Raises ValueError where doubles do not hold the noise of a step with all their digits: a move without it would tell all."""
    if step.eta > 0 and not LEAST_NOISE <= step.eta * step.sigma < inf:
        raise ValueError(
            f"lr = {step.eta / step.K!r} with sigma = {step.sigma!r} is not allowed: the noise would be lost to rounding; "
            "give an lr of 0, or both of usual size"
        )


def into_ball(parameters: Parameters, R: float) -> bool:
    """Project onto the ball of radius R around 0: whether the parameters had left it."""
    length = parameters.length() if R < inf else 0.0
    if length > R:
        parameters.scale(R / length)
    return length > R
