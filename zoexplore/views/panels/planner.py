"""Plan: a run that meets a target epsilon, by solving for one field or recommending a whole run."""

from html import escape
from math import inf
from typing import Any

import panel as pn
import param

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.epsilons import BEST
from zoexplore.compute.ask import ask, no_answer
from zoexplore.compute.computations import (
    curve_set,
    guarantees,
    recommended,
    said_of_truth,
    smallest,
    solved,
)
from zoexplore.compute.pool import TooLong
from zoexplore.compute.process import Died
from zoexplore.questions import SOLVABLE_FIELDS, Plan
from zoexplore.questions.calibration import DECADES
from zoexplore.questions.hiding import LEAST_GAIN
from zoexplore.questions.recommendation import PASSES, passes_of
from zoexplore.run.axes import AXES
from zoexplore.run.fields import FIELDS
from zoexplore.run.formatting import (
    format_count,
    format_sentence,
    format_short,
    format_typed,
    parse_number,
    round_up,
)
from zoexplore.run.limits import LARGEST_INTEGER
from zoexplore.run.refusals import in_symbols
from zoexplore.run.setting import Setting
from zoexplore.views.figures.chart import Chart
from zoexplore.views.figures.target import draw
from zoexplore.views.html import written
from zoexplore.views.state import refused
from zoexplore.views.style import widgets
from zoexplore.views.style.inputs import FieldSentence, Sentence
from zoexplore.views.style.widgets import warning
from zoexplore.views.view import View

_SOLVES = (
    "I train {d} parameters on {n} records for {T} steps, and publish {bound}. ε must stay below {target} at δ = {delta}. "
    "What is {field}?"
)
_PLANS = (
    "I train {d} parameters on {n} records, {batch} a step, and can pay for {passes} passes over each record. ε must stay below "
    "{target} at δ = {delta}. Which run should it be?"
)
PUBLIC = "composition"  # the bound that counts every step as published
BATCHES_COOL = 20  # the length of an offered cool-down on fresh batches, in steps
_OF_RUN = ("d", "n", "T", "delta", "batch")
_OWN = {"target": "target ε", "passes": "passes over each record"}
_WAYS = {BEST: "only the last model", PUBLIC: "every step"}
_WAYS |= {
    b: f"only the last model, by {bound.in_text}" for b, bound in BOUNDS.items() if b not in _WAYS
}
_SOUGHT = {field: f"{FIELDS[field].best} {AXES[field].symbol}" for field in SOLVABLE_FIELDS}
_MENUS = {"bound": ("what is published", _WAYS), "field": ("what is sought", _SOUGHT)}


