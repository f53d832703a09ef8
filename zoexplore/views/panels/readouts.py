"""The read-outs: every bound's epsilon now, the smallest and why, what does not apply and why, and what is assumed; and the
smallest guarantee in other words: what it means to somebody whose record is in the data, other measures, the statement.
"""

from html import escape
from math import inf
from typing import Any

import numpy as np
import panel as pn
import param

from zoexplore.axes import T_VALUES
from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.compute import questions
from zoexplore.compute.ask import ask
from zoexplore.compute.questions import CurveSet, guarantees, smallest
from zoexplore.formatting import (
    THIN,
    format_count,
    format_delta,
    format_exact,
    format_number,
    format_percent,
    format_sentence,
    format_share,
    format_short,
    round_up,
)
from zoexplore.views.style import theme, widgets
from zoexplore.views.view import View

REST = 0.12  # seconds: nobody reads faster, and every text that changes costs the browser a layout
SENTENCE_REST = 0.25  # seconds: each one costs a core as much as a redraw of the figure
_ALONG = "all noise along the directions (β\u00a0=\u00a01)"
_AS_PRINTED = (
    '<p class="printed" role="status"><b>As printed: not a guarantee.</b> '
    "The paper's constants are used as printed, errors included.</p>"
)
FPR = 0.01
_NONE = "With batches there is no Gaussian budget, and so neither μ nor ρ."
_SAYS = "<p>For a paper or a model card: what is protected, what may be seen, what was assumed and what is not covered.</p>"
MARKS = {True: ("✓", "met", "met"), False: ("✗", "unmet", "not met"), None: ("○", "supposed", "supposed")}


def guarantee_by(found: dict[str, Guarantee], by: str) -> Guarantee:
    """The guarantee by a bound, by the smallest where none is named."""
    return found[by] if by else smallest(found)


def as_printed(g: Guarantee) -> bool:
    """Whether a number is what the paper's printed constants give: they do not enter all of them."""
    return g.accounting.printed and bool(BOUNDS[g.bound].printed)


