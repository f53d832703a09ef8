"""The scale of a run, found by the run itself: how far a step may lead, where to clip, and which
rate follows.

Probes find it, entries of the ledger that move nothing (docs/mechanism.md, "A scale that the run
finds"). Each asks its batch a question that every record answers by -1, 0 or 1, and releases the
mean with a step's noise, so that it costs what a step costs. Everything else follows from what they
release.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import fmean
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoexplore.mechanism.losses import Losses
from zoexplore.mechanism.perturbation import Perturbed
from zoexplore.mechanism.record import Found, Step
from zoexplore.mechanism.slopes import Slopes, quotient
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


@dataclass
class Search:
    """A positive number, approached in logarithms by noisy means of answers.

    Args:
        log: the logarithm now.
        share: the mean that is sought, of answers from -1 to 1.
        turn: 1 where a larger number makes the mean smaller, -1 where larger.
        full: how many changes are of full size.
        logs: the logarithms after each answer.
    """

    log: float
    share: float
    turn: int
    full: int
    logs: list[float]

    @property
    def is_done(self) -> bool:
        return len(self.logs) == PROBES

    @property
    def value(self) -> float:
        """What was found, or the number to ask about next."""
        return exp(fmean(self.logs[-COUNTED:]) if self.is_done else self.log)

    def take(self, mean: float) -> None:
        """Go on from a released mean."""
        size = FIRST * SHRINK ** max(0, len(self.logs) + 1 - self.full)
        self.log += self.turn * size * min(max(mean - self.share, -1.0), 1.0)
        self.logs.append(self.log)


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
        first: the first entry after the probes, None before it is known.
    """

    def __init__(self, choices: Choices) -> None:
        self.choices = choices
        # r: a quarter of the records' losses double
        self.length = Search(0.0, -0.5, -1, 5, []) if choices.auto else None
        self.quotient: Search | None = None  # c, from 1/r on: half of the quotients are larger
        self.first: int | None = None if choices.auto and not choices.public else 0

    @property
    def planned(self) -> int:
        """How many probes a run of these choices makes."""
        return (
            0
            if self.choices.public
            else PROBES * (bool(self.choices.auto) + ("clip" in self.choices.auto))
        )

    @property
    def asking(self) -> Search | None:
        """The search that goes on; None where everything is found."""
        if self.length is not None and not self.length.is_done:
            return self.length
        if "clip" in self.choices.auto and self.quotient is None and self.length is not None:
            self.quotient = Search(-log(self.length.value), 0.0, 1, 3, [])
        return None if self.quotient is None or self.quotient.is_done else self.quotient

    @property
    def left(self) -> int:
        """How many probes are still to be made."""
        searches = (self.length, self.quotient)
        return (
            0
            if self.choices.public
            else self.planned - sum(len(x.logs) for x in searches if x is not None)
        )

    def answers(self, losses: Losses, perturbed: Perturbed, batch: Any) -> Slopes:
        """What the records answer to the probe at hand, -1, 0 or 1, as quotients are measured. 0 is
        of a constant loss, which a missing record has.

        Raises:
            ValueError: a loss is below 0, which does not double.
        """
        asking = self.asking
        assert asking is not None and self.length is not None
        if asking is self.length:
            here = losses.here(batch)
            perturbed.to(0, asking.value)
            found, mean = _doubled(here, losses.here(batch)), here
        else:
            xi = self.length.value / FAR
            perturbed.to(0, xi)
            ahead = losses.here(batch)
            perturbed.to(0, -xi)
            behind = losses.here(batch)
            found, mean = _larger(quotient(ahead, behind, xi), asking.value), (ahead + behind) / 2
        loss = mean[mean.isfinite()].double()
        return Slopes(
            found.double().unsqueeze(1), 0, float(loss.mean()) if len(loss) else float("nan")
        )

    def take(self, mean: float, made: int) -> None:
        """Go on from what a probe has released, the entry `made` of the ledger."""
        asking = self.asking
        assert asking is not None
        asking.take(mean)
        if self.asking is None and not self.choices.public:
            self.first = made + 1

    def found(self, plan: Setting) -> Found | None:
        """What a plan, in units of the scale, becomes; None where probes go on or there are none."""
        if self.asking is not None or self.length is None:
            return None
        r, c = self.length.value, None if self.quotient is None else self.quotient.value
        sigma, b = plan.sigma / plan.clip_each, plan.batch or plan.n
        clip = (
            plan.clip_each
            if c is None
            else c * min(max(1 / (sigma * sqrt(b)), LEAST_CLIP), MOST_CLIP)
        )
        walk = self._walk(plan) * clip * sqrt(plan.K * (plan.K * sigma**2 + SPREAD / b))
        rate = r / walk if "lr" in self.choices.auto else plan.eta / plan.K
        xi = r / FAR if "xi" in self.choices.auto else plan.xi
        return Found(
            length=r,
            quotient=c,
            xi=xi,
            clip=clip,
            rate=rate,
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
        first = self.first or 0
        return sqrt(sum(self.decayed(plan.T, t) ** 2 for t in range(first, plan.T))) or 1.0

    def state_dict(self) -> dict[str, Any]:
        searches = {"length": self.length, "quotient": self.quotient}
        return {"first": self.first} | {
            name: None if x is None else list(x.logs) for name, x in searches.items()
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where a run stopped; what it did not look for, and this one is to find, is looked
        for next.
        """
        if not self.choices.auto or state["length"] is None:
            return
        self.__init__(self.choices)  # type: ignore[misc]
        for name in ("length", "quotient"):
            search = self.asking
            if search is not None and search is getattr(self, name) and state[name]:
                search.logs = [float(x) for x in state[name]]
                search.log = search.logs[-1]
        if self.asking is None:
            self.first = state["first"]


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


def _doubled(here: Tensor, there: Tensor) -> Tensor:
    """1 where a loss has more than doubled or is none, -1 where not, 0 where it did not change or
    was 0.
    """
    if (here < 0).any():
        raise ValueError(
            "a loss below 0 is not allowed where a run finds its own scale, from losses that double: add a constant to the loss, "
            "or give lr, clip and xi"
        )
    answers = torch.where((there > 2 * here) | there.isnan(), 1.0, -1.0)
    return answers.where((here != there) & (here != 0) & here.isfinite(), 0.0)


def _larger(quotients: Tensor, c: float) -> Tensor:
    """1 where a quotient exceeds c or is none, -1 where not, 0 where it is 0."""
    answers = torch.where((quotients.abs() > c) | ~quotients.isfinite(), 1.0, -1.0)
    return answers.where(quotients != 0, 0.0)
