"""The record of a run: its steps, its counts, and the loss's declared constants, which are never
estimated.
"""

from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, replace
from functools import cached_property
from itertools import groupby
from math import inf, nextafter, sqrt
from operator import itemgetter
from typing import Any, NamedTuple

from zoexplore.run.limits import LARGEST_INTEGER
from zoexplore.run.setting import Setting

# a setting that allows whatever any run may have
ANY = Setting(n=LARGEST_INTEGER, d=LARGEST_INTEGER, K=1, T=1, sigma=1.0, beta=1.0)


@dataclass(frozen=True)
class Step:
    """An entry of a ledger, with fields of `Setting`. The step's mean divides by `batch`. A step
    with `eta` 0 moved nothing and looked at no data. A "probe" moved nothing either, but costs as
    much as a step with its noise.
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
    kind: str = "step"

    @property
    def moves(self) -> bool:
        """Whether the entry moved the parameters."""
        return self.eta > 0 and self.kind == "step"

    @property
    def clip_each(self) -> float:
        """The clip on each quotient under which a record moves a step as far as under `clip`."""
        return self.clip if self.clipping == "each" else self.clip / sqrt(self.K)

    def on_all(self, n: int) -> bool:
        """Whether the batch is all n records, however it was drawn."""
        return self.batch in (None, n)

    def is_secret(self, n: int) -> bool:
        """Whether nobody knows which of the n records were in the batch."""
        return self.sampling != "cyclic" and not self.on_all(n)


@dataclass(frozen=True)
class Counts:
    """Four counts: the steps made, the quotients looked at, the quotients clipped, and the
    quotients that were not finite and count as 0. With a joint clip, whole records are looked at
    and clipped instead of quotients. All counts but that of steps depend on the data.
    """

    steps: int = 0
    looked_at: int = 0
    clipped: int = 0
    not_finite: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(x + y for x, y in zip(astuple(self), astuple(other), strict=True)))


class Found(NamedTuple):
    """The scale that a run found and releases.

    Args:
        length: r, the length of a random move that doubles the loss of a quarter of the records.
        quotient: c, the median of the quotients' sizes; None if no probe sought it.
        xi: half the distance between two points.
        clip: the clip on a quotient.
        rate: the first learning rate, eta/K.
        decay: how the rate falls.
        public: whether r and c were found on public data.
    """

    length: float
    quotient: float | None
    xi: float
    clip: float
    rate: float
    decay: str
    public: bool


@dataclass(frozen=True)
class Declared:
    """Constants that hold for every record's loss, at every point that the data may lead to.
    Omitted constants are unknown.

    Args:
        regime: "strongly-convex", "convex" or "non-convex": the regime of the loss that is clipped,
            without the ridge.
        M: the smoothness of the loss, including the ridge.
        m: the strong convexity, including the ridge; needed in the regime "strongly-convex".
        lipschitz: the Lipschitz constant of the loss that is clipped, without the ridge, on the
            ball of radius R + xi. Both inf and None claim nothing, so that the clip may act.
        linear: whether the loss without the ridge is a function of one linear form of the
            parameters, as in `Setting`; used only if M is declared.

    Raises:
        ValueError: a constant is not a positive number, m exceeds M, or m is missing.
    """

    regime: str = "non-convex"
    M: float | None = None
    m: float | None = None
    lipschitz: float | None = None
    linear: bool = False

    def __post_init__(self) -> None:
        ANY.replace(**{name: x for name, x in asdict(self).items() if x is not None})
        if self.M == inf:
            raise ValueError(
                "M = inf is not allowed: give a finite number above 0, or None if unknown"
            )
        if self.m is not None and self.M is None:
            raise ValueError(
                f"m = {self.m!r} with M = None is not allowed: give an M of at least m"
            )
        if self.regime == "strongly-convex" and not self.m:
            raise ValueError(
                "regime = 'strongly-convex' needs m, the strong convexity of every record's loss with the ridge"
            )

    def describe(self, setting: Setting) -> Setting:
        """Return the setting with the declared constants in place of its own. The step size stays.

        Raises:
            ValueError: the setting's ridge exceeds the declared m or M.
        """
        if self.M is None:
            return setting.replace(eta=setting.eta)
        # outside "strongly-convex" no bound looks at m
        m = self.m if self.m is not None else setting.ridge
        return setting.replace(
            eta=setting.eta, M=self.M, m=m, regime=self.regime, linear=self.linear
        )


def why_not_idle(declared: Declared, step: Step, resolved: bool = False) -> str:
    """Say why a step's clip may act; return "" if it provably never does.

    A quotient is at most the Lipschitz constant L, by the mean value theorem. So is the length of a
    record's K-vector of derivatives, by Bessel's inequality. If xi > 0, each quotient differs from
    the derivative by up to (M - ridge) xi/2. Quotients that were taken along other unit vectors and
    `resolved` have the same bound, if the step's xi includes the run's `xi_factor`.
    """
    L = declared.lipschitz
    if L is None or L == inf:
        return "the Lipschitz constant of the clipped loss is not declared"
    longest, root = L, sqrt(step.K)
    if step.xi > 0 and (step.clipping == "joint" or resolved):
        rough = inf if resolved else root * L
        longest = (
            rough
            if declared.M is None
            else min(rough, L + root * (declared.M - step.ridge) * step.xi / 2)
        )
    if longest <= step.clip:
        return ""
    what = "difference quotient" if step.clipping == "each" else "vector of difference quotients"
    return f"a record's {what} may be as large as {longest:.4g}, above the clip {step.clip:.4g}"


@dataclass(frozen=True)
class RunRecord:
    """A run up to its last step. Only the steps made are accounted, whatever is set afterwards.

    Args:
        setting: the planned run. Guarantees use its n, d, delta, neighbours and records_per_person,
            and the report's text its T. Its regime, M, m and linear give way to those of
            `declared`.
        stages: the steps made, in order; each comes with how many equal ones were made in a row.
        counts: counts of the steps so far.
        declared: the constants of the loss that the user declared.
        noise: where the noise came from.
        xi_factor: the largest factor by which `Frame.resolve` may have lengthened the distance
            between two points; 1 if it did not.
        rounded: whether parameters are in half precision, whose rounding no proof about distances
            covers.
        flaw: why the steps may have revealed more than planned; empty if not.
        checked: the last step at which losses were checked and each depended on its own record
            alone; 0 if there is none.
        halves: whether losses were computed in half precision, whose rounding no proof about
            distances covers.
        returned: whether the parameters went back to a saved iterate of this run, which the data
            may have chosen.
        root: the run's name, which its copies, forks and continuations share; empty if unknown.
        is_secure: whether every run and branch draws noise of its own (`Sources.secure()`).
        found: the scale that the run found; None if it found none.
        target: the epsilon that the run keeps to; None if it has none.
        plan: the plan as it is counted, if the run finds its scale. No entry should cost more than
            a step of this plan.
    """

    setting: Setting
    stages: tuple[tuple[Step, int], ...]
    counts: Counts
    declared: Declared
    noise: str
    xi_factor: float = 1.0
    rounded: bool = False
    flaw: str = ""
    checked: int = 0
    halves: bool = False
    returned: bool = False
    root: str = ""
    is_secure: bool = False
    found: Found | None = None
    target: float | None = None
    plan: Setting | None = None

    def after(self, step: Step, counts: Counts, xi_factor: float) -> "RunRecord":
        """Return the record with one more step and that step's counts."""
        before, made = self.stages, 0
        if before and before[-1][0] == step:
            before, made = before[:-1], before[-1][1]
        return replace(
            self,
            stages=(*before, (step, made + 1)),
            counts=self.counts + replace(counts, steps=1),
            xi_factor=max(self.xi_factor, xi_factor),
        )

    @property
    def has_looked(self) -> bool:
        """Whether an entry looked at the data."""
        return any(step.eta > 0 for step, _ in self.stages)

    @cached_property
    def looked(self) -> dict[Step, int]:
        """The distinct entries that looked at the data, and the number of each. Here all entries
        have eta 1, since no cost depends on eta.
        """
        return _counted((replace(step, eta=1.0), count) for step, count in self.stages if step.eta)

    @cached_property
    def moving(self) -> dict[Step, int]:
        """The distinct steps that moved anything, and the number of each."""
        return _counted((step, count) for step, count in self.stages if step.moves)

    @cached_property
    def shares(self) -> list[tuple[float, int]]:
        """The shares beta of the steps that moved anything, in order, and how many steps in a row
        had each.
        """
        moved = ((step.beta, count) for step, count in self.stages if step.moves)
        rows = groupby(moved, key=itemgetter(0))
        return [(beta, sum(count for _, count in row)) for beta, row in rows]

    @property
    def steps(self) -> int:
        """How many entries looked at the data."""
        return sum(self.looked.values())

    @property
    def probes(self) -> int:
        """How many entries looked at the data and moved nothing."""
        return sum(count for step, count in self.looked.items() if step.kind == "probe")

    @property
    def has_secret_batches(self) -> bool:
        """Whether some entry's batch was secret."""
        return any(step.is_secret(self.setting.n) for step in self.looked)

    @property
    def skips_batches(self) -> bool:
        """Whether some step on a cyclic batch moved nothing."""
        return any(step.sampling == "cyclic" and step.eta == 0 for step, _ in self.stages)

    @property
    def last(self) -> Step:
        """The last step that moved anything, or else the last probe."""
        stages = reversed(self.stages)
        return next(x for x, _ in stages if x.moves or (x.eta > 0 and not self.moving))

    def varies(self, *fields: str) -> list[str]:
        """List which of `fields` changed during the run."""
        return [name for name in fields if len({getattr(step, name) for step in self.moving}) > 1]

    def of(self, step: Step, count: int, **changes: Any) -> Setting:
        """Return the setting of `count` steps equal to `step`, with the declared constants. The
        clip may act unless the declared constants prove it idle. xi includes `xi_factor`; if the
        factor exceeds 1, the setting is not linear.
        """
        fields = {name: x for name, x in asdict(step).items() if name != "kind"}
        fields |= {"xi": step.xi * self.xi_factor, "T": count, "cooldown": 0} | changes
        # the clip is idle only if the declared constants prove it, whatever the setting says
        supposed = {"regime": "non-convex", "M": max(self.setting.M, step.ridge), "m": step.ridge}
        supposed |= {
            "lipschitz": self.declared.lipschitz if step.clipping == "joint" else None,
            "linear": False,
        }
        if self.unproved:
            supposed["lipschitz"] = max(
                self.declared.lipschitz or inf, nextafter(fields["clip"], inf)
            )
        described = self.declared.describe(self.setting.replace(**supposed | fields))
        # a combination of quotients along probes is no odd function of a direction
        if described.xi > 0 and self.xi_factor > 1:
            return described.replace(linear=False)
        return described

    @cached_property
    def unproved(self) -> str:
        """Why the clip may act; "" if the declared constants prove that it never does.

        A clip that was never seen to act is no proof: the neighbouring data set, or another draw of
        the noise, might have made it act.
        """
        reasons = (
            why_not_idle(
                self.declared, replace(step, xi=step.xi * self.xi_factor), self.xi_factor > 1
            )
            for step in self.moving
        )
        return next(filter(None, reasons), "")

    @property
    def disproved(self) -> str:
        """An event that contradicts the declared constants; "" if there was none."""
        if self.counts.not_finite:
            return (
                f"{self.counts.not_finite} quotients were not finite, which no loss as declared has"
            )
        if self.counts.clipped and not self.unproved:
            clipped = (
                f"it changed {self.counts.clipped} of {self.counts.looked_at} quotients or records"
            )
            return f"the clip was active: {clipped}, which what is declared rules out"
        return ""


def _counted(stages: Iterable[tuple[Step, int]]) -> dict[Step, int]:
    """Add up the numbers of equal steps."""
    counts: dict[Step, int] = {}
    for step, count in stages:
        counts[step] = counts.get(step, 0) + count
    return counts
