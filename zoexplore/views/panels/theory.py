"""Theory: for each bound its formula, in symbols and in the current numbers, its assumptions and
its source; and the errata.
"""

import re
from html import escape
from math import inf
from typing import Any

import panel as pn

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.words import words_of
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees
from zoexplore.run import paper
from zoexplore.run.documents import Reference, as_html, in_mathml
from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import bound_in_tex, format_number, format_sentence
from zoexplore.views.component import Text
from zoexplore.views.html import written
from zoexplore.views.panels.controls import follow
from zoexplore.views.panels.readouts import MARKS
from zoexplore.views.style import widgets
from zoexplore.views.style.inputs import typed
from zoexplore.views.style.widgets import link
from zoexplore.views.view import View

QUAD = r"\quad"  # between the parts of a formula
_DOI = re.compile(r"doi:(10\.[^\s,;]+)")
_NO_BUDGET = (
    "On batches no number ρ adds up over the steps: their privacy losses are composed as whole distributions, or at one "
    "Rényi order"
)
_DERIVED = Reference("bounds", "What is misprinted in the paper")
_PROOF = "Statement and proof"
# the fields in the formulas
SYMBOLS = "T K d n sigma beta eta clip R ridge delta xi".split()


class Theory(View):
    """A section for each bound: its formula in symbols and in the run's numbers, its assumptions
    and its proof.
    """

    def build(self) -> None:
        self.symbols = _html("", "symbols")
        self.numbers = {bound: _math("") for bound in BOUNDS}
        self.checks = {bound: _html("", "assumptions") for bound in BOUNDS}

    async def refresh(self) -> None:
        found = await ask(guarantees, *self.state.run)
        length, least = self.state.setting.longest_gradient, self.state.accounting.sensitivity
        seen = length if least == "least" and length < inf else None
        fields = [(FIELDS[name], typed(self.state.setting, name)) for name in SYMBOLS]
        with pn.io.hold():
            self.symbols.object = written("page", "symbols", fields, seen)
            for bound, g in found.items():
                formula = substituted(g)
                why = escape(format_sentence(g.reason or _NO_BUDGET))
                self.numbers[bound].object = _formula(*formula) if formula else f"<p>{why}.</p>"
                self.checks[bound].object = written("readouts", "folded", g, MARKS)

    def _section(self, bound: str) -> pn.viewable.Viewable:
        entry = BOUNDS[bound]
        head = written("page", "bound", entry, _linked(entry.source))
        formulas = _math(_formula(words_of(bound).latex)), self.numbers[bound], self.checks[bound]
        return widgets.stack(
            _html(head), *formulas, *_proofs(entry.proofs), **widgets.look("bound")
        )

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("theory", self.symbols, *map(self._section, BOUNDS))


class Errata(View):
    """What the misprints cost this run, the switch that draws with them, and how each is derived."""

    def build(self) -> None:
        box = widgets.box("Draw with the paper's printed constants", False, margin=(6, 0, 4, 0))
        self.printed = follow(box, self.state, "printed")
        self.numbers = _html("", "outcome", "misprints")
        table = f'<div class="wide" tabindex="0" role="region" aria-label="misprints">{as_html(_DERIVED)}</div>'
        derived = _html(table, "document", "errata")
        self.derived = widgets.fold("Every misprint, and why it is one", derived)

    async def refresh(self) -> None:
        setting, counted = self.state.setting, self.state.accounting.replace(sensitivity="clip")
        proved, printed = [
            await ask(guarantees, setting, counted.replace(printed=as_printed))
            for as_printed in (False, True)
        ]
        misprinted = [bound for bound in BOUNDS.values() if bound.printed]
        self.numbers.object = written("page", "misprints", misprinted, proved, printed)

    def __panel__(self) -> pn.viewable.Viewable:
        return widgets.component("errata", self.numbers, self.printed, self.derived)


def _proofs(references: tuple[Reference, ...]) -> tuple[pn.widgets.Select, Text]:
    """Return (menu, text): a menu of sections of the project's proofs, and a pane that renders a
    section when it is chosen.
    """
    named = {f"{each.heading} ({each.page})": each for each in references}
    options = {f"{_PROOF} …": "", **dict(zip(named, named, strict=True))}
    menu = widgets.select("", options, "proofs", tags=[_PROOF])
    text = _html("", "document", visible=False)

    def chosen(event: Any) -> None:
        text.param.update(
            object=as_html(named[event.new]) if event.new else "", visible=bool(event.new)
        )

    menu.param.watch(chosen, "value")
    return menu, text


def substituted(g: Guarantee) -> list[str]:
    """Return the bound's formula with the setting's numbers, as lines of TeX without delimiters.
    There are no lines if the bound does not apply or has no budget rho, as on batches.
    """
    if not g.valid or not g.rho >= 0:
        return []
    *given, formula = words_of(g.bound).substitute(g)
    budget = rf"{formula} = {bound_in_tex(g.rho)}{QUAD}\Rightarrow\ " if formula else ""
    return [*given, rf"{budget}\varepsilon = \text{{{format_number(g.epsilon)}}}"]


def _linked(source: str) -> str:
    """Return a source as HTML with links to the paper and to DOIs."""
    text = escape(source)
    if source.startswith("Paper"):
        text = text.replace("Paper", link(paper.URL, paper.SHORT), 1)
    return _DOI.sub(lambda found: link(f"https://doi.org/{found[1]}", found[0]), text)


def _html(text: str, *sheets: str, **more: Any) -> Text:
    return widgets.html(text, "words", *sheets, **more)


def _math(text: str) -> Text:
    """Make a pane of formulas."""
    return widgets.html(text, "math")


def _formula(*lines: str) -> str:
    """Return lines of TeX as displayed MathML that wraps at `QUAD`. Screen readers get the TeX."""
    drawn = [[in_mathml(part, displayed=True) for part in line.split(QUAD)] for line in lines]
    return written("page", "formula", lines, drawn)
