"""Texts on tuned methods: the sentence and the table of the comparison."""

from zoexplore.bounds import BOUNDS
from zoexplore.columns import lines, rivals, short_of, spread, title_of
from zoexplore.run.formatting import format_count, format_exact, format_number, format_short
from zoexplore.training import Frontier
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
