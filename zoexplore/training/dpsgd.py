"""DP-SGD by Opacus, on all records or on Poisson batches.

It clips each record's whole gradient, where Noisy-ZOGD clips every quotient. With the same sigma and step size its noise has the
same energy, (eta sigma)^2 a step.
"""

from math import sqrt
from typing import cast

import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from zoexplore.mechanism import project
from zoexplore.run.setting import Setting
from zoexplore.training.engine import Job, State, drawn
from zoexplore.training.problem import Problem

CHUNK = 1_000_000  # numbers in the gradients of one block of records, few enough for the processor's cache


def multiplier(setting: Setting) -> float:
    """Opacus's noise multiplier: the standard deviation of the noise on the sum of gradients, over the clip norm.

    A step of eta/d on a mean gradient whose coordinates carry noise of deviation z clip/n moves by energy d (eta/d z clip/n)^2;
    on batches n is the expected number of records.
    """
    return setting.sigma * sqrt(setting.d) * (setting.batch or setting.n) / setting.clip


class SgdJob(Job):
    """Runs of DP-SGD, one after another within each step."""

    @staticmethod
    def _noise(seed: int) -> torch.Generator:
        return torch.Generator().manual_seed(seed % 2**63)

    def step(self, problem: Problem, state: State) -> None:
        """One step of every configuration and seed."""
        w = torch.empty_like(state.w)
        rows = [drawn(self.configurations[0].setting, draws.batches) for draws in state.draws]
        for i in range(len(w)):
            s, c = divmod(i, len(self.configurations))
            setting = self.configurations[c].setting
            moved, clipped = _moved(problem, setting, state.w[i], cast(torch.Generator, state.draws[s].noise[c]), rows[s])
            w[i], hit = project(moved, setting.R)
            state.clipped[i] += clipped
            state.projected[i] += int(hit)
        state.w, state.t = w, state.t + 1


def _moved(problem: Problem, setting: Setting, w: Tensor, generator: torch.Generator, rows: Tensor | None) -> tuple[Tensor, int]:
    """The parameters after one step of Opacus's optimiser, before the projection, and the number of clipped gradients."""
    from opacus import GradSampleModule
    from opacus.optimizers import DPOptimizer

    module = GradSampleModule(problem.module())
    vector_to_parameters(w.to(problem.dtype), module.parameters())
    descent = torch.optim.SGD(module.parameters(), lr=setting.eta / setting.d, weight_decay=setting.ridge)
    optimizer = DPOptimizer(
        descent,
        noise_multiplier=multiplier(setting),
        max_grad_norm=setting.clip,
        expected_batch_size=setting.batch or setting.n,
        generator=generator,
    )
    nobody = rows is not None and len(rows) == 0  # an empty batch gives a step of noise alone
    X, y = problem.records(torch.zeros(1, dtype=torch.long) if nobody else rows)
    parts = list(zip(*(x.split(max(1, CHUNK // problem.d)) for x in (X, y)), strict=True))
    clipped = 0
    for i, (X, y) in enumerate(parts):
        optimizer.signal_skip_step(i < len(parts) - 1)
        inputs = X.detach().requires_grad_()  # torch would warn of Opacus's hooks
        (problem.model.losses(module(inputs)[None], y).mean() * (not nobody)).backward()
        lengths = torch.stack([g.flatten(1).norm(dim=1) for g in optimizer.grad_samples]).norm(dim=0)
        clipped += int((~problem.idle(lengths, torch.tensor(setting.clip))).sum())
        optimizer.step()
        optimizer.zero_grad()
    return parameters_to_vector(module.parameters()).detach().to(w.dtype), clipped
