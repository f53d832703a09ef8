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
    "themselves in float32, 1e-16 in float64, each time: once or twice a step, and 3K times more where moved there and back."
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
        steps, of = f"{counts.steps} of {record.setting.T} steps", "; of this branch alone"
        if record.runs > 1:
            steps, of = f"{record.runs} runs or branches together, of {counts.steps} steps", "; what they share counts once"
        head = f"{steps}, {_directions(record)}; released: {what}; {delta}; neighbours: {record.setting.neighbours}"
        lines = [f"{head}{of}", ""]
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
    record: RunRecord, *, released: str = "last", conversion: str = "gaussian", sensitivity: str = "least"
) -> Report:
    """Every bound's guarantee for a run as far as it went.

    Args:
        record: the run.
        released: "last" where no other iterate is ever seen by anybody else; "all" where each may be.
        conversion: from a budget to epsilon, as in `Accounting`.
        sensitivity: as in `Accounting`; the length of gradients is used where it is declared, and M with it.

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
    checks = [
        Check("Nothing was found that reveals more than is counted.", not record.doubt, record.doubt and f"{record.doubt}."),
        *_of_the_loss(record),
        *(Check(words, None) for words in vouched_for(record, released)),
    ]
    return tuple(checks)


def _of_the_loss(record: RunRecord) -> list[Check]:
    """What is declared of the loss, and whether the clip may act."""
    declared, words, acts = record.declared, [], record.unproved
    if declared.M is not None:
        form = ", of one linear form" if declared.linear else ""
        words.append(f"The loss is {declared.regime} and smooth, M = {declared.M:g}{form}, as declared.")
    if declared.lipschitz is not None:
        words.append(f"Its gradients are no longer than the declared {declared.lipschitz:g}.")
    checks = [Check(text, None) for text in words]
    if acts:
        clip = "Composition holds whether or not the clip acts. Bounds that want a clip that never does leave this run out:"
        checks.append(Check(clip, True, f"{acts}."))
    if record.disproved:
        checks.append(Check("What happened agrees with what is declared.", False, f"But {record.disproved}."))
    return checks


def vouched_for(record: RunRecord, released: str) -> list[str]:
    """What nothing here can see, and the report rests on: the list in docs/mechanism.md, "What you vouch for"."""
    n, sampled = record.setting.n, {step.sampling for step in record.moving if not step.on_all(record.setting.n)}
    equal = f" {record.equal} records equal another one, bit by bit." if record.equal else ""
    changed = f" {record.changed} records changed from one step to another." if record.changed else ""
    looked = f", last at step {record.looked} of {record.counts.steps}" if record.looked else ""
    of = "this report is of this branch" if record.runs == 1 else f"this report is of these {record.runs} runs or branches"
    said = [
        f"Losses: each depends on its own record alone, at every step. Some were looked at{looked}.",
        "Start: neither the parameters at the start, nor frozen parts, nor what else the loss uses were made from these data.",
        f"Persons: whoever is to be protected has one record, and it is record i of {n} at every step.{equal}{changed}",
        f"Other runs: {of} alone. Each further run on these data adds to it, and so does each that goes on from the same saved "
        "state: zoexplore.mechanism.together(reports) adds them up.",
        "Choices: no setting, stopping time or best run was chosen by looking at these data, and no loss or count is shown.",
    ]
    if released == "last":
        said.append("Release: nobody ever sees another iterate, a checkpoint or an average, or, choosing data, the directions.")
    if record.setting.neighbours == "add-remove":
        said.append("Size: n is public; a record that is removed leaves its place empty, to one whose loss is constant.")
    if sampled - {"cyclic"}:
        said.append("Batches: nobody sees whose records were drawn, or goes back to a saved state to have others drawn.")
    if "cyclic" in sampled:
        said.append("Order: the records' order never changes, and does not depend on what they contain.")
    return said
