"""Draws the finished comparison and writes its tables: the part of docs/training.md between two marks.

python -m tools.comparison
"""

from math import sqrt
from pathlib import Path
from statistics import fmean, stdev

from zoexplore.bounds import BOUNDS
from zoexplore.formatting import format_count, format_number
from zoexplore.training import METHODS, TASKS, Frontier
from zoexplore.training.costs import kept, passes
from zoexplore.training.finished import Comparison, Nearness, load
from zoexplore.views.figures.picture import svg
from zoexplore.views.state import State
from zoexplore.views.training.compared import Compared, describe_frontier
from zoexplore.views.training.finished import how
from zoexplore.views.training.marks import spread

DOCS = Path(__file__).parents[1] / "docs"
BEGIN, END = "<!-- the comparison, by tools.comparison -->", "<!-- end of the comparison -->"


def main() -> None:
    """Write the figures and the page."""
    found, page = load(), DOCS / "training.md"
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(before + BEGIN + "\n\n" + written(found) + "\n" + END + after)
    for task, frontier in found.frontiers.items():
        (DOCS / f"comparison-{task}.svg").write_text(drawn(frontier))


def drawn(frontier: Frontier) -> str:
    """The figure of one task."""
    figure = Compared()
    figure.draw(frontier, "accuracy")
    title = TASKS[frontier.task].title if frontier.task in TASKS else frontier.task
    return svg(figure.figure, State(), title=title, caption=[describe_frontier(frontier)])


def written(found: Comparison) -> str:
    """All tasks, then what hiding the iterates buys."""
    parts = []
    for task, frontier in found.frontiers.items():
        parts += [
            f"### {TASKS[task].title}",
            f"![Accuracy against ε on {task}](comparison-{task}.svg)",
            describe_frontier(frontier),
        ]
        parts += [accuracies(frontier), costs(frontier), how(found, task)]
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
    """The excess objective with the last iterate alone released, and with all of them."""
    if not found.hiding:
        return []
    targets = sorted({near.epsilon for near in found.hiding})
    of = {(near.hidden, near.K, near.epsilon): near for near in found.hiding}
    rows = []
    for K in sorted({near.K for near in found.hiding}):
        for hidden in (True, False):
            cells = [_excess(of[hidden, K, target]) for target in targets]
            rows.append((f"{'hidden' if hidden else 'public'}, K = {K}", *cells))
        gains = [fmean(of[False, K, t].excess) / fmean(of[True, K, t].excess) for t in targets]
        rows.append(("public over hidden", *(f"{gain:.2f}" for gain in gains)))
    head = _table(("excess, iterates", *(f"ε = {format_number(t)}" for t in targets)), rows)
    right = [fmean(near.accuracy) for near in found.hiding]
    seeds = len(found.hiding[0].excess)
    says = (
        "Excess of the trained objective over its minimum, as a share of that before the first step: means over "
        f"{seeds} seeds and one standard error; in brackets, what was chosen. Accuracy on the test part is from "
        f"{min(right):.3f} to {max(right):.3f} in all of them."
    )
    return ["### What hiding the iterates buys", head, says]


def _excess(near: Nearness) -> str:
    mean, error = fmean(near.excess), stdev(near.excess) / sqrt(len(near.excess))
    chosen = f"T = {near.T}, β = {near.beta:g}, η/K = {near.rate:.2g}"
    return f"{mean:.2g} ± {error:.1g} ({chosen})"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
