"""Many runs at once: configurations that share a model and directions, each with its own noise.

Configurations may share a step's directions: in each run these are uniform and independent of the
data, which is all that the run's guarantee needs. Seeds share nothing, so that their spread is that
of independent runs. A job's state is complete, so that the job can stop anywhere and continue
elsewhere.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from time import perf_counter

import numpy as np
import torch

from zoexplore.mechanism import Sources
from zoexplore.training.methods import Configuration
from zoexplore.training.problem import Problem
from zoexplore.training.step import Draws, Group, Groups, State, step
from zoexplore.training.tasks import Task

LARGE = 500_000  # losses of data sets with more numbers than this take single precision


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

    def begin(self) -> State:
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

    def advance(self, state: State | None, seconds: float) -> State:
        """Continue from the state, or from the start, for about `seconds` or to the end.

        Raises:
            ValueError: a loss is not finite, or the task's data cannot be loaded.
        """
        state = self.begin() if state is None else state
        problem, until = problem_of(self.task), perf_counter() + seconds
        while state.t < self.T:
            step(problem, state, self.configurations, self._groups)
            if state.t in self.records:
                self._record(problem, state)
            if perf_counter() > until:
                break
        return state

    @cached_property
    def _groups(self) -> Groups:
        """The places of the configurations in each group that shares directions and the kind of
        clip.
        """
        groups: Groups = {}
        for i, c in enumerate(self.configurations):
            groups.setdefault(Group(c.setting.K, c.own_basis, c.setting.clipping), []).append(i)
        return groups

    def _record(self, problem: Problem, state: State) -> None:
        loss, accuracy = (x.tolist() for x in problem.held_out(state.w))
        for value, c in zip(loss, self.configurations * len(self.seeds), strict=True):
            if not np.isfinite(value):
                raise ValueError(
                    f"the loss of {c.method} at sigma = {c.setting.sigma:g} is {value} after {state.t} steps: "
                    f"give a smaller eta than {c.setting.eta:g}, or a finite R"
                )
        state.loss.append(loss)
        state.accuracy.append(accuracy)


@lru_cache(maxsize=2)
def problem_of(task: Task) -> Problem:
    """Return the task's losses. They are cached, since a sweep needs them many times.

    Parameters, directions and noise are in double precision. Losses of large data sets are in
    single precision, which takes half the time and errs far below the noise.

    Raises:
        ValueError: the data cannot be loaded.
    """
    return Problem(task, torch.float32 if task.data.X.size > LARGE else torch.float64)
