"""How far a record, or a person with several records, separates neighbours' runs in a step."""

from functools import cached_property

import numpy as np

from zoexplore.bounds.numbers import Numbers
from zoexplore.run.setting import Setting

# in units of noise: shorter lengths are rounded up to it, so that no square of one underflows
LEAST_LENGTH = 1e-100


def above_underflow(length: Numbers) -> Numbers:
    """The lengths, in their shape, each at least `LEAST_LENGTH`."""
    return np.maximum(length, LEAST_LENGTH)


class Sensitivity:
    """The consequences of a run's records, clip and neighbours alone: a part of `RunArrays`, with
    its fields and units.
    """

    setting: Setting
    n: np.ndarray
    K: np.ndarray
    sigma: np.ndarray
    clip: np.ndarray
    records_per_person: np.ndarray

    @cached_property
    def joint(self) -> np.ndarray:
        """Whether a record's quotients are clipped together, which matters from two directions on."""
        return (self.setting.clipping == "joint") & (self.K > 1)

    @cached_property
    def clip_each(self) -> np.ndarray:
        """The clip on each quotient that lets a record move a step as far as the run's clip:
        clip/sqrt(K) for a joint one.
        """
        return np.where(self.joint, self.clip / np.sqrt(self.K), self.clip)

    @cached_property
    def person_share(self) -> Numbers:
        """A person's multiple of 2 Delta, by which one record's replacement moves the sum."""
        return np.minimum(self.records_per_person, self.n) * (
            0.5 if self.setting.neighbours == "add-remove" else 1.0
        )

    @cached_property
    def clipped_step(self) -> Numbers:
        """The largest difference of clipped updates at two points, in the span: 2 eta
        Delta/sqrt(K), or /K for a joint clip.
        """
        return above_underflow(2 * self.clip_each / self.sigma / np.sqrt(self.K))

    @cached_property
    def B_clip(self) -> Numbers:
        """The largest difference of neighbours' updates at the same point, in the span, by the clip
        alone. One replaced record moves it by 2 eta Delta/(n sqrt(K)), or 2 eta Delta/(nK) where
        the clip is joint.
        """
        return above_underflow(self.person_share * self.clipped_step / self.n)

    @cached_property
    def own_part(self) -> Numbers:
        """The record's, or the person's, share of a mean."""
        return np.minimum(self.records_per_person / self.n, 1.0)
