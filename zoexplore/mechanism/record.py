"""A run as far as it went: its steps, recorded as they were made, and what was counted on the way."""

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import inf, nextafter
from os import getpid
from secrets import token_hex
from typing import Any, NamedTuple

from zoexplore.mechanism.declaration import Declared, why_not_idle
from zoexplore.run.setting import Setting


@dataclass(frozen=True)
class Step:
    """One step as it was made, in the fields of `Setting`, its mean taken over `batch` records; `clip` limits as `clipping` says,
    `eta` 0 is a step that moved nothing and looked at no data.
    """

    K: int
    sigma: float
    beta: float
    eta: float
    clip: float
    clipping: str
    batch: int | None
    xi: float
    ridge: float
    R: float
    sampling: str = "without-replacement"

    def on_all(self, n: int) -> bool:
        """Whether its batch is all n records, however it was drawn."""
        return self.batch in (None, n)


@dataclass(frozen=True)
class Counts:
    """Steps made; what was looked at by the clip (difference quotients, or records where it is joint) and how many of them it
    changed; steps that it changed anything in; quotients that were not finite, and counted as 0; steps that the projection moved.
    All of it is about the data.
    """

    steps: int = 0
    looked_at: int = 0
    clipped: int = 0
    steps_clipped: int = 0
    not_finite: int = 0
    projected: int = 0

    def after(self, looked_at: int = 0, clipped: int = 0, not_finite: int = 0) -> "Counts":
        """One more step."""
        more = {
            "steps": 1,
            "looked_at": looked_at,
            "clipped": clipped,
            "steps_clipped": int(clipped > 0),
            "not_finite": not_finite,
        }
        return replace(self, **{name: getattr(self, name) + count for name, count in more.items()})


class Branch(NamedTuple):
    """Steps that one optimiser made in a row.

    Args:
        name: nobody else's; a copy, or who goes on from a saved state, has another one.
        steps: how many.
        drawn: of how many of them the batches were drawn before the branches parted, which others may go on with too.
    """

    name: str
    steps: int
    drawn: int


SAVED = {"xi_factor": "stretch", "flaw": "doubt", "checked": "looked", "autocast": "autocast"}  # words in saved states


@dataclass
class Ledger:
    """What an optimiser writes down.

    Attributes:
        stages, xi_factor, flaw, checked, autocast, path: as in `RunRecord`. A flaw that was found stays.
        process: the one that writes.
    """

    stages: list[tuple[Step, int]] = field(default_factory=list)
    xi_factor: float = 1.0
    flaw: str = ""
    checked: int = 0
    autocast: bool = False
    path: list[Branch] = field(default_factory=lambda: [Branch(token_hex(8), 0, 0)])
    process: int = field(default_factory=getpid)

    def add(self, step: Step, xi_factor: float, drawn: int, autocast: bool = False) -> None:
        """Write down a step. What a forked process makes is another branch, with so many batches that were drawn before."""
        if self.process != getpid():
            self.part(drawn)
        self.xi_factor, self.autocast = max(self.xi_factor, xi_factor), self.autocast or autocast
        if self.stages and self.stages[-1][0] == step:
            self.stages[-1] = (step, self.stages[-1][1] + 1)
        else:
            self.stages.append((step, 1))
        self.path[-1] = self.path[-1]._replace(steps=self.path[-1].steps + 1)

    @property
    def has_moved(self) -> bool:
        return any(step.eta > 0 for step, _ in self.stages)

    def part(self, drawn: int) -> None:
        """Begin a branch, with so many batches that were drawn before."""
        self.process = getpid()
        self.path.append(Branch(token_hex(8), 0, drawn))

    def facts(self) -> dict[str, Any]:
        """What a `RunRecord` takes over."""
        return {name: getattr(self, name) for name in SAVED} | {"stages": tuple(self.stages), "path": tuple(self.path)}

    def state_dict(self) -> dict[str, Any]:
        stages, path = [[asdict(step), count] for step, count in self.stages], [list(branch) for branch in self.path]
        return {word: getattr(self, name) for name, word in SAVED.items()} | {"stages": stages, "path": path}

    @classmethod
    def of(cls, state: dict[str, Any]) -> "Ledger":
        found = cls(**{name: state[word] for name, word in SAVED.items() if word in state})
        found.stages = [(Step(**step), count) for step, count in state["stages"]]
        found.path = [Branch(*branch) for branch in state.get("path", [])]  # states of before branches had names have none
        return found


