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
from zoexplore.questions.statement import facts
from zoexplore.run.formatting import round_up
from zoexplore.run.setting import Accounting
from zoexplore.run.text import written

RELEASED = ("last", "all")
NEIGHBOURS = {
    "replace-one": "one record, replaced by another",
    "add-remove": "one record, added or removed",
}


@dataclass(frozen=True, repr=False)
class Report:
    """A run's privacy report, which prints as text.

    Args:
        record: the run.
        released: which of the iterates others may see, "last" or "all".
        guarantees: the guarantee of each bound. If a bound does not apply to this run, its epsilon
            is inf, and its reason says why.
        checks: the assumptions, with the results of those that could be checked.
    """

    record: RunRecord
    released: str
    guarantees: dict[str, Guarantee]
    checks: tuple[Check, ...]

    @property
    def epsilon(self) -> float:
        """The least epsilon of all bounds, which holds because each of them holds."""
        return min(g.epsilon for g in self.guarantees.values())

    @cached_property
    def meanings(self) -> dict[str, float]:
        """Epsilon by composition for each meaning of neighbours, inf if unknown. It holds even if
        every iterate is published.
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
        record = self.record
        names = [name for name in Step.__annotations__ if name not in WORDS]
        return written(
            "mechanism/texts/report.txt",
            record=record,
            released=self.released,
            facts=facts(record.of(record.last, record.steps)),
            shown=_shown,
            varied={
                name: [
                    x if (x := getattr(step, name)) is not None else record.setting.n
                    for step in record.moving
                ]
                for name in record.varies(*names)
            },
            meanings={NEIGHBOURS[name]: epsilon for name, epsilon in self.meanings.items()},
            guarantees=self.guarantees.values(),
            checks=self.checks,
        )

    def card(self) -> str:
        """Write a section of a model card in Markdown. It has epsilon for both meanings of
        neighbours, this report, and how to compute epsilon again.
        """
        own, alike = self.guarantees["composition"], alike_of(self.record)
        return written(
            "mechanism/texts/card.md",
            own=own,
            shown=_shown,
            delta=self.record.setting.delta,
            meanings={NEIGHBOURS[name]: epsilon for name, epsilon in self.meanings.items()},
            report=repr(self),
            run=alike and to_yaml(alike, own.accounting),
        )


WORDS = ("clipping", "sampling", "kind")  # the fields of a step that are words


def _shown(epsilon: float) -> str:
    return f"{round_up(epsilon):.4g}" if epsilon < inf else "∞"


def privacy_report(
    record: RunRecord,
    *,
    released: str = "last",
    conversion: str = "gaussian",
    sensitivity: str = "least",
) -> Report:
    """Report every bound's guarantee for the steps that a run made.

    Args:
        record: the run.
        released: "last" if nobody else ever sees any iterate but the last; "all" if somebody may.
        conversion: how a budget becomes epsilon, as in `Accounting`. Composition of steps that
            differ does not use it.
        sensitivity: as in `Accounting`. A declared Lipschitz constant counts only if M is declared
            too.

    Raises:
        ValueError: an option is unknown, or no step has been made yet.
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
    """Yield the checks: whether a flaw was found, whether the clip may act, whether events agree
    with the declared constants, and what the user vouches for.
    """
    flaw = record.flaw
    yield Check(
        "Nothing was found that reveals more than is counted.", not flaw, flaw and f"{flaw}."
    )
    if record.unproved:
        clip = "Composition holds whether or not the clip acts. Bounds that want a clip that never does leave this run out:"
        yield Check(clip, True, f"{record.unproved}.")
    if record.disproved:
        yield Check(
            "What happened agrees with what is declared.", False, f"But {record.disproved}."
        )
    yield from (Check(words, None) for words in vouched_for(record, released))


def vouched_for(record: RunRecord, released: str) -> list[str]:
    """List what the report assumes and cannot check. docs/mechanism.md has the same list under
    "What you vouch for".
    """
    sampled = {step.sampling for step in record.looked if not step.on_all(record.setting.n)}
    given = {"record": record, "released": released, "sampled": sampled}
    return written("mechanism/texts/vouched.txt", **given).splitlines()
