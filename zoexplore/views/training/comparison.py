"""Methods at their best: accuracy against epsilon, or at one epsilon against memory or forward passes; a mark for each with its
name, and the gap between the kinds.
"""

from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS
from zoexplore.formatting import format_count, format_exact, format_number, format_short
from zoexplore.training import METHODS, Frontier, Point
from zoexplore.training.costs import kept, passes
from zoexplore.views.figures.parts import blank, empty, fill, fixed_ticks, words
from zoexplore.views.figures.picture import decades
from zoexplore.views.style import theme, widgets
from zoexplore.views.training.frontier import UTILITIES, at_delta, bar, extent, look_of, name_of, reach, spread, tells, title_of

_APART = 0.064  # of the axis, between names
_MOST_TICKS = 8
_NAMES = 4.0  # times the largest epsilon is as far as names reach
_LEAD = 1.18  # times the largest epsilon is where names begin, a thin line from the method's last mark to each
COSTS = {
    "memory": (kept, "numbers that a clipped step keeps of a record"),
    "passes": (passes, "forward passes of a record in all steps"),
}
_BEYOND = 6.0  # times the largest cost is as far as names reach
_NEAR = 3.0  # costs within this factor have names that may meet


class Line(NamedTuple):
    """One method: its points, their epsilons by their best sound account, none without noise, their utilities and error bars."""

    method: str
    colour: str
    points: list[Point]
    x: list[float]
    y: list[float]
    bars: list[list[float]]


def lines(frontier: Frontier, utility: str = "accuracy") -> list[Line]:
    """Every method of a frontier that has a sound account or no noise, from the one that ends best on."""
    found = []
    for method in dict.fromkeys(p.method for p in frontier.points):
        noisy = METHODS[method].noisy if method in METHODS else True
        points = [p for p in frontier.points if p.method == method and (p.by or not noisy)]
        points.sort(key=lambda p: p.epsilon[p.by] if p.by else 0.0)
        if points:
            x = [p.epsilon[p.by] for p in points] if noisy else []
            y, bars = [p.mean(utility) for p in points], [bar(p, utility) for p in points]
            found.append(Line(method, look_of(method).colour, points, x, y, bars))
    sign = 1 if utility == "loss" else -1
    return sorted(found, key=lambda line: sign * line.y[-1])


class Rivals(NamedTuple):
    """The most accurate at one target epsilon: of the methods by gradients, and of those by random directions."""

    target: float
    gradients: Point
    directions: Point


