"""The frontier's figure: utility against epsilon under each bound, with the best of each budget, and infinity at the edge."""

from typing import Any

from bokeh.models import ColumnDataSource, Range1d, TapTool
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS
from zoexplore.training import METHODS, Frontier, Point
from zoexplore.views.figures.bokeh_style import blank, fixed_ticks, stroke
from zoexplore.views.figures.glyphs import Mark, Stroke
from zoexplore.views.figures.picture import decades
from zoexplore.views.style import theme
from zoexplore.views.training.compared import tells
from zoexplore.views.training.marks import MARKERS, Scale, at_delta, front, marks

_NONE: dict[str, list] = {
    name: [] for name in ("x", "y", "low", "high", "point", "bound", "marker", "solid", "tip", "fill", "line", "size", "xs", "ys")
}
SIZES = (13, 9)  # of the first bound's marks and of the last one's, so that none hides another at the same place
_ROOM = 0.06  # of the axis, above and below the marks


class UtilityFigure:
    """Draws a frontier in light colours; `picked` is called with a point's place when its mark is clicked."""

    def __init__(self, picked: Any) -> None:
        self.source = ColumnDataSource(dict(_NONE), name="frontier")
        self.ring = ColumnDataSource({"x": [], "y": []}, name="frontier-picked")
        self.edge = ColumnDataSource({"x": []}, name="frontier-edge")
        self.fronts = {bound: ColumnDataSource({"x": [], "y": []}, name=f"front-{bound}") for bound in BOUNDS}
        self.figure = self._figure()
        self.picked = picked
        self.source.selected.on_change("indices", self._selected)

    def _figure(self) -> figure:
        fig = blank(
            "utility-against-epsilon", "frontier", x_axis_type="log", x_range=Range1d(0.01, 100), y_range=Range1d(0, 1),
            tools="pan,wheel_zoom,box_zoom,reset,save",
        )  # fmt: skip
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
        scale = Scale.of(frontier, bounds) if frontier else Scale(0.01, 100.0)
        columns = marks(frontier, bounds, utility, scale) if frontier else {}
        self.source.data = {**_NONE, **columns, **self._looks(columns)} if columns else dict(_NONE)
        for bound, source in self.fronts.items():
            x, y = front(frontier, bound, utility, scale) if frontier and bound in bounds else ([], [])
            source.data = {"x": x, "y": y}
        self._ring(frontier.points.index(chosen) if frontier and chosen else None)
        self._axes(frontier, scale, utility)

    def _looks(self, columns: dict[str, list]) -> dict[str, list]:
        """Colours by bound, hollow where something is only supposed; error bars as lines."""
        line = [theme.style_of(b).colour[theme.LIGHT] if b else theme.colour("muted") for b in columns["bound"]]
        surface = theme.colour("surface")
        return {
            "line": line,
            "size": [self._size(bound) for bound in columns["bound"]],
            "fill": [hue if solid else surface for hue, solid in zip(line, columns["solid"], strict=True)],
            "xs": [[x, x] for x in columns["x"]],
            "ys": [list(ends) for ends in zip(columns["low"], columns["high"], strict=True)],
        }

    def _size(self, bound: str) -> float:
        order = list(BOUNDS).index(bound) if bound else 0
        return SIZES[0] + (SIZES[1] - SIZES[0]) * order / (len(BOUNDS) - 1)

    def _axes(self, frontier: Frontier | None, scale: Scale, utility: str) -> None:
        fig = self.figure
        fixed_ticks(fig.xaxis[0], {**decades(scale.low, scale.high), scale.infinity: "∞"})
        fig.x_range.update(start=scale.at(-0.03), end=scale.end)
        self.edge.data = {"x": [scale.high * 1.0001]}
        fig.xaxis.axis_label = f"ε at {at_delta(frontier.delta)}, a mark for each bound" if frontier else "ε"
        fig.yaxis.axis_label = f"{utility} on held-out data"
        low, high = self.source.data["low"], self.source.data["high"]
        if low:
            room = _ROOM * max(max(high) - min(low), 0.02)
            fig.y_range.update(start=min(low) - room, end=max(high) + room)

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

    def key(self) -> list[tuple[Stroke | Mark, str]]:
        """The legend of a picture: the fronts by bound, the methods by mark."""
        drawn = [bound for bound, source in self.fronts.items() if bound in self.source.data["bound"]]
        used = [method for method, marker in MARKERS.items() if marker in self.source.data["marker"]]
        ink = theme.colour("ink")
        lines = [(Stroke.of(self.steps[bound].glyph), BOUNDS[bound].title) for bound in drawn]
        return lines + [(Mark(MARKERS[method], ink), METHODS[method].title) for method in used]