class Readouts(View):
    """Four panes that change together, in one message: `verdict`, `table`, `measures`, `assumptions`."""

    rest, precedence = REST, 1  # after whatever figure is shown, which a hand on a slider is waiting for
    by = param.String("", doc="the bound that the verdict is by; empty for the smallest")

    def build(self) -> None:
        kinds = "verdict", "table", "measures", "assumptions"
        self.verdict, self.table, self.measures, self.assumptions = map(widgets.answer, kinds)
        self.veil(self.verdict)  # which says what is going on
        for part in (self.table, self.measures):
            self.veil(part, theme.VEILED)
        self.fold = widgets.fold("What is assumed", self.assumptions)
        self.fold.param.watch(self._unfold, "collapsed")
        self.param.watch(self.changed, "by")

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        self._found = found = await ask(guarantees, *run)
        public, ends = await ask(questions.public_epsilon, *run), await ask(questions.shares, *run)
        counted = questions.sketched(*run, "T") if self.state.moving else run[1]
        self.sketch = counted != run[1]
        curves = await ask(questions.curve_set, run[0], counted, "T")
        with pn.io.hold():
            self.verdict.object = self._verdict(found, public, curves)
            self.table.object = self._table(found, public, ends)
            self.measures.object = _measures(smallest(found))
            self._unfold()

    def _unfold(self, *_: Any) -> None:
        """Write what is assumed where it is looked at: every write to what a closed card holds costs the browser a layout."""
        if not self.fold.collapsed:
            self.assumptions.object = _assumptions(self._found)

    def _verdict(self, found: dict[str, Guarantee], public: float, curves: CurveSet) -> str:
        best, s = guarantee_by(found, self.by), self.state.setting
        printed = as_printed(best)
        warning, kind = (_AS_PRINTED, "number") if printed else ("", "guarantee")
        if not best.valid:
            said = "No bound applies to this run: the table says what each one lacks."
            return f'{warning}<p class="epsilon"><i>ε</i> = ∞</p><p>{said}</p>'
        explain = BOUNDS[best.bound].explain
        words = f"<b>{escape(best.title)}</b> gives the smallest {kind} of this run. {explain(best) if explain else ''} "
        words += self._publishing(best, public, curves)
        if self.by:
            words = f"<b>{escape(best.title)}.</b> {escape(BOUNDS[best.bound].summary)}"
        return (
            f'{warning}<p class="epsilon"><i>ε</i> = {format_number(best.epsilon)} <small>at <i>δ</i> = {format_delta(s.delta)}, '
            f"after {format_count(s.T)} step{'s' if s.T > 1 else ''}</small></p>"
            f"<p>{words}</p>"
        )

    def _share(self, best: Guarantee, along: float, across: float) -> str:
        """What the isotropic share of the noise costs or buys: the smallest epsilon with it, without it, and with it alone."""
        if best.epsilon == inf:
            return ""
        s, now = self.state.setting, format_number(best.epsilon)
        chosen = self.state.accounting.schedule == "optimal"
        if s.beta == 1 and not chosen:
            said = f"No noise is isotropic, and ε is {now}."
        else:
            share = f"A share 1 − β = {format_exact(round(1 - s.beta, 12))} of the noise goes" if s.beta > 0 else "All noise goes"
            if chosen:
                share = "At every step the accountant chooses a share of the noise that goes"
            verb = "lowers" if best.epsilon < along else "raises"
            moves = f"leaves ε at {now}" if best.epsilon == along else f"{verb} ε from {format_number(along)} to {now}"
            if along == inf:
                moves = f"gives ε = {now}; without it no bound applies"
            said = (
                f"{share} in all directions, not only along the sampled ones. Compared with β\u00a0=\u00a01 at the same noise "
                f"energy, this {moves}."
            )
        if s.beta > 0 or chosen:
            said += f" With β\u00a0=\u00a00 it would be {format_number(across)}."
        return f'<p class="share"><b>The isotropic share.</b> {said}</p>'

    def _publishing(self, best: Guarantee, public: float, curves: CurveSet) -> str:
        """How the smallest compares with what one would run if every iterate were public."""
        if public == inf:
            return "If every iterate were published, no bound would apply."
        if best.epsilon < public:
            return f"Publishing every iterate would cost {format_number(public)}, even with {_ALONG}."
        first = _hiding_pays_from(curves)
        when = (
            f"pays off from T = {format_count(first)} on" if first else f"does not pay off up to T = {format_count(T_VALUES[-1])}"
        )
        if best.bound == "composition":
            return f"Hiding the iterates {when}."
        cost = f"would cost only {format_number(public)}"
        return f"Publishing every iterate of a run with {_ALONG} {cost}; hiding the iterates {when}."

    def _table(self, found: dict[str, Guarantee], public: float, ends: tuple[float, float]) -> str:
        best = smallest(found)
        own = "".join(_row(g, g is best) for bound, g in found.items() if BOUNDS[bound].of_this_run)
        others = "".join(_row(g) for bound, g in found.items() if not BOUNDS[bound].of_this_run)
        others += _cells(theme.swatch(theme.REFERENCE), questions.REFERENCE_TITLE, public, "", "every iterate public")
        printed = any(as_printed(g) for g in found.values())
        title = "As printed, where so marked" if printed else "Guarantees of this run"
        return (
            '<table><colgroup><col class="line"><col><col class="epsilon"></colgroup>'
            f'<thead><tr><th colspan="2" scope="col">{title}</th><th scope="col">ε</th></tr></thead>'
            f'<tbody>{own}</tbody><tbody class="others">'
            '<tr><th colspan="3" scope="colgroup">For comparison, other mechanisms</th></tr>'
            f"{others}</tbody></table>{self._share(best, *ends)}"
        )

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("readouts", self.verdict, self.table, self.measures, self.fold, sheet="")


def _hiding_pays_from(curves: CurveSet) -> float | None:
    """The first T drawn from which some bound of this run stays below composition at beta = 1."""
    least = np.minimum.reduce([e for bound, e in curves.epsilon.items() if BOUNDS[bound].of_this_run])
    above = np.flatnonzero(least >= curves.reference)
    first = above[-1] + 1 if above.size else 0
    return T_VALUES[first] if first < len(T_VALUES) else None


def _row(g: Guarantee, least: bool = False) -> str:
    kind = "absent" if not g.valid else "best" if least else ""
    note = "; ".join(filter(None, (g.reason, g.note)))
    return _cells(theme.swatch(theme.style_of(g.bound)), g.title, g.epsilon, kind, note, BOUNDS[g.bound].summary)


def _cells(swatch: str, title: str, epsilon: float, kind: str, note: str, says: str = "") -> str:
    row = (
        f'<tr class="{kind}"><td>{swatch}</td><th scope="row" title="{escape(says)}">{escape(title)}</th>'
        f'<td class="number" title="{round_up(epsilon, 6):.6g}">{format_number(epsilon)}</td></tr>'
    )
    return row + (f'<tr class="reason"><td></td><td colspan="2">{escape(note)}</td></tr>' if note else "")


