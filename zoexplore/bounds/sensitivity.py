"""How far a record, or a person with several records, moves neighbours' runs apart in a step, and
how much noise the step has.
"""

from functools import cached_property

import numpy as np

from zoexplore.bounds.numbers import Numbers
from zoexplore.run.setting import Setting

# the least length, in units of noise; shorter ones are raised to it, so that no square underflows
LEAST_LENGTH = 1e-100


def above_underflow(length: Numbers) -> Numbers:
    """Raise the lengths, in their shape, to at least `LEAST_LENGTH`."""
    return np.maximum(length, LEAST_LENGTH)


class Sensitivity:
    """Holds what follows from a run's records, clip, noise and neighbours alone. It is the base of
    `RunArrays`, with the same fields and units.
    """

    setting: Setting
    n: np.ndarray
    d: np.ndarray
    K: np.ndarray
    T: np.ndarray
    sigma: np.ndarray
    beta: np.ndarray
    clip: np.ndarray
    records_per_person: np.ndarray
    cooldown: np.ndarray
    cooldown_beta: np.ndarray

    @cached_property
    def joint(self) -> np.ndarray:
        """Whether a record has several quotients that are clipped together."""
        return (self.setting.clipping == "joint") & (self.K > 1)

    @cached_property
    def clip_each(self) -> np.ndarray:
        """The clip on each quotient under which a record moves a step as far as under the run's own
        clip: clip/sqrt(K) for a joint clip.
        """
        return np.where(self.joint, self.clip / np.sqrt(self.K), self.clip)

    @cached_property
    def person_share(self) -> Numbers:
        """The multiple of 2 Delta by which a person moves the sum of clipped quotients; 1 for one
        replaced record.
        """
        return np.minimum(self.records_per_person, self.n) * (
            0.5 if self.setting.neighbours == "add-remove" else 1.0
        )

    @cached_property
    def clipped_step(self) -> Numbers:
        """The largest difference of clipped updates at two points, in the span: 2 eta
        Delta/sqrt(K), or 2 eta Delta/K for a joint clip.
        """
        return above_underflow(2 * self.clip_each / self.sigma / np.sqrt(self.K))

    @cached_property
    def B_clip(self) -> Numbers:
        """The largest difference of neighbours' updates at the same point, in the span, by the clip
        alone: 2 eta Delta/(n sqrt(K)) for one replaced record, or 2 eta Delta/(nK) for a joint
        clip.
        """
        return above_underflow(self.person_share * self.clipped_step / self.n)

    @cached_property
    def own_part(self) -> Numbers:
        """The share that the record, or the person, has in a mean."""
        return np.minimum(self.records_per_person / self.n, 1.0)

    @cached_property
    def last_beta(self) -> np.ndarray:
        """The share of the last step's noise along the directions."""
        return np.where(self.cooldown > 0, self.cooldown_beta, self.beta)

    @cached_property
    def cooled(self) -> np.ndarray:
        """The number of last steps whose share of the noise differs from that of the steps before
        them.
        """
        return np.where(self.last_beta == self.beta, 0.0, np.minimum(self.cooldown, self.T))

    @cached_property
    def last_noise(self) -> Numbers:
        """The variance of the last step's noise along each direction."""
        return self.last_beta / self.K + (1 - self.last_beta) / self.d

    @cached_property
    def s1(self) -> Numbers:
        """The variance that the directional noise adds to s2 along each direction."""
        return self.beta / self.K

    @cached_property
    def s2(self) -> Numbers:
        """The variance of the isotropic noise, in every coordinate."""
        return (1 - self.beta) / self.d
