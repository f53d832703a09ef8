"""The guided opening: six steps, a guess before every answer, an address for every step; at its end
the reader's own run.
"""

from bisect import bisect
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import panel as pn
import param

from zoexplore.bounds import Guarantee
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees, smallest
from zoexplore.compute.session_task import SessionTask
from zoexplore.run.formatting import format_count, format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting
from zoexplore.views.html import written
from zoexplore.views.panels.controls import Controls
from zoexplore.views.state import State
from zoexplore.views.style import widgets
from zoexplore.views.style.inputs import FieldSentence
from zoexplore.views.tabs import Tabs

Found = dict[str, Guarantee]
GUESSES = 3  # of every step
ROUNDS = 20  # of the game
# The focus of a button that the end hides goes to the one that begins the story.
_TO_BEGIN = """
const begin = [...Bokeh.documents[0].all_models].find((model) => model.label == "Story");
Bokeh.index.find_one(begin)?.shadow_el.querySelector("button").focus();
"""


@dataclass(frozen=True)
class Step:
    """One step of the story.

    Args:
        title: its heading.
        summary: the text before the question.
        control: the one field that can be moved; none if empty.
        view: the open view, and `turned` the options selected in it.
        question: the question, and `guesses` the possible answers; the last step has none, and
            leads to the reader's own run.
        over: the numbers of `told` whose quotient decides between the guesses, at `cuts`.
        why: the reason, with those numbers.
        run: changes of the demonstration run at first, and `then` those for the answer.
        reveals: options selected in the view with the answer.
    """

    title: str
    summary: str
    control: str
    view: str
    question: str = ""
    guesses: tuple[str, ...] = ()
    over: tuple[str, str] = ("", "")
    cuts: tuple[float, ...] = ()
    why: str = ""
    turned: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    then: dict[str, Any] = field(default_factory=dict)
    reveals: dict[str, Any] = field(default_factory=dict)

    def tells(self, before: Found, after: Found) -> tuple[int, str]:
        """The place of the right guess, and the reason, from the guarantees before and after."""
        numbers = told(before, after)
        above, below = (numbers[name] for name in self.over)
        shown = {
            name: f"{value:.1f}" if "right" in name else format_number(value)
            for name, value in numbers.items()
        }
        return bisect(self.cuts, above / below), self.why.format(
            **shown, times=f"{above / below:.0f}"
        )


def told(before: Found, after: Found) -> dict[str, float]:
    """Epsilon with every step published and with only the last, before and after; and how many of
    `ROUNDS` the best attacker gets right on average, seeing every step or only the last.
    """
    ends = {"was_": before, "": after}
    numbers = {"rounds": float(ROUNDS)}
    for when, found in ends.items():
        for way, g in {"every": found["composition"], "last": smallest(found)}.items():
            numbers |= {
                f"{when}{way}": g.epsilon,
                f"{when}right_{way}": ROUNDS * (1 + g.advantage) / 2,
            }
    return numbers


