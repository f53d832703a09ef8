"""What an optimiser is made with, held against what can be."""

from math import inf
from typing import Any

import torch
from torch import Tensor, distributed, nn

from zoexplore.mechanism.declaration import Declared
from zoexplore.mechanism.parameters import Parameters
from zoexplore.mechanism.post_processing import Adam, Momentum, PostProcessing
from zoexplore.mechanism.rng import Sources
from zoexplore.setting import Setting

ESTIMATORS = {True: "two-point", False: "directional"}  # by whether xi > 0


KINDS = {
    "setting": (Setting,),
    "sources": (Sources,),
    "declared": (Declared,),
    "post_processing": (type(None), Momentum, Adam),
}
DONE = {"releases": 1}  # of others there is no account here; what is released, the report is told
SAMPLED = ("without-replacement", "poisson", "cyclic")


def check_kinds(**given: Any) -> None:
    """Raises TypeError where an argument that the report rests on is of a kind of its own, which might answer it otherwise."""
    for name, value in given.items():
        if type(value) not in KINDS[name]:
            words = " or ".join(kind.__name__ for kind in KINDS[name])
            raise TypeError(
                f"{name} of the type {type(value).__name__} is not allowed: give a plain {words}, no class made of it"
            )


def check(setting: Setting, estimator: str | None, microbatch: int | None, chunk_size: int | None) -> None:
    """Refuse with a ValueError, which names the argument, what the optimiser cannot do or does not count."""
    for name, done in DONE.items():
        if getattr(setting, name) != done:
            raise ValueError(
                f"{name} = {getattr(setting, name)!r} is not allowed: the optimiser knows {name} = {done!r} alone; "
                "`zoexplore.guarantee` accounts for a run of your own that does otherwise"
            )
    if setting.sampling not in SAMPLED:
        raise ValueError(f"sampling = {setting.sampling!r} is not allowed: give one of {', '.join(map(repr, SAMPLED))}")
    if estimator not in (None, ESTIMATORS[setting.xi > 0]):
        raise ValueError(f"estimator = {estimator!r} is not allowed: xi = {setting.xi:g} is {ESTIMATORS[setting.xi > 0]!r}")
    for name, value in (("microbatch", microbatch), ("chunk_size", chunk_size)):
        if value is not None and not value >= 1:
            raise ValueError(f"{name} = {value!r} is not allowed: give a whole number from 1 on, or None")
    if setting.eta is None or not setting.eta < inf:
        raise ValueError("eta is not set: give the setting an eta (K times the learning rate), or M, from which eta = K/M")


def check_trained(parameters: Any) -> None:
    """Raises TypeError where there is neither a module nor a vector."""
    if not isinstance(parameters, nn.Module | Tensor):
        raise TypeError(
            f"parameters of the type {type(parameters).__name__} are not allowed: give the module itself (what is "
            "not to be trained gets requires_grad_(False)), or one flat vector"
        )


def check_processes(group: Any) -> None:
    """Raises RuntimeError where several processes train, and not together."""
    if (
        group is None
        and distributed.is_available()
        and distributed.is_initialized()
        and (count := distributed.get_world_size()) > 1
    ):
        raise RuntimeError(
            f"training in {count} processes, each by itself, is not allowed: each would draw batches and noise of its own, and "
            "report of them alone. Give group=torch.distributed.group.WORLD in all of them, and they make one run"
        )


def check_start(parameters: Parameters, setting: Setting) -> None:
    """Raises ValueError where the start is not one of the setting's."""
    if parameters.d != setting.d:
        raise ValueError(f"d = {setting.d} is not allowed: there are {parameters.d} parameters to train")
    if not all(bool(block.isfinite().all()) for block in parameters.blocks):
        raise ValueError("the start has numbers that are not finite")
    if setting.R < inf and (length := parameters.length()) > setting.R:
        raise ValueError(f"the start has length {length:.4g}, beyond R = {setting.R:.4g}: scale it down, or take a larger R")


def slots(process: PostProcessing | None, parameters: Parameters) -> list[list[Tensor]]:
    """What is kept of every block between steps."""
    if process is None:
        return []
    return [[torch.zeros_like(block, dtype=parameters.working) for _ in range(process.slots)] for block in parameters.blocks]
