"""Sentences on why a bound gives what it gives, for readers who do not know the paper."""

from zoexplore.bounds.guarantee import Guarantee
from zoexplore.run.formatting import format_count, format_number


def of_composition(g: Guarantee) -> str:
    """Say why composition pays for every step."""
    steps = f"Each of the {format_count(g.setting.T)} steps" if g.setting.T > 1 else "The one step"
    return f"{steps} is paid for as if its iterate had been published: no bound that hides the iterates gives less here."


def of_output_perturbation(g: Guarantee) -> str:
    """Say which distance the last step's noise must hide."""
    return (
        "The last step's noise alone hides two runs that are as far apart as the ball is wide, "
        f"2R = {format_number(g.start)}; how long they trained does not matter."
    )


def of_hidden_iterates(g: Guarantee) -> str:
    """Say why epsilon stops growing: which steps are counted, and from which distance."""
    whose = f"the {'record' if g.setting.records_per_person == 1 else 'person'}'s"
    released, T = min(g.setting.releases, g.setting.T), format_count(g.setting.T)
    if released == g.setting.T > 1:
        return f"All {T} iterates are released, so nothing is hidden."
    if released > 1:
        return (
            f"Of {T} iterates {format_count(released)} are released, evenly spaced. Between two of them the steps shrink {whose} "
            "influence, and noise hides some of it; every release pays anew for what is left."
        )
    if g.start == 0:
        return (
            f"Only the last iterate is released. Two runs that differ in {in_whom(g)} start at the same point; "
            f"later steps shrink {whose} early influence, and ε counts what noise leaves of it."
        )
    earlier = g.setting.T - g.N
    many, one = f"The {format_count(earlier)} earlier steps cost", "The step before them costs"
    free = (
        f"{many if earlier > 1 else one} nothing, and neither would more."
        if earlier
        else "Further steps would cost nothing."
    )
    steps = f"the last {format_count(g.N)} steps" if g.N > 1 else "the last step"
    return (
        f"Only the last iterate is released. Whatever happened before, two runs are at most 2R = {format_number(g.start)} "
        f"apart, and ε counts what the noise of {steps} leaves visible of that distance. {free}"
    )


def in_whom(g: Guarantee) -> str:
    """Name what two runs differ in: one record, or one person's records."""
    return "one record" if g.setting.records_per_person == 1 else "one person's records"


def why_undrawn(g: Guarantee) -> str:
    """Say why a bound that applies has no steps to draw."""
    s = g.setting
    if s.batch is not None and not s.full_batch:
        batches = f"With mini-batches of {format_count(s.batch)} records, chance decides which records a step sees"
        return f"{batches}, and the costs of the steps do not add up to ε"
    return f"{format_count(min(s.releases, s.T))} iterates are released, and each has a path of its own"
