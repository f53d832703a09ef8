"""Attack: the best test for a record that a guarantee still allows any attacker."""

from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.core.properties import value as fixed
from bokeh.models import CustomJSTickFormatter
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import RATES, attacks, guarantees, smallest
from zoexplore.run.formatting import THIN, format_percent, format_share
from zoexplore.views.figures.handle import Handle
from zoexplore.views.figures.legend import UNASKED, Legend, entry
from zoexplore.views.figures.parts import blank, empty, hover, stroke, tooltip
from zoexplore.views.panels.readouts import found_at
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

_SAYS = "<p>Who was in the data? No attacker finds more of those who were, at any share of others wrongly accused.</p>"
_POINTED = "found, at most, at a rate of false alarms of @{x}{value}"
_PERCENT = "return String(Number((100 * tick).toPrecision(3))) + ' %'"
_LEAST = 1e-4  # the lowest rate that is shown
GUESSING = "guessing"
STYLES = {bound: theme.style_of(bound) for bound in BOUNDS} | {GUESSING: theme.Style(theme.COLOURS["muted"], (1, 3), 1.4)}


class Attack(View):
    """The best test's success at every rate of false alarms, by every bound; and what the least of them allows."""

    asks = ("fpr", "prior", "guess")

    fpr = param.Number(0.01, bounds=(0, 1), inclusive_bounds=(False, False), doc="the chosen rate of false alarms")
    prior = param.Number(0.5, bounds=(0, 1), inclusive_bounds=(False, False), doc="the chance of membership before the test")
    guess = param.Number(0.001, bounds=(0, 1), inclusive_bounds=(False, False), doc="the chance to guess a record anyway")

    def build(self) -> None:
        self._given: dict[str, Guarantee] = {}  # by every bound, for the drawn run
        self._allowed: dict[str, TradeOff] = {}
        self.source = empty("attack", "x", "value", *STYLES)
        self.figure = self._figure()
        self.handle = Handle(self.figure, self._dragged)
        self.pane = self.canvas(self.figure)
        self.legend = Legend(symbol="", muted=list(UNASKED))
        self.measures = widgets.html("", "measures")
        self.param.watch(self._write, list(self.asks))
        self.legend.param.watch(self._mute, "muted")

    def _figure(self) -> figure:
        span: dict[str, Any] = {"x_axis_type": "log", "y_axis_type": "log", "x_range": (_LEAST, 1), "y_range": (_LEAST, 1)}
        fig = blank("found-against-false-alarms", bare=True, y_axis_label="found, at most", min_border_bottom=34, **span)
        fig.tags = ["found, at most, against false alarms"]
        for axis in fig.axis:
            axis.formatter = CustomJSTickFormatter(code=_PERCENT)
        self.lines = {
            name: fig.line("x", name, source=self.source, name=name, visible=name not in UNASKED, **stroke(style))
            for name, style in STYLES.items()
        }
        self.hover = hover(fig, fig.line("x", fixed(1.0), source=self.source, line_alpha=0), absent="–")
        self.hover.tooltips = tooltip(_POINTED, {bound: (BOUNDS[bound].title, STYLES[bound]) for bound in BOUNDS})
        return fig

    def _dragged(self, place: float, held: bool) -> None:
        self.fpr = min(max(float(f"{place:.2g}"), _LEAST), 0.99)

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        self._given, self._allowed = await ask(guarantees, *run), await ask(attacks, *run)
        found = {
            bound: np.where(self._given[bound].valid, 1.0, np.nan) * allowed.true_positive_rate(RATES)
            for bound, allowed in self._allowed.items()
        }
        with pn.io.hold():
            self.source.data = {"x": RATES, "value": RATES, GUESSING: RATES, **found}
            self._write()
        self.push()

    def _write(self, *_: Any) -> None:
        """Write each bound's success at the chosen rate, and what it means."""
        if not self._given:
            return
        fpr, prior, guess = (format_share(x, THIN) for x in (self.fpr, self.prior, self.guess))
        best = smallest(self._given)
        rows = [
            entry(
                bound, g.title, STYLES[bound], found_at(self._allowed[bound], self.fpr, g.setting.delta) if g.valid else "–",
                absent=not g.valid, best=g is best, group="" if BOUNDS[bound].of_this_run else "For comparison",
            )
            for bound, g in self._given.items()
        ]  # fmt: skip
        rows.sort(key=lambda each: each["group"])
        rows.append(entry(GUESSING, "Guessing", STYLES[GUESSING], fpr, group="For comparison"))
        allowed = self._allowed[best.bound]
        numbers: dict[str, Any] = {
            "found minus falsely accused, at best": allowed.advantage,
            f"certainty that an accused was in the data, {prior} before": allowed.posterior(self.prior, self.fpr),
            f"a record guessed right, {guess} by chance": allowed.reconstruction(self.guess),
        }
        lines = "".join(
            f'<tr><th scope="row">{words}</th><td>{format_percent(float(x), 3)}</td></tr>' for words, x in numbers.items()
        )
        with pn.io.hold():
            self.handle.put(self.fpr, f"{fpr} false alarms", "rate of false alarms")
            self.legend.param.update(title=f"Found, at {fpr} false alarms", entries=rows)
            caption = f"<caption>By {BOUNDS[best.bound].in_text}, at most</caption>"
            self.measures.object = f"<table>{caption}{lines}</table>" if best.valid else ""

    def _mute(self, *_: Any) -> None:
        """Draw no line that the reader has switched off."""
        with pn.io.hold():
            for name, line in self.lines.items():
                line.visible = name not in self.legend.muted
        self.push()

    def __panel__(self) -> pn.viewable.Viewable:
        drawn = widgets.stack(self.pane, self.handle, css_classes=["zx-curve"])
        beside = widgets.stack(self.legend, self.measures)
        return widgets.component("attack", widgets.html(_SAYS, "words"), widgets.row("stage", drawn, beside))
