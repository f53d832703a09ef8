"""Words and TeX about a run that several bounds share."""

from typing import TYPE_CHECKING

from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.run.formatting import bound_in_tex, format_count, format_number, format_tex

if TYPE_CHECKING:
    from zoexplore.bounds.guarantee import Guarantee


def of_hidden_iterates(g: "Guarantee") -> str:
    """Why the loss stops growing: which steps are counted, and from which distance."""
    released = min(g.setting.releases, g.setting.T)
    if released > 1:
        return _of_releases(released, g.setting.T, whose(g))
    if g.start == 0:
        return (
            f"Only the last iterate is released. Two runs that differ in {in_whom(g)} start at the same point; "
            f"later steps shrink {whose(g)} early influence, and ε counts what noise leaves of it."
        )
    earlier = g.setting.T - g.N
    free = (
        f"The {format_count(earlier)} earlier steps cost nothing, and neither would more."
        if earlier > 1
        else "The step before them costs nothing, and neither would more."
        if earlier == 1
        else "Further steps would cost nothing."
    )
    steps = f"the last {format_count(g.N)} steps" if g.N > 1 else "the last step"
    return (
        f"Only the last iterate is released. Whatever happened before, two runs are at most 2R = {format_number(g.start)} "
        f"apart, and ε counts what the noise of {steps} leaves visible of that distance. {free}"
    )


def in_whom(g: "Guarantee") -> str:
    """The difference between two runs, with its number."""
    return "one record" if g.setting.records_per_person == 1 else "one person's records"


def whose(g: "Guarantee") -> str:
    """Whose influence the guarantee bounds."""
    return "the record's" if g.setting.records_per_person == 1 else "the person's"


def _of_releases(released: int, T: int, whose: str) -> str:
    if released == T:
        return f"All {format_count(T)} iterates are released, so nothing is hidden."
    return (
        f"Of {format_count(T)} iterates {format_count(released)} are released, evenly spaced. Between two of them the "
        f"steps shrink {whose} influence, and noise hides some of it; every release pays anew for what is left."
    )


def record_in_tex(g: "Guarantee") -> str:
    """The squared effect of a record on the mean quotients, with the run's numbers: (2 Delta/n)^2 where the clip bounds it, with
    Delta/sqrt(K) for Delta where the clip is joint.
    """
    s, runs = g.setting, RunArrays.of(g.setting).counted_by(g.accounting)
    if runs.B < runs.B_clip or runs.person_share != 1:
        return rf"({bound_in_tex(float(runs.record_sensitivity * runs.sigma))})^2"
    over = rf"({format_tex(s.n)}\sqrt{{{format_tex(s.K)}}})" if s.clipping == "joint" else format_tex(s.n)
    return rf"(2\cdot {format_tex(s.clip)}/{over})^2"


def why_undrawn(g: "Guarantee") -> str:
    """Why a bound that applies has no steps to draw."""
    s = g.setting
    if s.batch is not None and not s.full_batch:
        batches = f"With mini-batches of {format_count(s.batch)} records, chance decides which records a step sees"
        return f"{batches}, and the costs of the steps do not add up to ε"
    return f"{format_count(min(s.releases, s.T))} iterates are released, and each has a path of its own"


def counted_in_tex(g: "Guarantee") -> str:
    """The number of counted steps, and the distance that they start from."""
    return rf"N = {format_tex(g.N)}\ \text{{step{'s' if g.N > 1 else ''} from}}"
