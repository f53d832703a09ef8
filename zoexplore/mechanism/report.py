"""The privacy report: every bound's guarantee for what was actually run, its assumptions held against the run."""

from dataclasses import dataclass

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.assumptions import Check
from zoexplore.mechanism.accounted import against, composition, of_last, refused
from zoexplore.mechanism.ran import Ran
from zoexplore.setting import Accounting

RELEASED = ("last", "all")
MARKS = {True: "holds", None: "yours to vouch for", False: "not met"}
NEVER_COVERED = (
    "Not covered by ε: hyper-parameters chosen on the same data, and whatever else looked at it and is shown: losses, "
    "progress, when the run was stopped, the counts in this report. Nor is rounding: the proofs are about real numbers. It moves "
    "a mean by up to 6e-8 of the clip in float32, by 1e-16 in float64, where a record moves it by 2/n of the clip."
)


@dataclass(frozen=True, repr=False)
class Report:
    """What a run costs. Shown, it says all of it in words.

    Args:
        ran: the run.
        released: "last" or "all" of its iterates.
        guarantees: by bound; epsilon is inf, with a reason, where one does not apply to this run.
        checks: what was held against the run. What is not met costs the bounds that need it, as their reasons say.
    """

    ran: Ran
    released: str
    guarantees: dict[str, Guarantee]
    checks: tuple[Check, ...]

    @property
    def epsilon(self) -> float:
        """The least of the bounds' epsilons: each of them holds, so the least does."""
        return min(g.epsilon for g in self.guarantees.values())

    def __repr__(self) -> str:
        s, what = self.ran.setting, "the last iterate alone" if self.released == "last" else "every iterate"
        lines = [f"{self.ran.counts.steps} of {s.T} steps, {s.K} directions of {s.d}; released: {what}; δ = {s.delta:g}", ""]
        for g in self.guarantees.values():
            epsilon = f"{g.epsilon:.4g}" if g.valid else "∞"
            lines.append(f"{g.title:<24} ε = {epsilon:<10}{'; '.join(filter(None, (g.reason, g.note)))}".rstrip())
        lines += ["", *(f"[{MARKS[c.met]}] {c.words} {c.shortfall}".rstrip() for c in self.checks)]
        counts = self.ran.counts
        clipped = f"{counts.clipped} of {counts.looked_at} clipped, in {counts.steps_clipped} steps"
        counted = f"{'the clip was skipped' if self.ran.skipped_clip else clipped}; {counts.projected} steps projected."
        return "\n".join([*lines, "", f"Counted: {counted}", self.ran.noise, NEVER_COVERED])


def privacy_report(ran: Ran, *, released: str = "last", conversion: str = "gaussian", sensitivity: str = "clip") -> Report:
    """Every bound's guarantee for a run as far as it went.

    Args:
        ran: the run.
        released: "last" where no other iterate is ever seen by anybody else; "all" where each may be.
        conversion: from a budget to epsilon, as in `Accounting`.
        sensitivity: as in `Accounting`; "lipschitz" takes effect where the clip is proven idle and M is declared.

    Raises:
        ValueError: an option is unknown, or no step was made yet.
    """
    if released not in RELEASED:
        raise ValueError(f"released = {released!r} is not allowed: give one of {', '.join(map(repr, RELEASED))}")
    if not ran.counts.steps:
        raise ValueError("no step was made yet: there is nothing to report")
    accounting = Accounting(conversion=conversion, sensitivity=sensitivity)
    known = not against(ran, "sharp")
    composed = composition(ran, accounting if known else accounting.replace(sensitivity="clip"))

    def of(bound: str) -> Guarantee:
        reasons = against(ran, bound)
        if bound == "composition":
            return refused(composed, bound, reasons) if reasons else composed
        if released == "all":
            reasons = ["every iterate is released, and this bound is for the last one alone"]
        return refused(composed, bound, reasons) if reasons else of_last(ran, bound, accounting)

    return Report(ran, released, {bound: of(bound) for bound in BOUNDS}, _checks(ran, released))


def _checks(ran: Ran, released: str) -> tuple[Check, ...]:
    setting, declared = ran.setting, ran.declared
    smooth = "Smoothness and regime of the loss are declared."
    idle = "The clip is idle: its norm is at least the declared Lipschitz constant, and it was never active."
    seen = "" if not ran.skipped_clip else "It was skipped, so that composition rests on the declaration too."
    checks = [
        Check(smooth, False, "M is not.")
        if declared.M is None
        else Check(smooth, None, f"{declared.regime}, M = {declared.M:g}."),
        Check(idle, False, ran.why_not_idle + ".") if ran.why_not_idle else Check(idle, None, seen),
        Check("The start did not depend on the data, as the outcome of an earlier run on them does.", None),
    ]
    if released == "last":
        checks.append(Check("Only the last iterate is released, and nobody who chooses the data knows the directions.", None))
    if not setting.full_batch:
        checks.append(Check(f"Each step had the {setting.batch} records that were drawn for it, and nobody sees which.", None))
    return tuple(checks)
