"""The guided opening: six steps with one control each, a guess before every answer, and an address for every step."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import Any

import panel as pn
import param

from zoexplore.bounds import Guarantee
from zoexplore.compute.ask import ask
from zoexplore.compute.computations import guarantees, smallest
from zoexplore.compute.session_task import SessionTask
from zoexplore.run.formatting import format_number
from zoexplore.run.presets import DEMONSTRATION
from zoexplore.run.setting import Accounting
from zoexplore.views.figures.legend import UNASKED
from zoexplore.views.panels.controls import Controls
from zoexplore.views.state import State
from zoexplore.views.style import widgets
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
        control: the one field that can be moved.
        view: the open view, and `turned` the options selected in it.
        question: the question, and `guesses` the possible answers.
        tells: the index of the right guess and the reason, from the guarantees before and after.
        run: changes of the demonstration run at first, and `then` those for the answer.
        shows: the one curve before the answer; all if empty.
        reveals: options selected in the view with the answer.
    """

    title: str
    summary: str
    control: str
    view: str
    question: str
    guesses: tuple[str, ...]
    tells: Callable[[Found, Found], tuple[int, str]]
    turned: dict[str, Any] = field(default_factory=dict)
    run: dict[str, Any] = field(default_factory=dict)
    then: dict[str, Any] = field(default_factory=dict)
    shows: str = ""
    reveals: dict[str, Any] = field(default_factory=dict)


def _ceiling(before: Found, after: Found) -> tuple[int, str]:
    last, every = (ROUNDS * (1 + g.advantage) / 2 for g in (smallest(after), after["composition"]))
    return int(last > 13) + int(last > 18), (
        f"On average at most {last:.1f} of {ROUNDS} rounds, whatever the attacker knows and computes: that is what ε = "
        f"{format_number(smallest(after).epsilon)} means. An attacker who sees every step may be right "
        f"{every:.1f} times. Play it both ways."
    )


def _composition(before: Found, after: Found) -> tuple[int, str]:
    was, now = before["composition"].epsilon, after["composition"].epsilon
    return (0 if now < 2 * was else 2 if now > 60 * was else 1), (
        f"ε goes from {format_number(was)} to {format_number(now)}, {now / was:.0f} times as much: every step that is published "
        "is one more look at the record. At first ε grows like √T, later like T."
    )


def _hidden(before: Found, after: Found) -> tuple[int, str]:
    every, last = after["composition"].epsilon, smallest(after).epsilon
    return (2 if last <= 0.2 * every else 1 if last <= 0.7 * every else 0), (
        f"Of ε = {format_number(every)} only {format_number(last)} is left: the green line instead of the orange one. The run is "
        "the same; nobody sees the steps in between."
    )


def _saturates(before: Found, after: Found) -> tuple[int, str]:
    was, now = smallest(before).epsilon, smallest(after).epsilon
    change = "ε does not change" if now <= was * 1.001 else f"ε grows from {format_number(was)}"
    return (2 if now <= 1.001 * was else 1 if now < 2 * was else 0), (
        f"{change}: it is {format_number(now)}. Every step pulls the two runs together and covers the rest with fresh noise, so "
        "only the last few steps leave a trace, and the curve stops growing."
    )


def _share(before: Found, after: Found) -> tuple[int, str]:
    was, now = smallest(before).epsilon, smallest(after).epsilon
    return (0 if now > 1.01 * was else 2 if now < 0.99 * was else 1), (
        f"ε falls from {format_number(was)} to {format_number(now)}. Every step has new directions. Noise along them cannot "
        "cover what earlier steps left across them; noise in all directions can, and along the directions it gives up little."
    )


def _price(before: Found, after: Found) -> tuple[int, str]:
    every, last = after["composition"].epsilon, smallest(after).epsilon
    return (0 if last < 0.99 * every else 1), (
        f"The models are the same, and so is their accuracy. Only the guarantee changes: ε = {format_number(last)} instead of "
        f"{format_number(every)}, and every mark moves to the left."
    )


