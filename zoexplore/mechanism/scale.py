"""The scale of a run, found by the run itself: how far a step may lead, where to clip, and which
rate follows.

Probes find it, entries of the ledger that move nothing (docs/mechanism.md, "A scale that the run
finds"). Each asks its batch a question that every record answers by -1, 0 or 1, and releases the
mean with a step's noise, so that it costs what a step costs. Everything else follows from what they
release.
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

COUNTED = 5  # its last ones, whose logarithms are averaged
# the largest change of a logarithm, and its factor from one probe to the next
FIRST, SHRINK = 2.0, 0.8
FAR = 30.0  # two points lie this part of the length r apart from w
SPREAD = 0.65  # a clipped quotient's variance over the squared clip, about
AUTO = "auto"
DECAYS: Mapping[str, Callable[[float], float]] = {
    "constant": lambda part: 1.0,
    "linear": lambda part: 1 - part,
}


class Choices(NamedTuple):
    """What a run finds by itself, among "lr", "clip" and "xi"; how its rate falls; and whether
    public data tell its scale.
    """

    auto: frozenset[str]
    decay: str
    public: bool


GIVEN = Choices(frozenset(), "constant", False)


class Scale:
    """The scale of a run with a plan in units of it.

    Args:
        choices: what is to be found.

    Attributes:
        means: what probes have released.
        first: the first entry after the probes, None before it is known.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices, self.means = choices, list[float]()
        self.first: int | None = None if self.left else 0

    @property
    def sought(self) -> int:
        """How many means tell it."""
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
        """r: a quarter of the records' losses double."""
        return approached(self.means[:PROBES], 0.0, -0.5, -1, 5)

    @property
    def quotient(self) -> float:
        """c, from 1/r on: half of the quotients are larger."""
        return approached(self.means[PROBES:], -log(self.length), 0.0, 1, 3)

    def answers(self, losses: Losses, perturbed: Perturbed, batch: Any) -> Slopes:
        """What the records answer to the probe at hand, as quotients are measured: 1 where a loss
        has more than doubled or a quotient exceeds c, or is none, -1 where not, 0 where it did not
        change, as the constant loss of a missing record.

        Raises:
            ValueError: a loss is below 0, which does not double.
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
        """Go on from what a probe has released, the entry `made` of the ledger."""
        self.means.append(mean)
        if self.is_found and not self.choices.public:
            self.first = made + 1

    def found(self, plan: Setting) -> Found | None:
        """What a plan, in units of the scale, becomes; None where probes go on or there are none."""
        auto, sigma, b = self.choices.auto, plan.sigma / plan.clip_each, plan.batch or plan.n
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
        """The plan in numbers, once they are found."""
        if (found := self.found(plan)) is None:
            return plan
        part = found.clip / plan.clip_each
        return plan.replace(
            clip=plan.clip * part, sigma=plan.sigma * part, xi=found.xi, eta=found.rate * plan.K
        )

    def decayed(self, T: int, t: int) -> float:
        """The part of the rate at entry t of T."""
        first = self.first or 0
        return DECAYS[self.choices.decay]((t - first) / (T - first))

    def _walk(self, plan: Setting) -> float:
        """The length of all training steps together over that of one of full rate: they lead in
        random directions.
        """
        entries = range(self.first or 0, plan.T)
        return sqrt(sum(self.decayed(plan.T, t) ** 2 for t in entries)) or 1.0

    def state_dict(self) -> dict[str, Any]:
        return {"first": self.first, "means": [*self.means]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a run stopped; what it did not look for, and this one is to find, is looked
        for next.
        """
        if self.choices.auto and state["means"]:
            self.means = [float(x) for x in state["means"][: self.sought]]
            self.first = state["first"] if self.is_found else None


def approached(means: Sequence[float], start: float, share: float, turn: int, full: int) -> float:
    """A positive number, approached in logarithms by noisy means of answers: what was found, or the
    number to ask about next.

    Args:
        means: of answers from -1 to 1.
        start: the logarithm at first.
        share: the mean that is sought.
        turn: 1 where a larger number makes the mean smaller, -1 where larger.
        full: how many changes are of full size.
    """
    logs = [start]
    for i, mean in enumerate(means, 1):
        size = FIRST * SHRINK ** max(0, i - full)
        logs.append(logs[-1] + turn * size * min(max(mean - share, -1.0), 1.0))
    return exp(fmean(logs[-COUNTED:]) if len(means) == PROBES else logs[-1])


def probe_of(plan: Setting, batch: int | None) -> Step:
    """A probe that costs what a step of the plan costs: all noise is along its one direction, and
    an answer is at most 1.
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
