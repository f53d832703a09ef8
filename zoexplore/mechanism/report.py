"""The privacy report: every bound's guarantee for the steps made, and its checks."""

from collections.abc import Iterator
from dataclasses import dataclass

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.assumptions import Check
from zoexplore.mechanism.guarantees import against, composition, of_last, refused
from zoexplore.mechanism.record import RunRecord, Step
from zoexplore.run.formatting import round_up
from zoexplore.run.setting import Accounting

RELEASED = ("last", "all")
MARKS = {True: "holds", None: "yours to vouch for", False: "not met"}
NEVER_COVERED = (
    "Not covered by ε: hyper-parameters chosen on the same data, and whatever else looked at it and is shown: losses, "
    "progress, when the run was stopped, the counts in this report. Nor is rounding: the proofs are about real numbers. Before "
    "the noise is added it moves a mean by some 1e-16 of the clip, where a record moves it by 2/n of the clip; afterwards "
    "composition covers it, and the bounds for the last iterate leave out what it moves the parameters by: up to 6e-8 of "
    "themselves in float32, 1e-16 in float64, once or twice a step."
)


@dataclass(frozen=True, repr=False)
class Report:
    """A run's privacy. Printing it shows everything in words.

    Args:
        record: the run.
        released: "last" or "all" of its iterates.
        guarantees: by bound; epsilon is inf, with a reason, where one does not apply to this run.
        checks: the assumptions that were checked. A bound that needs an unmet one is inf, with the reason.
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
        steps = f"{counts.steps} of {record.setting.T} steps"
        head = f"{steps}, {_directions(record)}; released: {what}; {delta}; neighbours: {record.setting.neighbours}"
        lines = [f"{head}; of this branch alone", ""]
        for g in self.guarantees.values():
            epsilon = f"{round_up(g.epsilon):.4g}" if g.valid else "∞"
            lines.append(f"{g.title:<24} ε = {epsilon:<10}{'; '.join(filter(None, (g.reason, g.note)))}".rstrip())
        lines += ["", *(f"[{MARKS[c.met]}] {c.words} {c.shortfall}".rstrip() for c in self.checks), ""]
        clipped = f"{counts.clipped} of {counts.looked_at} clipped"
        lines.append(f"Counted: {clipped}; {counts.not_finite} quotients not finite, taken as 0.")
        if record.found is not None:
            how = "Public data told" if record.found.public else f"{record.probes} probes found, and released,"
            lines.append(f"{how} the scale: {record.found.words}.")
        if record.target is not None:
            lines.append(f"Every step keeps to ε ≤ {record.target:g} by composition.")
        return "\n".join([*lines, record.noise, NEVER_COVERED])


def _directions(record: RunRecord) -> str:
    """Describe the directions, and the fields that varied, with their ranges."""
    if not record.moving:
        return f"{record.probes} probes and no step that moved anything"
    K = sorted({step.K for step in record.moving})
    said = f"{' or '.join(map(str, K))} directions of {record.setting.d}"
    for name in record.varies(*(name for name in Step.__annotations__ if name not in ("K", "clipping", "sampling", "kind"))):
        values = [record.setting.n if (x := getattr(step, name)) is None else x for step in record.moving]
        said += f", {name} from {min(values):.4g} to {max(values):.4g}"
    return said


def privacy_report(
    record: RunRecord, *, released: str = "last", conversion: str = "gaussian", sensitivity: str = "least"
) -> Report:
    """Every bound's guarantee for the steps that a run made.

    Args:
        record: the run.
        released: "last" if nobody else ever sees another iterate; "all" where each may be.
        conversion: from a budget to epsilon, as in `Accounting`; steps that differ on secret batches have none, but exact losses.
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

    return Report(record, released, {bound: of(bound) for bound in BOUNDS}, tuple(_checks(record, released)))


def _checks(record: RunRecord, released: str) -> Iterator[Check]:
    """List the checks: flaws found, declared constants, whether the clip may act, and what the user vouches for."""
    declared, flaw = record.declared, record.flaw
    yield Check("Nothing was found that reveals more than is counted.", not flaw, flaw and f"{flaw}.")
    if declared.M is not None:
        form = ", of one linear form" if declared.linear else ""
        yield Check(f"The loss is {declared.regime} and smooth, M = {declared.M:g}{form}, as declared.", None)
    if declared.lipschitz is not None:
        yield Check(f"Its gradients are no longer than the declared {declared.lipschitz:g}.", None)
    if record.unproved:
        clip = "Composition holds whether or not the clip acts. Bounds that want a clip that never does leave this run out:"
        yield Check(clip, True, f"{record.unproved}.")
    if record.disproved:
        yield Check("What happened agrees with what is declared.", False, f"But {record.disproved}.")
    yield from (Check(words, None) for words in vouched_for(record, released))


def vouched_for(record: RunRecord, released: str) -> list[str]:
    """List what the report assumes and cannot check, as docs/mechanism.md does under "What you vouch for"."""
    n, sampled = record.setting.n, {step.sampling for step in record.looked if not step.on_all(record.setting.n)}
    checked = f", last at step {record.checked} of {record.counts.steps}" if record.checked else ""
    said = [
        f"Losses: each depends on its own record alone, at every step. Some were checked{checked}.",
        "Start: neither the parameters at the start, nor frozen parts, nor what else the loss uses, nor the means, vocabulary or "
        "columns that records were prepared with, were made from these data.",
        "Module: it keeps nothing of the records beside its parameters.",
        f"Persons: whoever is to be protected has one record, and it is record i of {n} at every step.",
        "Other runs: this report is of this branch alone. Each further run on these data adds to it, and so does each that goes "
        "on from the same saved state: zoexplore.compose(reports) adds them up, or says why it cannot.",
        "Choices: no setting, stopping time or best run was chosen by looking at these data, and no loss or count is shown.",
    ]
    if record.found is not None and record.found.public:
        said.append("Scale: the batch that told it has no record of these data.")
    if released == "last":
        said.append("Release: nobody ever sees another iterate, a checkpoint or an average, or, choosing data, the directions.")
    if record.setting.neighbours == "add-remove":
        said.append("Size: n is public; a record that is removed leaves its place empty, to one whose loss is constant.")
    if sampled - {"cyclic"}:
        said.append("Batches: nobody sees whose records were drawn, or goes back to a saved state to have others drawn.")
    if "cyclic" in sampled:
        said.append("Order: the records' order never changes, and does not depend on what they contain.")
    return said
