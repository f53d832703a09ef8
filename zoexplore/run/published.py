"""Published runs of private zeroth-order training, as their public scripts have them
(docs/published.md).
"""

from dataclasses import dataclass
from math import sqrt

from zoexplore.run.formatting import format_number
from zoexplore.run.setting import Setting
from zoexplore.run.text import table_beside

FIGURES = 4  # digits of every epsilon here, rounded up
_SHUFFLED = "Batches are cut from a shuffled list but accounted as Poisson samples."
_HIDDEN = (
    "Hidden states gain nothing, since all noise is along the directions (β = 1); with some of it across them they could, "
    "given a ridge outside the clip or a ball."
)
_NOISE = "The noise is inferred: it is what gives the claimed ε by the claim's own accounting."


@dataclass(frozen=True)
class Published:
    """A run as its public script defines it.

    Args:
        name, n, d, K, batch, T, delta: as in the script; `batch` is the mean size of Poisson
            batches.
        C: the clip norm of a record's K quotients together.
        claimed: the reported epsilon.
        trained: the part of `claimed` that training spends.
        doubled: whether the noise on the sum of clipped quotients is 2 z C rather than z C.
        shuffled: whether batches are cut from a shuffled list rather than drawn by Poisson
            sampling.
        z: the noise multiplier for `trained` under Poisson sampling, to five digits.
        fresh: epsilon for batches drawn without replacement and one record replaced, rounded up to
            `FIGURES` digits.
        ours: epsilon of `setting`, rounded up likewise.
        reading: our reading of what the source leaves open; empty if it leaves nothing open.
    """

    name: str
    n: int
    d: int
    K: int
    batch: int
    T: int
    C: float
    claimed: float
    trained: float
    doubled: bool
    shuffled: bool
    z: float
    fresh: float
    ours: float
    delta: float = 1e-5
    reading: str = ""

    @property
    def setting(self) -> Setting:
        """The run as executed. Since beta = 1, its noise on the sum of K clipped quotients is
        sqrt(K) sigma b.
        """
        noise = (2 if self.doubled else 1) * self.z * self.C / self.batch / sqrt(self.K)
        own = {name: getattr(self, name) for name in ("n", "d", "K", "T", "batch", "delta")}
        return Setting(
            **own,
            beta=1.0,
            clip=self.C,
            clipping="joint",
            sigma=float(f"{noise:.10g}"),  # z is known to five digits
            neighbours="replace-one" if self.shuffled else "add-remove",
            sampling="shuffled" if self.shuffled else "poisson",
        )

    @property
    def summary(self) -> str:
        """The claim, our number, and why they differ."""
        claim = f"Claimed: ε = {self.claimed:g}"
        if self.shuffled:
            proved = f"What can be proved of shuffling, with one record replaced, is {format_number(self.ours, FIGURES)}"
            why = f"{claim}. {_SHUFFLED} {proved}; with batches drawn afresh it would be {format_number(self.fresh, FIGURES)}."
        else:
            why = (
                f"{claim}, of which {self.trained:g} goes to training. That is what we find for a record added or removed, as "
                f"set here. With one record replaced it would be {format_number(self.fresh, FIGURES)}: a step then moves twice "
                "as far."
            )
        return " ".join(filter(None, (why, _HIDDEN, _NOISE, self.reading)))


RUNS = {key: Published(**about) for key, about in table_beside(__file__).items()}