class Planner(View):
    """A sentence with blanks, and the answer with its reasons. A button sets the sliders to the
    answer.
    """

    asks = ("target", "field", "bound", "whole", "passes")

    target = param.Number(
        1.0, bounds=(0, None), inclusive_bounds=(False, True), doc="the target epsilon"
    )
    field = param.Selector(default="sigma", objects=list(SOLVABLE_FIELDS), doc="what to solve for")
    bound = param.Selector(
        default=BEST,
        objects=[BEST, *BOUNDS],
        doc="the bound that must meet it, or the least that applies",
    )
    whole = param.Selector(
        default="one", objects=["one", "run"], doc="whether one number is asked for, or a whole run"
    )
    passes = param.Number(
        PASSES, bounds=(0, None), inclusive_bounds=(False, True), doc="forward passes a record"
    )
    answer = param.ClassSelector(class_=Setting, allow_None=True, doc="the run found")

    def build(self) -> None:
        self.sentence = Sentence(self.take)
        kinds = {"One number": "one", "A whole run": "run"}
        self.kind = widgets.radio("what is asked", kinds, of=self.param.whole, max_width=240)
        self.use = widgets.button("Use this run", lambda: self.apply(self.answer), "primary")
        # the answer with a cool-down, if a cool-down improves it
        self.cooled: Setting | None = None
        self.cooler = widgets.button("Use it with a cool-down", lambda: self.apply(self.cooled))
        self.found = widgets.html("", "words", "plan", "answer")
        self.words = widgets.html("", "words", "plan")
        self.chart = Chart("plan", self.state)
        # the chart is in a stack because the chart's own style sheet would keep it visible
        self.drawing = widgets.stack(self.chart)

    def take(self, name: str, text: str) -> None:
        """Set a blank from a text, or say beside the sentence alone why the text is refused."""
        self.state.refusal = why = ""
        try:
            if name in _OF_RUN and not self.state.ask_text(name, text):
                why, self.state.refusal = self.state.refusal, ""
            elif name not in _OF_RUN:
                self.param.update(**{name: _positive(text) if name in _OWN else text})
        except ValueError as error:
            why = refused(name, text, error)
        if why:
            self._redrawing.stop()  # an answer that came later would replace the reason
            self.waiting = False
            self.sentence.wrong = {name: text}
            self._write()
            self._refuse(f"{why}.")

    def _write(self) -> None:
        """Show the sentence with the current values, and the symbol of the sought field in place of
        its value.
        """
        one = self.whole == "one"
        blanks = {name: FieldSentence.blank(self.state, name) for name in _OF_RUN}
        for name, label in _OWN.items():
            blanks[name] = {"text": format_typed(getattr(self, name)), "label": label}
        if one and self.field in blanks:
            blanks[self.field]["text"] = FIELDS[self.field].symbol
        for name, (label, options) in _MENUS.items():
            offered = [list(each) for each in options.items()]
            blanks[name] = {"text": getattr(self, name), "label": label, "options": offered}
        self.sentence.write(_SOLVES if one else _PLANS, blanks)

    def changed(self, *_: Any) -> None:
        """Stop the search for an earlier answer, since a search may take long."""
        self._redrawing.stop()
        super().changed()

    def apply(self, run: Setting | None) -> None:
        """Set the sliders to a found run."""
        if run is not None:
            self.state.ask(**run.as_dict())

    async def refresh(self) -> None:
        """Answer for this run once no slider is held."""
        self.sentence.wrong = {}
        self._write()
        self.drawing.visible = self.whole == "one"
        self.sketch = self.state.moving
        self._say(self.words.object, self.found.object or self._nothing())
        if not self.sketch:
            try:
                await (self._solve() if self.whole == "one" else self._recommend())
            except (Died, TooLong) as error:
                self._refuse(no_answer(error))

    async def _solve(self) -> None:
        setting, accounting = self.state.run
        field, target, ways = self.field, float(self.target), {"last": self.bound, "every": PUBLIC}
        found: dict[str, Setting | str] = {"yours": setting}
        for name, bound in ways.items():
            run = await ask(solved, setting, field, target, bound, accounting)
            found[name] = _as_told(run, field)
        given = {
            name: await self._counted(run, ways.get(name, self.bound))
            for name, run in found.items()
            if isinstance(run, Setting)
        }
        curves = await ask(curve_set, setting, accounting, field)
        last = given.get("last", given["yours"]).setting
        cooled, offer = await self._offer(last, field)
        limit = await self._truth(last)
        # change the answer and the figure at once, so that no button moves before a click on it
        with pn.io.hold():
            drawn = {name: (g.setting, g.epsilon) for name, g in given.items()}
            draw(self.chart, field, "" if self.bound == BEST else self.bound, target, curves, drawn)
            if g := given.get("last"):
                head, words = _solution(field, target, given, found["every"])
                self._say(limit + words, head + offer, g.setting, cooled)
            else:
                why = warning(f"{format_sentence(in_symbols(str(found['last'])))}.")
                self._say(why + limit, self._nothing() + offer, cooled=cooled)

    async def _counted(self, run: Setting, bound: str) -> Guarantee:
        """Return a run's guarantee by a bound, or the smallest guarantee for `BEST`."""
        accounting = self.state.accounting
        printed = accounting.printed and self.bound != BEST
        every = await ask(guarantees, run, accounting.replace(printed=printed))
        return smallest(every) if bound == BEST else every[bound]

    async def _recommend(self) -> None:
        setting, accounting = self.state.run
        numbers = float(self.target), self.bound, accounting, float(self.passes)
        found = await ask(recommended, setting, *numbers)
        if isinstance(found, Plan):
            now = await self._counted(setting, self.bound)
            run, (head, words) = _as_told(found.setting, "sigma"), _plan(found, now)
            cooled, offer = await self._offer(run, "sigma")
            self._say(await self._truth(run) + words, head + offer, run, cooled)
        else:
            self._refuse(f"{format_sentence(in_symbols(found))}.")

    async def _offer(self, run: Setting, field: str) -> tuple[Setting | None, str]:
        """Return (run, html): the solution with a cool-down, and what the cool-down changes; (None,
        "") if there is none or it helps little.

        If all noise is along the directions, one last step with noise across them brings nearly all
        that hiding can bring. On fresh batches this takes some more steps.
        """
        late = 1 if run.full_batch else BATCHES_COOL
        if (
            self.bound == BEST
            and run.beta == 1
            and not run.cooldown
            and run.T > late
            and run.K < run.d
        ):
            cooler, value = run.replace(cooldown=late), getattr(run, field)
            found = await ask(
                solved, cooler, field, float(self.target), BEST, self.state.accounting
            )
            found = _as_told(found, field)
            cooled, most = getattr(found, field, None), field not in ("sigma", "n", "K")
            if cooled and value and (cooled / value if most else value / cooled) >= LEAST_GAIN:
                words = late, AXES[field].symbol, _found(field, cooled)
                return found, written("plan", "cooled", *words)
        return None, ""

    async def _truth(self, run: Setting) -> str:
        """Return HTML that says how little hiding can help this run; an empty text if it may help."""
        said = await ask(said_of_truth, run)
        return f"<p>{escape(said)}</p>" if said else ""

    def _refuse(self, sentence: str) -> None:
        self._say(warning(sentence), self._nothing())

    def _nothing(self) -> str:
        """Return HTML for no answer: the sought field's symbol and a dash, or a dash alone if a whole
        run is sought.
        """
        return written("plan", "unknown", AXES[self.field].symbol if self.whole == "one" else "")

    def _say(
        self, words: str, head: str, answer: Setting | None = None, cooled: Setting | None = None
    ) -> None:
        """Write text, and show the buttons that apply an answer."""
        with pn.io.hold():
            self.answer, self.cooled = answer, cooled
            self.found.object, self.words.object = head, words
            self.use.visible = answer is not None and answer != self.state.setting
            self.cooler.visible = cooled is not None

    def __panel__(self) -> pn.viewable.Viewable:
        answer = widgets.row("answered", self.found, self.use, self.cooler)
        return widgets.component("plan", self.kind, self.sentence, answer, self.drawing, self.words)


