"""The privacy report: every bound's guarantee for what was actually run, its assumptions held against the run."""

from dataclasses import dataclass

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.assumptions import Check
from zoexplore.formatting import round_up
from zoexplore.mechanism.run_guarantees import against, composition, of_last, refused
from zoexplore.mechanism.run_record import RunRecord, Step
from zoexplore.setting import Accounting

RELEASED = ("last", "all")
MARKS = {True: "holds", None: "yours to vouch for", False: "not met"}
NEVER_COVERED = (
    "Not covered by ε: hyper-parameters chosen on the same data, and whatever else looked at it and is shown: losses, "
    "progress, when the run was stopped, the counts in this report. Nor is rounding: the proofs are about real numbers. Before "
    "the noise is added it moves a mean by some 1e-16 of the clip, where a record moves it by 2/n of the clip; afterwards "
    "composition covers it, and the bounds for the last iterate leave out what it moves the parameters by: up to 6e-8 of "
    "themselves in float32, 1e-16 in float64, each time: once or twice a step, and 3K times more where no copy of them is kept."
)


@dataclass(frozen=True, repr=False)
class Report:
    """What a run costs. Shown, it says all of it in words.

    Args:
        record: the run.
        released: "last" or "all" of its iterates.
        guarantees: by bound; epsilon is inf, with a reason, where one does not apply to this run.
        checks: what was held against the run. What is not met costs the bounds that need it, as their reasons say.
    """

    record: RunRecord
    released: str
    guarantees: dict[str, Guarantee]
    checks: tuple[Check, ...]

    @property
    def epsilon(self) -> float:
        """The least of the bounds' epsilons: each of them holds, so the least does."""
        return min(g.epsilon for g in self.guarantees.values())

    def __repr__(self) -> str:
        record, counts = self.record, self.record.counts
        what = "the last iterate alone" if self.released == "last" else "every iterate"
        delta = f"δ = {round_up(record.setting.delta, 6):g}"
        lines = [
            f"{counts.steps} of {record.setting.T} steps, {_directions(record)}; released: {what}; {delta}; "
            f"neighbours: {record.setting.neighbours}",
            "",
        ]
        for g in self.guarantees.values():
            epsilon = f"{round_up(g.epsilon):.4g}" if g.valid else "∞"
            lines.append(f"{g.title:<24} ε = {epsilon:<10}{'; '.join(filter(None, (g.reason, g.note)))}".rstrip())
        lines += ["", *(f"[{MARKS[c.met]}] {c.words} {c.shortfall}".rstrip() for c in self.checks), ""]
        clipped = f"{counts.clipped} of {counts.looked_at} clipped, in {counts.steps_clipped} steps"
        not_finite = f"{counts.not_finite} quotients not finite, taken as 0"
        lines.append(f"Counted: {clipped}; {not_finite}; {counts.projected} steps projected.")
        if record.quotient_error is not None:
            lines.append(
                f"At the first step two points were off by {record.quotient_error:.2g} of what they say (rounding, curvature)."
            )
        return "\n".join([*lines, record.noise, NEVER_COVERED])


def _directions(record: RunRecord) -> str:
    """Also which fields varied from step to step, and between what."""
    K = sorted({step.K for step in record.moving})
    said = f"{' or '.join(map(str, K))} directions of {record.setting.d}"
    for name in record.varies(*(name for name in Step.__annotations__ if name not in ("K", "clipping", "sampling"))):
        values = [record.setting.n if (x := getattr(step, name)) is None else x for step in record.moving]
        said += f", {name} from {min(values):.4g} to {max(values):.4g}"
    return said


def privacy_report(
    record: RunRecord, *, released: str = "last", conversion: str = "gaussian", sensitivity: str = "clip"
) -> Report:
    """Every bound's guarantee for a run as far as it went.

    Args:
        record: the run.
        released: "last" where no other iterate is ever seen by anybody else; "all" where each may be.
        conversion: from a budget to epsilon, as in `Accounting`.
        sensitivity: as in `Accounting`; "lipschitz" takes effect where the clip is proven idle and M is declared.

    Raises:
        ValueError: an option is unknown, or no step was made yet.
    """
    if released not in RELEASED:
        raise ValueError(f"released = {released!r} is not allowed: give one of {', '.join(map(repr, RELEASED))}")
    if not record.steps:
        raise ValueError("no step was made yet: there is nothing to report")
    accounting = Accounting(conversion=conversion, sensitivity=sensitivity)
    known = not against(record, "sharp")
    composed = composition(record, accounting if known else accounting.replace(sensitivity="clip"))

    def of(bound: str) -> Guarantee:
        reasons = against(record, bound)
        if bound == "composition":
            return refused(composed, bound, reasons) if reasons else composed
        if released == "all":
            reasons = ["every iterate is released, and this bound is for the last one alone"]
        return refused(composed, bound, reasons) if reasons else of_last(record, bound, accounting)

    return Report(record, released, {bound: of(bound) for bound in BOUNDS}, _checks(record, released))


def _checks(record: RunRecord, released: str) -> tuple[Check, ...]:
    declared, acts = record.declared, record.disproved or record.unproved
    smooth = "Smoothness and regime of the loss are declared."
    idle = "The clip is idle: its norm is at least the declared Lipschitz constant, and it was never active."
    checks = [
        Check(smooth, False, "M is not.")
        if declared.M is None
        else Check(smooth, None, f"{declared.regime}, M = {declared.M:g}{', of one linear form' if declared.linear else ''}."),
        Check(idle, False, f"{acts[0].upper()}{acts[1:]}.") if acts else Check(idle, None),
        Check("A record's loss depends on no other record; some were looked at, at the first step.", None),
        Check("The start did not depend on the data, as the outcome of an earlier run on them does.", None),
    ]
    if released == "last":
        checks.append(Check("Only the last iterate is released, and nobody who chooses the data knows the directions.", None))
    if record.setting.neighbours == "add-remove":
        checks.append(Check("n is public: a record that is removed leaves its place empty, to one whose loss is constant.", None))
    sampled = {step.sampling for step in record.moving if not step.on_all(record.setting.n)}
    if sampled - {"cyclic"}:
        checks.append(Check("Nobody sees which records were drawn for a batch.", None))
    if "cyclic" in sampled:
        checks.append(Check("The records' order, by which batches take turns, does not depend on what they contain.", None))
    return tuple(checks)
