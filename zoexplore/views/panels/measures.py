"""The smallest guarantee of a run in other words than its epsilon: what it means to somebody whose record is in the data;
Gaussian and zero-concentrated privacy, and the noise multiplier; the whole statement, to be copied.
"""

from html import escape
from typing import Any, ClassVar

import panel as pn
import param

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.formatting import THIN, format_number, format_percent, format_share, format_short
from zoexplore.views.compute.ask import ask
from zoexplore.views.compute.curve_set import attack, guarantees, smallest, stated
from zoexplore.views.panels.readouts import REST, told_of
from zoexplore.views.state import State
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

FPR = 0.01
_NONE = "With batches there is no Gaussian budget, and so neither μ nor ρ."
_SAYS = "<p>For a paper or a model card: what is protected, what may be seen, what was assumed and what is not covered.</p>"


class Written(View):
    """Its `refresh` writes the pane, which is veiled while it is of an earlier state; no figure waits for it."""

    rest = REST
    kind: ClassVar[str]  # the name of its style sheet

    def __init__(self, state: State | None = None, dark: bool = False, **params: Any) -> None:
        super().__init__(state, dark, **params)
        self.pane = widgets.answer(self.kind)
        self.veil(self.pane, theme.VEILED)
        self.follow(precedence=1)

    def __panel__(self) -> pn.viewable.Viewable:
        return self.pane


def said(allowed: TradeOff, fpr: float = FPR) -> str:
    """What the best attacker finds at a rate of false alarms, read from the whole trade-off curve.

    >>> from zoexplore import guarantee
    >>> from zoexplore.presets import DEMONSTRATION
    >>> said(guarantee(DEMONSTRATION, "sharp").risk).replace("\\u202f", " ")
    'At 1 % false alarms the best attacker finds at most 1.9 % of members; blind guessing finds 1 %.'
    """
    found, share = float(allowed.true_positive_rate(fpr)), format_share(fpr, THIN)
    if found >= 1:
        return f"At {share} false alarms an attacker may find every member: this rules nothing out."
    most = format_percent(found)
    if most == format_percent(1):
        return f"At {share} false alarms an attacker may find nearly every member."
    return f"At {share} false alarms the best attacker finds at most {most} of members; blind guessing finds {share}."


class Odds(Written):
    """The sentence under the verdict. It is asked for beside everything else, since no figure waits for it."""

    kind = "said"

    by = param.String("", doc="the bound that the odds are by; empty for the smallest")

    def __init__(self, *args: Any, **params: Any) -> None:
        super().__init__(*args, **params)
        self.param.watch(self.changed, "by")

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        best = told_of(await ask(guarantees, *run), self.by)
        printed = self.state.accounting.printed and bool(BOUNDS[best.bound].printed)
        told = said(await ask(attack, *run, best.bound)) if best.valid and not printed else ""
        self.pane.object = f"<p>{told}</p>"


def rows(g: Guarantee) -> list[tuple[str, str, str]]:
    """Symbol, meaning and number of every measure that a guarantee has."""
    found = [("z", "noise multiplier of a step", format_short(g.setting.noise_multiplier, 4))]
    if g.gaussian_dp and g.zero_concentrated:
        found = [
            ("μ", "Gaussian privacy, μ-GDP", format_number(g.gaussian_dp.mu)),
            ("ρ", "zero-concentrated, ρ-zCDP", format_number(g.zero_concentrated.rho)),
            *([("δ_f", "except with a chance of", format_number(g.delta_f))] if g.delta_f else []),
            *found,
        ]
    return found


class Measures(Written):
    """A short table under the bounds' numbers."""

    kind = "measures"

    async def refresh(self) -> None:
        g = smallest(await ask(guarantees, self.state.setting, self.state.accounting))
        lines = "".join(
            f'<tr><th scope="row"><i>{_symbol(symbol)}</i> <span>{words}</span></th><td>{number}</td></tr>'
            for symbol, words, number in rows(g)
        )
        why = f"<p>{_NONE}</p>" if g.valid and not g.gaussian_dp else ""
        self.pane.object = f"<table><caption>In other measures, by {BOUNDS[g.bound].in_text}</caption>{lines}</table>{why}"


def _symbol(symbol: str) -> str:
    letter, _, below = symbol.partition("_")
    return f"{letter}<sub>{below}</sub>" if below else letter


class Stated(View):
    """A card with the statement, which is written while it is open."""

    def __init__(self, state: State | None = None, dark: bool = False, **params: Any) -> None:
        super().__init__(state, dark, active=False, **params)
        self.text = widgets.html("", "code", "statement")
        self.copiers = {"text": widgets.copier("Copy text", "#"), "json": widgets.copier("Copy JSON", "#")}
        row = widgets.tools(*self.copiers.values())
        # in a column, which a closed card hides; the row's own sheet would show it
        self.fold = widgets.fold("Statement to copy", widgets.short(_SAYS, "hint"), widgets.stack(row, self.text))
        self.fold.param.watch(lambda event: self.param.update(active=not event.new), "collapsed")
        self.follow(precedence=1)

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        best = smallest(await ask(guarantees, *run))
        words, data = await ask(stated, *run, best.bound)
        with pn.io.hold():
            self.copiers["text"].tags, self.copiers["json"].tags = [words], [data]
            self.text.object = f'<pre tabindex="0" aria-label="statement of the guarantee">{escape(words)}</pre>'

    def __panel__(self) -> pn.viewable.Viewable:
        return self.fold