def rivals(frontier: Frontier) -> Rivals | None:
    """At the target nearest to the middle one that both kinds reach; None where there is none."""
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    for target in sorted(targets, key=lambda t: abs(targets.index(t) - len(targets) // 2)):
        at = [p for p in frontier.points if p.target == target and p.by and p.method in METHODS]
        kinds = [[p for p in at if METHODS[p.method].every_direction is kind] for kind in (True, False)]
        if all(kinds):
            return Rivals(target, *(max(kind, key=lambda p: p.mean("accuracy")) for kind in kinds))
    return None


def _blank(name: str) -> figure:
    """An empty figure of utility against something that is spread over decades."""
    ranges = {"x_range": Range1d(0.3, 30), "y_range": Range1d(0, 1)}
    return blank(name, "frontier", x_axis_type="log", tools="pan,wheel_zoom,reset,save", **ranges)


def _mark(fig: figure, source: ColumnDataSource, size: int) -> None:
    """Draw marks with their bars, which say what they are."""
    fig.multi_line("xs", "ys", source=source, line_color="colour", line_width=1.2)
    look = {"marker": "marker", "fill_color": "colour", "line_color": "colour", "level": "overlay"}
    tells(fig, fig.scatter("x", "y", source=source, size=size, **look))


def _marked(point: Point, x: float, y: float, ends: list[float]) -> dict[str, Any]:
    """The row of a mark, with the ends of its bar."""
    look = look_of(point.method)
    return {"x": x, "y": y, "xs": [x, x], "ys": ends, "tip": tip(point), "colour": look.colour, "marker": look.marker}


_MARKED = ("x", "y", "xs", "ys", "tip", "colour", "marker")
_BESIDE = {"text_baseline": "middle", "text_align": "left", "y_offset": 0}  # where a name stands


class Compared:
    """The figure of one frontier, in light colours."""

    def __init__(self) -> None:
        self.marks = empty("compared", *_MARKED)
        self.paths, self.levels = (empty(name, "xs", "ys", "colour") for name in ("compared-paths", "compared-levels"))
        self.names = empty("compared-names", "x", "y", "text", "colour", "xs", "ys")
        self.gap = empty("compared-gap", "x", "y", "text", "xs", "ys")
        self.figure = fig = _blank("accuracy-at-epsilon")
        fixed_ticks(fig.xaxis[0], {})
        fig.multi_line("xs", "ys", source=self.levels, line_color="colour", line_width=1.6, line_dash=[5, 4])
        fig.multi_line("xs", "ys", source=self.paths, line_color="colour", line_width=2.4)
        fig.multi_line("xs", "ys", source=self.names, line_color="colour", line_width=0.8)
        fig.multi_line("xs", "ys", source=self.gap, line_color=theme.colour("ink"), line_width=1.4)
        _mark(fig, self.marks, 9)
        words(fig, "x", "y", "text", self.names, text_color="colour", x_offset=4, **_BESIDE)
        ground = {"background_fill_color": theme.colour("surface"), "background_fill_alpha": 0.8}
        words(fig, "x", "y", "text", self.gap, text_color=theme.colour("ink"), x_offset=7, **ground, **_BESIDE)

    def draw(self, frontier: Frontier | None, utility: str) -> None:
        """Show a frontier; nothing where there is none."""
        found = lines(frontier, utility) if frontier else []
        epsilons = [x for line in found for x in line.x]
        if frontier is None or not epsilons:
            for source in (self.marks, self.paths, self.levels, self.names, self.gap):
                fill(source)
            return
        low, high = min(epsilons) / 1.25, max(epsilons)
        self.figure.x_range.update(start=low, end=high * _NAMES)
        ticks = {x: format_exact(x) for x in sorted({float(f"{x:.2g}") for x in epsilons})}
        fixed_ticks(self.figure.xaxis[0], ticks if len(ticks) <= _MOST_TICKS else decades(low, high))
        self.figure.xaxis.axis_label = f"ε at {at_delta(frontier.delta)}, by the best account"
        self.figure.yaxis.axis_label = f"{utility} on held-out data"
        values = [end for line in found for ends in line.bars for end in ends]
        places = apart([line.y[-1] for line in found], _APART * extent(values))
        reach(self.figure.y_range, values, places)
        noisy, silent = [line for line in found if line.x], [line for line in found if not line.x]
        fill(self.marks, [_marked(*row) for line in noisy for row in zip(line.points, line.x, line.y, line.bars, strict=True)])
        fill(self.paths, [{"xs": line.x, "ys": line.y, "colour": line.colour} for line in noisy])
        fill(self.levels, [{"xs": [low, high], "ys": [line.y[-1]] * 2, "colour": line.colour} for line in silent])
        begin = high * _LEAD
        fill(self.names, [
            {"x": begin, "y": place, "text": short_of(line.method), "colour": line.colour}
            | {"xs": [high, begin], "ys": [line.y[-1], place]}
            for line, place in zip(found, places, strict=True)
        ])  # fmt: skip
        self._part(rivals(frontier) if utility == "accuracy" else None)

    def _part(self, best: Rivals | None) -> None:
        """Show how far rivals are apart."""
        if best is None:
            fill(self.gap)
            return
        x, ends = best.target * 1.06, [p.mean("accuracy") for p in (best.directions, best.gradients)]
        fill(self.gap, [{"x": x, "y": sum(ends) / 2, "text": f"{abs(ends[1] - ends[0]):.3f} apart", "xs": [x, x], "ys": ends}])


def short_of(method: str) -> str:
    """A method's name beside its mark."""
    return look_of(method).short or title_of(method)


def apart(values: list[float], least: float) -> list[float]:
    """Places for names as near to their values as may be, none nearer to another than `least`."""
    order, places = sorted(range(len(values)), key=lambda i: values[i]), list(values)
    for _ in range(200):
        for below, above in pairwise(order):
            short = least - (places[above] - places[below])
            if short > 1e-12:
                places[below] -= short / 2
                places[above] += short / 2
    return places


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


class Costs:
    """The figure of what the methods of one frontier cost, in light colours."""

    def __init__(self) -> None:
        self.marks = empty("costs", *_MARKED, "at", "text")
        self.figure = _blank("accuracy-at-cost")
        _mark(self.figure, self.marks, 11)
        words(self.figure, "x", "at", "text", self.marks, text_color="colour", x_offset=10, **_BESIDE)

    def draw(self, frontier: Frontier, cost: str) -> None:
        """Show what a frontier's methods cost at the epsilon of its rivals, by "memory" or "passes"; nothing without."""
        if not (best := rivals(frontier)):
            fill(self.marks)
            return
        points = [p for p in frontier.points if p.target == best.target]
        of, title = COSTS[cost]
        x, y = [float(of(p)) for p in points], [p.mean("accuracy") for p in points]
        bars = [bar(p, "accuracy") for p in points]
        values = [end for ends in bars for end in ends]
        places = _places(x, y, _APART * extent(values))
        self.figure.x_range.update(start=min(x) / 1.5, end=max(x) * _BEYOND)
        reach(self.figure.y_range, values, places)
        self.figure.xaxis.axis_label = title
        self.figure.yaxis.axis_label = f"accuracy at ε = {format_number(best.target)}"
        fill(self.marks, [
            _marked(p, at, height, ends) | {"at": place, "text": short_of(p.method)}
            for p, at, height, ends, place in zip(points, x, y, bars, places, strict=True)
        ])  # fmt: skip


def _places(x: list[float], y: list[float], least: float) -> list[float]:
    """Heights of names beside their marks, those at about the same cost kept apart."""
    order, found = sorted(range(len(x)), key=lambda i: x[i]), list(y)
    while order:
        near = [i for i in order if x[i] <= _NEAR * x[order[0]]]
        for i, place in zip(near, apart([y[i] for i in near], least), strict=True):
            found[i] = place
        order = order[len(near) :]
    return found
