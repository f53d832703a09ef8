"""Plans for the data of published runs, each trained with for some steps: `python -m benchmarks.plans aggzo-mnli-1 --steps 100`.

The model has random weights and the sentences are made up. The signal of a step is measured by other code than the mechanism's:
the length of the mean of the records' clipped quotients along K random directions, over K sigma (docs/published.md).
"""

import argparse
from math import sqrt

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.timing import table
from zoexplore import Setting, recommend
from zoexplore.mechanism import NoisyZOGD, Sources
from zoexplore.questions import Plan
from zoexplore.run.published import RUNS, Published

WIDE, LENGTH, TELLING = 120, 16, 40  # numbers a token; tokens of a sentence; tokens of either class that tell it
RATE = 3000.0  # eta/K


class Sentences(nn.Module):
    """The mean of embedded tokens through two layers."""

    def __init__(self, parameters: int) -> None:
        super().__init__()
        self.tokens = (parameters - WIDE * (WIDE + 3) - 2) // WIDE
        self.embed, self.hidden, self.last = nn.Embedding(self.tokens, WIDE), nn.Linear(WIDE, WIDE), nn.Linear(WIDE, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.last(torch.tanh(self.hidden(self.embed(tokens).mean(1))))


def planned(run: Published) -> Plan:
    """For its records, batches, passes and claim. Batches cut from a shuffled list are drawn afresh in their place."""
    known = run.setting
    if run.shuffled:
        known = known.replace(sampling="without-replacement", neighbours="replace-one")
    return recommend(known, epsilon=run.claimed)


def sentences(n: int, tokens: int) -> tuple[Tensor, Tensor]:
    """Half of the tokens tell the class, the rest nothing."""
    label = torch.randint(2, (n,))
    telling = torch.randint(TELLING, (n, LENGTH)) + TELLING * label[:, None]
    return torch.where(torch.rand(n, LENGTH) < 0.5, telling, torch.randint(2 * TELLING, tokens, (n, LENGTH))), label


def losses(outputs: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(outputs, labels, reduction="none")


@torch.no_grad()
def quotients(model: nn.Module, tokens: Tensor, labels: Tensor, K: int, xi: float) -> Tensor:
    """Every record's along K random unit directions, which for so many parameters are nearly orthogonal: (records, K)."""
    start, found = [p.clone() for p in model.parameters()], []
    for _ in range(K):
        u = [torch.randn_like(p) for p in start]
        length, ends = sqrt(sum(float(part.square().sum()) for part in u)), []
        for at in (xi, -xi):
            for p, w, part in zip(model.parameters(), start, u, strict=True):
                p.copy_(w + at / length * part)
            ends.append(losses(model(tokens), labels))
        found.append((ends[0] - ends[1]) / (2 * xi))
    for p, w in zip(model.parameters(), start, strict=True):
        p.copy_(w)
    return torch.stack(found, 1)


def signal(model: nn.Module, data: tuple[Tensor, Tensor], run: Setting) -> float:
    """How many times as long as its noise a step on a batch is."""
    some = torch.randperm(run.n)[: run.batch]
    found = quotients(model, data[0][some], data[1][some], run.K, run.xi)
    short = (run.clip / found.norm(dim=1, keepdim=True)).clamp(max=1.0)
    return float((found * short).mean(0).norm()) / (run.K * run.sigma)


def row(key: str, parameters: int, steps: int) -> tuple[str, ...]:
    torch.manual_seed(1)
    plan, model = planned(RUNS[key]), Sentences(parameters)
    d, s = sum(p.numel() for p in model.parameters()), plan.setting
    data, xi = sentences(s.n, model.tokens), 1e-4 * sqrt(d)
    clip = float(quotients(model, data[0][: s.batch], data[1][: s.batch], s.K, xi).norm(dim=1).median())
    run = s.replace(d=d, clip=clip, sigma=s.sigma * clip / s.clip, eta=RATE * s.K, xi=xi)
    at = [signal(model, data, run)]
    optimiser = NoisyZOGD(model, losses, run, sources=Sources(3, 4))
    for _, batch in zip(range(steps), optimiser.batches(data), strict=False):
        optimiser.step(batch)
    with torch.no_grad():
        at, outputs = [*at, signal(model, data, run)], model(data[0])
    loss, right = float(losses(outputs, data[1]).mean()), float((outputs.argmax(1) == data[1]).double().mean())
    measured = " to ".join(f"{value:.2f}" for value in sorted(at))
    return (
        key,
        f"{RUNS[key].claimed:g}",
        f"{s.K}",
        f"{s.T}",
        f"{plan.signal:.2f}",
        measured,
        f"{loss:.2f}",
        f"{100 * right:.0f} %",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", choices=[*RUNS, []], help="all where none is named")
    parser.add_argument("--parameters", type=int, default=10**6)
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args()
    heads = "run", "ε", "K", "T", "a step over its noise, at most", "measured", "loss", "accuracy"
    table(heads, [row(key, given.parameters, given.steps) for key in given.runs or RUNS])


if __name__ == "__main__":
    main()