def _solution(
    field: str, target: float, given: dict[str, Guarantee], every: Setting | str
) -> tuple[str, str]:
    """Return (head, words) as HTML. `head` has the solved value in large type, the value that
    publishing every step takes, and the sliders' value; `words` say what the solved value achieves
    and what the bound assumes.
    """
    g, before, symbol = given["last"], given["yours"], AXES[field].symbol
    value, now = getattr(g.setting, field), getattr(before.setting, field)
    public = None if g.bound == PUBLIC else getattr(every, field, "")
    more = public / value if public and field == "sigma" and value > 0 else None
    found, beside, yours = (
        _found(field, each) if isinstance(each, (int, float)) else each
        for each in (value, public, now)
    )
    goal = BOUNDS[g.bound].in_text, round_up(target, 6), g, before.epsilon
    said = written("plan", "solution", symbol, found, FIELDS[field].best, *goal)
    return written("plan", "head", symbol, found, beside, more, yours), said


def _positive(text: str) -> float:
    """Return a positive target. Raises ValueError if the text is no positive number."""
    value = float(parse_number(text))  # large integers and equal floats are written differently
    if not 0 < value < inf:
        raise ValueError("give a finite number above 0")
    return value


def _found(field: str, value: float) -> str:
    """Return a solution as text, rounded to three digits on the side that still meets the target;
    "∞" if nothing limits it.
    """
    if value >= LARGEST_INTEGER or (field in ("clip", "R") and value >= DECADES[-1]):
        return "∞"
    return format_count(value) if isinstance(value, int) else format_short(_rounded(field, value))


def _rounded(field: str, value: float) -> float:
    """Round a solution to three digits on the side that still meets the target."""
    return round_up(value, 3) if field == "sigma" else -round_up(-value, 3)


def _as_told(run: Setting | str, field: str) -> Any:
    """Return the run with the field's value as it is shown, so that a button sets the value that
    the reader sees. Return a refusal unchanged.
    """
    value = getattr(run, field, 1)
    if isinstance(run, str) or isinstance(value, int) or not value < DECADES[-1]:
        return run
    return run.replace(**{field: _rounded(field, value)})


def _plan(plan: Plan, now: Guarantee) -> tuple[str, str]:
    """Return (head, words) as HTML. `head` has the recommended run in large type; `words` compare
    it with the sliders' run, and give reasons and warnings. If noise drowns the steps, a warning
    says so first.
    """
    sigma = _found("sigma", plan.setting.sigma)
    numbers = plan, sigma, now, passes_of(now.setting)
    words = written("plan", "why", plan, written("plan", "beside", *numbers))
    return written("plan", "run", plan, sigma), words