def _assumptions(found: dict[str, Guarantee]) -> str:
    """Every assumption once, with the bounds that rest on it."""
    rests: dict[tuple[str, bool | None, str], list[str]] = {}
    for g in found.values():
        for c in g.checks:
            rests.setdefault((c.words, c.met, c.shortfall), []).append(g.title)
    rows = "".join(
        assumption(*key, "every bound" if len(titles) == len(found) else ", ".join(titles)) for key, titles in rests.items()
    )
    key = ", ".join(f'<span class="{kind}">{mark}</span> {name}' for mark, kind, name in MARKS.values())
    return f'<p class="key">{key}: nothing here can check it, so you have to vouch for it.</p><ul>{rows}</ul>'


def assumption(words: str, met: bool | None, shortfall: str, who: str = "") -> str:
    """An item of a list: whether an assumption is met, what it lacks, and who rests on it."""
    mark, kind, name = MARKS[met]
    lacks = f' <span class="lacks">{escape(format_sentence(shortfall))}.</span>' if shortfall else ""
    small = f" <small>{escape(who)}</small>" if who else ""
    return f'<li><span class="{kind}" role="img" aria-label="{name}">{mark}</span><span>{escape(words)}{lacks}{small}</span></li>'


def attacker_sentence(allowed: TradeOff) -> str:
    """What the best attacker finds at a rate of false alarms of FPR, read from the whole trade-off curve.

    >>> from zoexplore import guarantee
    >>> from zoexplore.presets import DEMONSTRATION
    >>> attacker_sentence(guarantee(DEMONSTRATION, "sharp").risk).replace("\\u202f", " ")
    'At 1 % false alarms the best attacker finds at most 1.9 % of members; blind guessing finds 1 %.'
    """
    found, share = float(allowed.true_positive_rate(FPR)), format_share(FPR, THIN)
    most = format_percent(found)
    if found >= 1:
        said = "an attacker may find every member: this rules nothing out"
    elif most == format_percent(1):
        said = "an attacker may find nearly every member"
    else:
        said = f"the best attacker finds at most {most} of members; blind guessing finds {share}"
    return f"At {share} false alarms {said}."


class AttackerSentence(View):
    """The sentence under the verdict. It is asked for beside everything else, since no figure waits for it."""

    rest, precedence = SENTENCE_REST, 1

    by = param.String("", doc="the bound that it is by; empty for the smallest")

    def build(self) -> None:
        self.pane = widgets.answer("said")
        self.veil(self.pane, theme.VEILED)
        self.param.watch(self.changed, "by")

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        best = guarantee_by(await ask(guarantees, *run), self.by)
        sentence = attacker_sentence(await ask(questions.attack, *run, best.bound)) if best.valid and not as_printed(best) else ""
        self.pane.object = f"<p>{sentence}</p>"

    def __panel__(self) -> pn.viewable.Viewable:
        return self.pane


def measures_of(g: Guarantee) -> list[tuple[str, str, str]]:
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


def _measures(g: Guarantee) -> str:
    """A short table under the bounds' numbers."""
    lines = "".join(
        f'<tr><th scope="row"><i>{_symbol(symbol)}</i> <span>{words}</span></th><td>{number}</td></tr>'
        for symbol, words, number in measures_of(g)
    )
    why = f"<p>{_NONE}</p>" if g.valid and not g.gaussian_dp else ""
    return f"<table><caption>In other measures, by {BOUNDS[g.bound].in_text}</caption>{lines}</table>{why}"


def _symbol(symbol: str) -> str:
    letter, _, below = symbol.partition("_")
    return f"{letter}<sub>{below}</sub>" if below else letter


class StatementCard(View):
    """A card with the statement, which is written while it is open."""

    precedence = 1

    def build(self) -> None:
        self.active = False
        self.text = widgets.html("", "code", "statement")
        self.copiers = {"text": widgets.copier("Copy text", "#"), "json": widgets.copier("Copy JSON", "#")}
        row = widgets.tools(*self.copiers.values())
        # in a column, which a closed card hides; the row's own sheet would show it
        self.fold = widgets.fold("Statement to copy", widgets.short(_SAYS, "hint"), widgets.stack(row, self.text))
        self.fold.param.watch(lambda event: self.param.update(active=not event.new), "collapsed")

    async def refresh(self) -> None:
        run = self.state.setting, self.state.accounting
        best = smallest(await ask(guarantees, *run))
        words, data = await ask(questions.stated, *run, best.bound)
        with pn.io.hold():
            self.copiers["text"].tags, self.copiers["json"].tags = [words], [data]
            self.text.object = f'<pre tabindex="0" aria-label="statement of the guarantee">{escape(words)}</pre>'

    def __panel__(self) -> pn.viewable.Viewable:
        return self.fold
