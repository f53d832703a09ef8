"""All bounds: epsilon of each against a field, and the table of their numbers."""

from math import inf
from typing import Any

import numpy as np
import panel as pn
import param

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees, smallest
from zoexplore.run.axes import AXES, drawable, frame, steady
from zoexplore.run.formatting import format_count, format_delta, format_number
from zoexplore.views.figures import pins
from zoexplore.views.figures.chart import Chart, dot, dragged, field_span, handle, line, log_span
from zoexplore.views.figures.legend import UNASKED, Legend, entry
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

STYLES = {bound: theme.style_of(bound) for bound in BOUNDS}
EVERYWHERE = (0.0, inf)  # the ends of the axis of epsilon at first
OTHERS = "For comparison, other mechanisms"
_NONE = np.array([])


def lack(g: Guarantee) -> str:
    """The first reason why a bound says nothing of its run; empty if it says something."""
    return (
        ""
        if g.valid
        else next((c.shortfall for c in g.checks if c.shortfall), g.reason).partition(";")[0]
    )


class Curves(View):
    """Epsilon against a field for every bound and every pin, with the current value marked, and the
    table of their numbers.
    """

    along = param.Selector(
        default="T", objects=list(AXES), doc="the field that the curves run over"
    )
    only = param.Selector(
        default="", objects=["", *BOUNDS], doc="the bound that alone is drawn; empty for all"
    )

    def build(self) -> None:
        self.found: dict[str, Guarantee] = {}  # of the drawn run
        self.ends = EVERYWHERE  # of the axis of epsilon
        # the field and the replaced run that it was last fitted to
        self._fitted: tuple[Any, ...] = ()
        self.chart = Chart("curves", self.state, self._dragged)
        self.legend = Legend(of=self.chart.of, muted=list(UNASKED))
        self.differs = widgets.html("", "differs")
        self.pinned = pins.PinnedCurves(self.pins)
        self.choice = widgets.select(
            "ε against",
            {a.caption: field for field, a in AXES.items()},
            "along",
            of=self.param.along,
        )
        self.pins.param.watch(self.changed, ["pins", "compare"])
        self.param.watch(self.changed, "along")
        self.param.watch(self._alone, "only")
        self.legend.param.watch(self._draw, "muted")
        self.legend.param.watch(self._of_pin, "asked")

    def _alone(self, event: Any) -> None:
        """Draw one bound alone, without the table, or what is drawn at first."""
        self.choice.visible = self.legend.visible = not event.new
        alone = [bound for bound in BOUNDS if bound != event.new]
        self.legend.muted = alone if event.new else list(UNASKED)

    def _dragged(self, place: float, held: bool) -> None:
        dragged(self.state, self.along)(place, held)

    async def refresh(self) -> None:
        """Draw the run's curves, and write the table."""
        setting, accounting = self.state.setting, self.state.accounting
        found = await ask(guarantees, setting, accounting)
        curves = await self.curves(self.along)
        await self.pinned.find(self.along)
        self.found, self.drawn = found, curves
        with pn.io.hold():
            self._draw()
            self.legend.param.update(
                title=f"At T = {format_count(setting.T)}", entries=self._entries()
            )
            self.differs.object = self.pinned.differences(found)

    def _draw(self, *_: Any) -> None:
        """Draw the curves that are not switched off, with the current value on each."""
        if not self.found:
            return
        axis, best = AXES[self.along], smallest(self.found).bound
        x = axis.place(self.drawn.values)
        lines = [
            line(
                bound,
                x,
                values,
                STYLES[bound],
                self.found[bound].title,
                bold=bound == best,
                aloud=bound in ("composition", best),
            )
            for bound, values in self.drawn.epsilon.items()
        ]
        self.chart.param.update(
            lines=[*lines, *self.pinned.lines(self.along)], muted=self.legend.muted
        )
        shown = {
            bound: g.epsilon for bound, g in self.found.items() if bound not in self.legend.muted
        }
        self._fit([e for bound, e in shown.items() if BOUNDS[bound].of_this_run and 0 < e < inf])
        at = handle(axis, getattr(self.state.setting, self.along))
        dots = [
            dot(bound, at["at"], e, STYLES[bound])
            for bound, e in shown.items()
            if at and 0 < e < inf
        ]
        self.chart.draws = f'plots.curves(setting, "{self.along}", accounting=accounting)'
        self.chart.put(
            self._y_label(),
            f"{self._y_label()} against {axis.title}",
            field_span(axis, axis.frame(self.state.setting)),
            log_span(*self.ends),
            handle=at,
            dots=dots,
            values=self.drawn.values,
        )

    def _fit(self, now: list[float]) -> None:
        """Show the decades of the curves; they stay while these move within them."""
        seen: dict[bool, list[np.ndarray]] = {True: [_NONE], False: [_NONE]}
        for bound, values in self.drawn.epsilon.items():
            if bound not in self.legend.muted:
                seen[BOUNDS[bound].of_this_run].append(values)
        seen[True] += [each["y"] for each in self.pinned.lines(self.along)]
        own, others = (drawable(np.concatenate(seen[of])) for of in (True, False))
        wanted, fitted = frame(own, others, now), (self.along, self.state.replaced)
        self.ends = wanted if fitted != self._fitted else steady(wanted, self.ends)
        self._fitted = fitted

    def _y_label(self) -> str:
        s = self.state.setting
        held = {"delta": f"δ = {format_delta(s.delta)}", "T": f"T = {format_count(s.T)}"}
        return f"ε at {', '.join(text for field, text in held.items() if field != self.along)}"

    def _entries(self) -> list[dict[str, Any]]:
        """The curves drawn, those absent with the reason, the comparison, then the pins."""
        best, entries = smallest(self.found), []
        for bound, g in self.found.items():
            why = lack(g) or ("least that applies" if g is best else "")
            why = ", ".join(filter(None, [why, "below the log axis" if g.epsilon == 0 else ""]))
            group = "" if BOUNDS[bound].of_this_run else OTHERS
            more = {"best": g is best, "says": BOUNDS[bound].summary}
            entries.append(
                entry(
                    bound,
                    g.title,
                    STYLES[bound],
                    format_number(g.epsilon),
                    why,
                    not g.valid,
                    group,
                    **more,
                )
            )
        entries.sort(key=lambda each: each["group"])
        return [*entries, *self.pinned.entries()]

    def _of_pin(self, event: Any) -> None:
        """Use a pin's run, or unpin it."""
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
