"""One step of many runs side by side: each method's update, and its noise.

Runs of a group share directions but never noise. DP-SGD and noisy gradient descent move in the
parameters' own basis, without random directions.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from zoexplore.mechanism import batches, stiefel
from zoexplore.mechanism.noise import deviations
from zoexplore.mechanism.rng import normal
from zoexplore.run.setting import Setting
from zoexplore.training.methods import Configuration
from zoexplore.training.problem import Problem


class Group(NamedTuple):
    """What configurations must have in common to be moved together."""

    K: int
    own_basis: bool
    clipping: str


Groups = dict[Group, list[int]]  # the places of each group's configurations


class Draws(NamedTuple):
    """One seed's generators: for each group's directions, for each configuration's noise, and for
    batches.
    """

    directions: dict[Group, np.random.Generator]
    noise: list[np.random.Generator]
    batches: np.random.Generator


@dataclass
class State:
    """A job between two steps: parameters, generators, counts, and the values recorded so far.

    Args:
        w: parameters, shape (S C, d): all configurations of the first seed, then those of the next.
        draws: each seed's generators.
        t: steps done.
        loss, accuracy: held-out values at the recorded steps, each entry of length S C.
    """

    w: Tensor
    draws: list[Draws]
    t: int = 0
    loss: list[list[float]] = field(default_factory=list)
    accuracy: list[list[float]] = field(default_factory=list)


def step(
    problem: Problem,
    state: State,
    configurations: tuple[Configuration, ...],
    groups: Groups,
) -> None:
    """Make one step of every configuration and seed; `groups` has the places of each group."""
    first = configurations[0].setting
    rows = drawn(first, state.draws[0].batches)
    gradient, longest = problem.gradient(state.w, rows, first.batch)
    w, count = torch.empty_like(state.w), len(configurations)
    for (s, draws), (group, places) in product(enumerate(state.draws), groups.items()):
        U = None if group.own_basis else stiefel(problem.d, group.K, draws.directions[group])
        members = [s * count + i for i in places]
        here = state.w[members]
        numbers = [configurations[i].numbers_at(state.t) for i in places]
        sigma, beta, eta, clip, ridge, R = torch.tensor(numbers, dtype=w.dtype).T
        if problem.idle(longest[members], clip).all():
            slopes = along(gradient[members], U)
        else:
            slopes = problem.clipped(here, U, clip, group.clipping, rows, first.batch)
        slopes = slopes + ridge[:, None] * along(here, U)
        draw = partial(normals, [draws.noise[i] for i in places])
        if U is None:
            noise = (eta * sigma)[:, None] / sqrt(problem.d) * draw(problem.d)
        else:
            slopes, noise = combine(U, slopes), hybrid(U, sigma, beta, eta, draw)
        w[members] = project(here - (eta / group.K)[:, None] * slopes + noise, R)
    state.w, state.t = w, state.t + 1


def along(vectors: Tensor, U: Tensor | None) -> Tensor:
    """Return the coordinates of vectors (C, d) along directions (d, K), or in the parameters' own
    basis if U is None, shape (C, K).
    """
    return vectors if U is None else vectors @ U


def normals(generators: list[np.random.Generator], size: int) -> Tensor:
    """Draw `size` standard normal numbers from each generator, shape (generators, size)."""
    return torch.stack([normal(g, (size,)) for g in generators])


def drawn(setting: Setting, generator: np.random.Generator) -> Tensor | None:
    """Draw the records of one step's batch by `setting.sampling`; return None for all records."""
    if setting.full_batch:
        return None
    return batches.by_chance(setting.n, setting.b, setting.sampling, generator)


def hybrid(U: Tensor, sigma: Any, beta: Any, eta: Any, draw: Callable[[int], Tensor]) -> Tensor:
    """Draw (eta/sqrt(K)) sum_k G_k u_k + (eta/sqrt(d)) G for C runs, shape (C, d), with G_k ~ N(0,
    beta sigma^2) and G ~ N(0, (1-beta) sigma^2 I). Runs may share directions but never noise.

    Given the directions, the noise has variance s1^2 + s2^2 along each of them and s2^2 elsewhere
    (see `deviations`). Its mean squared length is (eta sigma)^2.

    Args:
        U: orthonormal directions, shape (d, K), or (C, d, K).
        sigma, beta, eta: numbers, or tensors of shape (C,).
        draw: `draw(m)` draws m independent standard normal numbers for each run, shape (C, m), that
            do not depend on the directions (`Sources.noise`).
    """
    d, K = U.shape[-2:]
    along, across = (
        torch.as_tensor(s, dtype=U.dtype).unsqueeze(-1) for s in deviations(sigma, beta, eta, d, K)
    )
    inside = combine(U, along * draw(K))
    # isotropic noise is not drawn if all noise is directional
    return inside.add(across * draw(d)) if across.any() else inside


def combine(U: Tensor, coefficients: Tensor) -> Tensor:
    """Return sum_k c_k u_k, shape (..., d), for coefficients of shape (..., K) and U of shape (d,
    K) or (..., d, K).
    """
    if U.dim() == 2:
        return coefficients @ U.mT
    return (U @ coefficients.unsqueeze(-1)).squeeze(-1)


def project(w: Tensor, R: float | Tensor) -> Tensor:
    """Return the nearest point of the ball of radius R around 0, w itself if R is infinite.

    Args:
        w: shape (..., d).
        R: the radius, a number or a tensor that broadcasts with the shape (...).
    """
    length = w.norm(dim=-1)
    return w.where((length <= R).unsqueeze(-1), w * (R / length).unsqueeze(-1))
