"""Plan: a run that meets a target epsilon, by solving for one field or recommending a whole run."""

from collections.abc import Callable, Coroutine
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from html import escape
from math import inf, isclose
from typing import Any

import panel as pn
import param

from zoexplore.bounds import BOUNDS, Guarantee
from zoexplore.bounds.guarantee import BEST
from zoexplore.compute.ask import ask, no_answer
from zoexplore.compute.computations import curve_set, guarantees, recommended, smallest, solved
from zoexplore.compute.session_task import SessionTask
from zoexplore.questions import SOLVABLE_FIELDS, Plan
from zoexplore.questions.calibration import DECADES
from zoexplore.run.axes import AXES
from zoexplore.run.fields import FIELDS, in_symbols
from zoexplore.run.formatting import format_count, format_delta, format_exact, format_number, format_short, parse_number, round_up
from zoexplore.run.setting import LARGEST_INTEGER, Setting
from zoexplore.views.figures.target import Target
from zoexplore.views.style import theme, widgets
from zoexplore.views.style.inputs import Typed
from zoexplore.views.style.widgets import details, listed, status, unbroken, warning
from zoexplore.views.view import View

_RECOMMENDED = """<p>It keeps the data, the loss, the ball and the forward passes, and chooses the rest. One clip limits a
record's whole step.</p>"""
_SUPPOSED = "Assumed; numbers cannot check this"


class Planner(View):
    """A target, the field to solve for, and the answer with its reasons, which a button applies to the sliders."""

    asks = ("target", "field", "bound")

    target = param.Number(1.0, bounds=(0, None), inclusive_bounds=(False, True), doc="the target epsilon")
    field = param.Selector(default="sigma", objects=list(SOLVABLE_FIELDS), doc="what to solve for")
    bound = param.Selector(default=BEST, objects=[BEST, *BOUNDS], doc="the bound that must meet it, or the least that applies")
    answer = param.ClassSelector(class_=Setting, allow_None=True, doc="the run found")

    def build(self) -> None:
        self.texts = {
            "target": Typed(self, "target", "target ε", "target", "pair", read=_positive),
            "delta": _Delta(self.state, "delta", "at δ", "target", "pair", read=lambda text: float(parse_number(text))),
        }
        for typed in self.texts.values():
            typed.param.watch(self._refuse_text, "refusal")
        bounds = {"the least that applies": BEST} | {bound.title: name for name, bound in BOUNDS.items()}
        self.asked = widgets.column(
            "choices",
            *(typed.text for typed in self.texts.values()),
            widgets.select("solve for", {AXES[f].caption: f for f in SOLVABLE_FIELDS}, "along", "pair", of=self.param.field),
            widgets.select("by", bounds, "along", "pair", of=self.param.bound),
        )
        self.param.watch(self.changed, list(self.asks))
        beside = {"margin": (0, 8, 0, 0)}
        self.buttons = {
            "solve": widgets.button("Solve", lambda: self.ask(self._solve), **beside),
            "recommend": widgets.button("Recommend a run", lambda: self.ask(self._recommend), **beside),
            "cancel": widgets.button("Cancel", self.stop, **beside),
            "apply": widgets.button("Apply to the sliders", self.apply, "primary", **beside),
        }
        self.found, self.words = (widgets.html("", "words", "plan") for _ in range(2))
        self.drawn = Target(self.state)
        self.pane = self.canvas(self.drawn.figure)
        self._looking = SessionTask()  # for an answer
        self._applies = False  # whether the answer that is looked for is to be applied
        self._say("")

    def _refuse_text(self, event: Any) -> None:
        if event.new:
            self._refuse(f"{event.new}.")

    def _goal(self) -> str:
        """The target in words."""
        target, delta = format_short(round_up(self.target, 6), 6), format_delta(self.state.setting.delta)
        return f"gives ε\u00a0≤\u00a0{target} at δ\u00a0=\u00a0{delta}"

    def ask(self, question: Callable[[], Coroutine]) -> None:
        """Compute an answer in another process, and cancel an earlier question."""
        self._looking.stop()
        self._applies = False
        self._say(status("Looking …"), busy=True)
        self._looking = SessionTask(question, lambda error: self._refuse(no_answer(error)))

    def stop(self) -> None:
        """Stop looking for an answer."""
        self._looking.stop()
        self._say(status("Cancelled."))

    def apply(self) -> None:
        """Set the sliders to the answer; while it is computed, once it is there.

        A click on an answer may reach the server after the search for the next one has begun.
        """
        self._applies = self.answer is None and self._looking.waits
        if self.answer is not None:
            self.state.ask(**self.answer.as_dict())

    async def _solve(self) -> None:
        setting, accounting, bound = self.state.setting, self.state.accounting, self.bound
        field, goal = self.field, self._goal()
        found = await ask(solved, setting, field, float(self.target), bound, accounting)
        curves = await ask(curve_set, setting, accounting, field)
        counted = accounting.replace(printed=accounting.printed and bound != BEST)
        g = _by(await ask(guarantees, found, counted), bound) if isinstance(found, Setting) else None
        now = _by(await ask(guarantees, setting, counted if g else accounting), bound)
        with pn.io.hold():  # answer and figure in one change of the page: else a button moves before it is pressed
            self.drawn.abscissa.run_along(field)
            self.drawn.draw(curves, bound, float(self.target), now, g)
            self.repaint()
            if isinstance(found, Setting) and g:
                head, words = _solution(field, goal, g, now)
                self._say(words, found, head=head)
            else:
                self._refuse(_sentence(found))
        self.push()

    def repaint(self) -> None:
        super().repaint()
        self.drawn.dark = self.dark
        self.drawn.name()

    async def _recommend(self) -> None:
        found = await ask(recommended, self.state.setting, float(self.target), self.bound, self.state.accounting)
        if isinstance(found, Plan):
            head, words = _plan(found)
            self._say(words, found.setting, head=head)
        else:
            self._refuse(_sentence(found))

    async def refresh(self) -> None:
        """Solve for this run once no slider is held, and cancel an earlier search."""
        self.sketch = self.state.moving
        if self.sketch:
            self._looking.stop()
            self._say(self.words.object, head=self.found.object)
        if self.drawn.abscissa.run_along(self.field):
            self.drawn.abscissa.fit(fresh=True)
        self.drawn.abscissa.mark()
        if self.sketch:
            self.push()
        else:
            self.ask(self._solve)

    def _refuse(self, sentence: str) -> None:
        self._looking.stop()
        self._say(warning(sentence))

    def _say(self, words: str, answer: Setting | None = None, busy: bool = False, head: str = "") -> None:
        """Write text, and show the buttons that apply an answer or cancel a search."""
        with pn.io.hold():
            self.answer = answer
            self.found.object = head
            self.words.param.update(object=words, css_classes=[theme.BUSY] if busy else [])
            self.buttons["cancel"].visible = busy
            self.buttons["solve"].disabled = self.buttons["recommend"].disabled = busy
            self.buttons["apply"].visible = differs = answer is not None and _differs(answer, self.state.setting)
        if differs and self._applies:
            self.apply()

    def __panel__(self) -> pn.viewable.Viewable:
        drawn = widgets.stack(self.found, self.pane, self.drawn.handle, css_classes=["zx-curve"])
        beside = widgets.stack(self.asked, widgets.row("buttons", *self.buttons.values()), self.words)
        return widgets.component("plan", widgets.row("stage", drawn, beside))


