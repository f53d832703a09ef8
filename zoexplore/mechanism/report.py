"""The privacy report: every bound's guarantee for the steps made, and its checks."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.assumptions import Check
from zoexplore.mechanism.guarantees import against, alike_of, composition, of_last, refused
from zoexplore.mechanism.record import RunRecord, Step
from zoexplore.questions.export import to_yaml
from zoexplore.questions.recommendation import otherwise
from zoexplore.questions.statement import clipping_of, in_a_line, sampling_of
from zoexplore.run.formatting import round_up
from zoexplore.run.setting import Accounting

RELEASED = ("last", "all")
NEIGHBOURS = {
    "replace-one": "one record, replaced by another",
    "add-remove": "one record, added or removed",
}
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
        checks: the assumptions that were checked. A bound that needs an unmet one is inf, with the
            reason.
    """

    record: RunRecord
    released: str
    guarantees: dict[str, Guarantee]
    checks: tuple[Check, ...]

    @property
    def epsilon(self) -> float:
        """The least of the bounds' epsilons: each of them holds, so the least does."""
        return min(g.epsilon for g in self.guarantees.values())

    @cached_property
    def meanings(self) -> dict[str, float]:
        """Epsilon by composition, which holds if every iterate is published, for either meaning of
        neighbours; inf if unknown.
        """
        own, alike, meant = (
            self.guarantees["composition"],
            alike_of(self.record),
            self.record.setting.neighbours,
        )
        other = otherwise(alike, own.epsilon) if own.valid and alike is not None else inf
        return {
            neighbours: own.epsilon if neighbours == meant else other for neighbours in NEIGHBOURS
        }

    def __repr__(self) -> str:
        record, counts = self.record, self.record.counts
        what = "the last iterate alone" if self.released == "last" else "every iterate"
        made = f"{counts.steps} of {record.setting.T} steps"
        lines = [
            f"{made}; released: {what}; neighbours: {record.setting.neighbours}; of this branch alone",
            *_of_run(record),
        ]
        lines += [
            f"Every iterate published; {NEIGHBOURS[name]}: ε = {_shown(x)}"
            for name, x in self.meanings.items()
        ]
        lines.append("")
        for g in self.guarantees.values():
            lines.append(
                f"{g.title:<24} ε = {_shown(g.epsilon):<10}{'; '.join(filter(None, (g.reason, g.note)))}".rstrip()
            )
        lines += [
            "",
            *(f"[{MARKS[c.met]}] {c.words} {c.shortfall}".rstrip() for c in self.checks),
            "",
        ]
        clipped = f"{counts.clipped} of {counts.looked_at} clipped"
        lines.append(f"Counted: {clipped}; {counts.not_finite} quotients not finite, taken as 0.")
        if record.found is not None:
            how = (
                "Public data told"
                if record.found.public
                else f"{record.probes} probes found, and released,"
            )
            lines.append(f"{how} the scale: {record.found.words}.")
        if record.target is not None:
            lines.append(f"Every step keeps to ε ≤ {record.target:g} by composition.")
        return "\n".join([*lines, record.noise, NEVER_COVERED])

    def card(self) -> str:
        """A section in Markdown for a model card: epsilon in both meanings, this report, and how to
        compute epsilon again.
        """
        record, own, alike = self.record, self.guarantees["composition"], alike_of(self.record)
        pair = f"({_shown(own.epsilon)}, {record.setting.delta:g})"
        said = f"The release, every iterate included, is (ε, δ) = {pair}-differentially private by composition."
        lines = ["## Privacy", "", said if own.valid else f"No guarantee: {own.reason}.", ""]
        lines += [
            f"| two data sets differ in | ε at δ = {record.setting.delta:g}, every iterate published |",
            "|---|---|",
        ]
        lines += [
            f"| {NEIGHBOURS[name]} | {_shown(epsilon)} |" for name, epsilon in self.meanings.items()
        ]
        lines += ["", "```", repr(self), "```", ""]
        if alike is not None:
            run = to_yaml(alike, own.accounting)
            lines += [
                "The run, and its ε again:",
                "",
                f"```sh\nzoexplore epsilon --bound composition - <<'END'\n{run}END\n```",
                "",
            ]
        return "\n".join(lines)


