"""Many trainings at once, for problems that fit in memory: what audits look at."""

from collections.abc import Callable

import torch
from torch import Tensor

from zoexplore.mechanism.batches import cyclic
from zoexplore.mechanism.clipping import RULES
from zoexplore.mechanism.directions import stiefel
from zoexplore.mechanism.rng import Sources, normal
from zoexplore.run.setting import Setting
from zoexplore.training.step import combine, hybrid, project


def last_iterates(
    quotients: Callable[[Tensor, Tensor], Tensor],
    start: Tensor,
    setting: Setting,
    runs: int,
    sources: Sources,
) -> Tensor:
    """The last iterates of many independent trainings at once, shape (runs, d), for problems that
    fit in memory.

    Args:
        quotients: from w and U, shapes (runs, d) and (runs, d, K), to the n records' difference
            quotients, shape (runs, n, K).
        start: shape (d,).
        setting: the run; each training draws its own batches.
        runs: the number of trainings.
        sources: as in `NoisyZOGD`.
    """
    w = start.expand(runs, -1)

    def draw(size: int) -> Tensor:
        return normal(sources.noise, (runs, size), dtype=w.dtype)

    for t in range(setting.T):
        U = stiefel(setting.d, setting.K, sources.directions, runs=(runs,), dtype=w.dtype)
        found = quotients(w, U)
        values = RULES[setting.clipping](found, setting.clip).values
        if not setting.full_batch:
            values = values * _drawn(setting, t, runs, sources).unsqueeze(-1)
        mean = values.sum(1) / (setting.batch or setting.n)
        estimate = mean + setting.ridge * (U.mT @ w.unsqueeze(-1)).squeeze(-1)
        noise = hybrid(U, setting.sigma, setting.beta_at(t), setting.eta, draw)
        w = project(w - (setting.eta / setting.K) * combine(U, estimate) + noise, setting.R)
    return w


def _drawn(setting: Setting, t: int, runs: int, sources: Sources) -> Tensor:
    """Which records are in the batch of step t, shape (runs, n) or (n,), bool."""
    if setting.sampling == "cyclic":
        return torch.isin(torch.arange(setting.n), cyclic(setting.n, setting.batch or setting.n, t))
    chances = torch.from_numpy(sources.data.random((runs, setting.n)))
    if setting.sampling == "poisson":
        return chances < (setting.batch or setting.n) / setting.n
    return chances.argsort(-1).argsort(-1) < (setting.batch or setting.n)
