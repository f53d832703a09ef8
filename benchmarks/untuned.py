"""Compares runs that find their own scale with a grid of rates and clips: `python -m
benchmarks.plans learn`.

Some seeds choose in the grid and others judge both, since the best of nine runs owes something to
chance. The privacy of the grid's choice is not counted; that of the run's is. Data come with
packages: scikit-learn's 1 797 digits; Babel's names, with a small transformer that has learned
eight public languages and tells Finnish names from French ones; and the reviews of
`benchmarks/rivals.py`, which says how to get the reviews and the pretrained encoder that reads
them. A fifth is held out.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import product
from math import sqrt
from statistics import fmean
from typing import Any, NamedTuple
from unicodedata import normalize

import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks import rivals, tail
from benchmarks.rivals import Table
from zoexplore.mechanism import NoisyZOGD
from zoexplore.mechanism.record import Found

BATCH, HUNDRED = 64, 100.0
ALPHABET, LENGTH = " abcdefghijklmnopqrstuvwxyz", 20
PUBLIC, PRIVATE = ("de", "it", "sv", "hu", "cs", "id", "ro", "da"), ("fi", "fr")
RATES, CLIPS = (0.25, 1.0, 4.0), (0.3, 1.0, 3.0)  # the grid, in units of what the run finds
HEADER = (
    "problem",
    "ε",
    "T",
    "K",
    "untuned",
    "seeds",
    "best of the grid",
    "seeds",
    "its rate and clip",
)


class Problem(NamedTuple):
    """A model, its data, and the factor that its loss is multiplied by."""

    model: Callable[[], nn.Module]
    data: Callable[[], Table]
    factor: float = 1.0


def digits(factor: float = 1.0) -> Table:
    X, y = (torch.as_tensor(x) for x in load_digits(return_X_y=True))
    return factor * X.float() / 16, y


@cache
def reviews() -> Table:
    """Return the pretrained encoder's output for each review, and whether the review is rated above
    0.
    """
    found = rivals.data("encoder")
    return torch.cat([found.X_test, found.X]), torch.cat([found.y_test, found.y])


def at_zero(module: nn.Module) -> nn.Module:
    """Set all parameters of a layer to 0, and return the layer."""
    for p in module.parameters():
        nn.init.zeros_(p)
    return module


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def network_at_zero() -> nn.Module:
    """Return a network whose outputs start at 0."""
    module = network()
    at_zero(module[2])
    return module


def low_rank() -> nn.Module:
    """Return a frozen random layer with a change of rank 8, and a head."""
    return nn.Sequential(
        tail.LowRank(nn.Linear(384, 256).weight.detach()), nn.ReLU(), nn.Linear(256, 2)
    )


def plain(text: str) -> str:
    letters = (c for c in normalize("NFKD", text.lower()) if c in ALPHABET)
    return " ".join("".join(letters).split())[:LENGTH]


@cache
def names(languages: tuple[str, ...]) -> Table:
    """Return names of places, languages and currencies that only one of the languages uses, letter
    by letter, and the index of this language.
    """
    from babel import Locale

    found = []
    for place, known in enumerate(map(Locale.parse, languages)):
        parts = (known.languages, known.territories, known.scripts, known.currencies)
        texts = {plain(text) for part in parts for text in part.values()}
        found += [(text, place) for text in sorted(texts) if len(text) > 2]
    times = Counter(text for text, _ in found)
    alone = [pair for pair in found if times[pair[0]] == 1]
    letters = [
        [1 + ALPHABET.index(c) for c in text] + [0] * (LENGTH - len(text)) for text, _ in alone
    ]
    return torch.tensor(letters), torch.tensor([place for _, place in alone])


class Reader(nn.Module):
    """A transformer of one layer that reads letters."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        from transformers import RobertaConfig, RobertaForSequenceClassification

        sizes = {
            "vocab_size": 28,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
        }
        sizes |= {"max_position_embeddings": 24, "pad_token_id": 0, "num_labels": classes}
        self.model = RobertaForSequenceClassification(RobertaConfig(**sizes))

    def forward(self, letters: Tensor) -> Tensor:
        scores: Tensor = self.model(letters, (letters > 0).long()).logits
        return scores


@cache
def pretrained() -> dict[str, Tensor]:
    """Return the weights that a reader learns from public names, except the last layer's."""
    torch.manual_seed(0)
    (X, y), reader = names(PUBLIC), Reader(len(PUBLIC))
    descent = torch.optim.AdamW(reader.parameters(), lr=3e-3)
    for _ in range(150):
        rows = torch.randint(len(y), (128,))
        descent.zero_grad()
        cross_entropy(reader(X[rows]), y[rows]).backward()
        descent.step()
    return {name: x for name, x in reader.state_dict().items() if "out_proj" not in name}


