"""Many runs at once: configurations that share a model and directions, each with its own noise.

Configurations may share a step's directions: in each run these are uniform and independent of the
data, as its guarantee needs. Seeds share nothing, so that their spread is that of independent runs.
A job's complete state lets it stop anywhere and continue elsewhere.
"""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import product
from math import sqrt
from time import perf_counter
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from zoexplore.mechanism import Sources, batches, stiefel
from zoexplore.mechanism.noise import combine, hybrid, project
from zoexplore.mechanism.rng import normal
from zoexplore.run.setting import Setting
from zoexplore.training.methods import Configuration
from zoexplore.training.problem import Problem
from zoexplore.training.tasks import Task

LARGE = 500_000  # the numbers of a data set above which losses take single precision


@dataclass(frozen=True)
class Job:
    """Configurations trained side by side, each with every seed.

    Args:
        task: the task.
        configurations: C of them, all with the same T and batch.
        seeds: S of them; only one if batches are drawn, since every seed has its own batches.
        records: the steps after which held-out loss and accuracy are recorded, ascending; the last
            is T.
    """

    task: Task
    configurations: tuple[Configuration, ...]
    seeds: tuple[int, ...]
    records: tuple[int, ...]

    @property
    def T(self) -> int:
        return self.records[-1]

    def begin(self) -> "State":
        """Return the state before the first step.

        Raises:
            ValueError: the task's data cannot be loaded.
        """
        runs, draws = len(self.seeds) * len(self.configurations), []
        for seed in self.seeds:
            noise: list[np.random.Generator] = [
                Sources(0, c.noise_seed(seed)).noise for c in self.configurations
            ]
            # the same seed for every group, so that a run's directions do not depend on other runs
            directions = {group: Sources(seed).directions for group in self._groups}
            draws.append(Draws(directions, noise, Sources(seed).data))
        w = torch.zeros(runs, problem_of(self.task).d, dtype=torch.float64)
        return State(w, draws)

    def advance(self, state: "State | None", seconds: float) -> "State":
        """Continue from the state, or from the start, for about `seconds` or to the end.

        Raises:
            ValueError: a loss is not finite, or the task's data cannot be loaded.
        """
        state = self.begin() if state is None else state
        problem, until = problem_of(self.task), perf_counter() + seconds
        while state.t < self.T:
            self.step(problem, state)
            if state.t in self.records:
                self._record(problem, state)
            if perf_counter() > until:
                break
        return state

    def step(self, problem: Problem, state: "State") -> None:
        """Make one step of every configuration and seed."""
        first = self.configurations[0].setting
        rows = drawn(first, state.draws[0].batches)
        gradient, longest = problem.gradient(state.w, rows, first.batch)
        w, count = torch.empty_like(state.w), len(self.configurations)
        for (s, draws), (group, places) in product(enumerate(state.draws), self._groups.items()):
            U = None if group.own_basis else stiefel(problem.d, group.K, draws.directions[group])
            members = [s * count + i for i in places]
            here = state.w[members]
            numbers = [self.configurations[i].numbers_at(state.t) for i in places]
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
            w[members], _ = project(here - (eta / group.K)[:, None] * slopes + noise, R)
        state.w, state.t = w, state.t + 1

    @cached_property
    def _groups(self) -> "dict[Group, list[int]]":
        """The places of the configurations that share directions and clip alike."""
        groups: dict[Group, list[int]] = {}
        for i, c in enumerate(self.configurations):
            groups.setdefault(Group(c.setting.K, c.own_basis, c.setting.clipping), []).append(i)
        return groups

    def _record(self, problem: Problem, state: "State") -> None:
        loss, accuracy = (x.tolist() for x in problem.held_out(state.w))
        for value, c in zip(loss, self.configurations * len(self.seeds), strict=True):
            if not np.isfinite(value):
                raise ValueError(
                    f"the loss of {c.method} at sigma = {c.setting.sigma:g} is {value} after {state.t} steps: "
                    f"give a smaller eta than {c.setting.eta:g}, or a finite R"
                )
        state.loss.append(loss)
        state.accuracy.append(accuracy)


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
    if setting.full_batch or setting.batch is None:
        return None
    return batches.by_chance(setting.n, setting.batch, setting.sampling, generator)


class Group(NamedTuple):
    """What configurations share if they are moved together."""

    K: int
    own_basis: bool
    clipping: str


class Draws(NamedTuple):
    """One seed's generators: of each group's directions, of each configuration's noise, and of
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


@lru_cache(maxsize=2)
def problem_of(task: Task) -> Problem:
    """Return the task's losses. They are cached, since a sweep asks for them many times.

    Parameters, directions and noise are in double precision. Losses of large data sets are in
    single precision, which takes half the time and errs far below the noise.

    Raises:
        ValueError: the data cannot be loaded.
    """
    return Problem(task, torch.float32 if task.data.X.size > LARGE else torch.float64)
