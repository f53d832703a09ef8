"""epsilon of published runs of private zeroth-order training: by their own convention, and by ours (docs/published.md)."""

from dataclasses import dataclass
from math import ceil

from benchmarks.timing import table
from zoexplore.bounds.conversion import epsilon_of
from zoexplore.bounds.loss_distribution import Losses

HEADER = (
    "run", "n", "K", "batch", "T", "δ", "claimed", "z",
    "Poisson, add or remove", "fresh batches, replace one", "shuffled, replace one",
)  # fmt: skip


@dataclass(frozen=True)
class Published:
    """A run as its script has it.

    Args:
        name, n, K, batch, T, delta: as in the script; `batch` is the mean size where it is Poisson's.
        claimed: the epsilon that is reported.
        trained: the part of it that is spent on training.
        doubled: whether the noise on the sum of clipped quotients is 2 z C, not z C.
        shuffled: whether batches are cut from a shuffled list, not drawn as Poisson.
        z: the noise multiplier for `trained` by Poisson's accountant, to five digits.
    """

    name: str
    n: int
    K: int
    batch: float
    T: int
    claimed: float
    trained: float
    doubled: bool
    shuffled: bool
    z: float
    delta: float = 1e-5

    def by_theirs(self) -> float:
        """Poisson sampling, one record more or less, whose clipped quotient weighs 1/z of the noise."""
        return float(Losses(self.T, 0.0, self.batch / self.n, 1 / self.z, "poisson").epsilon(self.delta))

    @property
    def replaced(self) -> float:
        """By how much replacing a record moves a step, over its noise."""
        return (1 if self.doubled else 2) / self.z

    def by_fresh_batches(self) -> float:
        """Batches of that size drawn afresh without replacement, one record replaced."""
        return float(Losses(self.T, 0.0, self.batch / self.n, self.replaced).epsilon(self.delta))

    def by_shuffling(self) -> float:
        """Batches cut from a list that is shuffled every epoch: a record is in one step of each, and pays in full for it."""
        epochs = ceil(self.T * self.batch / self.n)
        return float(epsilon_of(epochs * self.replaced**2 / 2, self.delta))

    def row(self) -> tuple[str, ...]:
        fresh, shuffled = f"{self.by_fresh_batches():.2f}", f"{self.by_shuffling():.1f}" if self.shuffled else "–"
        sizes = (f"{self.n}", f"{self.K}", f"{self.batch:g}", f"{self.T}", f"{self.delta:.3g}")
        return (self.name, *sizes, f"{self.claimed:g}", f"{self.z:g}", f"{self.by_theirs():.2f}", fresh, shuffled)


RUNS = (
    Published("DPZero, OPT-1.3B, SST-2", 1000, 1, 8, 20_000, 6, 6.0, True, True, 1.0956),
    Published("DPZero, RoBERTa-large, SST-2", 1024, 1, 64, 10_000, 6, 6.0, True, True, 4.8365),
    Published("DP-AggZO, RoBERTa-large, MNLI", 1536, 64, 64, 1000, 2, 1.9, False, False, 2.8871),
    Published("DP-AggZO, RoBERTa-large, MNLI", 1536, 1, 64, 5000, 2, 1.9, False, False, 6.2129),
    Published("DP-AggZO, OPT-1.3B, SQuAD", 1000, 16, 64, 1000, 2, 1.9, False, False, 4.3307),
    Published("DP-AggZO, OPT-1.3B, SQuAD", 1000, 64, 64, 1000, 2, 1.9, False, False, 4.3307),
    Published("DP-ZOPO, RoBERTa-large, 512 a class of 2", 1024, 1, 64, 6000, 4, 4.0, False, True, 4.0621, 1 / 1024),
)


def markdown() -> list[str]:
    """The table of docs/published.md, line by line."""
    lines = [HEADER, ("---",) * len(HEADER), *(run.row() for run in RUNS)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def run():
    table(HEADER, [published.row() for published in RUNS])
