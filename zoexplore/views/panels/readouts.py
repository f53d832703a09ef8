"""The read-outs: epsilon in large type, and what it means for an attacker. The fold "More" has the
reasons, the assumptions, other measures, and the statement of the guarantee.
"""

from html import escape
from math import inf
from typing import Any

import panel as pn
import param

from zoexplore.bounds import BOUNDS
from zoexplore.bounds.guarantee import as_printed
from zoexplore.bounds.tradeoff import TradeOff
from zoexplore.bounds.words import words_of
from zoexplore.compute import computations
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees, smallest
from zoexplore.run.formatting import (
    THIN,
    format_count,
    format_number,
    format_percent,
    format_share,
    format_short,
)
from zoexplore.views.figures.by_bound import lack
from zoexplore.views.html import written
from zoexplore.views.panels.controls import draw
from zoexplore.views.state import State
from zoexplore.views.style import stylesheets, widgets
from zoexplore.views.view import View

AS_PRINTED = (
    '<p class="printed" role="status">'
    "Drawn with the paper's printed constants: <b>no guarantee</b>.</p>"
)
CURES = {  # a button's words for batches whose neighbours no bound covers
    ("poisson", "replace-one"): "Count one record more or less instead",
    ("without-replacement", "add-remove"): "Count one replaced record instead",
}
PERSONS = "Protect single records instead"
FPR = 0.01
_SAYS = """<h2>Statement to copy</h2>
<p>For a paper or a model card: what is protected, what may be seen, what was assumed and what is not covered.</p>"""
TRAINED = {  # sentences by what is published; "same" if hiding gains nothing
    "same": "Train for {T} steps and publish only the last model: here hiding the others gains nothing.",
    "every": "Train for {T} steps and publish every one of them. If only the last model is published, ε falls to <b>{other}</b>.",
    "last": "Train for {T} steps and publish only the last model: ε falls from <b>{other}</b> to <b>{now}</b>.",
}
MARKS = {
    True: ("✓", "met", "met"),
    False: ("✗", "unmet", "not met"),
    None: ("○", "supposed", "assumed"),
}


def found_at(allowed: TradeOff, fpr: float, delta: float) -> str:
    """Return the best attacker's true-positive rate at a false-alarm rate, in percent. If it is
    higher by at most δ, return the false-alarm rate.
    """
    found = float(allowed.true_positive_rate(fpr))
    return format_share(fpr, THIN) if found <= fpr + delta else format_percent(found, 3)


def odds(allowed: TradeOff, delta: float) -> str:
    """Return a sentence on the best attacker's true-positive rate at the false-alarm rate `FPR`.
    The trade-off curve gives this rate.

    >>> from zoexplore import guarantee
    >>> from zoexplore.run.presets import DEMONSTRATION
    >>> run = DEMONSTRATION.replace(sigma=1.0)
    >>> odds(guarantee(run, "sharp").risk, run.delta)
    'An attacker who wrongly accuses 1 in 100 outsiders catches no more than 1 in 100 members. Guessing catches 1.'
    """
    most = found_at(allowed, FPR, delta).removesuffix(f"{THIN}%")
    return written("readouts", "odds", most, allowed.true_positive_rate(FPR) >= 1)


def times(before: float, now: float) -> str:
    """Return the factor between two numbers as text; an empty text if the factor is near 1."""
    if not 0 < min(before, now) <= max(before, now) < inf:
        return ""
    ratio = max(before, now) / min(before, now)
    return f"{'÷' if now < before else '×'}{THIN}{format_short(ratio, 2)}" if ratio >= 1.05 else ""


class Headline(View):
    """One epsilon in large type, a comparison with the other way of publishing, and a sentence on
    what epsilon allows an attacker.
    """

    precedence = 1  # after the figure, which the reader watches
    by = param.String("", doc="the bound that it is by; empty for the smallest")
    compares = param.Boolean(True, doc="whether it is compared")

    def build(self) -> None:
        self.number, self.odds = widgets.answer("headline"), widgets.answer("said")
        self.odds.object = "<p></p>"  # an empty paragraph, which keeps the sentence's room
        self.veil(self.number, stylesheets.VEILED)
        self.param.watch(self.changed, ["by", "compares"])

    async def refresh(self) -> None:
        run = self.state.run
        found = await ask(guarantees, *run)
        best, other = (
            (found[self.by], smallest(found))
            if self.by
            else (smallest(found), found["composition"])
        )
        number, instead = format_number(best.epsilon), format_number(other.epsilon)
        # do not compare numbers that are no guarantee
        compares = self.compares and not self.state.printed
        by = times(other.epsilon, best.epsilon) if compares else ""
        kind = "every" if best.bound == "composition" else "last"
        told = TRAINED[kind if by else "same"] if compares and best.valid else ""
        said = told.format(T=format_count(run[0].T), other=instead, now=number)
        self.number.object = written("readouts", "number", kind, number, by, said)
        # write the odds once no slider is held, since they cost as much as a redraw
        self.sketch, self.waiting = self.state.moving, False
        self.odds.styles = {stylesheets.STATE: stylesheets.VEILED}
        if not self.sketch:
            said = ""
            if best.valid and not as_printed(best.bound, best.accounting):
                said = odds(await ask(computations.attack, *run, best.bound), run[0].delta)
            self.odds.param.update(object=f"<p>{said}</p>", styles={stylesheets.STATE: "shown"})


