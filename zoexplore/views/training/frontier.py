"""A frontier drawn: utility against epsilon under each bound, a mark for every point, filled or hollow, with the best of each
budget, and infinity at the edge; and what is said of a mark.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, inf, isfinite, log10
from typing import Any

from bokeh.models import GlyphRenderer, HoverTool, Range1d, TapTool
from bokeh.plotting import figure

from zoexplore.axes import decades
from zoexplore.bounds import BOUNDS
from zoexplore.columns import LOOKS, bar, extent, look_of, name_of, spread, supposed, title_of
from zoexplore.formatting import format_count, format_exact, format_number, format_power
from zoexplore.setting import Accounting
from zoexplore.training import METHODS, TASKS, Frontier, Point
from zoexplore.views.figures.parts import blank, empty, fill, fixed_ticks, put, stroke
from zoexplore.views.style import theme

_SHAPES = {
    "circle": "●", "square": "■", "triangle": "▲", "diamond": "◆", "inverted_triangle": "▼", "star": "★", "hex": "⬢", "plus": "✚",
}  # fmt: skip
UTILITIES = ("accuracy", "loss")
DEFAULT_BOUNDS = ("composition", "theorem", "corollary", "sharp")
_STRIP = 0.2  # the share of the axis that is left for what has no finite epsilon
_COLUMNS = ("x", "y", "xs", "ys", "point", "bound", "marker", "size", "fill", "line", "tip")
SIZES = (13, 9)  # of the first bound's marks and of the last one's, so that none hides another at the same place
_ROOM = 0.05  # of the axis, above and below what is drawn


@dataclass(frozen=True)
class Scale:
    """An axis of epsilon: whole decades, then a strip for what is infinite."""

    low: float = 0.01
    high: float = 100.0

    @classmethod
    def of(cls, frontier: Frontier, bounds: tuple[str, ...]) -> "Scale":
        """The decades of all finite values."""
        values = [p.epsilon[b] for p in frontier.points for b in bounds if 0 < p.epsilon[b] < inf]
        if not values:
            return cls()
        low = floor(log10(min(values)))
        return cls(10.0**low, 10.0 ** max(ceil(log10(max(values))), low + 1))

    @property
    def end(self) -> float:
        """Where the strip ends."""
        return self.at(1 / (1 - _STRIP))

    def at(self, share: float) -> float:
        """The place so far along: 0 is the low end, 1 the high one; beyond is the strip."""
        return self.low * (self.high / self.low) ** share

    def place(self, epsilon: float, order: int = 0, of: int = 1) -> float:
        """Where a value stands; infinite ones stand side by side in the strip, each bound in its place."""
        if epsilon == inf:
            return self.at(1 + (_STRIP / (1 - _STRIP)) * (order + 1) / (of + 1))
        return max(epsilon, self.low)

    @property
    def infinity(self) -> float:
        """The middle of the strip."""
        return self.place(inf)


def at_delta(delta: float) -> str:
    """The delta of an epsilon, for an axis."""
    exponent = round(log10(delta))
    return f"δ = {format_power(exponent) if abs(delta / 10.0**exponent - 1) < 1e-9 else format_exact(delta)}"


def reach(axis: Range1d, values: Sequence[float], beside: Sequence[float] = ()) -> None:
    """Let an axis show values, and what stands beside them, with some room."""
    room = _ROOM * extent(values)
    axis.update(start=min(*values, *beside) - room, end=max(*values, *beside) + room)


def marks(frontier: Frontier, bounds: tuple[str, ...], utility: str, scale: Scale) -> list[dict[str, Any]]:
    """A row for every point and bound; a single one for a point without noise, which no bound tells anything of.

    Each has its place x, y, its bar from one standard error below to one above as xs, ys, the point's place in the frontier, the
    bound, and how it is drawn: hollow where something is only supposed.
    """
    found = []
    for place, point in enumerate(frontier.points):
        y, ends, shown = point.mean(utility), bar(point, utility), bounds if point.sigma else bounds[:1]
        for order, bound in enumerate(shown):
            x = scale.place(point.epsilon[bound], order, len(shown))
            line = theme.hue(bound) if point.sigma else theme.colour("muted")
            hollow = supposed(point, bound, frontier.accounting)
            found.append({
                "x": x, "y": y, "xs": [x, x], "ys": ends, "point": place,
                "bound": bound if point.sigma else "", "marker": look_of(point.method).marker,
                "size": _size(bound) if point.sigma else SIZES[0], "line": line,
                "fill": theme.colour("surface") if hollow else line, "tip": tip(frontier, point, bound),
            })  # fmt: skip
    return found


def _size(bound: str) -> float:
    return SIZES[0] + (SIZES[1] - SIZES[0]) * list(BOUNDS).index(bound) / (len(BOUNDS) - 1)


def front(frontier: Frontier, bound: str, utility: str, scale: Scale) -> tuple[list[float], list[float]]:
    """The Pareto front as steps: the best utility that an epsilon buys, to the high end of the axis."""
    places = [(scale.place(point.epsilon[bound]), point.mean(utility)) for point in frontier.pareto(bound, utility)]
    x = [at for at, _ in places for _ in range(2)]  # where a step rises, and where it has risen
    y = [height for _, height in places for _ in range(2)]
    return ([*x[1:], scale.high], y) if places else ([], [])


def tip(frontier: Frontier, point: Point, bound: str) -> str:
    """What a pointer is told of a mark."""
    by = f"{BOUNDS[bound].title}: " if point.sigma else ""
    what = [f"<b>{escape(name_of(point))}</b>", f"{escape(by)}ε = {format_number(point.epsilon[bound])}"]
    if not isfinite(point.epsilon[bound]):
        what.append(escape(point.reason[bound]))
    what += [f"{name} {spread(point, name)}" for name in UTILITIES]
    if point.setting:
        s = point.setting
        what.append(f"K = {format_count(s.K)}, β = {format_exact(s.beta)}, T = {format_count(s.T)}, seeds: {len(point.seeds)}")
    if point.clipped:
        what.append(f"the clip changed {100 * point.clipped:.3g} % of the quotients")
    what += [f"supposed: {escape(words)}" for words in supposed(point, bound, frontier.accounting)]
    return "".join(f"<p>{line}</p>" for line in what)


def infinite(frontier: Frontier, bounds: tuple[str, ...]) -> dict[tuple[str, str], list[str]]:
    """What has no finite epsilon: (method, reason) -> titles of the bounds, in order."""
    found: dict[tuple[str, str], list[str]] = {}
    for point in frontier.points:
        for bound in bounds:
            if point.epsilon[bound] == inf:
                titles = found.setdefault((title_of(point.method), point.reason[bound]), [])
                titles += [BOUNDS[bound].title] if BOUNDS[bound].title not in titles else []
    return found


def stopping(point: Point, utility: str) -> int:
    """The place of the first recorded step whose utility is as good as the last one's, to within a hundredth."""
    means, sign = point.means(utility), -1 if utility == "loss" else 1
    return next(i for i, mean in enumerate(means) if sign * (mean - means[-1]) >= -0.01)