STEPS = {
    "1": Step(
        "What leaks",
        "Two training runs differ in your record. An attacker sees one released model and says which run it came from. "
        "Noise σ makes that hard; ε says how hard. Play a few rounds.",
        control="sigma", view="game", turned={"seen": "last"},
        question=f"Of {ROUNDS} rounds, how many does the best attacker get right?",
        guesses=("About 11", "About 15", "All of them"), tells=_ceiling,
    ),
    "2": Step(
        "Composition grows",
        "Suppose every step of the training is published. Then every step is paid for: that is composition.",
        control="T", view="publish", turned={"publish": "every"}, run={"T": 10}, shows="every",
        question="A hundred times as many steps: how much larger is ε?",
        guesses=("Not at all", "10 to 60 times", "100 times or more"), then={"T": 1000}, tells=_composition,
    ),
    "3": Step(
        "Hide the iterates",
        "Usually nobody needs the steps in between. Publish the last iterate alone, with the same noise and the same 200 steps.",
        control="T", view="publish", turned={"publish": "every"}, shows="every",
        question="How much of ε is left?",
        guesses=("Nearly all", "About half", "A fifth or less"), tells=_hidden, reveals={"publish": "last", "only": ""},
    ),
    "4": Step(
        "It saturates",
        "The record acts in every step, and yet only the last iterate is seen.",
        control="T", view="publish", turned={"publish": "last"}, shows="last",
        question="Train five thousand times longer. What does ε do?",
        guesses=("It keeps growing", "It grows a little", "It stays"), then={"T": 10**6}, tells=_saturates, reveals={"only": ""},
    ),
    "5": Step(
        "What β does",
        "Each step moves along K random directions. The noise can go along them (β = 1) or everywhere (β = 0), with the same "
        "energy. Now all of it goes along them.",
        control="beta", view="curves", turned={"along": "beta"}, run={"beta": 1.0}, shows="composition",
        question="Move half of the noise off the directions. What does ε do?",
        guesses=("It rises", "It stays", "It falls"), then={"beta": 0.5}, tells=_share,
    ),
    "6": Step(
        "What it costs",
        "Noise hides the record and disturbs the training. These models were trained as this run is, at several noise scales; "
        "each mark is one of them, with every step published.",
        control="sigma", view="train", turned={"hidden": False},
        question="Hide the steps in between. What changes?",
        guesses=("ε falls, accuracy stays", "Nothing", "Both get worse"), tells=_price, reveals={"hidden": True},
    ),
}  # fmt: skip


