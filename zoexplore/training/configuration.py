"""`Configuration`: one run of a sweep. Free of torch."""

from dataclasses import dataclass
from hashlib import sha256

from zoexplore.run.setting import Setting

RECORDS = 30  # recorded steps of a run, at most
NOISE = 2**32  # above every seed of directions


def records(T: int) -> tuple[int, ...]:
    """The steps at which progress is recorded: all at first, then ever fewer, and T."""
    return tuple(sorted({round(T ** (i / (RECORDS - 1))) for i in range(RECORDS)} | {T}))


@dataclass(frozen=True)
class Configuration:
    """One configuration of a sweep.

    Args:
        method: key of `METHODS`.
        setting: its run; all configurations of a job share `batch`; derivatives are exact, xi = 0.
        noisy: whether noise is added.
        own_basis: whether the parameters' own basis replaces random directions; then K = d.
        hidden: whether bounds for the last iterate alone may be claimed.
        target: the epsilon that sigma was solved for; None if sigma was given.
    """

    method: str
    setting: Setting
    noisy: bool = True
    own_basis: bool = False
    hidden: bool = True
    target: float | None = None

    def numbers_at(self, t: int) -> tuple[float, ...]:
        """sigma (0 without noise), beta, eta, clip, ridge and R of step t."""
        s = self.setting
        return s.sigma * self.noisy, s.beta_at(t), s.eta, s.clip, s.ridge, s.R

    @property
    def clips_own_basis(self) -> bool:
        """Whether a clip of each quotient may act in the parameters' own basis. The sharper bound
        then does not apply, since it needs random directions. A joint clip over all directions does
        not depend on the basis.
        """
        return (
            self.own_basis
            and self.setting.clipping == "each"
            and (self.setting.lipschitz or 0) > self.setting.clip
        )

    def noise_seed(self, seed: int) -> int:
        """The seed of a run's noise, from that of its directions and batches. It depends neither on
        other configurations nor on constants of the loss.
        """
        run = {
            name: value
            for name, value in self.setting.as_dict().items()
            if name not in ("linear", "clipping")
        }
        said = f"{NOISE + seed} {self.method} {self.noisy} {self.own_basis} {self.setting.clipping} {run}"
        return int.from_bytes(sha256(said.encode()).digest()[:16])
