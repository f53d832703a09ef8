"""All bounds: epsilon by each bound against a field, and the table of their numbers."""

from math import inf
from typing import Any

import numpy as np
import panel as pn
import param

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees
from zoexplore.run.axes import AXES, drawable, frame, steady
from zoexplore.run.formatting import format_count, format_delta, format_number
from zoexplore.views.figures import pins
from zoexplore.views.figures.by_bound import STYLES, lines_of, missing, rows_of
from zoexplore.views.figures.chart import Chart, dot, dragged, field_span, handle, span
from zoexplore.views.figures.legend import UNASKED, Legend
from zoexplore.views.style import widgets
from zoexplore.views.view import View

EVERYWHERE = (0.0, inf)  # the ends of the epsilon axis before anything is drawn


class Curves(View):
    """Epsilon against a field for every bound and every pin, with the current value marked; and the
    table of the epsilons.
    """

    along = param.Selector(
        default="T", objects=list(AXES), doc="the field that the curves run over"
    )
    only = param.Selector(
        default="",
        objects=["", "none", *BOUNDS],
        doc="the bound that alone is drawn; empty for all, none for no curve",
    )

    def build(self) -> None:
        self.found: dict[str, Guarantee] = {}  # the drawn run's guarantees
        self.pinned: list[pins.Known] = []
        self.ends = EVERYWHERE  # the ends of the axis of epsilon
        # the field and the replaced run that the axis was last fitted to
        self._fitted: tuple[Any, ...] = ()
        self.chart = Chart("curves", self.state, self._dragged)
        self.legend = Legend(of=self.chart.of, muted=list(UNASKED))
        self.differs = widgets.html("", "differs")
        captions = {axis.caption: field for field, axis in AXES.items()}
        self.choice = widgets.select("ε against", captions, "along", of=self.param.along)
        self.pins.param.watch(self.changed, ["pins", "compare"])
        self.param.watch(self.changed, "along")
        self.param.watch(self._alone, "only")
        self.legend.param.watch(self._draw, "muted")
        self.legend.param.watch(self._of_pin, "asked")

    def _alone(self, event: Any) -> None:
        """Draw one bound alone or no curve, without the table. If `only` is empty, draw what a new
        view draws.
        """
        self.choice.visible = self.legend.visible = not event.new
        self._fitted = ()
        alone = [bound for bound in BOUNDS if bound != event.new]
        self.legend.muted = alone if event.new else list(UNASKED)

    def _dragged(self, place: float, held: bool) -> None:
        dragged(self.state, self.along)(place, held)

    async def refresh(self) -> None:
        """Draw the run's curves, and write the table."""
        run = self.state.run
        found, self.drawn = await ask(guarantees, *run), await self.curves(self.along)
        self.pinned = await pins.find(self.pins, self.along)
        self.found = found
        numbers = {bound: format_number(g.epsilon) for bound, g in found.items()}
        rows = [*rows_of(found, numbers), *pins.rows_of(self.pinned, self.pins.compare)]
        with pn.io.hold():
            self._draw()
            title = f"At T = {format_count(self.state.T)}"
            self.legend.param.update(title=title, entries=rows)
            self.differs.object = pins.differences(self.pinned, found)

    def _draw(self, *_: Any) -> None:
        """Draw the curves that are not switched off, with the current value on each."""
        if not self.found:
            return
        axis, s = AXES[self.along], self.state.setting
        lines = lines_of(self.found, axis.place(self.drawn.values), self.drawn.epsilon)
        pinned = pins.lines_of(self.pinned, self.along, self.pins.compare)
        self.chart.param.update(lines=[*lines, *pinned], muted=self.legend.muted)
        now = {b: g.epsilon for b, g in self.found.items() if 0 < g.epsilon < inf}
        own = [e for b, e in now.items() if b not in self.legend.muted and BOUNDS[b].of_this_run]
        self._fit(own, pinned)
        at = handle(axis, getattr(s, self.along))
        held = {"delta": f"δ = {format_delta(s.delta)}", "T": f"T = {format_count(s.T)}"}
        height = f"ε at {', '.join(text for field, text in held.items() if field != self.along)}"
        self.chart.draws = f'plots.curves(setting, "{self.along}", accounting=accounting)'
        self.chart.put(
            height,
            f"{height} against {axis.title}",
            field_span(axis, axis.frame(s)),
            span(*self.ends, log=True),
            handle=at,
            dots=[dot(b, at["at"], e, STYLES[b]) for b, e in now.items() if at],
            values=self.drawn.values,
            missing=missing(self.found),
        )

    def _fit(self, now: list[float], pinned: list[dict[str, Any]]) -> None:
        """Fit the epsilon axis to the decades that the curves fill; keep it while the curves move
        within it.
        """
        seen = {True: [np.empty(0), *(each["y"] for each in pinned)], False: [np.empty(0)]}
        for bound in self.drawn.epsilon.keys() - self.legend.muted:
            seen[BOUNDS[bound].of_this_run].append(self.drawn.epsilon[bound])
        own, others = (drawable(np.concatenate(each)) for each in seen.values())
        wanted, fitted = frame(own, others, now), (self.along, self.state.replaced)
        self.ends = wanted if fitted != self._fitted else steady(wanted, self.ends)
        self._fitted = fitted

    def _of_pin(self, event: Any) -> None:
        """Load a pin's run, or remove the pin."""
        verb, place, _ = event.new
        if place < len(self.pins.pins):
            pin = self.pins.pins[place]
            self.state.replace(pin.setting, pin.accounting) if verb == "use" else self.pins.remove(
                place
            )

    def __panel__(self) -> pn.viewable.Viewable:
        drawn = widgets.stack(self.choice, self.chart)
        return widgets.component(
            "curves", widgets.row("stage", drawn, widgets.stack(self.legend, self.differs))
        )