class Story(pn.viewable.Viewer):
    """The steps in a panel beside the page, which shows one control and one view. An empty `step` means the whole page."""

    step = param.Selector(default="", objects=["", *STEPS], doc="the step that is shown; empty for none")
    guess = param.Integer(-1, doc="the place of the guess that was taken; -1 before")

    def __init__(self, state: State, tabs: Tabs, controls: Controls, **params: Any) -> None:
        super().__init__(**params)
        self.state, self.tabs, self.controls = state, tabs, controls
        self.dots = widgets.short("", "dots")
        self.words, self.answer = (widgets.html("", "words", "story", css_classes=["zx-words"]) for _ in range(2))
        self.buttons = {
            "back": widgets.button("Back", lambda: self.go(max(int(self.step) - 1, 1))),
            "next": widgets.button("Next", lambda: self.go(int(self.step) + 1), "primary"),
            "end": widgets.button("End", lambda: self.go(0)),
        }
        self.buttons["end"].js_on_click(code=_TO_BEGIN)
        # Every step has the same buttons in the same places, so that none moves under the mouse.
        self.guesses = widgets.row("guesses", *(widgets.button("–", partial(self.take, place)) for place in range(GUESSES)))
        moves = widgets.row("moves", self.buttons["back"], self.dots, self.buttons["next"], self.buttons["end"])
        self.panel = widgets.component("prompt", moves, self.words, self.guesses, self.answer, sheet="prompt", visible=False)
        self._answering = SessionTask()
        self.param.watch(self._set_up, "step")

    def go(self, place: int) -> None:
        """Show a step by its number; 0, or one beyond the last, ends the story."""
        if place <= len(STEPS):
            self.step = str(place) if place > 0 else ""

    def _set_up(self, event: Any) -> None:
        """Set the run, the view and the one control of a step."""
        step = STEPS.get(self.step)
        self._answering.stop()
        self.guess = -1
        with pn.io.hold():
            self.tabs.offer(tabs=step is None)
            publish, curves = self.tabs["publish"], self.tabs["curves"]
            publish.only = step.shows if step and step.view == "publish" else ""
            curves.choice.visible = step is None
            curves.legend.visible = step is None or not step.shows
            self.controls.sole = step.control if step else ""
            if step:
                if step.view == "train":
                    self._trains(False)
                # The axis goes first: held changes are sent at the end, and a column of another length than the rest would stop
                # the figure in the browser.
                self.tabs[step.view].param.update(**step.turned)
                alone = step.shows and step.view == "curves"
                curves.legend.muted = [name for name in curves.lines if name != step.shows] if alone else list(UNASKED)
                self.state.replace(DEMONSTRATION.replace(**step.run), Accounting())
                self.tabs.selected = step.view
            elif event.old:
                self.state.replace(DEMONSTRATION, Accounting())
                for each in STEPS.values():  # options changed by earlier steps return to their defaults
                    view = self.tabs[each.view]
                    view.param.update(**{name: view.param[name].default for name in each.turned})
                curves.legend.muted = list(UNASKED)
                self._trains(True)
                self.tabs.selected = "publish"
            self._show()

    def _trains(self, shown: bool) -> None:
        """Show what trains a run of the reader's own, or what was trained in advance."""
        self.tabs["train"].told = not shown

    def _show(self) -> None:
        step = STEPS.get(self.step)
        self.panel.visible = step is not None
        if step is None:
            return
        self.answer.object = ""
        self._tell(step)
        for text, button in zip(step.guesses, self.guesses, strict=True):
            button.param.update(label=text, css_classes=["zx-button"])
        for name, last in (("back", "1"), ("next", str(len(STEPS)))):  # not disabled, so that the focus stays on it
            self.buttons[name].css_classes = ["zx-button", *(["zx-spent"] if self.step == last else [])]
        dots = "".join("●" if name == self.step else "○" for name in STEPS)
        self.dots.object = f'<p role="img" aria-label="step {self.step} of {len(STEPS)}">{dots}</p>'

    def _tell(self, step: Step, answered: str = "") -> None:
        """Write the question; on a phone the answer takes the summary's place, so that the figure stays in view."""
        self.words.object = widgets.unbroken(
            f'<h2>{escape(step.title)}</h2><p class="summary {answered}">{escape(step.summary)}</p>'
            f'<p class="question">{escape(step.question)}</p>'
        )

    def take(self, place: int) -> None:
        """Record a guess and reveal the answer. The buttons stay enabled, so that the focus stays on one of them."""
        if self.guess >= 0:
            return
        self.guess = place
        self._answering = SessionTask(self._reveal)

    async def _reveal(self) -> None:
        step = STEPS[self.step]
        before = await ask(guarantees, DEMONSTRATION.replace(**step.run), Accounting())
        after = await ask(guarantees, DEMONSTRATION.replace(**step.run | step.then), Accounting())
        right, why = step.tells(before, after)
        with pn.io.hold():
            for place, button in enumerate(self.guesses):
                kind = "zx-right" if place == right else "zx-wrong" if place == self.guess else "zx-other"
                button.css_classes = ["zx-button", kind]  # whose style sheet marks it
            said = "Right." if self.guess == right else f"Not quite: {step.guesses[right][0].lower()}{step.guesses[right][1:]}."
            self.answer.object = widgets.unbroken(f'<p role="status"><b>{escape(said)}</b> {escape(why)}</p>')
            self._tell(step, "answered")
            self.state.ask(**step.then)
            self.tabs["curves"].legend.param.update(muted=list(UNASKED), visible=True)
            self.tabs[step.view].param.update(**step.reveals)
            self.tabs["publish"].clouds.again += 1

    def __panel__(self) -> pn.viewable.Viewable:
        return self.panel
