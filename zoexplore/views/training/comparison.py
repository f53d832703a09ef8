"""What is said of methods at their best: in sentences, in a table, and of a mark that is pointed at."""

from html import escape

from zoexplore.bounds import BOUNDS
from zoexplore.columns import lines, name_of, rivals, spread, title_of
from zoexplore.formatting import format_count, format_exact, format_number, format_short
from zoexplore.training import METHODS, Frontier, Point
from zoexplore.training.costs import kept, passes
from zoexplore.views.style import widgets
from zoexplore.views.training.frontier import UTILITIES


def describe_frontier(frontier: Frontier) -> str:
    """What rivals reach in a sentence; empty where there are none."""
    if not (best := rivals(frontier)):
        return ""
    (one, high), (other, low) = ((METHODS[p.method].title, p.mean("accuracy")) for p in best[1:])
    public = next((line.y[-1] for line in lines(frontier) if line.method == "non-private"), None)
    ceiling = f" Without privacy, gradients reach {public:.3f}." if public is not None else ""
    head = f"At ε = {format_number(best.target)} the best method with gradients, {one}, reaches an accuracy of {high:.3f}"
    return f"{head}; the best with random directions, {other}, {low:.3f}.{ceiling}"


def tip(point: Point) -> str:
    """What is told of a mark that is pointed at, as HTML."""
    rows = [
        f"<b>{escape(name_of(point))}</b>",
        f"ε = {format_number(point.epsilon[point.by])} by {escape(BOUNDS[point.by].title)}",
    ]
    if said := point.counted.get(point.by):
        rows.append(f"counted: {escape(said)}")
    rows += [f"{name} {spread(point, name)}" for name in UTILITIES]
    if run := point.run:
        batch = f", batches of {format_count(int(run['batch']))}" if run["batch"] else ""
        rows.append(
            f"K = {format_count(int(run['K']))}, T = {format_count(int(run['T']))}, Δ = {format_number(run['clip'])}{batch}"
        )
        if "n" in run and point.method in METHODS:
            rows.append(
                f"{format_short(passes(point), 2)} forward passes; {format_count(int(kept(point)))} numbers kept of a record"
            )
    return "".join(f"<p>{row}</p>" for row in rows)


def table(frontier: Frontier) -> str:
    """Every point of the comparison as rows of a table: what was chosen, what it reached, what it cost."""
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


def describe_costs(frontier: Frontier) -> str:
    """What rivals reach and take in a sentence; empty where there are none."""
    if not (best := rivals(frontier)):
        return ""
    target, first, few = best
    lost, more, less = first.mean("accuracy") - few.mean("accuracy"), passes(few) / passes(first), kept(first) / kept(few)
    compared = f"{lost:.3f} below" if lost > 0 else f"{-lost:.3f} above"
    return (
        f"At ε = {format_number(target)} the best method with random directions, {METHODS[few.method].title}, is {compared} the "
        f"best with gradients, {METHODS[first.method].title}. It took {format_number(passes(few))} forward passes of a "
        f"record, {format_number(more)} times as many; a clipped step kept {format_count(int(kept(few)))} numbers per record "
        f"instead of {format_count(int(kept(first)))} and the activations, {format_number(less)} times fewer."
    )
