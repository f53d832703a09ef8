"""Finds the scale of a run: how far a step may lead, where to clip, and which rate follows.

Probes find the scale: entries of the ledger that move nothing (docs/mechanism.md, "A scale that the
run finds"). Each probe asks its batch a question, which every record answers by -1, 0 or 1. The
probe releases the mean answer with a step's noise, so it costs as much as a step. All else follows
from these means.
"""

from collections.abc import Callable, Mapping, Sequence
from math import exp, log, sqrt
from statistics import fmean
from typing import Any, NamedTuple

import torch

from zoexplore.mechanism.losses import Losses
from zoexplore.mechanism.perturbation import Perturbed
from zoexplore.mechanism.record import Found, Step
from zoexplore.mechanism.slopes import Slopes, at, quotient
from zoexplore.questions.recommendation import LEAST_CLIP, MOST_CLIP, PROBES
from zoexplore.run.setting import Setting

COUNTED = 5  # how many of the last logarithms are averaged
# the largest change of a logarithm, and the factor that it shrinks by from one probe to the next
FIRST, SHRINK = 2.0, 0.8
FAR = 30.0  # r (`Scale.length`) over xi, the distance from the iterate w to a quotient's point
SPREAD = 0.65  # roughly the variance of clipped quotients divided by the squared clip
AUTO = "auto"
DECAYS: Mapping[str, Callable[[float], float]] = {
    "constant": lambda part: 1.0,
    "linear": lambda part: 1 - part,
}


class Choices(NamedTuple):
    """What `for_epsilon` leaves to a run: which of "lr", "clip" and "xi" the run finds, how its
    rate falls, and whether public data tell its scale.
    """

    auto: frozenset[str]
    decay: str
    public: bool


GIVEN = Choices(frozenset(), "constant", False)


