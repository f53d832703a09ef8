"""A step: slopes, clipped sums, an estimate with noise, post-processing, the update and the projection.

The update goes block by block: it sums estimate, noise and post-processing before it changes a parameter.
"""

from collections.abc import Sequence
from math import inf, nan
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from zoexplore.mechanism.clipping import RULES, join, split
from zoexplore.mechanism.directions import Frame
from zoexplore.mechanism.parameters import Parameters, add, pieces
from zoexplore.mechanism.record import Step
from zoexplore.mechanism.rng import Generator, Sources, normal, words
from zoexplore.mechanism.slopes import Slopes

LEAST_NOISE = 1e-270  # eta sigma: so far above the least double that a coordinate's part does not underflow
HEAD = 5  # numbers on a step's records that processes exchange, beside sums


class Estimate(NamedTuple):
    """A step's estimate: the mean of clipped quotients along each direction, ridge included, shape (K,), float64; the mean loss;
    and the numbers evaluated, clipped and not finite.
    """

    mean: Tensor
    loss: float
    looked_at: int
    clipped: int
    not_finite: int


def summed(found: Slopes, step: Step) -> Tensor:
    """Sums over records as integers that add up across processes, shape (HEAD + 2K,). First come how many quotients were
    evaluated, clipped and not finite, then the number of records and the bits of their mean loss. The rest are the sums of
    clipped quotients along each direction, in two parts.
    """
    values, active = RULES[step.clipping](found.values, step.clip)
    loss = torch.tensor([found.loss], dtype=torch.float64).view(torch.int64)
    counted = torch.tensor([active.numel(), int(active.sum()), found.not_finite, len(values)])
    return torch.cat([counted, loss, split(values, step.clip).flatten()])


def estimated(rows: list[Tensor], step: Step, n: int, ridge: Tensor | float) -> Estimate:
    """Combine what every process has `summed`. The mean divides by the setting's batch size, however many were drawn."""
    together = torch.stack(rows)
    mean = join(together[:, HEAD:].sum(0).view(2, step.K), step.clip) / (step.batch or n) + ridge
    losses, b = together[:, 4].contiguous().view(torch.float64), together[:, 3].double()
    finite = losses.isfinite()
    loss = float((losses[finite] * b[finite] / b[finite].sum()).sum()) if finite.any() else nan
    return Estimate(mean, loss, *together[:, :3].sum(0).tolist())


def noisy(step: Step, estimate: Tensor, d: int, noise: np.random.Generator) -> Tensor:
    """A step's released values, as 64-bit words to send, shape (K + 4,): K coefficients along the directions, noise included, and
    the key of the noise in every coordinate, 0 where there is none. The coefficients' noise is drawn first. `estimate` is g,
    shape (K,).
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
    rounding: torch.Generator | None,
) -> None:
    """w <- w - (eta/K) sum_k g_k u_k + noise, from what `noisy` has released. Sums stay in float64 until they contain all noise:
    later rounding to the parameters' dtype, in half precision by the generator `rounding`, is post-processing.
    """
    along = released[: step.K].view(torch.float64)
    _, everywhere = deviations(step.sigma, step.beta, step.eta, parameters.d, step.K)
    noise = sources.keyed([word % 2**64 for word in released[step.K :].tolist()])
    for block, moved in zip(parameters.blocks, frame.combined(along), strict=True):
        for part in pieces(moved) if everywhere > 0 else ():
            part.add_(normal(noise, (len(part),), device=part.device), alpha=everywhere)
        for part, change in zip(pieces(block), pieces(moved), strict=True):
            add(part, change, rounding)


def check_noise(step: Step) -> None:
    """Raises ValueError where doubles cannot hold a step's noise with all digits: a move without it would reveal everything."""
    if step.eta > 0 and not LEAST_NOISE <= step.eta * step.sigma < inf:
        raise ValueError(
            f"lr = {step.eta / step.K!r} with sigma = {step.sigma!r} is not allowed: the noise would be lost to rounding; "
            "give an lr of 0, or both of usual size"
        )


def into_ball(parameters: Parameters, R: float) -> bool:
    """Project onto the ball of radius R around 0; return whether the parameters had left it."""
    length = parameters.length() if R < inf else 0.0
    if length > R:
        parameters.scale(R / length)
    return length > R


def hybrid(
    U: Tensor,
    sigma: float | Tensor,
    beta: float | Tensor,
    eta: float | Tensor,
    generator: Generator | Sequence[Generator],
) -> Tensor:
    """(eta/sqrt(K)) sum_k G_k u_k + (eta/sqrt(d)) G, with G_k ~ N(0, beta sigma^2) and G ~ N(0, (1-beta) sigma^2 I).

    Given the directions its variance is s1 + s2 along each of them and s2 elsewhere (see `variances`); its mean squared length is
    (eta sigma)^2.

    Args:
        U: orthonormal directions, shape (d, K), or (C, d, K) for C runs; the noise has its dtype and device.
        sigma, beta, eta: numbers, or tensors of shape (C,) for C runs; runs may share directions, never noise.
        generator: source of the noise, in no way derived from the directions' (`Sources.noise`); for C runs also C of them.

    Returns:
        Shape (d,), or (C, d) where an argument tells C runs apart.
    """
    d, K = U.shape[-2:]
    sigma, beta, eta = (torch.as_tensor(x, dtype=U.dtype, device=U.device) for x in (sigma, beta, eta))
    runs = np.broadcast_shapes(U.shape[:-2], sigma.shape, beta.shape, eta.shape)  # torch's would import sympy first
    along, across = (s.expand(runs).unsqueeze(-1) for s in deviations(sigma, beta, eta, d, K))

    def draw(size: int) -> Tensor:
        if isinstance(generator, Sequence):
            return torch.stack([normal(g, (size,), dtype=U.dtype, device=U.device) for g in generator])
        return normal(generator, (*runs, size), dtype=U.dtype, device=U.device)

    inside = combine(U, along * draw(K))
    if not across.any():  # isotropic noise is not drawn where all of it is directional
        return inside
    return inside + across * draw(d)


def combine(U: Tensor, coefficients: Tensor) -> Tensor:
    """sum_k c_k u_k: coefficients of shape (..., K) to vectors of shape (..., d), with U of shape (d, K) or (..., d, K)."""
    if U.dim() == 2:
        return coefficients @ U.mT
    return (U @ coefficients.unsqueeze(-1)).squeeze(-1)


def variances(sigma, beta, eta, d: int, K: int):
    """(s1, s2): the variance that is added along each direction, and the one in every coordinate."""
    along, across = deviations(sigma, beta, eta, d, K)
    return along**2, across**2


def deviations(sigma, beta, eta, d: int, K: int):
    """The square roots of `variances`, which do not underflow where eta and sigma are small."""
    return eta * sigma * (beta / K) ** 0.5, eta * sigma * ((1 - beta) / d) ** 0.5


class Projected(NamedTuple):
    """The point in the ball, and whether it had left it (bool)."""

    point: Tensor
    hit: Tensor


def project(w: Tensor, R: float | Tensor) -> Projected:
    """The nearest point of the ball of radius R around 0; with R infinite, w itself.

    Args:
        w: shape (..., d).
        R: radius, a number or a tensor that broadcasts with the shape (...).
    """
    length = w.norm(dim=-1)
    hit = length > R
    return Projected(w.where(~hit.unsqueeze(-1), w * (R / length).unsqueeze(-1)), hit)