STEPS = {
    "1": Step(
        "Can you tell?",
        "Two training runs differ in your record. You are the attacker: you see one released model and say which run it came "
        "from. Noise σ makes that hard; ε says how hard. Play a few rounds.",
        control="sigma",
        view="game",
        turned={"seen": "last", "masked": True},
        question=f"Of {ROUNDS} rounds, how many does the best attacker get right?",
        guesses=("About 11", "About 15", "All of them"),
        over=("right_last", "rounds"),
        cuts=(0.65, 0.9),
        why=f"On average at most {{right_last}} of {ROUNDS} rounds, whatever the attacker knows and computes: that is what "
        "ε = {last} means. An attacker who sees every step may be right {right_every} times. Play it both ways.",
        reveals={"masked": False},
    ),
    "2": Step(
        "Composition grows",
        "Suppose every step of the training is published. Then every step is paid for: that is composition.",
        control="T",
        view="publish",
        turned={"publish": "every", "only": "every"},
        run={"T": 10},
        question="A hundred times as many steps: how much larger is ε?",
        guesses=("Not at all", "10 to 60 times", "100 times or more"),
        then={"T": 1000},
        over=("every", "was_every"),
        cuts=(2.0, 60.0),
        why="ε goes from {was_every} to {every}, {times} times as much: every step that is published is one more look at the "
        "record. At first ε grows like √T, later like T.",
    ),
    "3": Step(
        "Draw it yourself",
        "The orange line is ε if every step is published. Now publish only the last model: same run, same noise, same steps.",
        control="",
        view="publish",
        turned={"publish": "every", "only": "every", "draws": True, "yours": []},
        question="Where does ε go? Draw it on the figure, from left to right, or have it drawn:",
        guesses=("Just as high", "Half as high", "It goes flat"),
        over=("every", "last"),
        cuts=(1.5, 5.0),
        why="Of ε = {every} only {last} is left. Every step pulls the two runs together and covers the rest with fresh noise: "
        "only the last few steps leave a trace.",
        reveals={"publish": "last", "only": "", "draws": False},
    ),
    "4": Step(
        "What β does",
        "Each step moves along K random directions. The noise can go along them (β = 1) or everywhere (β = 0), with the same "
        "energy. Now all of it goes along them.",
        control="beta",
        view="curves",
        turned={"along": "beta", "only": "composition"},
        run={"beta": 1.0},
        question="Move half of the noise off the directions. What does ε do?",
        guesses=("It rises", "It stays", "It falls"),
        then={"beta": 0.5},
        reveals={"only": ""},
        over=("was_last", "last"),
        cuts=(0.99, 1.01),
        why="ε falls from {was_last} to {last}. Every step has new directions. Noise along them cannot cover what earlier steps "
        "left across them; noise in all directions can, and along the directions it gives up little.",
    ),
    "5": Step(
        "What it costs",
        "Noise hides the record and disturbs the training. These models were trained as this run is, at several noise scales; "
        "each mark is one of them, with every step published.",
        control="sigma",
        view="train",
        turned={"hidden": False, "told": True},
        question="Hide the steps in between. What changes?",
        guesses=("ε falls, accuracy stays", "Nothing", "Both get worse"),
        over=("last", "every"),
        cuts=(0.99,),
        why="The models are the same, and so is their accuracy. Only the guarantee changes: ε = {last} instead of {every}, and "
        "every mark moves to the left.",
        reveals={"hidden": True},
    ),
    "6": Step(
        "Now your run",
        "You saw how little an attacker can tell from one released model, and that ε stays, however long you train. A few "
        "numbers are enough for a first answer of your own.",
        control="",
        view="publish",
        turned={"publish": "last"},
    ),
}
_YOURS = "I train {d} parameters on {n} records for {T} steps, with noise {sigma} in each."