def about(frontier: Frontier, delta: float, accounting: Accounting) -> str:
    """What is drawn: data, steps, seeds; and whether it is counted as the page counts now."""
    steps, seeds = max(p.steps[-1] for p in frontier.points), max(len(p.seeds) for p in frontier.points)
    drawn = f"{format_count(steps)} steps, {seeds} seed{'s' if seeds > 1 else ''}"
    task = TASKS[frontier.task].title if frontier.task in TASKS else frontier.task
    said = f"{task}: {drawn}, bars of one standard error."
    if frontier.accounting.printed:
        said += " As printed: no guarantee."
    if accounting.schedule != "constant":
        said += " The runs keep their β, and ε is that of such runs: not of the best β at every step, which the page is set to."
    if frontier.delta != delta or frontier.accounting != accounting.replace(schedule="constant"):
        said += f" ε is counted at {at_delta(frontier.delta)} as the page was set then; train again to count it as it is now."
    return said


def legend(frontier: Frontier | None) -> str:
    """Which mark is which method, as HTML; nothing before there is a frontier."""
    used = {point.method for point in frontier.points} if frontier else set()
    marks = [
        f'<li><span aria-hidden="true">{_SHAPES[look.marker]}</span>{escape(METHODS[method].title)}</li>'
        for method, look in LOOKS.items()
        if method in used
    ]
    return f"<ul>{''.join(marks)}</ul>" if marks else ""


