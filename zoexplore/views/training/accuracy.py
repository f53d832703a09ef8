"""The figure of trained runs: accuracy against epsilon by every drawn bound, updated as results arrive."""

from typing import Any

from bokeh.models import HoverTool, Range1d

from zoexplore.columns import labels, look_of, ways
from zoexplore.run.axes import decades, whole_decades
from zoexplore.run.formatting import format_delta, format_number
from zoexplore.training import Frontier
from zoexplore.views.figures.names import Names
from zoexplore.views.figures.parts import blank, empty, fill, fixed_ticks, mark
from zoexplore.views.style import theme

MOST_NAMES = 30
GUESSING = 0.5  # the accuracy of guessing one of two classes
FAR = 100.0  # times the drawn epsilons, where one that is marked has no place
_MARKS = ("x", "y", "marker", "fill", "colour", "tip")


class Trained:
    """Accuracy against epsilon, a line with a name for each method and bound, from two sources that update live."""

    def __init__(self) -> None:
        self.lines, self.marks = empty("trained-lines", "xs", "ys", "colour", "dash", "width"), empty("trained", *_MARKS)
        span: dict[str, Any] = {"x_axis_type": "log", "x_range": Range1d(0.01, 100), "y_range": Range1d(0, 1)}
        self.figure = blank("accuracy-against-epsilon", bare=True, y_axis_label="accuracy on held-out data", **span)
        self.figure.multi_line("xs", "ys", source=self.lines, line_color="colour", line_dash="dash", line_width="width")
        dots = self.figure.scatter(
            "x", "y", source=self.marks, size=9, marker="marker", fill_color="fill", line_color="colour", line_width=1.8
        )
        self.figure.add_tools(HoverTool(renderers=[dots], tooltips=[("", "@tip")], visible=False, point_policy="snap_to_data"))
        self.here = mark(self.figure, 1, visible=False)
        self.names = Names(self.figure, MOST_NAMES, share=False)
        self.dark, self.ends, self._xs = False, dict[str, tuple[float, str, bool]](), [1.0]

    def put(self, epsilon: float) -> None:
        """Mark an epsilon, if it has a place near the drawn ones."""
        seen = min(self._xs) / FAR < epsilon < FAR * max(self._xs)
        self.here.update(location=epsilon if seen else None, visible=seen)
        start, end = whole_decades([*self._xs, epsilon] if seen else self._xs)
        self.figure.x_range.update(start=start, end=end)
        fixed_ticks(self.figure.xaxis[0], decades(start, end))

    def draw(self, found: Frontier, bounds: tuple[str, ...]) -> None:
        """Draw a frontier in light colours."""
        drawn = ways(found, bounds)
        rows: list[dict[str, Any]] = []
        lines: list[dict[str, Any]] = []
        self.ends = {}
        for way, name in zip(drawn, labels(drawn), strict=True):
            style = theme.style_of(way.bound) if way.bound else theme.REFERENCE
            hue = style.colour[theme.LIGHT] if way.bound else theme.colour("muted")
            xs, ys = zip(*way.line, strict=True)
            lines.append({"xs": xs, "ys": ys, "colour": hue, "dash": list(style.dash), "width": style.width})
            lines += [
                {"xs": [e, e], "ys": ends, "colour": hue, "dash": [], "width": 1.2}
                for e, ends in zip(way.x, way.bars, strict=True)
            ]
            inside = theme.colour("surface") if way.hollow else hue
            rows += [
                {"x": e, "y": a, "marker": look_of(way.method).marker, "fill": inside, "colour": hue,
                 "tip": f"{name}: ε = {format_number(e)}, accuracy {a:.3f}"}
                for e, a in zip(way.x, way.y, strict=True)
            ]  # fmt: skip
            self.ends[name.replace(", ", "\n")] = ys[-1], hue, way.bound == bounds[-1]
        fill(self.lines, lines)
        fill(self.marks, rows)
        self._xs = [x for line in lines for x in line["xs"]]
        # from guessing to 1, so that nothing moves while a run is trained
        low = min(GUESSING, *(y for line in lines for y in line["ys"]))
        self.figure.y_range.update(start=low - 0.02, end=1.02)
        self.figure.xaxis.axis_label = f"ε at δ = {format_delta(found.delta)}"
        self.name()

    def name(self) -> None:
        """Write the names in the margin, for the frame's size."""
        ends = {name: (at, theme.partner(hue, self.dark), bold) for name, (at, hue, bold) in self.ends.items()}
        self.names.write(ends)
