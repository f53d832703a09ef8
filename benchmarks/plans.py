"""Makes plans for the data of published runs, and for an example, and trains by each for some
steps: `python -m benchmarks.plans aggzo-mnli-1 --steps 100`. `python -m benchmarks.plans learn`
shows what runs learn that find their own scale.

The model has random weights and the sentences are made up. Other code than the mechanism's measures
the signal of a step: the length of the mean of the records' clipped quotients along K random
directions, over K sigma (docs/published.md).
"""

import argparse
from math import inf, sqrt
from statistics import fmean
from sys import argv, stderr
from time import monotonic
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.distributions import Chi2
from torch.nn.functional import cross_entropy, linear

from benchmarks import untuned
from zoexplore import Setting, recommend
from zoexplore.mechanism import NoisyZOGD, Sources
from zoexplore.questions import Plan
from zoexplore.run.formatting import format_short
from zoexplore.run.published import RUNS, Published

# the numbers of a token's vector, the tokens of a sentence, and the tokens that tell each class
WIDE, LENGTH, TELLING = 120, 16, 40
PART = 2**10  # tokens of a part of the table
# eta/K for each parameter; with it a step along K of d directions leads as far for every d
RATE = 1e-2
DRAWN = 32  # batches over which the signal is measured

HEADER = (
    "plan for",
    "ε",
    "K",
    "T",
    "longest step over noise",
    "parameters trained",
    "steps",
    "step over noise",
    "loss",
    "accuracy",
)


class Sentences(nn.Module):
    """The mean of embedded tokens through two layers. Only those parts of the table of tokens run
    that hold tokens of the batch.
    """

    def __init__(self, parameters: int) -> None:
        super().__init__()
        self.tokens = (parameters - WIDE * (WIDE + 3) - 2) // WIDE
        counts = (min(PART, self.tokens - first) for first in range(0, self.tokens, PART))
        self.table = nn.ModuleList(nn.Embedding(count, WIDE) for count in counts)
        self.hidden, self.last = nn.Linear(WIDE, WIDE), nn.Linear(WIDE, 2)

    def embedded(self, tokens: Tensor) -> Tensor:
        parts, found = tokens // PART, torch.empty(*tokens.shape, WIDE)
        for i in parts.unique().tolist():
            found[parts == i] = self.table[i](tokens[parts == i] - PART * i)
        return found

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.last(torch.tanh(self.hidden(self.embedded(tokens).mean(1))))
        return scores


class Case(NamedTuple):
    """What a plan is made for: records, batches, an epsilon, and forward passes, which are the
    run's own if None.
    """

    name: str
    known: Setting
    epsilon: float
    passes: float | None = None

    @property
    def plan(self) -> Plan:
        return recommend(self.known, epsilon=self.epsilon, passes=self.passes)


def of_published(run: Published) -> Case:
    """Return the case of a published run. Batches that it cuts from a shuffled list are replaced by
    batches that are drawn afresh.
    """
    fresh = {"sampling": "without-replacement", "neighbours": "replace-one"} if run.shuffled else {}
    return Case(run.name, run.setting.replace(**fresh), run.claimed)


CASES = {key: of_published(run) for key, run in RUNS.items()} | {
    "example": Case(
        "20 000 records, 100 passes",
        Setting(n=20_000, d=10**6, K=16, T=2000, sigma=0.05, beta=1.0, batch=64),
        2.0,
        100.0,
    )
}


def sentences(n: int, tokens: int) -> tuple[Tensor, Tensor]:
    """Make n sentences and their classes. About half of a sentence's tokens occur in its class
    alone; the others occur in both, with frequencies that fall as those of words do.
    """
    label, rest = torch.randint(2, (n,)), tokens - 2 * TELLING
    telling = torch.randint(TELLING, (n, LENGTH)) + TELLING * label[:, None]
    others = 2 * TELLING + (rest ** torch.rand(n, LENGTH)).long().clamp(max=rest - 1)
    return torch.where(torch.rand(n, LENGTH) < 0.5, telling, others), label