def reader() -> nn.Module:
    """Return the pretrained reader with a new last layer for two languages, which starts at 0."""
    module = Reader(len(PRIVATE))
    module.load_state_dict(pretrained(), strict=False)
    at_zero(module.model.classifier.out_proj)
    return module.eval()


# In those named x 100, the features or the loss are a hundred times as large.
PROBLEMS = {
    "softmax": Problem(lambda: at_zero(nn.Linear(64, 10)), digits),
    "softmax x 100": Problem(lambda: at_zero(nn.Linear(64, 10)), partial(digits, HUNDRED)),
    "network": Problem(network, digits),
    "network x 100": Problem(network, partial(digits, HUNDRED)),
    "network x 100 from 0": Problem(network_at_zero, partial(digits, HUNDRED)),
    "head": Problem(rivals.head, reviews),
    "head, loss x 100": Problem(rivals.head, reviews, HUNDRED),
    "low rank": Problem(low_rank, reviews),
    "transformer": Problem(reader, partial(names, PRIVATE)),
}


def split(table: Table, seed: int) -> tuple[Table, Table]:
    """Return the records to train on, and a fifth of all that is held out."""
    X, y = table
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    held, train = order[: len(y) // 5 + 1], order[len(y) // 5 + 1 :]
    return (X[train], y[train]), (X[held], y[held])


def trained(
    problem: Problem, epsilon: float, T: int, K: int, seed: int, **given: Any
) -> tuple[float, NoisyZOGD]:
    """Train a problem's model; return the accuracy on held-out records, and the run."""

    def loss(outputs: Tensor, labels: Tensor) -> Tensor:
        return problem.factor * rivals.losses(outputs, labels)

    torch.manual_seed(seed)
    (data, held), model = split(problem.data(), seed), problem.model()
    run = rivals.trained(model, data, seed, loss, epsilon=epsilon, T=T, K=K, batch=BATCH, **given)
    with torch.no_grad():
        return float((model(held[0]).argmax(1) == held[1]).double().mean()), run


def rows(
    names: list[str], epsilons: list[float], T: int, K: int, seeds: int, choosers: int
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each problem and epsilon."""
    for name, epsilon in product(names, epsilons):
        problem = PROBLEMS[name]
        judging, choosing = range(seeds), range(seeds, seeds + choosers)
        untuned = [trained(problem, epsilon, T, K, seed)[0] for seed in judging]
        best = "", "", ""
        if choosers:
            scale = trained(problem, epsilon, T, K, seeds)[1].found
            assert scale is not None
            tried = {
                pair: fmean(
                    trained(problem, epsilon, T, K, seed, **given_by(scale, *pair, K))[0]
                    for seed in choosing
                )
                for pair in product(RATES, CLIPS)
            }
            choice = max(tried, key=lambda pair: tried[pair])
            tuned = [
                trained(problem, epsilon, T, K, seed, **given_by(scale, *choice, K))[0]
                for seed in judging
            ]
            best = (
                f"{fmean(tuned):.3f}",
                " ".join(f"{x:.3f}" for x in tuned),
                "{:g}, {:g}".format(*choice),
            )
        yield (
            name,
            f"{epsilon:g}",
            f"{T}",
            f"{K}",
            f"{fmean(untuned):.3f}",
            " ".join(f"{x:.3f}" for x in untuned),
            *best,
        )


def given_by(scale: Found, rate: float, clip: float, K: int) -> dict[str, Any]:
    """Return the arguments for a rate and a clip in units of a scale. A larger clip lowers the
    learning rate, so that `rate` alone sets a step's length.
    """
    return {
        "lr": scale.rate * rate / clip,
        "clip": scale.clip * clip * sqrt(K),
        "xi": scale.xi,
        "decay": "linear",
    }


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plans learn", description=__doc__)
    parser.add_argument(
        "problems", nargs="*", choices=[*PROBLEMS, []], help="all where none is named"
    )
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 3.0, 8.0])
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--directions", type=int, default=1)
    parser.add_argument(
        "--seeds",
        type=int,
        default=3,
        help="that judge",
    )
    parser.add_argument(
        "--choosers", type=int, default=3, help="other seeds, that choose in the grid; 0 for none"
    )
    given = parser.parse_args(argv)
    print("| " + " | ".join(HEADER) + " |\n" + "|---" * len(HEADER) + "|")
    names = given.problems or list(PROBLEMS)
    for row in rows(
        names, given.epsilons, given.steps, given.directions, given.seeds, given.choosers
    ):
        print("| " + " | ".join(row) + " |", flush=True)
