"""A run that finds its own scale beside a grid of rates and clips, each tried as often: `python -m benchmarks.plans learn`.

The grid's choice is not charged for its privacy, and the run's is. Data come with scikit-learn: 1 797 digits, 360 held out.
"""

import argparse
from collections.abc import Callable, Iterator
from itertools import product
from math import sqrt
from statistics import fmean
from typing import Any, NamedTuple

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zoexplore.mechanism import NoisyZOGD, Sources

HELD_OUT, BATCH, DELTA = 360, 64, 1e-5
RATES, CLIPS = (0.25, 1.0, 4.0), (0.3, 1.0, 3.0)  # of a grid, in units of what the run finds
HEADER = ("problem", "ε", "T", "K", "untuned", "seeds", "best of the grid", "its rate and clip")


class Problem(NamedTuple):
    """A model on digits, and a factor of its features."""

    model: Callable[[], nn.Module]
    factor: float = 1.0


def softmax() -> nn.Module:
    module = nn.Linear(64, 10)
    nn.init.zeros_(module.weight)
    nn.init.zeros_(module.bias)
    return module


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


PROBLEMS = {
    "softmax": Problem(softmax),
    "softmax x 100": Problem(softmax, 100.0),
    "network": Problem(network),
    "network x 100": Problem(network, 100.0),
}


def digits(seed: int, factor: float) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Records to train on, and held out."""
    X, y = (torch.as_tensor(x) for x in load_digits(return_X_y=True))
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    X, y = (factor * X.float() / 16)[order], y[order]
    return (X[HELD_OUT:], y[HELD_OUT:]), (X[:HELD_OUT], y[:HELD_OUT])


def losses(outputs: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(outputs, labels, reduction="none")


def trained(problem: Problem, epsilon: float, T: int, K: int, seed: int, **given: Any) -> tuple[float, NoisyZOGD]:
    """The held-out accuracy, and the run."""
    torch.manual_seed(seed)
    (data, held), model = digits(seed, problem.factor), problem.model()
    run = NoisyZOGD.for_epsilon(
        model, losses, epsilon=epsilon, delta=DELTA, n=len(data[1]), T=T, K=K, batch=BATCH,
        sources=Sources(10 + seed, 1000 + seed), show=lambda _: None, **given,
    )  # fmt: skip
    for batch in run.batches(data):
        run.step(batch)
    with torch.no_grad():
        return float((model(held[0]).argmax(1) == held[1]).double().mean()), run


def rows(names: list[str], epsilons: list[float], T: int, K: int, seeds: int, grid: bool) -> Iterator[tuple[str, ...]]:
    """A row for each problem and epsilon."""
    for name, epsilon in product(names, epsilons):
        problem = PROBLEMS[name]
        found = [trained(problem, epsilon, T, K, seed) for seed in range(seeds)]
        untuned, best = [accuracy for accuracy, _ in found], ("", "")
        if grid:
            scale = found[0][1].found
            assert scale is not None
            tried = {}
            for rate, clip in product(RATES, CLIPS):  # a step's length is rate times clip
                given: dict[str, Any] = {"lr": scale.rate * rate / clip, "clip": scale.clip * clip * sqrt(K), "xi": scale.xi}
                given["decay"] = "linear"
                tried[f"{rate:g}, {clip:g}"] = fmean(trained(problem, epsilon, T, K, seed, **given)[0] for seed in range(seeds))
            choice = max(tried, key=lambda key: tried[key])
            best = f"{tried[choice]:.3f}", choice
        yield name, f"{epsilon:g}", f"{T}", f"{K}", f"{fmean(untuned):.3f}", " ".join(f"{x:.3f}" for x in untuned), *best


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans learn", description=__doc__)
    parser.add_argument("problems", nargs="*", choices=[*PROBLEMS, []], help="all where none is named")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 3.0, 8.0])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--directions", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--no-grid", action="store_true")
    given = parser.parse_args(argv)
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    names = given.problems or list(PROBLEMS)
    for row in rows(names, given.epsilons, given.steps, given.directions, given.seeds, not given.no_grid):
        print("| " + " | ".join(row) + " |", flush=True)
