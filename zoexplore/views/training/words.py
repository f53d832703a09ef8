"""Texts on trained runs: on tuned methods, on runs without a finite epsilon, and on how a figure was made."""

from math import inf

from zoexplore.bounds import BOUNDS
from zoexplore.columns import lines, rivals, short_of, spread, title_of
from zoexplore.run.formatting import format_count, format_delta, format_exact, format_number, format_short
from zoexplore.run.setting import Accounting
from zoexplore.training import METHODS, TASKS, Frontier
from zoexplore.training.costs import kept, passes
from zoexplore.views.style import widgets


def describe_frontier(frontier: Frontier) -> str:
    """A sentence on the accuracy of rivals; empty if there are none."""
    if not (best := rivals(frontier)):
        return ""
    (one, high), (other, low) = ((short_of(p.method), p.mean("accuracy")) for p in best[1:])
    public = next((line.y[-1] for line in lines(frontier) if line.method == "non-private"), None)
    ceiling = f"; without privacy it is {public:.3f}" if public is not None else ""
    head = f"At ε = {format_short(best.target)} the best method with gradients, {one}, has an accuracy of {high:.3f}"
    return f"{head}, the best with random directions, {other}, {low:.3f}{ceiling}."


def table(frontier: Frontier) -> str:
    """A table of every point of the comparison: choice, accuracy and cost."""
    titles = ("method", "ε", "accuracy", "counted by", "K", "T", "η/K", "Δ", "β", "batch", "forward passes", "kept of a record")
    rows = []
    for p in frontier.points:
        run, by = p.run, p.by
        counted = f"{BOUNDS[by].title}: {p.counted.get(by, '')}" if by else "–"
        rate = float(run["eta"]) / float(run["K"])
        cells = (
            format_number(p.epsilon[by]) if by else "∞", spread(p, "accuracy"), counted,
            format_count(int(run["K"])), format_count(int(run["T"])), format_number(rate),
            format_number(run["clip"]) if by else "–", format_exact(run["beta"]),
            format_count(int(run["batch"])) if run["batch"] else "all", format_short(passes(p), 2), format_count(int(kept(p))),
        )  # fmt: skip
        rows.append([title_of(p.method), *cells])
    return widgets.table(titles, rows, "the comparison in numbers")


def infinite(frontier: Frontier, bounds: tuple[str, ...]) -> dict[tuple[str, str], list[str]]:
    """Infinite epsilons: (method, reason) -> titles of the bounds, in order."""
    found: dict[tuple[str, str], list[str]] = {}
    noisy = [p for p in frontier.points if p.method not in METHODS or METHODS[p.method].noisy]  # of others nobody asks why
    for point in noisy:
        for bound in bounds:
            if point.epsilon[bound] == inf:
                titles = found.setdefault((title_of(point.method), point.reason[bound]), [])
                titles += [BOUNDS[bound].title] if BOUNDS[bound].title not in titles else []
    return found


def about(frontier: Frontier) -> str:
    """What a figure shows: data, steps and seeds."""
    steps, seeds = max(p.steps[-1] for p in frontier.points), max(len(p.seeds) for p in frontier.points)
    drawn = f"{format_count(steps)} steps, {seeds} seed{'s' if seeds > 1 else ''}"
    task = TASKS[frontier.task].title.partition(", n =")[0] if frontier.task in TASKS else frontier.task
    if n := frontier.points[0].run.get("n"):  # of generated data, as many as were asked for
        task += f", n = {format_count(int(n))}"
    return f"{task}: {drawn}, bars of one standard error"


def differs(frontier: Frontier, delta: float, accounting: Accounting) -> str:
    """How the epsilons of trained runs differ from those of the page."""
    said = ["As printed: no guarantee."] if frontier.accounting.printed else []
    if accounting.schedule != "constant":
        said.append("These runs keep one β throughout; the page is set to the best β at every step.")
    if frontier.delta != delta or frontier.accounting != accounting.replace(schedule="constant"):
        at = f"δ = {format_delta(frontier.delta)}"
        said.append(f"ε is counted at {at}, as the page was set at the time; train again to use the present settings.")
    return " ".join(said)