@dataclass(frozen=True)
class RunRecord:
    """A run as far as it went. Its steps alone are accounted; nothing that is set afterwards changes them.

    Args:
        setting: as the run is to be; of it n, d, delta, the neighbours and, in words, T count. Its regime, M, m and linear
            are suppositions, those of `declared` count.
        stages: the steps made, in order: equal ones in a row, and how many.
        counts: what was counted.
        declared: what the user vouches for.
        noise: where the noise came from.
        xi_factor: by what `Frame.resolve` may have made two points' distance count for more; 1 where it did nothing.
        rounded: parameters are in half precision, whose rounding no proof about distances covers.
        processed: what is made of updates after the noise (momentum, say), in words; empty where nothing.
        quotient_error: of the two-point quotients at the first step, relative (`checks.quotient_error`); None where not measured.
        flaw: why nobody knows what the steps revealed; empty where they did no more than they were to.
        checked: the last step at which losses were checked and were each record's own, 0 before the first.
        autocast: whether losses were computed under autocast, whose rounding no proof about distances covers.
        path: the branches that led here, this one last; empty where nobody says.
        is_secure: whether the noise is another one in every run and branch (`Sources.secure()`).
        equal: of the records that were seen, how many equal an earlier one, bit by bit.
        changed: how many records were handed out with other numbers than before.
        runs: how many were added up (`report.together`).
    """

    setting: Setting
    stages: tuple[tuple[Step, int], ...]
    counts: Counts
    declared: Declared
    noise: str
    xi_factor: float = 1.0
    rounded: bool = False
    processed: str = ""
    quotient_error: float | None = None
    flaw: str = ""
    checked: int = 0
    autocast: bool = False
    path: tuple[Branch, ...] = ()
    is_secure: bool = False
    equal: int = 0
    changed: int = 0
    runs: int = 1

    @cached_property
    def moving(self) -> dict[Step, int]:
        """The different steps that moved anything, and how many of each."""
        found: dict[Step, int] = {}
        for step, count in self.stages:
            if step.eta > 0:
                found[step] = found.get(step, 0) + count
        return found

    @property
    def steps(self) -> int:
        """That moved anything."""
        return sum(self.moving.values())

    @property
    def skipped_turns(self) -> bool:
        """Whether batches took turns and some of them moved nothing."""
        return any(step.sampling == "cyclic" and step.eta == 0 for step, _ in self.stages)

    @property
    def last(self) -> Step:
        """The last step that moved anything."""
        return next(step for step, _ in reversed(self.stages) if step.eta > 0)

    def varies(self, *fields: str) -> list[str]:
        """Which of some fields were not the same throughout."""
        return [name for name in fields if len({getattr(step, name) for step in self.moving}) > 1]

    def of(self, step: Step, count: int, **changes: Any) -> Setting:
        """That many such steps as a setting, with what is declared in place of what was only supposed. The clip is as it
        stands, each quotient's or joint, and may act unless what is declared proves it idle; xi allows for the factor, under
        which two points along each direction no longer tell of one linear form.
        """
        fields = asdict(step) | {"xi": step.xi * self.xi_factor, "T": count} | changes
        # what the clip does is proved from what is declared, never taken from the setting
        supposed = {"regime": "non-convex", "M": max(self.setting.M, step.ridge), "m": step.ridge}
        supposed |= {"lipschitz": self.declared.lipschitz if step.clipping == "joint" else None, "linear": False}
        if self.unproved:
            supposed["lipschitz"] = max(self.declared.lipschitz or inf, nextafter(fields["clip"], inf))
        described = self.declared.describe(self.setting.replace(**supposed | fields))
        if described.xi > 0 and self.xi_factor > 1:  # a quotient is then a sum of several, no odd function of its own direction
            return described.replace(linear=False)
        return described

    @cached_property
    def unproved(self) -> str:
        """Empty where the declared constants prove that the clip never acts; else what is missing, and the clip may act.

        A clip that was never seen to act is no proof: the neighbouring data set, or another draw of the noise, might have made it
        act.
        """
        found = (
            why_not_idle(self.declared, replace(step, xi=step.xi * self.xi_factor), self.xi_factor > 1) for step in self.moving
        )
        return next(filter(None, found), "")

    @property
    def disproved(self) -> str:
        """What happened that could not have, if what is declared were true; empty where nothing did."""
        if self.counts.not_finite:
            return f"{self.counts.not_finite} quotients were not finite, which no loss as declared has"
        if self.counts.clipped and not self.unproved:
            clipped = f"it changed {self.counts.clipped} of {self.counts.looked_at} quotients or records"
            return f"the clip was active: {clipped}, which what is declared rules out"
        return ""
