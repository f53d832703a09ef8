"""The figure of a plan: epsilon against the field that is solved for, the target, and the runs before and after."""

from math import inf
from typing import Any

import numpy as np

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.guarantee import BEST
from zoexplore.compute.computations import CurveSet
from zoexplore.run.axes import AXES, drawable, whole_decades
from zoexplore.run.formatting import format_delta, format_short
from zoexplore.views.figures.abscissa import Abscissa
from zoexplore.views.figures.names import Names
from zoexplore.views.figures.parts import FittedRange, blank, empty, fill, mark, stroke
from zoexplore.views.figures.pins import least
from zoexplore.views.state import State
from zoexplore.views.style import theme


class Target:
    """A curve, a level, and a mark for each of the two runs: the current one is hollow."""

    def __init__(self, state: State) -> None:
        self.state, self.dark = state, False
        self.curve, self.marks = empty("plan", "x", "y"), empty("plan-marks", "x", "y", "fill")
        span: dict[str, Any] = {"x_axis_type": "log", "y_axis_type": "log", "x_range": (1, 10), "y_range": (1e-2, 1e2)}
        self.figure = blank("epsilon-to-plan", bare=True, min_border_top=12, min_border_bottom=34, **span)
        self.abscissa, self.up = Abscissa(self.figure, state), FittedRange(self.figure.y_range)
        self.handle, self.names = self.abscissa.handle, Names(self.figure, 2, log=True)
        self.level = mark(self.figure, 1, "width", line_dash=[6, 3], line_color=theme.colour("accent"), line_width=1.6)
        self.line = self.figure.line("x", "y", source=self.curve, **stroke(theme.style_of("sharp")))
        look = {"size": 12, "line_color": theme.hue("sharp"), "line_width": 2.5, "level": "overlay"}
        self.figure.scatter("x", "y", source=self.marks, fill_color="fill", **look)
        self._ends: dict[str, tuple[float, str, bool]] = {}

    def draw(self, curves: CurveSet, bound: str, target: float, now: Guarantee, found: Guarantee | None) -> None:
        """Draw in light colours.

        Args:
            curves: along the field that is solved for.
            bound: the one that must meet the target; `BEST` for the least that applies.
            target: epsilon.
            now, found: the current run, and the one that meets the target.
        """
        field = self.abscissa.over
        style = theme.style_of("sharp" if bound == BEST else bound)
        x, y = AXES[field].place(curves.values), drawable(least(curves, "" if bound == BEST else bound))
        self.curve.data = {"x": x, "y": y}
        hue = self.line.glyph.line_color = style.colour[theme.LIGHT]
        runs = [(g, colour) for g, colour in ((now, theme.colour("surface")), (found, hue)) if g and 0 < g.epsilon < inf]
        places = [(getattr(g.setting, field), g.epsilon, colour) for g, colour in runs]
        fill(self.marks, [{"x": float(AXES[field].place(x)), "y": e, "fill": c} for x, e, c in places if x is not None])
        self.level.location = target if 0 < target < inf else None
        known = [x for x in (target, *self.marks.data["y"]) if 0 < x < inf] or [1.0]
        self.up.show(whole_decades(known, 1), fresh=True)
        low, high = self.up.ends
        seen = [at for at in (*x[(y >= low) & (y <= high)], *self.marks.data["x"]) if 0 < at < inf]
        if seen and not AXES[field].linear:
            self.abscissa.range.show(whole_decades(seen), fresh=True)  # where the curve is in the frame
        else:
            self.abscissa.fit(fresh=True)
        self.figure.yaxis.axis_label = f"ε at δ = {format_delta(self.state.setting.delta)}"
        self.figure.tags = [f"ε against {AXES[field].title}, and the target"]
        drawn, name = y[np.isfinite(y) & (x <= self.figure.x_range.end)], "Least bound" if bound == BEST else BOUNDS[bound].title
        named = {name: (float(drawn[-1]), hue, True)} if drawn.size else {}
        goal = f"Target ε = {format_short(target, 4)}"
        level = {goal: (float(target), theme.colour("accent"), False)} if self.level.location else {}
        self._ends = level | named
        self.name()

    def name(self) -> None:
        """Write the names of the curve and of the target in the margin."""
        ends = {name: (at, theme.partner(hue, self.dark), bold) for name, (at, hue, bold) in self._ends.items()}
        self.names.write(ends)
