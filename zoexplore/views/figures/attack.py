"""Attack: the best test for a record that a guarantee still allows any attacker."""

from typing import Any

import numpy as np
import panel as pn
import param

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import RATES, attacks, guarantees, smallest
from zoexplore.run.formatting import THIN, format_share
from zoexplore.views.figures.chart import Chart, line, span
from zoexplore.views.figures.legend import UNASKED, Legend, entry
from zoexplore.views.html import written
from zoexplore.views.panels.readouts import found_at
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

_SAYS = """<p>Whoever accuses people of being in the training data catches at most so many members, for the outsiders accused
wrongly.</p>"""
_LEAST = 1e-4  # the lowest rate that is shown
_TICKS = {at: format_share(at, THIN) for at in (1e-4, 1e-3, 1e-2, 1e-1, 1.0)}
# the chance of membership before the test; of a record guessed right without it
PRIOR, GUESS = 0.5, 0.001
GUESSING = "guessing"
STYLES = {bound: theme.style_of(bound) for bound in BOUNDS} | {
    GUESSING: theme.Style(theme.COLOURS["muted"], (1, 3), 1.4)
}


class Attack(View):
    """The best test's success at every rate of false alarms, by every bound; and what the least of
    them allows.
    """

    asks = ("fpr",)

    fpr = param.Number(
        0.01, bounds=(0, 1), inclusive_bounds=(False, False), doc="the chosen rate of false alarms"
    )

    def build(self) -> None:
        self._given: dict[str, Guarantee] = {}  # by every bound, for the drawn run
        self._allowed: dict[str, TradeOff] = {}
        self.chart = Chart(
            "attack", self.state, self._dragged, "plots.tradeoff(setting, accounting=accounting)"
        )
        self.legend = Legend(of=self.chart.of, symbol="", muted=list(UNASKED))
        self.measures = widgets.html("", "measures")
        self.param.watch(self._write, list(self.asks))
        self.legend.param.watch(lambda event: self.chart.param.update(muted=event.new), "muted")
        self.chart.muted = self.legend.muted

    def _dragged(self, place: float, held: bool) -> None:
        self.fpr = min(max(float(f"{place:.2g}"), _LEAST), 0.99)

    async def refresh(self) -> None:
        run = self.state.run
        self._given, self._allowed = await ask(guarantees, *run), await ask(attacks, *run)
        best = smallest(self._given).bound
        lines = [
            line(
                bound,
                RATES,
                np.where(g.valid, 1.0, np.nan) * self._allowed[bound].true_positive_rate(RATES),
                STYLES[bound],
                g.title,
                bold=bound == best,
                aloud=bound in ("composition", best),
            )
            for bound, g in self._given.items()
        ]
        with pn.io.hold():
            self.chart.lines = [line(GUESSING, RATES, RATES, STYLES[GUESSING], "guessing"), *lines]
            self._write()

    def _write(self, *_: Any) -> None:
        """Write each bound's success at the chosen rate, and what it means."""
        if not self._given:
            return
        fpr, prior, guess = (format_share(x, THIN) for x in (self.fpr, PRIOR, GUESS))
        best, rows = smallest(self._given), []
        caught = {
            bound: found_at(self._allowed[bound], self.fpr, g.setting.delta) if g.valid else "–"
            for bound, g in self._given.items()
        }
        for bound, g in self._given.items():
            group = "" if BOUNDS[bound].of_this_run else "For comparison"
            more: dict[str, Any] = {"absent": not g.valid, "best": g is best, "group": group}
            rows.append(entry(bound, g.title, STYLES[bound], caught[bound], **more))
        rows.sort(key=lambda each: each["group"])
        rows.append(entry(GUESSING, "Guessing", STYLES[GUESSING], fpr, group="For comparison"))
        allowed, title = self._allowed[best.bound], "outsiders wrongly accused"
        given = {
            "members caught minus outsiders accused": allowed.advantage,
            f"an accused is a member, {prior} without the model": allowed.posterior(
                PRIOR, self.fpr
            ),
            f"a record guessed right, {guess} without the model": allowed.reconstruction(GUESS),
        }
        measures = BOUNDS[best.bound].in_text, {words: float(x) for words, x in given.items()}
        told = {"title": title, "symbol": "of outsiders accused", "percent": True}
        with pn.io.hold():
            self.chart.put(
                "members caught, at most",
                f"Members caught, at most, against {title}: {caught[best.bound]} at {fpr}",
                span(_LEAST, 1, _TICKS, log=True, **told),
                span(_LEAST, 1, _TICKS, log=True),
                unnamed=True,
                handle={"at": self.fpr, "label": fpr, "title": title},
            )
            self.legend.param.update(title=f"Caught, at {fpr} of outsiders accused", entries=rows)
            said = written("figures", "measures", *measures) if best.valid else ""
            self.measures.object = said

    def __panel__(self) -> pn.viewable.Viewable:
        beside = widgets.stack(self.legend, self.measures)
        return widgets.component(
            "attack", widgets.html(_SAYS, "words"), widgets.row("stage", self.chart, beside)
        )