def _shown(epsilon: float) -> str:
    return f"{round_up(epsilon):.4g}" if epsilon < inf else "∞"


def _of_run(record: RunRecord) -> list[str]:
    """The run's own numbers: of its last step, with the ranges of what varied."""
    setting = record.of(record.last, record.steps)
    said = f"Run: {in_a_line(setting)}"
    for name in record.varies(
        *(name for name in Step.__annotations__ if name not in ("clipping", "sampling", "kind"))
    ):
        values = [
            record.setting.n if (x := getattr(step, name)) is None else x for step in record.moving
        ]
        said += f", {name} from {min(values):.4g} to {max(values):.4g}"
    return [f"{said}.", f"Batches: {sampling_of(setting)}.", f"Clip: {clipping_of(setting)}."]


def privacy_report(
    record: RunRecord,
    *,
    released: str = "last",
    conversion: str = "gaussian",
    sensitivity: str = "least",
) -> Report:
    """Every bound's guarantee for the steps that a run made.

    Args:
        record: the run.
        released: "last" if nobody else ever sees another iterate; "all" where each may be.
        conversion: from a budget to epsilon, as in `Accounting`; steps that differ on secret
            batches have none, but exact losses.
        sensitivity: as in `Accounting`; the length of gradients is used where it is declared, and M
            with it.

    Raises:
        ValueError: an option is unknown, or no step was made yet.
    """
    if released not in RELEASED:
        raise ValueError(
            f"released = {released!r} is not allowed: give one of {', '.join(map(repr, RELEASED))}"
        )
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

    return Report(
        record, released, {bound: of(bound) for bound in BOUNDS}, tuple(_checks(record, released))
    )


def _checks(record: RunRecord, released: str) -> Iterator[Check]:
    """List the checks: flaws found, declared constants, whether the clip may act, and what the user
    vouches for.
    """
    declared, flaw = record.declared, record.flaw
    yield Check(
        "Nothing was found that reveals more than is counted.", not flaw, flaw and f"{flaw}."
    )
    if declared.M is not None:
        form = ", of one linear form" if declared.linear else ""
        yield Check(
            f"The loss is {declared.regime} and smooth, M = {declared.M:g}{form}, as declared.",
            None,
        )
    if declared.lipschitz is not None:
        yield Check(f"Its gradients are no longer than the declared {declared.lipschitz:g}.", None)
    if record.unproved:
        clip = "Composition holds whether or not the clip acts. Bounds that want a clip that never does leave this run out:"
        yield Check(clip, True, f"{record.unproved}.")
    if record.disproved:
        yield Check(
            "What happened agrees with what is declared.", False, f"But {record.disproved}."
        )
    yield from (Check(words, None) for words in vouched_for(record, released))


def vouched_for(record: RunRecord, released: str) -> list[str]:
    """List what the report assumes and cannot check, as docs/mechanism.md does under "What you
    vouch for".
    """
    n, sampled = (
        record.setting.n,
        {step.sampling for step in record.looked if not step.on_all(record.setting.n)},
    )
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
        said.append(
            "Release: nobody ever sees another iterate, a checkpoint or an average, or, choosing data, the directions."
        )
    if record.setting.neighbours == "add-remove":
        said.append(
            "Size: n is public; a record that is removed leaves its place empty, to one whose loss is constant."
        )
    if sampled - {"cyclic"}:
        said.append(
            "Batches: nobody sees whose records were drawn, or goes back to a saved state to have others drawn."
        )
    if "cyclic" in sampled:
        said.append(
            "Order: the records' order never changes, and does not depend on what they contain."
        )
    return said
