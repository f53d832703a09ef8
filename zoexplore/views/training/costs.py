"""What accuracy costs beside privacy: accuracy at one epsilon against memory or forward passes, a mark for each method."""

from math import isfinite

from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure

from zoexplore.formatting import format_count, format_number
from zoexplore.training import METHODS, Frontier, Point
from zoexplore.training.costs import kept, passes
from zoexplore.views.figures.bokeh_style import blank
from zoexplore.views.style import theme
from zoexplore.views.training.compared import APART, ROOM, SHORT, apart, colour_of, tells, tip
from zoexplore.views.training.marks import MARKERS

COSTS = {
    "memory": (kept, "numbers that a clipped step keeps of a record"),
    "passes": (passes, "forward passes of a record in all steps"),
}
_BEYOND = 6.0  # times the largest cost is as far as names reach
_NEAR = 3.0  # costs within this factor have names that may meet


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
        fig.text(
            "x", "at", "text", source=self.marks, x_offset=10, y_offset=0, text_align="left", level="overlay",
            text_font_size="12px", text_baseline="middle", text_color="colour", text_font={"value": theme.FONT},
        )  # fmt: skip
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
            "text": [SHORT.get(m, METHODS[m].title) for m in methods], "tip": [tip(p) for p in points],
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