def tells(fig: figure, dots: GlyphRenderer) -> None:
    """Have a figure's marks say what their column "tip" does, as HTML, to who points at them; none looks selected."""
    dots.nonselection_glyph = dots.selection_glyph = None
    tooltip = f'<div class="tip"><style>{theme.css("mark")}</style>@tip{{safe}}</div>'
    fig.add_tools(HoverTool(renderers=[dots], tooltips=tooltip, visible=False, point_policy="snap_to_data"))


class UtilityFigure:
    """Draws a frontier in light colours; `picked` is called with a point's place when its mark is clicked."""

    def __init__(self, picked: Callable[[int], None]) -> None:
        self.source, self.ring = empty("frontier", *_COLUMNS), empty("frontier-picked", "x", "y")
        self.edge = empty("frontier-edge", "x")
        self.fronts = {bound: empty(f"front-{bound}", "x", "y") for bound in BOUNDS}
        self.figure = self._figure()
        self.picked = picked
        self.source.selected.on_change("indices", self._selected)

    def _figure(self) -> figure:
        fig = blank("utility-against-epsilon", "frontier", x_axis_type="log", x_range=Range1d(0.01, 100), y_range=Range1d(0, 1))
        fig.vspan("x", source=self.edge, line_color=theme.colour("edge"), line_width=1, line_dash=[2, 3])
        self.steps = {}
        for bound in BOUNDS:
            style = theme.style_of(bound)
            look = stroke(style) | {"line_width": 0.7 * style.width, "line_alpha": 0.75}
            self.steps[bound] = fig.line("x", "y", source=self.fronts[bound], name=f"front-{bound}", **look)
        errors = fig.multi_line("xs", "ys", source=self.source, line_color="line", line_width=1.4)
        errors.nonselection_glyph = errors.selection_glyph = None
        ring = {"line_color": theme.colour("ink"), "fill_color": theme.colour("sunken"), "line_width": 1.2}
        fig.scatter("x", "y", source=self.ring, size=20, marker="circle", **ring)
        dots = fig.scatter(
            "x", "y", source=self.source, size="size", marker="marker", fill_color="fill", line_color="line", line_width=1.8,
            level="overlay", name="points",
        )  # fmt: skip
        tells(fig, dots)
        fig.add_tools(TapTool(renderers=[dots], visible=False))
        fixed_ticks(fig.xaxis[0], {})
        return fig

    def draw(self, frontier: Frontier | None, bounds: tuple[str, ...], utility: str, chosen: Point | None) -> None:
        """Show a frontier; nothing where there is none."""
        scale = Scale.of(frontier, bounds) if frontier else Scale()
        fill(self.source, marks(frontier, bounds, utility, scale) if frontier else ())
        for bound, source in self.fronts.items():
            put(source, *(front(frontier, bound, utility, scale) if frontier and bound in bounds else ()))
        self._ring(frontier.points.index(chosen) if frontier and chosen else None)
        self._axes(frontier, scale, utility)

    def _axes(self, frontier: Frontier | None, scale: Scale, utility: str) -> None:
        fig = self.figure
        fixed_ticks(fig.xaxis[0], {**decades(scale.low, scale.high), scale.infinity: "∞"})
        fig.x_range.update(start=scale.at(-0.03), end=scale.end)
        self.edge.data = {"x": [scale.high * 1.0001]}
        fig.xaxis.axis_label = f"ε at {at_delta(frontier.delta)}, a mark for each bound" if frontier else "ε"
        fig.yaxis.axis_label = f"{utility} on held-out data"
        if bars := self.source.data["ys"]:
            reach(fig.y_range, [end for ends in bars for end in ends])

    def _ring(self, point: int | None) -> None:
        """Ring the marks of a point."""
        data = self.source.data
        at = [i for i, p in enumerate(data["point"]) if p == point]
        self.ring.data = {"x": [data["x"][i] for i in at], "y": [data["y"][i] for i in at]}

    def _selected(self, _: str, __: Any, indices: list[int]) -> None:
        if indices:
            point = self.source.data["point"][indices[0]]
            self.source.selected.indices = []  # so that the same mark can be clicked again
            self.picked(point)
