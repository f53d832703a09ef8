"""What several runs on the same data cost together, where the outcome of each is released.

Steps compose whoever makes them, one after the other or side by side. Branches of one run share its steps up
to where they part, which count once. Where they also share a batch that was drawn before, their steps on it
are one step that tells as much as all of
them: given who is in it, Gaussian releases of mu_1, mu_2, ... make one of sqrt(mu_1^2 + mu_2^2 + ...),
    whoever chooses the later ones by the earlier (Dong, Roth, Su 2022, arXiv:1905.02383, section 3), and only
    then comes the chance to be in it. So do steps on the same turn of the records.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from math import sqrt

from zoexplore.mechanism.declaration import Declared
from zoexplore.mechanism.report import Report, privacy_report
from zoexplore.mechanism.run_guarantees import cost, is_sampled
from zoexplore.mechanism.run_record import Counts, RunRecord, Step

Made = tuple[RunRecord, Step]  # a step, and the run that made it
ULPS_DOWN = 1 - 4e-15
ALIKE = ("n", "delta", "neighbours", "records_per_person")  # what reports must share


def together(reports: Sequence[Report], *, conversion: str = "gaussian") -> Report:
    """What runs on the same data reveal together, by composition: of several models or settings, or of
    branches that went on from one saved state. Each may have been chosen by the outcomes of those before.

    Args:
        reports: of all of them, released or not, if any was seen by whoever chose what is released.
        conversion: from a budget to epsilon, as in `Accounting`.

    Returns:
        A report in which every iterate of every run counts as released. Its epsilon is inf, with the reason,
        where one run's is, where the noise is not another one in every run (`Sources.secure()`), or where it
        is not known what they share.

    Raises:
        TypeError: something is no report.
        ValueError: there is none, or they are of different n, delta or neighbours.
    """
    if not all(isinstance(report, Report) for report in reports):
        raise TypeError("together() takes the reports that privacy_report() returns, in a list")
    if not reports:
        raise ValueError("there is no report to add up: give at least one")
    records = [report.record for report in reports]
    for name in ALIKE:
        if len(given := {getattr(record.setting, name) for record in records}) > 1:
            raise ValueError(f"reports of {name} = {sorted(given)} are not allowed together: give those of runs on the same data")
    return privacy_report(_merged(records), released="all", conversion=conversion)


def _merged(records: list[RunRecord]) -> RunRecord:
    first = max(records, key=lambda record: record.setting.d)
    doubts = [record.doubt for record in records] + ([_not_known(records)] if len(records) > 1 else [])
    counts = Counts(**{f.name: sum(getattr(record.counts, f.name) for record in records) for f in fields(Counts)})
    noise, doubt = ("; ".join(dict.fromkeys(filter(None, words))) for words in ([r.noise for r in records], doubts))
    whole = replace(first, counts=counts, declared=Declared(), doubt=doubt, noise=noise, runs=len(records))
    return whole if doubt else replace(whole, stages=tuple((step, 1) for step in _steps(records, first)))


def _not_known(records: list[RunRecord]) -> str:
    """Why the runs cannot be added up; empty where they can."""
    if not all(record.is_secure for record in records):
        return "several runs of which one is a demonstration may share their noise: only those of Sources.secure() add up"
    if any(sum(branch.steps for branch in record.path) != record.counts.steps for record in records):
        return "it is not known which steps the runs share: one goes on from a state without their history"
    turns = {step.batch for record in records for step in record.moving if step.sampling == "cyclic"}
    return "batches take turns of several sizes" if len(turns - {None}) > 1 else ""


def _steps(records: list[RunRecord], first: RunRecord) -> list[Step]:
    """All runs' steps as those of one. Those on a turn of the records come first, each at its number, on
    which the turn depends.
    """
    turns, others = dict[int, dict[str, Made]](), dict[tuple[str, int], dict[str, Made]]()
    for record in records:
        for t, (branch, drawn_by, step) in enumerate(_history(record)):
            if step.eta > 0:
                on_turn = step.sampling == "cyclic" and not step.on_all(record.setting.n)
                same = drawn_by if is_sampled(record, step) else branch
                cell = turns.setdefault(t, {}) if on_turn else others.setdefault((same, t), {})
                cell[branch] = record, step
    found, nothing = [], replace(first.last, eta=0.0, sampling="cyclic")
    for t in range(max(turns, default=-1) + 1):
        found.append(_as_one(list(turns[t].values()), first) if t in turns else nothing)
    return found + [_as_one(list(cell.values()), first) for cell in others.values()]


def _history(record: RunRecord) -> Iterator[tuple[str, str, Step]]:
    """Every step, who made it, and who drew its batch."""
    steps = (step for step, count in record.stages for _ in range(count))
    drawn, before = deque[str](), ""
    for branch in record.path:
        drawn = deque([*drawn, *[before] * branch.drawn][: branch.drawn])
        for _ in range(branch.steps):
            yield branch.name, drawn.popleft() if drawn else branch.name, next(steps)
        before = branch.name


def _as_one(cell: list[Made], first: RunRecord) -> Step:
    """A step on one batch that tells as much as several on it."""
    record, step = cell[0]
    if len(cell) == 1 and record.setting.d == first.setting.d:
        return step
    mu = sqrt(sum(cost(record, step) ** 2 for record, step in cell))
    alone = replace(step, beta=1.0)  # all noise along the directions: of whichever dimension
    return replace(alone, sigma=step.sigma * cost(first, alone) / mu * ULPS_DOWN)