def _by(found: dict[str, Guarantee], bound: str) -> Guarantee:
    """The guarantee by a bound, or by the least that applies."""
    return smallest(found) if bound == BEST else found[bound]


def _differs(one: Setting, other: Setting) -> bool:
    """Whether two runs differ by more than a search's tolerance."""
    pairs = zip(one.as_dict().values(), other.as_dict().values(), strict=True)
    numbers = (int, float)
    return any(not isclose(a, b, rel_tol=1e-4) if isinstance(a, numbers) and isinstance(b, numbers) else a != b for a, b in pairs)


def _solution(field: str, goal: str, g: Guarantee, before: Guarantee) -> tuple[str, str]:
    """The solved field's value, large; why it is that one, and the bound's assumptions."""
    a, value, now = AXES[field], getattr(g.setting, field), getattr(before.setting, field)
    found, by = _found(field, value), escape(BOUNDS[g.bound].in_text)
    most = (
        f"{by[0].upper()}{by[1:]} {goal} however large {a.symbol} is"
        if found == "∞"
        else f"That is {FIELDS[field].best} with which {by} {goal}"
    )
    was = format_count(now) if isinstance(now, int) else format_short(now)
    head = unbroken(f'<p class="found"><i>{a.symbol}</i> = {found}<span>now {was}</span></p>')
    said = f"<p>{most}. Now ε = {format_number(before.epsilon)}.</p>"
    supposed = details(_SUPPOSED, f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in g.supposes)}</ul>")
    return head, said + listed("Keep in mind", [g.reason]) + supposed


class _Delta(Typed):
    """The state's delta as text, with the state's own refusals."""

    def take(self, value: float) -> None:
        if not self.owner.ask(delta=value):
            raise ValueError(self.owner.refusal.partition(": ")[2])


def _positive(text: str) -> float:
    """A positive target. Raises ValueError if the text is no such number."""
    value = float(parse_number(text))  # an integer and its float have different texts
    if not 0 < value < inf:
        raise ValueError("give a finite number above 0")
    return value


def _safe(field: str, value: float) -> str:
    """A value to five digits, rounded to the side that still meets the target."""
    if isinstance(value, int) or value == inf:
        return format_exact(value)
    side = ROUND_CEILING if field == "sigma" else ROUND_FLOOR
    return format_exact(float(Context(prec=5, rounding=side).create_decimal(repr(value))))


def _sentence(reason: str) -> str:
    """A reason as a sentence of the page."""
    said = in_symbols(reason)
    return f"{said[0].upper()}{said[1:]}."


def _found(field: str, value: float) -> str:
    """A solution as text; the largest possible value means no limit."""
    if value >= LARGEST_INTEGER or (field in ("clip", "R") and value >= DECADES[-1]):
        return "∞"
    return format_count(value) if isinstance(value, int) else format_short(float(_safe(field, value)), 5)


def _plan(plan: Plan) -> tuple[str, str]:
    """A recommended run with its reasons and warnings; the first says so if noise drowns the steps."""
    s, why = plan.setting, plan.reasons
    drowned, why = (warning(why[0]), why[1:]) if plan.signal < 1 else ("", why)
    head = unbroken(
        f'<p class="found"><i>K</i> = {format_count(s.K)}, <i>β</i> = {format_short(s.beta)}, '
        f"<i>σ</i> = {_found('sigma', s.sigma)}</p>"
    )
    by = f"by {escape(BOUNDS[plan.bound].in_text)} after {format_count(s.T)} steps"
    said = f"{drowned}<p>ε = {format_number(plan.epsilon)} {by}.</p>{_RECOMMENDED}"
    return head, said + listed("Why", why) + listed("Keep in mind", plan.warnings) + listed(_SUPPOSED, plan.supposed)
