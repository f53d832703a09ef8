"""A run as far as it went: what it was, and what it counted."""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from zoexplore.mechanism.declared import Declared, why_not_idle
from zoexplore.setting import Setting


@dataclass(frozen=True)
class Counts:
    """Steps made; what was looked at by the clip (difference quotients, or records where it is joint) and how many of them it
    changed; steps that it changed anything in; steps that the projection moved. All of it is about the data.
    """

    steps: int = 0
    looked_at: int = 0
    clipped: int = 0
    steps_clipped: int = 0
    projected: int = 0

    def after(self, active: Tensor | None, hit: bool) -> "Counts":
        """One more step; `active` says what was clipped, None where the clip was skipped."""
        looked_at, clipped = (0, 0) if active is None else (active.numel(), int(active.sum()))
        return Counts(
            self.steps + 1,
            self.looked_at + looked_at,
            self.clipped + clipped,
            self.steps_clipped + (clipped > 0),
            self.projected + hit,
        )


@dataclass(frozen=True)
class Ran:
    """A run as far as it went.

    Args:
        setting: as it was to be; its regime, M and m are suppositions, those of `declared` count.
        counts: what it counted.
        shares: beta_t of the steps made, shape (steps,); None where all are the setting's.
        clipping: "each" or "joint".
        declared: what the user vouches for.
        skipped_clip: the clip was not computed, as it was declared idle.
        noise: where the noise came from.
    """

    setting: Setting
    counts: Counts
    shares: np.ndarray | None
    clipping: str
    declared: Declared
    skipped_clip: bool
    noise: str

    @property
    def why_not_idle(self) -> str:
        """Empty where the declared constants prove that the clip never acts, and it never did; else what is missing.

        A clip that was never seen to act is no proof: the neighbouring data set, or another draw of the noise, might have made it
        act. One that did act disproves what was declared.
        """
        if self.counts.clipped:
            what = "difference quotients" if self.clipping == "each" else "records"
            return f"the clip was active: it changed {self.counts.clipped} of {self.counts.looked_at} {what}"
        return why_not_idle(self.declared, self.setting, self.clipping)
