"""Attack: the best test for a record that a guarantee still allows any attacker."""

from html import escape
from typing import Any

import numpy as np
import panel as pn
import param
from bokeh.models import CustomJSTickFormatter, FixedTicker, HoverTool, Span
from bokeh.plotting import figure

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import RATES, attack, attacks, guarantees, smallest
from zoexplore.run.formatting import THIN, format_percent, format_share
from zoexplore.views.figures import pins
from zoexplore.views.figures.parts import blank, empty, hover, mark, stroke, tooltip
from zoexplore.views.panels.readouts import found_at
from zoexplore.views.pins import LETTERS, Pin
from zoexplore.views.style import theme, widgets
from zoexplore.views.style.inputs import percent
from zoexplore.views.style.widgets import region
from zoexplore.views.view import View

_SAYS = """<p>Was a person's record used? No test of the released model, by whoever knows all other records, does better than
these curves.</p>"""
_POINTED = "found, at most, at a rate of false alarms of @{x}{value}"
_PERCENT = "return String(Number((100 * tick).toPrecision(3))) + ' %'"
_MISSED = "missed "  # what the best test misses by a bound: the column's name is this and the bound's
_GUESSING = np.array([RATES[0], RATES[-1]])
_LEAST = 1e-4  # the lowest rate that the logarithmic figure shows


