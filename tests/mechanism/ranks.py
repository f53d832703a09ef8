"""One of several processes that train together, as torchrun starts them: `python -m tests.mechanism.ranks WHAT`."""

import json
import os
import sys
from contextlib import contextmanager
from hashlib import sha256

import torch
from torch import distributed

from tests.mechanism.problems import FREE, classes, cross_entropy, network
from zoexplore.mechanism import NoisyZOGD, Sources, parallel


class Loss:
    """That may fail, or end its process, at one of its calls."""

    def __init__(self):
        self.calls, self.at, self.act = 0, 0, None

    def __call__(self, outputs, targets):
        self.calls += 1
        if self.calls == self.at:
            self.act()
        return cross_entropy(outputs, targets)


def made(group=None, *, kind=torch.float32, secure=False, loss=cross_entropy, microbatch=3, **options):
    setting = FREE.replace(d=51, K=3, T=6, xi=0.3, batch=13, sigma=0.05, beta=0.5, ridge=0.01, m=0.01, clip=0.3, **options)
    sources = Sources.secure() if secure else Sources(1, 2)
    return NoisyZOGD(network().to(kind), loss, setting, sources=sources, group=group, microbatch=microbatch, keep_copy=False)


def train(optimiser, steps=6):
    X, y = classes()
    kind = optimiser.w.dtype
    for _ in range(steps):
        optimiser.step(optimiser.batch((X.to(kind), y)))
    return optimiser


def outcome(optimiser):
    """Of every bit of the parameters, and of the report: short, as processes that share an output cut into each other's lines."""
    report = optimiser.privacy_report()
    told = (optimiser.w.double().numpy().tobytes(), repr(report).encode())
    return [*(sha256(x).hexdigest() for x in told), repr(optimiser.counts), report.epsilon]


def same(group):
    return [outcome(train(made(group, kind=kind))) for kind in (torch.float32, torch.bfloat16)]


def secure(group):
    """The same in all processes, though each has keys of its own; and another one each time."""
    first, second = (train(made(group, secure=True)) for _ in range(2))
    return [first.w.tolist(), second.w.tolist()]


def sent(group):
    """How many numbers cross between processes in a step, by dimension and directions."""
    counted = {}
    for width, K in ((4, 3), (64, 3), (4, 5)):
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(6, width), torch.nn.Tanh(), torch.nn.Linear(width, 3)).double()
        d = sum(p.numel() for p in module.parameters())
        run = FREE.replace(d=d, K=K, T=6, xi=0.3, batch=12)
        optimiser = NoisyZOGD(module, cross_entropy, run, sources=Sources(1, 2), group=group)
        train(optimiser, 1)
        with counting() as numbers:
            train(optimiser, 1)
        counted[f"d = {d}, K = {K}"] = sum(numbers)
    return counted


@contextmanager
def counting():
    numbers, gather, broadcast = [], distributed.all_gather, distributed.broadcast
    distributed.all_gather = lambda rows, row, **options: (numbers.append(row.numel()), gather(rows, row, **options))
    distributed.broadcast = lambda x, **options: (numbers.append(x.numel()), broadcast(x, **options))
    yield numbers
    distributed.all_gather, distributed.broadcast = gather, broadcast


def failing(group):
    """The last process' loss fails once; then all go on as if nothing had been."""
    loss = Loss()
    optimiser, said = train(made(group, loss=loss), 2), ""
    if distributed.get_rank() == distributed.get_world_size() - 1:
        loss.at, loss.act = loss.calls + 3, fail
    try:
        train(optimiser, 1)
    except (RuntimeError, MemoryError) as error:
        said = f"{type(error).__name__}: {error}"
    return [said, optimiser.steps, *outcome(train(optimiser, 4))]


def fail():
    raise MemoryError("no memory here")


def drifting(group):
    """The last process' parameters differ by one bit after an update, and its own guard does not know."""
    optimiser = train(made(group), 2)
    if distributed.get_rank() == distributed.get_world_size() - 1:
        renew = optimiser._fingerprint.renew

        def drift():
            first = next(optimiser.objective.module.parameters()).data
            first.view(-1).view(torch.int32)[0] += 1
            renew()

        optimiser._fingerprint.renew = drift
    try:
        train(optimiser, 1)
    except parallel.Drifted as error:
        return [str(error), optimiser.privacy_report().epsilon]
    return ["nothing was said", 0.0]


def ending(group):
    """The last process ends in the middle of a step."""
    loss = Loss()
    optimiser = train(made(group, loss=loss), 2)
    if distributed.get_rank() == distributed.get_world_size() - 1:
        loss.at, loss.act = loss.calls + 3, lambda: os._exit(0)
    try:
        train(optimiser, 1)
    except RuntimeError as error:
        return [str(error), optimiser.steps]
    return ["nothing was said", optimiser.steps]


def other(group):
    """The last process is given another setting."""
    try:
        made(group, delta=1e-5 if distributed.get_rank() else 1e-6)
    except parallel.Drifted as error:
        return str(error)
    return "nothing was said"


if __name__ == "__main__":
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    for name in sys.argv[1:]:
        print(json.dumps([distributed.get_rank(), name, globals()[name](distributed.group.WORLD)]), flush=True)
    os._exit(0)