class Warnings(View):
    """Two bars above every view, each with a button that removes its cause. One warns of numbers
    that are no guarantee, the other of a run that has none.
    """

    precedence = 1

    def build(self) -> None:
        off = widgets.button("Use proved constants", lambda: self.state.ask(printed=False))
        # each bar is in a stack because a row's own style sheet would keep it visible
        self.printed = widgets.stack(widgets.row("bar", widgets.html(AS_PRINTED), off))
        self.why, self.cure = (
            widgets.html(),
            widgets.button(PERSONS, self._cover),
        )
        self.lacking = widgets.stack(widgets.row("bar", self.why, self.cure))

    async def refresh(self) -> None:
        found = await ask(guarantees, *self.state.run)
        self.cure.label = CURES.get((self.state.sampling, self.state.neighbours), PERSONS)
        self.printed.visible = self.state.printed
        self.lacking.visible = not smallest(found).valid
        self.why.object = written("readouts", "uncovered", lack(found["composition"]))

    def _cover(self) -> None:
        """Change the run to one that bounds cover."""
        self.state.ask(records_per_person=1)
        draw(self.state, self.state.sampling)

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("warnings", self.printed, self.lacking, sheet="")


class More(View):
    """The details behind the number. They are computed only while the fold is open."""

    precedence = 2
    by = param.String("", doc="the bound that they are of; empty for the smallest")

    def build(self) -> None:
        self.active = False
        self.verdict, self.assumptions = widgets.answer("verdict"), widgets.answer("assumptions")
        self.statement = widgets.html("", "code", "statement")
        self.copier = widgets.copier("Copy text", "#")
        said, tools = (
            widgets.html(_SAYS, "words"),
            widgets.tools(self.copier, margin=(0, 0, 10, 0)),
        )
        left = widgets.stack(
            self.verdict, said, tools, widgets.fold("Read it here", self.statement)
        )
        # the grid is in a stack because the grid's own style sheet would keep it visible
        columns = widgets.stack(widgets.stack(left, self.assumptions, **widgets.look("more")))
        self.fold = widgets.fold("More: why, what is assumed, other measures, a statement", columns)
        self.fold.param.watch(lambda event: self.param.update(active=not event.new), "collapsed")
        self.param.watch(self._waits, "waiting")
        self.param.watch(self.changed, "by")

    def _waits(self, *_: Any) -> None:
        """Disable copying while the statement is out of date."""
        self.copier.disabled = self.waiting

    async def refresh(self) -> None:
        run = self.state.run
        found = await ask(guarantees, *run)
        best = found[self.by] if self.by else smallest(found)
        words = await ask(computations.stated, *run, best.bound)
        with pn.io.hold():
            # the explanation says why this bound is the least, which a chosen one need not be
            why = words_of(best.bound).explain(best) if best.valid and not self.by else ""
            self.verdict.object = written(
                "readouts", "verdict", best, list(found.values()), why, bool(self.by)
            )
            title = BOUNDS[best.bound].in_text
            self.assumptions.object = written("readouts", "assumed", best, title, MARKS)
            self.copier.tags = [words]
            self.statement.object = (
                f'<pre tabindex="0" aria-label="statement of the guarantee">{escape(words)}</pre>'
            )

    def __panel__(self) -> pn.viewable.Viewable:
        return self.fold


class Readouts(pn.viewable.Viewer):
    """The warnings, the number, the odds and "More" as one component for a notebook's cell."""

    def __init__(self, state: State | None = None, **params: Any) -> None:
        super().__init__(**params)
        self.state = state or State()
        self.headline, self.more = Headline(self.state, compares=False), More(self.state)
        self.warnings = Warnings(self.state)

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component(
            "readouts", self.warnings, self.headline.number, self.headline.odds, self.more.fold
        )
