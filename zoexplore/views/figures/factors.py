"""One step's contraction: orthonormal against independent directions, simulated, with the bounds as lines."""

from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, LegendItem, Range1d

from zoexplore.bounds import Guarantee
from zoexplore.bounds.run_arrays import RunArrays
from zoexplore.directions import moment_factor, tail_factor
from zoexplore.formatting import format_count, format_number, format_short
from zoexplore.views.compute.ask import ask
from zoexplore.views.compute.curve_set import guarantees
from zoexplore.views.compute.questions import KINDS, histograms
from zoexplore.views.figures.bokeh_style import add_legend, blank
from zoexplore.views.figures.picture import Saves, svg
from zoexplore.views.state import State
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

MOST_DIRECTIONS = 5000  # of which independent ones are drawn one by one
_COLOURS = dict(zip(KINDS, ("sharp", "corollary"), strict=True))


def lines(found: dict[str, Guarantee], d: int, K: int, c: float) -> dict[str, float]:
    """The factors that the proofs calculate with, by their names; what does not apply is left out."""
    theorem, shown = found["theorem"], {}
    if theorem.valid and theorem.delta_f > 0:
        shown["theorem"] = tail_factor(d, K, c, theorem.delta_f / theorem.N)
    shown["sharper bound"] = moment_factor(d, K, c, 1)
    return {name: x for name, x in shown.items() if np.isfinite(x)}


class Factors(View):
    """The distribution of the factor by which one step's random directions bring two runs nearer."""

    def __init__(self, state: State | None = None, dark: bool = False, **params: Any) -> None:
        super().__init__(state, dark, **params)
        self.source = ColumnDataSource({"left": [], "right": [], **{kind: [] for kind in _COLOURS}}, name="factors")
        columns = ("x", "y", "label", "dx", "dy", "align")
        self.bounds = ColumnDataSource({name: [] for name in columns}, name="factor-bounds")
        self.figure = blank(
            "factor-histogram", "small", height=240, title="One step, many draws of the directions", tools="",
            toolbar_location=None, y_range=Range1d(0, 1), x_range=Range1d(0, 1),
        )  # fmt: skip
        self.figure.xaxis.axis_label = "distance after the step over distance before"
        self.figure.yaxis.visible = False
        items = []
        for kind, hatch in zip(_COLOURS, (" ", "/"), strict=True):
            hue = theme.style_of(_COLOURS[kind]).colour[theme.LIGHT]
            look = {"fill_color": hue, "fill_alpha": 0.45, "line_color": hue, "hatch_color": hue, "hatch_alpha": 0.5}
            bar = self.figure.quad("left", "right", kind, 0, source=self.source, hatch_pattern=hatch, **look)
            items.append(LegendItem(label=kind, renderers=[bar]))
        add_legend(self.figure, items)
        ink = theme.colour("ink")
        self.figure.vspan("x", source=self.bounds, line_color=ink, line_width=2, line_dash=[6, 3])
        self.figure.text(
            "x", "y", "label", source=self.bounds, x_offset="dx", y_offset="dy", text_color=ink, text_align="align",
            text_font_size="11.5px", level="overlay", text_font={"value": theme.FONT},
        )  # fmt: skip
        self.words = widgets.html("", "words")
        self.pane = self.canvas(self.figure)
        self.saves = Saves(self.picture, title="one step's factors", name_of_file="zoexplore-factors")
        # hidden as one: a pane of Bokeh alone would not come back (Panel 1.9)
        self.drawing = widgets.stack(self.pane, self.saves)
        self._drawn: Any = None
        self.follow()

    async def refresh(self) -> None:
        s = self.state.setting
        found = await ask(guarantees, s, self.state.accounting)
        d, K, c = s.d, s.K, float(RunArrays.of(s).c)
        nothing = ""
        if not np.isfinite(c):
            nothing = (
                "Without a step size and a smoothness M nothing can be said about what a gradient step does to the distance."
            )
        elif K > MOST_DIRECTIONS:
            nothing = f"K = {format_count(K)} directions are too many to be drawn one by one here."
        self.drawing.visible = not nothing
        if nothing:
            self.words.object, self._drawn = f"<p>{nothing}</p>", None
            return
        drawn, ruled = await ask(histograms, d, K, c), lines(found, d, K, c)
        if (d, K, c, ruled) != self._drawn:
            self._drawn = d, K, c, ruled
            self._draw(drawn, ruled, d, K, c)

    def _draw(self, drawn: dict[str, np.ndarray], ruled: dict[str, float], d: int, K: int, c: float) -> None:
        top = max(float(drawn[kind].max()) for kind in _COLOURS)
        low, high = drawn["left"][0], max(drawn["right"][-1], *ruled.values())
        middle, margin = (low + high) / 2, 0.06 * (high - low)
        self.figure.x_range.update(start=max(low - margin, 0.0), end=high + margin)
        self.figure.y_range.end = 1.5 * top
        self.source.data = drawn
        self.bounds.data = {
            "x": list(ruled.values()),
            "y": [1.4 * top] * len(ruled),
            "dx": [-5 if x > middle else 5 for x in ruled.values()],
            "align": ["right" if x > middle else "left" for x in ruled.values()],
            "dy": [14 + 16 * row for row in range(len(ruled))],
            "label": [f"{name}: {format_number(x)}" for name, x in ruled.items()],
        }
        centres = (drawn["left"] + drawn["right"]) / 2
        means = {kind: float(np.average(centres, weights=drawn[kind])) for kind in _COLOURS}
        orthonormal, independent = (format_short(means[kind]) for kind in ("orthonormal", "independent"))
        if K == 1:
            seen = f"one random direction of d = {format_count(d)}, by {orthonormal} on average"
        elif orthonormal == independent:
            seen = f"{_many(K, d)}, by {orthonormal} on average, whether they are orthonormal or independent"
        else:
            seen = (
                f"{_many(K, d)}, by {orthonormal} on average if they are orthonormal, and by {independent} if independent, since "
                "those overlap, and overshoot where they do"
            )
        self.words.object = (
            f"<p>A gradient step multiplies the distance by at most c = {format_short(c)}; seen through {seen}. "
            "The dashed lines mark what the proofs use: the root mean square for the sharper bound, and for the theorem a value "
            "that all but a rare step stays below.</p>"
        )
        self.push()

    async def picture(self) -> str:
        """The histogram as SVG."""
        await self.settle()
        return svg(self.figure, self.state, title=self.figure.title.text)

    def __panel__(self) -> pn.viewable.Viewable:
        title = widgets.short("<h2>Why the directions are orthonormal</h2>", margin=(14, 0, 0, 0))
        return widgets.component("factors", title, self.words, self.drawing)


def _many(K: int, d: int) -> str:
    return f"K = {format_count(K)} random directions of d = {format_count(d)}"
