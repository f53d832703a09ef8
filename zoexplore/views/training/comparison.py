"""Methods at their best: accuracy against epsilon, or at one epsilon against memory or forward passes; a mark for each with its
name, and the gap between the kinds.
"""

from html import escape
from math import isfinite, log10
from typing import NamedTuple

from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS
from zoexplore.formatting import format_count, format_exact, format_number, format_short
from zoexplore.training import METHODS, Frontier, Point
from zoexplore.training.costs import kept, passes
from zoexplore.views.figures.parts import blank, fixed_ticks, words
from zoexplore.views.style import theme, widgets
from zoexplore.views.training.frontier import MARKERS, at_delta, name_of, spread, tells, title_of

_COLOURS = {
    "noisy-zogd": theme.STYLES["sharp"].colour, "aggzo": theme.PINS[0], "isotropic": theme.PINS[5], "dpzero": theme.PINS[3],
    "noisy-gd": theme.PINS[1], "dp-sgd": theme.PINS[2], "zeroth-order": theme.COLOURS["muted"],
    "non-private": theme.COLOURS["ink"],
}  # fmt: skip

SHORT = {
    "noisy-gd": "Noisy GD", "aggzo": "Joint clip", "isotropic": "Isotropic", "dp-sgd": "DP-SGD",
    "zeroth-order": "Zeroth order",
}  # fmt: skip
ROOM = 0.05  # of the axis, above and below
APART = 0.064  # of the axis, between names
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
    """One method: epsilons and accuracies, one standard error each; without noise a level."""

    method: str
    points: tuple[Point, ...]
    x: list[float]
    y: list[float]
    error: list[float]


def lines(frontier: Frontier, utility: str = "accuracy") -> list[Line]:
    """Every method of a frontier by its best sound account, from the one that ends best on."""
    found = []
    for method in dict.fromkeys(p.method for p in frontier.points):
        noisy = METHODS[method].noisy if method in METHODS else True
        points = [p for p in frontier.points if p.method == method and (p.by or not noisy)]
        points.sort(key=lambda p: p.epsilon[p.by] if p.by else 0.0)
        if points:
            x = [p.epsilon[p.by] for p in points] if noisy else []
            errors = [e if isfinite(e := p.error(utility)) else 0.0 for p in points]
            found.append(Line(method, tuple(points), x, [p.mean(utility) for p in points], errors))
    sign = 1 if utility == "loss" else -1
    return sorted(found, key=lambda line: sign * line.y[-1])


