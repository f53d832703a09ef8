"""Draws the finished comparison into docs/ and writes its tables to build/comparison.md: `python -m tools.comparison`.

The site has the tables as a page of its own.
"""

from collections.abc import Sequence
from math import hypot, sqrt
from pathlib import Path
from statistics import fmean, stdev

from zoexplore import plots
from zoexplore.bounds import BOUNDS
from zoexplore.columns import COSTS, spread
from zoexplore.formatting import format_count, format_number
from zoexplore.training import METHODS, TASKS, Frontier
from zoexplore.training.comparison import HIDING
from zoexplore.training.costs import kept, passes
from zoexplore.training.finished import Comparison, Nearness, load
from zoexplore.views.training.comparison import describe_costs, describe_frontier
from zoexplore.views.training.results import how

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MEASURED = (
    ("objective", "excess", "excess of the objective over its minimum, as a share of that before the first step"),
    ("decisions", "differing", "test records that are decided otherwise than at the minimum, as a share"),
)  # measure, what of a result has it, what a table calls it


def main() -> None:
    """Write the figures and the tables."""
    found, page = load(), ROOT / "build" / "comparison.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(written(found), encoding="utf-8")
    for task, frontier in found.frontiers.items():
        plots.save(plots.comparison(frontier), DOCS / f"comparison-{task}.svg")
        for cost in COSTS:
            plots.save(plots.comparison(frontier, cost), DOCS / f"comparison-{task}-{cost}.svg")


def written(found: Comparison) -> str:
    """All tasks, then what hiding the iterates buys: a page that stands beside the figures."""
    compared = "Methods at a fixed ε; [training](training.md#methods-at-a-fixed-ε) says how they are compared."
    parts = ["# The comparison in full", compared]
    for task, frontier in found.frontiers.items():
        parts += [
            f"## {TASKS[task].title}",
            f"![Accuracy against ε on {task}](comparison-{task}.svg)",
            describe_frontier(frontier),
            accuracies(frontier),
            f"![Accuracy against memory on {task}](comparison-{task}-memory.svg)",
            f"![Accuracy against forward passes on {task}](comparison-{task}-passes.svg)",
            describe_costs(frontier),
            costs(frontier),
            how(found, task),
        ]
    return "\n\n".join([*parts, *hiding(found)]) + "\n"


def accuracies(frontier: Frontier) -> str:
    """A row for each method, a column for each epsilon."""
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    rows = []
    for method in dict.fromkeys(p.method for p in frontier.points):
        points = {p.target: p for p in frontier.points if p.method == method}
        cells = (
            [spread(points[t], "accuracy") if t in points else "" for t in targets] if None not in points else [""] * len(targets)
        )
        last = spread(points[None], "accuracy") if None in points else ""
        rows.append((METHODS[method].title, *cells, last))
    return _table(("accuracy", *(f"ε = {format_number(t)}" for t in targets), "ε = ∞"), rows)


def costs(frontier: Frontier) -> str:
    """What each method chose and took at the middle epsilon."""
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    detail, rows = targets[len(targets) // 2], []
    for p in frontier.points:
        if p.target in (None, detail):
            run = p.run
            batch = format_count(int(run["batch"])) if run["batch"] else "all"
            by = f"{BOUNDS[p.by].title}: {p.counted[p.by]}" if p.by else "–"
            rows.append(
                (METHODS[p.method].title, by, format_count(int(run["K"])), format_count(int(run["T"])), batch, f"{passes(p):.2g}",
                 format_count(int(kept(p))))
            )  # fmt: skip
    head = (f"chosen at ε = {format_number(detail)}", "counted by", "K", "T", "batch", "forward passes", "kept of a record")
    return _table(head, rows)


def hiding(found: Comparison) -> list[str]:
    """What is lost with the last iterate alone released, and with all of them, by each measure."""
    if not found.hiding:
        return []
    right = [fmean(near.accuracy) for near in found.hiding]
    says = (
        f"Means over {len(found.hiding[0].excess)} seeds and one standard error; in brackets, what was chosen for this measure. "
        f"In accuracy on the test part all of them lie between {min(right):.4f} and {max(right):.4f}. Made "
        f"{found.dates[HIDING][:10]} in {found.seconds[HIDING] / 60:.0f} minutes of processor time."
    )
    return ["## What hiding the iterates buys", *(_measured(found.hiding, *each) for each in MEASURED), says]


def _measured(found: list[Nearness], measure: str, field: str, title: str) -> str:
    """One measure, from each number of directions, and by how much public iterates are worse."""
    of = {(near.hidden, near.K, near.epsilon): near for near in found if near.measure == measure}
    targets, rows = sorted({near.epsilon for near in found}), []
    for K in sorted({near.K for near in found}):
        for hidden in (True, False):
            cells = [_cell(of[hidden, K, target], field) for target in targets]
            rows.append((f"{'hidden' if hidden else 'public'}, K = {K}", *cells))
        pairs = [(getattr(of[False, K, t], field), getattr(of[True, K, t], field)) for t in targets]
        rows.append(("public over hidden", *(_ratio(*pair) for pair in pairs)))
    return _table((title, *(f"ε = {format_number(t)}" for t in targets)), rows)


def _cell(near: Nearness, field: str) -> str:
    values = getattr(near, field)
    chosen = f"T = {near.T}, β = {near.beta:g}, η/K = {near.rate:.2g}"
    return f"{fmean(values):.2g} ± {_error(values):.1g} ({chosen})"


def _error(values: tuple[float, ...]) -> float:
    return stdev(values) / sqrt(len(values))


def _ratio(public: tuple[float, ...], hidden: tuple[float, ...]) -> str:
    """Of the means, with its standard error, and how many standard errors the difference has."""
    above, below = fmean(public), fmean(hidden)
    ratio, error = above / below, hypot(_error(public), _error(hidden))
    relative = hypot(_error(public) / above, _error(hidden) / below)
    return f"{ratio:.2f} ± {ratio * relative:.2f} ({(above - below) / error:+.1f} errors)"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
