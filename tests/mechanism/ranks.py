"""One of several processes that train together: `python -m tests.mechanism.ranks FOLDER WHAT ...`."""

import os
import sys
from contextlib import contextmanager
from dataclasses import astuple, is_dataclass
from hashlib import sha256
from math import inf
from pathlib import Path

import torch
from torch import distributed

from tests import processes
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


def made(
    group=None,
    *,
    kind=torch.float32,
    secure=False,
    loss=cross_entropy,
    microbatch=3,
    module=None,
    **options,
):
    module = network() if module is None else module
    setting = FREE.replace(
        d=51,
        K=3,
        T=6,
        xi=0.3,
        batch=13,
        sigma=0.05,
        beta=0.5,
        ridge=0.01,
        m=0.01,
        clip=0.3,
        **options,
    )
    sources = Sources.secure() if secure else Sources(1, 2)
    return NoisyZOGD(
        module.to(kind),
        loss,
        setting,
        sources=sources,
        group=group,
        microbatch=microbatch,
        keep_copy=False,
    )


def train(optimiser, steps=6):
    X, y = classes()
    kind = optimiser.w.dtype
    for _ in range(steps):
        optimiser.step(optimiser.batch((X.to(kind), y)))
    return optimiser


def outcome(optimiser):
    """Of every bit of the parameters, and of the report."""
    report = optimiser.privacy_report()
    answer = (optimiser.w.double().numpy().tobytes(), repr(report).encode())
    return [*(sha256(x).hexdigest() for x in answer), repr(optimiser.counts), report.epsilon]


def same(group):
    return [outcome(train(made(group, kind=kind))) for kind in (torch.float32, torch.bfloat16)]


def scaled(group, at=45):
    """A run that finds its own scale, and is taken up in the middle of its probes."""

    def of(seeds):
        return NoisyZOGD.for_epsilon(
            network(),
            cross_entropy,
            n=24,
            epsilon=2.0,
            delta=1e-5,
            T=at,
            K=2,
            batch=7,
            microbatch=2,
            sources=Sources(*seeds),
            group=group,
            show=str,
        )

    first, second = train(of((1, 2)), 30), of((3, 4))
    second.load_state_dict(first.state_dict())
    return [*outcome(train(second, at - 30)), repr(second.found)]


def secure(group):
    """The same in all processes, though each has keys of its own; and another one each time."""
    first, second = (train(made(group, secure=True)) for _ in range(2))
    return [first.w.tolist(), second.w.tolist()]


def sent(group):
    """How many bytes cross between processes in a step, by dimension and directions."""
    counted = {}
    for width, K in ((4, 3), (64, 3), (4, 5)):
        torch.manual_seed(0)
        module = torch.nn.Sequential(
            torch.nn.Linear(6, width), torch.nn.Tanh(), torch.nn.Linear(width, 3)
        ).double()
        d = sum(p.numel() for p in module.parameters())
        run = FREE.replace(d=d, K=K, T=6, xi=0.3, batch=12)
        optimiser = NoisyZOGD(module, cross_entropy, run, sources=Sources(1, 2), group=group)
        train(optimiser, 1)
        with counting() as sizes:
            train(optimiser, 1)
        counted[f"d = {d}, K = {K}"] = sum(sizes)
    return counted


@contextmanager
def counting():
    sizes, gather, broadcast = [], distributed.all_gather_object, distributed.broadcast_object_list
    distributed.all_gather_object = lambda rows, row, **options: (
        sizes.append(size_of(row)),
        gather(rows, row, **options),
    )
    distributed.broadcast_object_list = lambda x, **options: (
        sizes.append(0),
        broadcast(x, **options),
        sizes.append(size_of(x)),
    )
    yield sizes
    distributed.all_gather_object, distributed.broadcast_object_list = gather, broadcast


def size_of(sent):
    """Of its tensors, and of 8 bytes a number beside them."""
    if isinstance(sent, torch.Tensor):
        return sent.nbytes
    sent = astuple(sent) if is_dataclass(sent) else sent
    return sum(map(size_of, sent)) if isinstance(sent, tuple | list) else 8


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
    """The last process' parameters differ by one bit after an update, and its own guard does not
    know.
    """
    optimiser = train(made(group), 2)
    if distributed.get_rank() == distributed.get_world_size() - 1:
        renew = optimiser._run.watch.fingerprint.renew

        def drift():
            first = next(optimiser.objective.module.parameters()).data
            first.view(-1).view(torch.int32)[0] += 1
            renew()

        optimiser._run.watch.fingerprint.renew = drift
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


def attacked(group):
    """A step that the last process makes otherwise: what each says then, its steps, and whether its
    report is inf.
    """
    return {name: attack(group) for name, attack in ATTACKS.items()}


def outcome_of(optimiser, attack=None, steps=1, everywhere=False):
    """Of some steps, before which the last process, or all of them, do something."""
    said = ""
    try:
        if attack and (everywhere or distributed.get_rank() == distributed.get_world_size() - 1):
            attack(optimiser)
        train(optimiser, steps)
    except (RuntimeError, ValueError) as error:
        said = f"{type(error).__name__}: {error}"
    report = optimiser.privacy_report() if optimiser.steps else None
    return [said, optimiser.steps, report is not None and report.epsilon == inf]