class Attack(View):
    """Trade-off curves, an attacker's numbers by every bound, and the same of pinned runs."""

    asks = ("fpr", "prior", "guess")

    fpr = param.Number(0.01, bounds=(0, 1), inclusive_bounds=(False, False), doc="the rate of false alarms that is looked at")
    prior = param.Number(0.5, bounds=(0, 1), inclusive_bounds=(False, False), doc="the chance of membership before the test")
    guess = param.Number(0.001, bounds=(0, 1), inclusive_bounds=(False, False), doc="the chance to guess a record anyway")

    def build(self) -> None:
        self._given: dict[str, Guarantee] = {}  # by every bound, for the run that is drawn
        self.source = empty("attack", "x", "value", "probe", *BOUNDS, *(_MISSED + bound for bound in BOUNDS))
        self.pinned_source = empty("attack-pins", "rates", "missed", "found", "colour")
        self.now: list[Span] = []  # at the rate that is looked at
        self.figures = {
            "trade-off": self._figure("What it misses, at least", _MISSED, "missed", 0.0, "linear"),
            "found": self._figure("What it finds, at most", "", "found", _LEAST, "log"),
        }
        self.grid = widgets.column("panels", *map(self.canvas, self.figures.values()))
        labels = {"fpr": "false alarms", "prior": "chance of membership before", "guess": "chance to guess the record anyway"}
        self.boxes = {name: percent(self, name, label) for name, label in labels.items()}
        self.refused = pn.pane.HTML("", visible=False, stylesheets=[theme.css("notice")], margin=0)
        self.words = widgets.html(_SAYS, "words")
        self.table = widgets.html("", "table", "odds")
        self.param.watch(self._write_table, list(labels))
        for box in self.boxes.values():
            box.param.watch(self._refuse, "refusal")
        self.pins.param.watch(self.changed, ["pins", "compare"])

    def _figure(self, title: str, before: str, of_pins: str, least: float, scale: str) -> figure:
        """A figure of the columns that have this `before` a bound's name."""
        fig = blank(
            f"attack-{of_pins}", "middle", height=360, title=title, x_axis_type=scale, y_axis_type=scale,
            x_range=(least, 1), y_range=(least, 1), x_axis_label="false alarms", y_axis_label=of_pins, bare=True,
        )  # fmt: skip
        for axis in fig.axis:
            axis.formatter = CustomJSTickFormatter(code=_PERCENT)
            if scale == "linear":
                axis.ticker = FixedTicker(ticks=[0, 0.25, 0.5, 0.75, 1])  # more would run into one another beside the numbers
        blind = 1 - _GUESSING if of_pins == "missed" else _GUESSING
        fig.line(_GUESSING, blind, line_color=theme.colour("muted"), line_dash=[1, 3], line_width=1.4, name="guessing")
        self.now.append(mark(fig, self.fpr))
        pins.lines(fig, self.pinned_source, "rates", of_pins)
        for bound in BOUNDS:
            fig.line("x", before + bound, source=self.source, name=bound, **stroke(theme.style_of(bound)))
        probe = fig.line("x", "probe", source=self.source, line_alpha=0)
        hover(fig, probe, absent="–")
        return fig

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        self._given = await ask(guarantees, *run)
        self._allowed = await ask(attacks, *run)
        self._of_pins = [await self._of_pin(pin) for pin in self.pins.pins]
        with pn.io.hold():
            self._draw()
            self._write_table()
        self.push()

    async def _of_pin(self, pin: Pin) -> tuple[Guarantee, TradeOff]:
        """A pin's guarantee by the bound that pins are compared by, or else its smallest."""
        given = await ask(guarantees, pin.setting, pin.accounting)
        g = given.get(self.pins.compare) or smallest(given)
        return g, await ask(attack, pin.setting, pin.accounting, g.bound)

    def _draw(self) -> None:
        data = {"x": RATES, "value": RATES, "probe": np.ones(RATES.shape)}
        for bound, allowed in self._allowed.items():
            shown = np.where(self._given[bound].valid, 1.0, np.nan)
            data[bound], data[_MISSED + bound] = shown * allowed.true_positive_rate(RATES), shown * allowed.misses(RATES)
        allowed = [allowed for _, allowed in self._of_pins]
        found = [each.true_positive_rate(RATES) for each in allowed]
        self.source.data = data | dict(zip(pins.styles(self.pins), found, strict=True))
        for fig in self.figures.values():
            fig.select_one(HoverTool).tooltips = tooltip(_POINTED, pins.hover_rows(self.pins))
        self.pinned_source.data = {
            "rates": [RATES] * len(allowed),
            "missed": [each.misses(RATES) for each in allowed],
            "found": found,
            "colour": pins.colours(self.pins, self.dark),
        }

    def _write_table(self, *_: Any) -> None:
        """Write the numbers of every bound of this run, of its comparison, and of the pins."""
        for span in self.now:
            span.location = self.fpr
        if not self._given:
            return
        best = smallest(self._given)
        rows = {
            bound: self._row(theme.swatch(theme.style_of(bound)), g.title, g, self._allowed[bound], best=g is best)
            for bound, g in self._given.items()
        }
        own = "".join(row for bound, row in rows.items() if BOUNDS[bound].of_this_run)
        others = "".join(row for bound, row in rows.items() if not BOUNDS[bound].of_this_run)
        pinned = "".join(
            self._row(_letter(LETTERS[place], *theme.PINS[place]), f"{pin.name}: {g.title.lower()}", g, allowed)
            for place, pin, (g, allowed) in zip(self.pins.places(), self.pins.pins, self._of_pins, strict=False)
        )
        fpr, prior, guess = (format_share(x, THIN) for x in (self.fpr, self.prior, self.guess))
        lifts, made = f"an alarm lifts {prior} to", f"reconstructs, if {guess} guessed"
        titles = "", f"finds, at {fpr} false alarms", "advantage: found minus false alarms", lifts, made
        heads = "".join(f'<th scope="col">{head}</th>' for head in titles)
        beside = f"<tbody>{_group('Pinned')}{pinned}</tbody>" if pinned else ""
        self.table.object = region(
            "what an attacker can do",
            f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{own}</tbody>"
            f"<tbody>{_group('For comparison, another mechanism')}{others}</tbody>{beside}</table>",
        )

    def _row(self, mark: str, title: str, g: Guarantee, allowed: TradeOff, best: bool = False) -> str:
        numbers = allowed.advantage, allowed.posterior(self.prior, self.fpr), allowed.reconstruction(self.guess)
        texts = found_at(allowed, self.fpr, g.setting.delta), *(format_percent(float(x), 3) for x in numbers)
        cells = "".join(f'<td class="number">{text if g.valid else "–"}</td>' for text in texts)
        kind = "absent" if not g.valid else "best" if best else ""
        return f'<tr class="{kind}"><td>{mark}</td><th scope="row" title="{escape(g.reason)}">{escape(title)}</th>{cells}</tr>'

    def _refuse(self, *_: Any) -> None:
        refused = [box.refusal for box in self.boxes.values() if box.refusal]
        self.refused.object = "".join(f'<p class="refused" role="alert">{escape(words)}.</p>' for words in refused)
        self.refused.visible = bool(refused)

    def __panel__(self) -> pn.viewable.Viewable:
        asked = widgets.column("choices", *self.boxes.values())
        return widgets.component("attack", self.words, self.grid, asked, self.refused, self.table)


def _letter(letter: str, light: str, dark: str) -> str:
    return f'<b style="color:light-dark({light},{dark})">{letter}</b>'


def _group(title: str) -> str:
    return f'<tr class="group"><th colspan="6" scope="colgroup">{title}</th></tr>'