def losses(outputs: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(outputs, labels, reduction="none")


@torch.no_grad()
def quotients(model: Sentences, tokens: Tensor, labels: Tensor, K: int, xi: float) -> Tensor:
    """Return every record's quotients, shape (records, K), along random unit directions, which are
    nearly orthogonal, having so many numbers.

    Only the embeddings of tokens that are read matter. Of a direction's part along all other
    embeddings only the length is drawn.
    """
    read, places = tokens.unique(return_inverse=True)
    start = [model.embedded(read), *model.hidden.parameters(), *model.last.parameters()]
    unread = sum(p.numel() for p in model.parameters()) - sum(part.numel() for part in start)
    others, found = Chi2(torch.tensor(float(max(unread, 1)))), []
    for _ in range(K):
        u = [torch.randn_like(part) for part in start]
        length, ends = (
            sqrt(
                sum(float(part.square().sum()) for part in u)
                + float(others.sample()) * (unread > 0)
            ),
            [],
        )
        for at in (xi, -xi):
            embedded, *layers = (w + at / length * part for w, part in zip(start, u, strict=True))
            hidden = torch.tanh(linear(embedded[places].mean(1), *layers[:2]))
            ends.append(losses(linear(hidden, *layers[2:]), labels))
        found.append((ends[0] - ends[1]) / (2 * xi))
    return torch.stack(found, 1)


def signal(model: Sentences, data: tuple[Tensor, Tensor], run: Setting) -> float:
    """Return how many times as long as its noise a step is: the root mean square over `DRAWN`
    batches, each with directions of its own.
    """
    found = []
    for _ in range(DRAWN):
        some = torch.randperm(run.n)[: run.batch]
        along = quotients(model, data[0][some], data[1][some], run.K, run.xi)
        short = (run.clip / along.norm(dim=1, keepdim=True)).clamp(max=1.0)
        found.append(float((along * short).mean(0).square().sum()))
    return sqrt(fmean(found)) / (run.K * run.sigma)


@torch.no_grad()
def learned(model: Sentences, data: tuple[Tensor, Tensor]) -> tuple[float, float]:
    """Return the mean loss of all records, and the fraction of records classified correctly."""
    outputs = model(data[0])
    return float(losses(outputs, data[1]).mean()), float(
        (outputs.argmax(1) == data[1]).double().mean()
    )


def row(key: str, parameters: int, steps: int, minutes: float) -> tuple[str, ...]:
    """Train by a plan for `steps` steps, or for as many as begin within `minutes`, and return a row
    of the table.
    """
    torch.manual_seed(1)
    case, model = CASES[key], Sentences(parameters)
    plan = case.plan
    d, s = sum(p.numel() for p in model.parameters()), plan.setting
    data, xi = sentences(s.n, model.tokens), 1e-4 * sqrt(d)
    clip = float(
        quotients(model, data[0][: s.batch], data[1][: s.batch], s.K, xi).norm(dim=1).median()
    )
    run = s.replace(d=d, clip=clip, sigma=s.sigma * clip / s.clip, eta=RATE * d * s.K, xi=xi)
    before, began = (signal(model, data, run), *learned(model, data)), monotonic()
    optimiser, t = NoisyZOGD(model, losses, run, sources=Sources(3, 4)), 0
    for t, batch in zip(range(1, steps + 1), optimiser.batches(data), strict=False):
        optimiser.step(batch)
        print(
            f"{key}: step {t}, {monotonic() - began:.0f} s, loss {learned(model, data)[0]:.3f}",
            file=stderr,
        )
        if monotonic() - began > 60 * minutes:
            break
    after = signal(model, data, run), *learned(model, data)
    measured = (
        f"{a:{form}} to {b:{form}}"
        for a, b, form in zip(before, after, (".2f", ".3f", ".0%"), strict=True)
    )
    of_plan = f"{case.epsilon:g}", f"{s.K}", f"{s.T}", f"{plan.signal:.2f}"
    return case.name, *of_plan, format_short(d), f"{t}", *measured


def main() -> None:
    if argv[1:2] == ["learn"]:
        return untuned.main(argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", choices=[*CASES, []], help="all where none is named")
    parser.add_argument(
        "--parameters", type=float, help="of the model; as many as were published where not given"
    )
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument(
        "--minutes",
        type=float,
        default=inf,
        help="that a run may take; it ends with the step that is on its way",
    )
    given = parser.parse_args()
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    for key in given.runs or CASES:
        print(
            "| "
            + " | ".join(
                row(key, int(given.parameters or CASES[key].known.d), given.steps, given.minutes)
            )
            + " |",
            flush=True,
        )


if __name__ == "__main__":
    main()