def gap(found: list[Line]) -> tuple[float, Line, Line, float, float] | None:
    """At the middle target that both have: epsilon, the best method by gradients and the best by directions, their values."""
    first = [line for line in found if line.x and METHODS[line.method].every_direction]
    zeroth = [line for line in found if line.x and not METHODS[line.method].every_direction]
    if not first or not zeroth:
        return None
    targets = sorted({p.target for line in found for p in line.points if p.target is not None and line.x})
    for target in sorted(targets, key=lambda t: abs(targets.index(t) - len(targets) // 2)):
        best = []
        for kind in (first, zeroth):
            at = [(p.mean("accuracy"), line) for line in kind for p in line.points if p.target == target]
            if at:
                best.append(max(at, key=lambda pair: pair[0]))
        if len(best) == 2:
            (high, one), (low, other) = best
            return target, one, other, high, low
    return None


class Compared:
    """The figure of one frontier, in light colours."""

    def __init__(self) -> None:
        names = ("x", "y", "colour", "xs", "ys", "tip", "marker", "method")
        self.marks = ColumnDataSource({n: [] for n in names}, name="compared")
        self.paths = ColumnDataSource({"xs": [], "ys": [], "colour": []})
        self.levels = ColumnDataSource({"xs": [], "ys": [], "colour": []})
        self.names = ColumnDataSource({"x": [], "y": [], "text": [], "colour": []}, name="compared-names")
        self.leads = ColumnDataSource({"xs": [], "ys": [], "colour": []})
        self.between = ColumnDataSource({"xs": [], "ys": []})
        self.said = ColumnDataSource({"x": [], "y": [], "text": []}, name="compared-gap")
        self.figure = self._figure()

    def _figure(self) -> figure:
        fig = blank(
            "accuracy-at-epsilon", "frontier", x_axis_type="log", x_range=Range1d(0.3, 30), y_range=Range1d(0, 1),
            tools="pan,wheel_zoom,reset,save",
        )  # fmt: skip
        fixed_ticks(fig.xaxis[0], {})
        fig.multi_line("xs", "ys", source=self.levels, line_color="colour", line_width=1.6, line_dash=[5, 4])
        fig.multi_line("xs", "ys", source=self.paths, line_color="colour", line_width=2.4)
        fig.multi_line("xs", "ys", source=self.leads, line_color="colour", line_width=0.8)
        fig.multi_line("xs", "ys", source=self.between, line_color=theme.colour("ink"), line_width=1.4)
        fig.multi_line("xs", "ys", source=self.marks, line_color="colour", line_width=1.2)
        dots = fig.scatter(
            "x", "y", source=self.marks, size=9, marker="marker", fill_color="colour", line_color="colour", level="overlay"
        )
        look = {"text_baseline": "middle", "text_align": "left", "y_offset": 0}
        words(fig, "x", "y", "text", self.names, text_color="colour", x_offset=4, **look)
        ground = {"background_fill_color": theme.colour("surface"), "background_fill_alpha": 0.8}
        words(fig, "x", "y", "text", self.said, text_color=theme.colour("ink"), x_offset=7, **ground, **look)
        tells(fig, dots)
        return fig

    def draw(self, frontier: Frontier | None, utility: str) -> None:
        """Show a frontier; nothing where there is none."""
        found = lines(frontier, utility) if frontier else []
        epsilons = [x for line in found for x in line.x]
        if frontier is None or not epsilons:
            for source in (self.marks, self.paths, self.levels, self.names, self.leads, self.between, self.said):
                source.data = {name: [] for name in source.data}
            return
        low, high = min(epsilons) / 1.25, max(epsilons)
        self.figure.x_range.update(start=low, end=high * _NAMES)
        ticks = sorted({float(f"{x:.2g}") for x in epsilons})
        ticks = ticks if len(ticks) <= _MOST_TICKS else _decades(low, high)
        fixed_ticks(self.figure.xaxis[0], {tick: format_exact(tick) for tick in ticks})
        self.figure.xaxis.axis_label = f"ε at {at_delta(frontier.delta)}, by the best account"
        self.figure.yaxis.axis_label = f"{utility} on held-out data"
        values = [y + s * e for line in found for y, e in zip(line.y, line.error, strict=True) for s in (-1, 1)]
        span = max(max(values) - min(values), 0.02)
        places = apart([line.y[-1] for line in found], APART * span)
        room = ROOM * span
        self.figure.y_range.update(start=min(*values, *places) - room, end=max(*values, *places) + room)
        self._fill(found, low, high, places)
        self._gap(found if utility == "accuracy" else [])

    def _fill(self, found: list[Line], low: float, high: float, places: list[float]) -> None:
        noisy, silent = [line for line in found if line.x], [line for line in found if not line.x]
        rows = [
            {"x": x, "y": y, "colour": colour_of(line.method), "xs": [x, x], "ys": [y - e, y + e], "tip": tip(p)}
            | {"marker": MARKERS.get(line.method, "circle"), "method": line.method}
            for line in noisy
            for x, y, e, p in zip(line.x, line.y, line.error, line.points, strict=True)
        ]
        self.marks.data = {name: [row[name] for row in rows] for name in self.marks.data}
        hues = [colour_of(line.method) for line in noisy]
        self.paths.data = {"xs": [line.x for line in noisy], "ys": [line.y for line in noisy], "colour": hues}
        hues = [colour_of(line.method) for line in silent]
        self.levels.data = {"xs": [[low, high]] * len(silent), "ys": [[line.y[-1]] * 2 for line in silent], "colour": hues}
        methods, begin = [line.method for line in found], high * _LEAD
        hues, ends = list(map(colour_of, methods)), [[line.y[-1], place] for line, place in zip(found, places, strict=True)]
        self.leads.data = {"xs": [[high, begin]] * len(found), "ys": ends, "colour": hues}
        self.names.data = {
            "x": [begin] * len(found), "y": places, "colour": hues,
            "text": [SHORT.get(m) or title_of(m) for m in methods],
        }  # fmt: skip

    def _gap(self, found: list[Line]) -> None:
        known = gap(found)
        if known is None:
            self.between.data, self.said.data = {"xs": [], "ys": []}, {"x": [], "y": [], "text": []}
            return
        target, _, _, high, low = known
        at = target * 1.06
        self.between.data = {"xs": [[at, at]], "ys": [[low, high]]}
        self.said.data = {"x": [at], "y": [(high + low) / 2], "text": [f"{abs(high - low):.3f} apart"]}


def colour_of(method: str) -> str:
    """A method's colour; that of edges for one that is not known."""
    return _COLOURS.get(method, theme.COLOURS["edge"])[theme.LIGHT]


def apart(values: list[float], least: float) -> list[float]:
    """Places for names as near to their values as may be, none nearer to another than `least`."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    places = [values[i] for i in order]
    for _ in range(200):
        for j in range(len(places) - 1):
            short = least - (places[j + 1] - places[j])
            if short > 1e-12:
                places[j], places[j + 1] = places[j] - short / 2, places[j + 1] + short / 2
    found = [0.0] * len(values)
    for place, i in zip(places, order, strict=True):
        found[i] = place
    return found


def describe_frontier(frontier: Frontier) -> str:
    """The gap in a sentence; empty where there is none."""
    known = gap(lines(frontier))
    if known is None:
        return ""
    target, first, zeroth, high, low = known
    one, other = METHODS[first.method].title, METHODS[zeroth.method].title
    best = next((line.y[-1] for line in lines(frontier) if line.method == "non-private"), None)
    ceiling = f" Without privacy, gradients reach {best:.3f}." if best is not None else ""
    head = f"At ε = {format_number(target)} the best method with gradients, {one}, reaches an accuracy of {high:.3f}"
    return f"{head}; the best with random directions, {other}, {low:.3f}.{ceiling}"


def tip(point: Point) -> str:
    """What is told of a mark that is pointed at, as HTML."""
    run = point.run
    rows = [
        f"<b>{escape(name_of(point))}</b>",
        f"ε = {format_number(point.epsilon[point.by])} by {escape(BOUNDS[point.by].title)}",
    ]
    if said := point.counted.get(point.by):
        rows.append(f"counted: {escape(said)}")
    rows += [f"{name} {spread(point, name)}" for name in ("accuracy", "loss")]
    if run:
        batch = f", batches of {format_count(int(run['batch']))}" if run["batch"] else ""
        rows.append(
            f"K = {format_count(int(run['K']))}, T = {format_count(int(run['T']))}, Δ = {format_number(run['clip'])}{batch}"
        )
        if "n" in run:
            rows.append(
                f"{format_short(passes(point), 2)} forward passes; {format_count(int(kept(point)))} numbers kept of a record"
            )
    return "".join(f"<p>{row}</p>" for row in rows)


def _decades(low: float, high: float) -> list[float]:
    return [10.0**i for i in range(int(log10(low)) - 1, int(log10(high)) + 2)]


def table(frontier: Frontier) -> str:
    """Every point of the comparison as rows of a table: what was chosen, what it reached, what it cost."""
    titles = ("method", "ε", "accuracy", "counted by", "K", "T", "η/K", "Δ", "β", "batch", "forward passes", "kept of a record")
    rows = []
    for p in (p for p in frontier.points if p.run):
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


def at_one_target(frontier: Frontier) -> tuple[float | None, list[Point]]:
    """The middle target, and the points with noise there."""
    targets = sorted({p.target for p in frontier.points if p.target is not None})
    if not targets:
        return None, []
    middle = targets[len(targets) // 2]
    return middle, [p for p in frontier.points if p.target == middle and p.run]


def describe_costs(frontier: Frontier) -> str:
    """The best by directions against the best by gradients in a sentence, and where it loses; empty where there are not both."""
    target, points = at_one_target(frontier)
    kinds = [[p for p in points if METHODS[p.method].every_direction is kind] for kind in (True, False)]
    if target is None or not all(kinds):
        return ""
    first, few = (max(kind, key=lambda p: p.mean("accuracy")) for kind in kinds)
    lost, more, less = first.mean("accuracy") - few.mean("accuracy"), passes(few) / passes(first), kept(first) / kept(few)
    compared = f"{lost:.3f} below" if lost > 0 else f"{-lost:.3f} above"
    return (
        f"At ε = {format_number(target)} the best method with random directions, {METHODS[few.method].title}, is {compared} the "
        f"best with gradients, {METHODS[first.method].title}. It took {format_number(passes(few))} forward passes of a "
        f"record, {format_number(more)} times as many; a clipped step kept {format_count(int(kept(few)))} numbers per record "
        f"instead of {format_count(int(kept(first)))} and the activations, {format_number(less)} times fewer."
    )


class Costs:
    """The figure of one frontier, in light colours."""

    def __init__(self) -> None:
        names = ("x", "y", "xs", "ys", "at", "text", "tip", "marker", "method", "colour")
        self.marks = ColumnDataSource({n: [] for n in names}, name="costs")
        self.figure = self._figure()

    def _figure(self) -> figure:
        fig = blank(
            "accuracy-at-cost", "frontier", x_axis_type="log", x_range=Range1d(1, 1e4), y_range=Range1d(0, 1),
            tools="pan,wheel_zoom,reset,save",
        )  # fmt: skip
        fig.multi_line("xs", "ys", source=self.marks, line_color="colour", line_width=1.2)
        dots = fig.scatter(
            "x", "y", source=self.marks, size=11, marker="marker", fill_color="colour", line_color="colour", level="overlay"
        )
        look = {"text_baseline": "middle", "text_align": "left", "y_offset": 0}
        words(fig, "x", "at", "text", self.marks, text_color="colour", x_offset=10, **look)
        tells(fig, dots)
        return fig

    def draw(self, frontier: Frontier | None, cost: str) -> None:
        """Show what a frontier's methods cost at its middle epsilon, by "memory" or "passes"."""
        target, points = at_one_target(frontier) if frontier else (None, [])
        if not points or target is None:
            self.marks.data = {name: [] for name in self.marks.data}
            return
        of, title = COSTS[cost]
        x, y = [float(of(p)) for p in points], [p.mean("accuracy") for p in points]
        errors = [e if isfinite(e := p.error("accuracy")) else 0.0 for p in points]
        low, high = min(a - e for a, e in zip(y, errors, strict=True)), max(a + e for a, e in zip(y, errors, strict=True))
        span = max(high - low, 0.02)
        places = _places(x, y, APART * span)
        methods = [p.method for p in points]
        self.figure.x_range.update(start=min(x) / 1.5, end=max(x) * _BEYOND)
        self.figure.y_range.update(start=min(low, *places) - ROOM * span, end=max(high, *places) + ROOM * span)
        self.figure.xaxis.axis_label = title
        self.figure.yaxis.axis_label = f"accuracy at ε = {format_number(target)}"
        self.marks.data = {
            "x": x, "y": y, "at": places, "xs": [[a, a] for a in x],
            "ys": [[a - e, a + e] for a, e in zip(y, errors, strict=True)],
            "text": [SHORT.get(m) or title_of(m) for m in methods], "tip": [tip(p) for p in points],
            "marker": [MARKERS.get(m, "circle") for m in methods], "method": methods,
            "colour": list(map(colour_of, methods)),
        }  # fmt: skip


def _places(x: list[float], y: list[float], least: float) -> list[float]:
    """Heights of names beside their marks, those at about the same cost kept apart."""
    order, found = sorted(range(len(x)), key=lambda i: x[i]), list(y)
    while order:
        near = [i for i in order if x[i] <= _NEAR * x[order[0]]]
        for i, place in zip(near, apart([y[i] for i in near], least), strict=True):
            found[i] = place
        order = order[len(near) :]
    return found