class Story(pn.viewable.Viewer):
    """The steps in a panel beside the page, which shows one control and one view. An empty `step`
    means the whole page.
    """

    step = param.Selector(
        default="", objects=["", *STEPS], doc="the step that is shown; empty for none"
    )
    guess = param.Integer(-1, doc="the place of the guess that was taken; -1 before")

    def __init__(self, state: State, tabs: Tabs, controls: Controls, **params: Any) -> None:
        super().__init__(**params)
        self.state, self.tabs, self.controls = state, tabs, controls
        self.publish = tabs["publish"]
        self.dots = widgets.short("", "dots")
        self.words, self.answer = (
            widgets.html("", "words", "story", css_classes=["zx-words"]) for _ in range(2)
        )
        self.back = widgets.button("Back", lambda: self.go(max(int(self.step) - 1, 1)))
        self.next = widgets.button("Next", lambda: self.go(int(self.step) + 1), "primary")
        self.end = widgets.button("End", lambda: self.go(0))
        self.end.js_on_click(code=_TO_BEGIN)
        # Every step has the same buttons in the same places, so that none moves under the mouse.
        self.guesses = widgets.row(
            "guesses", *(widgets.button("–", partial(self.take, place)) for place in range(GUESSES))
        )
        self.yours = FieldSentence(state, lambda _: _YOURS, "small_blanks")
        plan = widgets.button("Plan my run", lambda: self.leave("plan"), "primary")
        published = widgets.button("See published runs", lambda: self.leave("claims"))
        self.own = widgets.stack(
            self.yours, controls.notice, widgets.row("guesses", plan, published)
        )
        # hidden as a whole, since a row's own style sheet would keep it visible
        self.row = widgets.stack(self.guesses)
        moves = widgets.row("moves", self.back, self.dots, self.next, self.end)
        parts = moves, self.words, self.row, self.answer, self.own
        self.panel = widgets.component("prompt", *parts, sheet="prompt", visible=False)
        self._answering = SessionTask()
        self.param.watch(self._set_up, "step")
        self.publish.param.watch(self.drew, "yours")

    def go(self, place: int) -> None:
        """Show a step by its number; 0, or one beyond the last, ends the story."""
        if place <= len(STEPS):
            self.step = str(place) if place > 0 else ""

    def leave(self, view: str) -> None:
        """End in a view, with the run that the reader has set."""
        setting, accounting = self.state.setting, self.state.accounting
        self.go(0)
        self.state.replace(setting, accounting)
        self.tabs.selected = view

    def _set_up(self, event: Any) -> None:
        """Set the run, the view and the one control of a step."""
        step = STEPS.get(self.step)
        self._answering.stop()
        self.guess = -1
        with pn.io.hold():
            self.panel.visible = step is not None
            self.tabs.offer(tabs=step is None)
            if left := STEPS.get(event.old):  # its options return to their defaults
                view = self.tabs[left.view]
                view.param.update(**{name: view.param[name].default for name in left.turned})
            self.controls.sole = step.control or "none" if step else ""
            if step:
                self.tabs[step.view].param.update(**step.turned)
                self._show(step)
            self.state.replace(DEMONSTRATION.replace(**step.run if step else {}), Accounting())
            self.tabs.selected = step.view if step else "publish"

    def _show(self, step: Step) -> None:
        self.answer.object = ""
        self._tell(step)
        self.row.visible = self.next.visible = bool(step.guesses)
        self.own.visible = not step.guesses
        for text, button in zip(step.guesses, self.guesses, strict=False):
            button.param.update(label=text, css_classes=["zx-button"])
        # it keeps the focus
        self.back.css_classes = ["zx-button", *(["zx-spent"] if self.step == "1" else [])]
        self.dots.object = written("page", "dots", int(self.step), len(STEPS))

    def _tell(self, step: Step, answered: str = "") -> None:
        """Write the question; on a phone the answer takes the summary's place, so that the figure
        stays in view.
        """
        self.words.object = written("page", "step", step, answered)

    def take(self, place: int) -> None:
        """Record a guess and reveal the answer. The buttons stay enabled, so that the focus stays
        on one of them.
        """
        if self.guess < 0 and self.publish.draws:
            self.publish.sketch_as(place)  # which is heard of as a drawing of the reader's
        elif self.guess < 0 and STEPS[self.step].guesses:
            self.guess = place
            self._answering = SessionTask(self._reveal)

    def drew(self, event: Any) -> None:
        """Reveal the answer to a curve that the reader has drawn."""
        if self.step and self.guess < 0 and event.new:
            self.guess = 2
            self._answering = SessionTask(self._reveal)

    async def _reveal(self) -> None:
        step, drawn = STEPS[self.step], self.publish.yours
        before = await ask(guarantees, DEMONSTRATION.replace(**step.run), Accounting())
        after = await ask(guarantees, DEMONSTRATION.replace(**step.run | step.then), Accounting())
        right, why = step.tells(before, after)
        said = (
            "Right."
            if self.guess == right
            else f"Not quite: {step.guesses[right][0].lower()}{step.guesses[right][1:]}."
        )
        with pn.io.hold():
            if drawn:
                said = self._of_drawing(*drawn[-1])
            for place, button in enumerate(() if drawn else self.guesses):
                kind = {self.guess: "wrong", right: "right"}
                # whose style sheet marks it
                button.css_classes = ["zx-button", f"zx-{kind.get(place, 'other')}"]
            self.answer.object = written("page", "answer", said, why)
            self._tell(step, "answered")
            self.state.ask(**step.then)
            self.tabs[step.view].param.update(**step.reveals)
            self.publish.clouds.again += 1

    def _of_drawing(self, T: float, epsilon: float) -> str:
        """What the reader has drawn, and what is true."""
        two = self.publish.two
        true = float(two.last[np.searchsorted(two.T, T)])
        early = two.T[np.argmax(two.last >= 0.995 * true)]
        return (
            f"You drew {format_number(epsilon, 2)} at T = {format_count(T)}. It is {format_number(true)}: it was so at step "
            f"{format_count(early)} already, and is {format_number(float(two.last[-1]))} after a million."
        )

    def __panel__(self) -> pn.viewable.Viewable:
        return self.panel