def mixing(outputs, targets):
    own = cross_entropy(outputs, targets)
    return own - own.mean()


class FromTheFourthStepOn:
    """Mixes records then, and shows it nowhere."""

    def __init__(self):
        self.optimiser = None

    def __call__(self, outputs, targets):
        begun = self.optimiser is not None and self.optimiser.steps >= 3
        return (mixing if begun else cross_entropy)(outputs, targets)


def module_of(optimiser):
    return optimiser.objective.module


def by_a_hook(optimiser):
    module_of(optimiser)[2].register_forward_hook(
        lambda module, inputs, outputs: outputs - outputs.mean(0)
    )


def frozen(optimiser):
    module_of(optimiser).scale[0] += 1e-6


def somebody(optimiser):
    next(module_of(optimiser).parameters()).data.mul_(1 + 1e-6)


def with_a_buffer(group):
    optimiser = made(group)
    module_of(optimiser).register_buffer("scale", torch.ones(3))
    return train(optimiser, 2)


def that_moves(group):
    loss = Loss()
    optimiser = train(made(group, loss=loss), 2)

    def arm(optimiser):
        loss.at, loss.act = (
            loss.calls + 2,
            lambda: next(module_of(optimiser).parameters()).mul_(1 + 1e-6),
        )

    return outcome_of(optimiser, arm)


def begins_to_mix(group):
    loss = FromTheFourthStepOn()
    optimiser = made(group, loss=loss)

    def arm(optimiser):
        loss.optimiser = optimiser

    return outcome_of(train(optimiser, 2), arm, steps=4)


def second(group):
    """Of the same model, where the first one is forgotten."""
    module = network().float()
    first, other = (made(group, module=module) for _ in range(2))
    train(first, 2)
    return outcome_of(other if distributed.get_rank() else first)


def reordered(group):
    optimiser, (X, y) = train(made(group), 2), classes()
    order = torch.arange(len(y)).roll(distributed.get_rank())
    said = ""
    try:
        optimiser.step(optimiser.batch((X[order].float(), y[order])))
    except (RuntimeError, ValueError) as error:
        said = str(error)
    return [said, optimiser.steps, optimiser.privacy_report().epsilon == inf]


def shortened(group):
    """Both go on from a state, one of them from that of a step before."""
    optimiser = train(made(group), 1)
    before = optimiser.state_dict()
    after = train(optimiser, 1).state_dict()
    return outcome_of(
        optimiser,
        lambda made: made.load_state_dict(before if distributed.get_rank() else after),
        everywhere=True,
    )


def probes_of_another_run(group):
    """Both go on from a state in the middle of probes, which leave the parameters as they were;
    each of a run of its own.
    """

    def of(seeds, epsilon, group=None):
        return NoisyZOGD.for_epsilon(
            network().float(),
            cross_entropy,
            n=24,
            epsilon=epsilon,
            delta=1e-5,
            T=45,
            sources=Sources(*seeds),
            group=group,
            show=str,
        )

    rank, optimiser = distributed.get_rank(), of((1, 2), 8.0, group)
    state = alone(lambda: train(of((3, 4 + rank), 2.0 + rank), 5).state_dict())
    return outcome_of(optimiser, lambda made: made.load_state_dict(state), everywhere=True)


def alone(make):
    """What is made as if there were one process."""
    is_initialized, distributed.is_initialized = distributed.is_initialized, lambda: False
    try:
        return make()
    finally:
        distributed.is_initialized = is_initialized


def under_autocast(group):
    optimiser = train(made(group), 2)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=distributed.get_rank() > 0):
        return outcome_of(optimiser)


ATTACKS = {
    "everywhere": lambda group: outcome_of(made(group, loss=mixing)),
    "losses less their mean": lambda group: outcome_of(
        made(group, loss=mixing if distributed.get_rank() else cross_entropy)
    ),
    "a hook that mixes": lambda group: outcome_of(train(made(group), 2), by_a_hook),
    "a loss that begins to mix": begins_to_mix,
    "a frozen part": lambda group: outcome_of(with_a_buffer(group), frozen),
    "somebody else's step": lambda group: outcome_of(train(made(group), 2), somebody),
    "a loss that moves the model": that_moves,
    "a second optimiser": second,
    "a state of fewer steps": shortened,
    "probes of another run": probes_of_another_run,
    "another learning rate": lambda group: outcome_of(
        train(made(group), 2), lambda o: o.param_groups[0].update(lr=0.5)
    ),
    "records in another order": reordered,
    "autocast": under_autocast,
}


def other(group):
    """The last process is given another setting."""
    try:
        made(group, delta=1e-5 if distributed.get_rank() else 1e-6)
    except parallel.Drifted as error:
        return str(error)
    return "nothing was said"


def unlike(group):
    """The last process is given sources of another kind."""
    try:
        made(group, secure=distributed.get_rank() > 0)
    except parallel.Drifted as error:
        return str(error)
    return "nothing was said"


if __name__ == "__main__":
    torch.set_num_threads(1)
    where, found = Path(sys.argv[1]), {}
    group = processes.join(where)
    for name in sys.argv[2:]:
        found[name] = globals()[name](group)
        processes.write(where, found)
    processes.leave()
