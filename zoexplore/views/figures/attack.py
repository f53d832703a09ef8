"""Attack: the best test for a record's presence that a guarantee still allows any attacker."""

import panel as pn
import param

from zoexplore.bounds import BOUNDS
from zoexplore.bounds.words import Style
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import RATES, attacks, guarantees, smallest
from zoexplore.palette import COLOURS
from zoexplore.run.formatting import THIN, format_share
from zoexplore.views.figures.by_bound import OTHERS, lines_of, missing, rows_of
from zoexplore.views.figures.chart import Chart, line, span
from zoexplore.views.figures.legend import UNASKED, Legend, entry
from zoexplore.views.html import written
from zoexplore.views.panels.readouts import found_at
from zoexplore.views.style import widgets
from zoexplore.views.view import View

_LEAST = 1e-4  # the lowest shown rate
_TICKS = {at: format_share(at, THIN) for at in (1e-4, 1e-3, 1e-2, 1e-1, 1.0)}
# the chance of membership before the test, and the chance of guessing a whole record without it
PRIOR, GUESS = 0.5, 0.001
GUESSING, SYMBOL = "guessing", "of outsiders accused"
GUESSED = Style(COLOURS["muted"], (1, 3), 1.4)


class Attack(View):
    """The success of the best test that each bound allows, at every rate of false alarms, and what
    the least bound allows.
    """

    asks = ("fpr",)

    fpr = param.Number(
        0.01, bounds=(0, 1), inclusive_bounds=(False, False), doc="the chosen rate of false alarms"
    )

    def build(self) -> None:
        code = "plots.tradeoff(setting, accounting=accounting)"
        self.chart = Chart("attack", self.state, self._dragged, code)
        self.legend = Legend(of=self.chart.of, symbol="", muted=list(UNASKED))
        self.measures, self.says = widgets.html("", "measures"), widgets.html("", "outcome")
        self.legend.param.watch(lambda event: self.chart.param.update(muted=event.new), "muted")
        self.chart.muted = self.legend.muted

    def _dragged(self, place: float, held: bool) -> None:
        self.fpr = min(max(float(f"{place:.2g}"), _LEAST), 0.99)

    async def refresh(self) -> None:
        """Draw the success that each bound allows, and write the success at the chosen rate and
        what it means.
        """
        run, fpr = self.state.run, format_share(self.fpr, THIN)
        found, allowed = await ask(guarantees, *run), await ask(attacks, *run)
        best, delta = smallest(found), run[0].delta
        rates = {b: each.true_positive_rate(RATES) for b, each in allowed.items() if found[b].valid}
        caught = {b: found_at(allowed[b], self.fpr, delta) if b in rates else "–" for b in found}
        rows = rows_of(found, caught)
        rows.append(entry(GUESSING, "Guessing", GUESSED, fpr, group=OTHERS))
        least, title = allowed[best.bound], "outsiders wrongly accused"
        risks = least.advantage, least.posterior(PRIOR, self.fpr), least.reconstruction(GUESS)
        measures = BOUNDS[best.bound].in_text, *map(float, risks), PRIOR, GUESS
        with pn.io.hold():
            guessed = line(GUESSING, RATES, RATES, GUESSED, "guessing")
            self.chart.lines = [guessed, *lines_of(found, RATES, rates)]
            self.chart.put(
                "members caught, at most",
                f"Members caught, at most, against {title}: {caught[best.bound]} at {fpr}",
                span(_LEAST, 1, ticks=_TICKS, log=True, title=title, symbol=SYMBOL, percent=True),
                span(_LEAST, 1, ticks=_TICKS, log=True),
                unnamed=True,
                missing=missing(found),
                handle={"at": self.fpr, "label": fpr, "title": title},
            )
            self.legend.param.update(title=f"Caught, at {fpr} of outsiders accused", entries=rows)
            self.measures.object = written("figures", "measures", best.valid, *measures)
            self.says.object = written("figures", "accusing", fpr, caught[best.bound])

    def __panel__(self) -> pn.viewable.Viewable:
        beside = widgets.stack(self.legend, self.measures)
        return widgets.component("attack", self.says, widgets.row("stage", self.chart, beside))