class Scale:
    """The scale of a run, as far as it is found. The run's plan is in units of the scale.

    Args:
        choices: what is to be found.

    Attributes:
        means: the means that probes have released.
        first: the index of the first entry after the probes; None until it is known.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices, self.means = choices, list[float]()
        self.first: int | None = None if self.left else 0

    @property
    def sought(self) -> int:
        """How many means tell the scale."""
        return PROBES * (bool(self.choices.auto) + ("clip" in self.choices.auto))

    @property
    def is_found(self) -> bool:
        return len(self.means) == self.sought

    @property
    def planned(self) -> int:
        """How many probes a run of these choices makes."""
        return 0 if self.choices.public else self.sought

    @property
    def left(self) -> int:
        """How many probes are still to be made."""
        return 0 if self.choices.public else self.sought - len(self.means)

    @property
    def length(self) -> float:
        """r, the length of a random move at which a quarter of the records' losses double."""
        return approached(self.means[:PROBES], 0.0, -0.5, -1, 5)

    @property
    def quotient(self) -> float:
        """c, the size that half of the quotients exceed. The search for it starts at 1/r."""
        return approached(self.means[PROBES:], -log(self.length), 0.0, 1, 3)

    def answers(self, losses: Losses, perturbed: Perturbed, batch: Any) -> Slopes:
        """Ask the records the probe's question: does your loss more than double or, in later
        probes, does your quotient exceed c in size? Yes counts 1 and no counts -1; a number that is
        not finite says yes. A loss that does not change, such as the constant loss of a missing
        record, counts 0.

        Raises:
            ValueError: a loss is below 0, so that it cannot double.
        """
        if len(self.means) < PROBES:
            mean, there = losses.here(batch), at(losses, perturbed, batch, self.length)
            if (mean < 0).any():
                raise ValueError(
                    "a loss below 0 is not allowed where a run finds its own scale, from losses that double: add a constant to the "
                    "loss, or give lr, clip and xi"
                )
            yes = (there > 2 * mean) | there.isnan()
            tells = (mean != there) & (mean != 0) & mean.isfinite()
        else:
            xi = self.length / FAR
            ahead, behind = (at(losses, perturbed, batch, x) for x in (xi, -xi))
            quotients, mean = quotient(ahead, behind, xi), (ahead + behind) / 2
            yes, tells = (quotients.abs() > self.quotient) | ~quotients.isfinite(), quotients != 0
        answers = torch.where(yes, 1.0, -1.0).where(tells, 0.0)
        return Slopes(answers.double().unsqueeze(1), float(mean[mean.isfinite()].double().mean()))

    def take(self, mean: float, made: int) -> None:
        """Go on from the mean that a probe released. The probe is entry `made` of the ledger."""
        self.means.append(mean)
        if self.is_found and not self.choices.public:
            self.first = made + 1

    def found(self, plan: Setting) -> Found | None:
        """Return the scale in numbers, for a plan in units of it; None until it is known, or if
        nothing is sought.
        """
        auto, sigma, b = self.choices.auto, plan.sigma / plan.clip_each, plan.b
        if not auto or not self.is_found:
            return None
        r, clip, c = self.length, plan.clip_each, self.quotient if "clip" in auto else None
        if c is not None:
            clip = c * min(max(1 / (sigma * sqrt(b)), LEAST_CLIP), MOST_CLIP)
        walk = self._walk(plan) * clip * sqrt(plan.K * (plan.K * sigma**2 + SPREAD / b))
        return Found(
            length=r,
            quotient=c,
            xi=r / FAR if "xi" in auto else plan.xi,
            clip=clip,
            rate=r / walk if "lr" in auto else plan.eta / plan.K,
            decay=self.choices.decay,
            public=self.choices.public,
        )

    def applied(self, plan: Setting) -> Setting:
        """Return the plan in numbers; return it as it is until the scale is found."""
        if (found := self.found(plan)) is None:
            return plan
        part = found.clip / plan.clip_each
        return plan.replace(
            clip=plan.clip * part, sigma=plan.sigma * part, xi=found.xi, eta=found.rate * plan.K
        )

    def decayed(self, T: int, t: int) -> float:
        """Return the fraction of the first rate that is left at entry t of T."""
        first = self.first or 0
        return DECAYS[self.choices.decay]((t - first) / (T - first))

    def _walk(self, plan: Setting) -> float:
        """Return how far all training steps lead together, in lengths of a step at full rate. Their
        squared lengths add up, since steps lead in random directions.
        """
        entries = range(self.first or 0, plan.T)
        return sqrt(sum(self.decayed(plan.T, t) ** 2 for t in entries)) or 1.0

    def state_dict(self) -> dict[str, Any]:
        return {"first": self.first, "means": [*self.means]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a saved run stopped. What this run seeks and the saved one did not, this run
        seeks next.
        """
        if self.choices.auto and state["means"]:
            self.means = [float(x) for x in state["means"][: self.sought]]
            self.first = state["first"] if self.is_found else None


def approached(means: Sequence[float], start: float, share: float, turn: int, full: int) -> float:
    """Search for a positive number, in logarithms, by noisy means of answers. Return the number to
    ask about next or, after the last mean, the number found.

    Args:
        means: the means of answers from -1 to 1.
        start: the first logarithm.
        share: the mean that is sought.
        turn: 1 if a larger number makes the mean smaller, -1 if it makes the mean larger.
        full: how many of the first changes are of full size.
    """
    logs = [start]
    for i, mean in enumerate(means, 1):
        size = FIRST * SHRINK ** max(0, i - full)
        logs.append(logs[-1] + turn * size * min(max(mean - share, -1.0), 1.0))
    return exp(fmean(logs[-COUNTED:]) if len(means) == PROBES else logs[-1])


def probe_of(plan: Setting, batch: int | None) -> Step:
    """Make a probe that costs as much as a step of the plan. It has one direction, with all noise
    along it, and an answer is at most 1.
    """
    noise = plan.sigma / plan.clip_each * sqrt(plan.beta + (1 - plan.beta) * plan.K / plan.d)
    return Step(
        K=1,
        sigma=noise,
        beta=1.0,
        eta=1.0,
        clip=1.0,
        clipping="each",
        batch=batch,
        xi=plan.xi or 1.0,
        ridge=0.0,
        R=plan.R,
        sampling=plan.sampling,
        kind="probe",
    )
