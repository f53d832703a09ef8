"""Computes epsilon of published runs of private zeroth-order training, by their own convention and
by ours (docs/published.md).
"""

from math import ceil

from benchmarks.timing import table
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.loss_distribution import Losses
from zoexplore.run.formatting import format_number
from zoexplore.run.published import FIGURES, RUNS, Published

HEADER = (
    "run",
    "n",
    "K",
    "batch",
    "T",
    "δ",
    "claimed",
    "z",
    "Poisson, add or remove",
    "fresh batches, replace one",
    "shuffled, replace one",
)


def by_theirs(run: Published) -> float:
    """Return epsilon with Poisson batches and one record more or less, whose clipped quotient is
    1/z of the noise.
    """
    return float(Losses(run.T, 0.0, run.batch / run.n, 1 / run.z, "poisson").epsilon(run.delta))


def replaced(run: Published) -> float:
    """Return how far replacing a record moves a step, in units of the step's noise."""
    return (1 if run.doubled else 2) / run.z


def by_fresh_batches(run: Published) -> float:
    """Return epsilon with batches drawn afresh without replacement and one record replaced."""
    return float(Losses(run.T, 0.0, run.batch / run.n, replaced(run)).epsilon(run.delta))


def by_shuffling(run: Published) -> float:
    """Return epsilon with batches cut from a list that is shuffled every epoch. A record is in one
    step of each epoch, and pays in full for this step.
    """
    epochs = ceil(run.T * run.batch / run.n)
    return float(epsilon_of(epochs * replaced(run) ** 2 / 2, run.delta))


def row(run: Published) -> tuple[str, ...]:
    losses = by_theirs(run), by_fresh_batches(run), by_shuffling(run)
    theirs, fresh, shuffled = (format_number(loss, FIGURES) for loss in losses)
    sizes = (f"{run.n}", f"{run.K}", f"{run.batch:g}", f"{run.T}", f"{run.delta:.3g}")
    return (
        run.name,
        *sizes,
        f"{run.claimed:g}",
        f"{run.z:g}",
        theirs,
        fresh,
        shuffled if run.shuffled else "–",
    )


def markdown() -> list[str]:
    """Return the lines of the table in docs/published.md."""
    head, *rows = (
        "| " + " | ".join(line) + " |" for line in (HEADER, *(row(run) for run in RUNS.values()))
    )
    return [head, "|---" * len(HEADER) + "|", *rows]


def run() -> None:
    table(HEADER, [row(published) for published in RUNS.values()])
