"""Forgetting: how much a model still reveals of a record, step by step, as training goes on without
the record.
"""

import numpy as np
import panel as pn
import param

from zoexplore.compute.ask import ask
from zoexplore.compute.computations import forgotten
from zoexplore.palette import style_of
from zoexplore.run.axes import nice
from zoexplore.run.formatting import format_count, format_delta, format_number
from zoexplore.views.figures.chart import Chart, dot, line, span
from zoexplore.views.html import written
from zoexplore.views.style import widgets
from zoexplore.views.view import View

ENDS = tuple(m * 10**e for e in range(1, 6) for m in (1, 2, 5))  # where the axis may end
STYLE = style_of("sharp")
_COMPARED = """<p>Two runs are compared. One trains on your record for T steps, and for N more with your record's place left empty. The
other never had your record. Only the last model is published.</p><p>When to stop must depend neither on the data nor on a model. And
this is less than training anew on the other n − 1 records.</p><p>The literature calls this certified unlearning
(<a href="https://arxiv.org/abs/2401.10371" target="_blank" rel="noopener">Chien and others 2024</a>).</p>"""
_CODE = "from zoexplore import forgetting\n\nprint([forgetting(setting, N, accounting).epsilon for N in (0, 10, 20, 40, 80)])"


class Forget(View):
    """Epsilon against the steps without the record."""

    asks = ("steps",)
    rest, precedence = 0.2, 1

    steps = param.Integer(10, bounds=(1, ENDS[-1]), doc="how many steps follow without the record")

    def build(self) -> None:
        self.chart = Chart("forget", self.state, self._dragged, _CODE)
        self.words = widgets.html("", "outcome")
        # the chart is in a stack because the chart's own style sheet would keep it visible
        self.drawing = widgets.stack(self.chart)

    def _dragged(self, place: float, held: bool) -> None:
        self.steps = min(max(round(place), 1), ENDS[-1])

    async def refresh(self) -> None:
        run = self.state.run
        end = next(end for end in ENDS if 2 * self.steps <= end or end == ENDS[-1])
        # closer together at small N, where epsilon falls
        places = np.append(np.linspace(0, end, 11), np.geomspace(1, end, 16))
        N = tuple(np.unique(places.round().astype(int)).tolist())
        epsilon, why = await ask(forgotten, *run, N)
        (now,), _ = await ask(forgotten, *run, (self.steps,))
        told = self.steps, float(epsilon[0]), float(now), self.state.delta
        with pn.io.hold():
            self.drawing.visible = not why
            self.words.object = written("figures", "forgotten", why, *told)
            if not why:
                self._draw(np.array(N), epsilon, float(now), float(end))

    def _draw(self, N: np.ndarray, epsilon: np.ndarray, now: float, end: float) -> None:
        most, title = max(float(epsilon[0]), 1e-6), "steps without your record"
        step = nice(most / 4)
        self.chart.lines = [line("forget", N, epsilon, STYLE, aloud=True)]
        self.chart.put(
            f"ε at δ = {format_delta(self.state.delta)}",
            f"ε against {title}: {format_number(now)} after {format_count(self.steps)}",
            span(0, end, 5, title=f"N, {title}", symbol="N"),
            span(0, step * float(np.ceil(most / step)), 4),
            unnamed=True,
            handle={"at": self.steps, "label": f"N = {format_count(self.steps)}", "title": title},
            dots=[dot("forget", self.steps, now, STYLE, size=6)],
        )

    def __panel__(self) -> pn.viewable.Viewable:
        drawn = widgets.stack(self.words, self.drawing)
        return widgets.component(
            "forget", widgets.row("stage", drawn, widgets.html(_COMPARED, "words"))
        )
